//! The limits on changes within a period.

use almanac_engine::metric_scaling::{RatePolicy, ScalingRules, Select};

use crate::support::scaling::{Autoscaler, Scaling, count_in, external, percent_in};
use crate::support::{monday, owned};

fn rules(select: Select, policies: &[RatePolicy]) -> ScalingRules {
    ScalingRules { window_seconds: 0, select, policies: policies.into() }
}

/// Every change between two numbers of replicas until a recommendation is reached.
fn changes(rules: ScalingRules, from: u32, to: u32) -> Vec<(String, u32)> {
    let policy = Autoscaler::for_deployment("shop", 0, 1_000).by(external("q"));
    let mut scaling =
        Scaling::new(policy.up(rules.clone()).down(rules), from).answered("q", to.into());
    scaling.run(monday("09:00"), monday("10:00"))
}

#[test]
fn a_policy_limits_the_replicas_in_each_period() {
    let rules = rules(Select::Max, &[count_in(4, 60)]);
    let up = owned(&[("09:00:00", 14), ("09:01:00", 18), ("09:02:00", 20)]);
    assert_eq!(changes(rules.clone(), 10, 20), up);
    let down = owned(&[("09:00:00", 16), ("09:01:00", 12), ("09:02:00", 10)]);
    assert_eq!(changes(rules, 20, 10), down);
}

#[test]
fn a_percentage_is_of_the_replicas_at_the_start_of_the_period() {
    let rules = rules(Select::Max, &[percent_in(50, 60)]);
    let up = owned(&[("09:00:00", 15), ("09:01:00", 23), ("09:02:00", 30)]);
    assert_eq!(changes(rules.clone(), 10, 30), up);
    assert_eq!(changes(rules, 30, 5), owned(&[("09:00:00", 15), ("09:01:00", 7), ("09:02:00", 5)]));
}

#[test]
fn ten_percent_of_a_hundred_are_ten() {
    assert_eq!(changes(rules(Select::Max, &[percent_in(10, 600)]), 100, 200)[0].1, 110);
}

#[test]
fn the_policy_that_allows_most_or_least_counts() {
    let both = [count_in(4, 60), percent_in(10, 60)];
    assert_eq!(changes(rules(Select::Max, &both), 10, 30)[0].1, 14);
    assert_eq!(changes(rules(Select::Min, &both), 10, 30)[0].1, 11);
    assert_eq!(changes(rules(Select::Max, &both), 30, 10)[0].1, 26);
    assert_eq!(changes(rules(Select::Min, &both), 30, 10)[0].1, 27);
}

#[test]
fn replicas_outside_the_bounds_return_immediately() {
    let slow = rules(Select::Max, &[count_in(1, 60)]);
    let policy =
        Autoscaler::for_deployment("shop", 5, 8).by(external("q")).up(slow.clone()).down(slow);
    let mut scaling = Scaling::new(policy, 20).answered("q", 1.0);
    assert_eq!(scaling.turn(monday("09:00")), 8);
    scaling.set(1);
    assert_eq!(scaling.turn(monday("09:10")), 5);
}

#[test]
fn scaling_in_one_direction_does_not_count_for_the_other() {
    let policy = Autoscaler::for_deployment("shop", 0, 100).by(external("q"));
    let slow = rules(Select::Max, &[count_in(4, 60)]);
    let mut scaling = Scaling::new(policy.up(slow.clone()).down(slow), 10).answered("q", 20.0);
    assert_eq!(scaling.turn(monday("09:00")), 14);
    scaling.answer("q", 0.0);
    // The period started at ten replicas, of which four may be removed.
    assert_eq!(scaling.turn(monday("09:00:30")), 6);
}
