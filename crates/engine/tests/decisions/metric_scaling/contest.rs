//! Another writer on the same target: it is told once, and answered no more often than queries are asked.

use almanac_engine::metric_scaling::{Recorded, ScalingRules, Select};
use almanac_engine::{Outcome, Workload};

use crate::support::monday;
use crate::support::scaling::{Autoscaler, Scaling, external};

#[test]
fn what_another_writer_replaces_is_set_again_once_a_query_period() {
    let mut scaling = Scaling::new(Autoscaler::of("shop", 0, 100).by(external("q")), 5);
    scaling.answer("q", 8.0);
    assert_eq!(scaling.turn(monday("09:00")), 8);
    scaling.set(5);
    assert_eq!(scaling.turn(monday("09:00:01")), 5);
    let undone = Recorded::Undone { at: monday("09:00"), set: 8, found: 5 };
    assert_eq!(scaling.recorded(), [undone]);
    assert_eq!(scaling.wake_at(), Some(monday("09:00:10")));
    assert_eq!(scaling.turn(monday("09:00:10")), 8);
    // It goes on, and is not told again.
    scaling.set(5);
    assert_eq!(scaling.turn(monday("09:00:20")), 8);
    assert!(matches!(scaling.recorded()[..], [Recorded::Scaled { from: Some(5), to: 8, .. }]));
}

#[test]
fn what_another_recommendation_asks_for_does_not_wait() {
    let mut scaling = Scaling::new(Autoscaler::of("shop", 0, 100).by(external("q")), 5);
    scaling.answer("q", 8.0);
    scaling.turn(monday("09:00"));
    scaling.set(5);
    scaling.answer("q", 9.0);
    assert_eq!(scaling.turn(monday("09:00:01")), 9);
}

#[test]
fn a_writer_who_replaces_what_was_just_set_is_told_even_where_something_else_is_wanted_now() {
    let down = ScalingRules { select: Select::Disabled, ..ScalingRules::default_down() };
    let policy = Autoscaler::of("shop", 0, 100).by(external("q")).down(down);
    let mut scaling = Scaling::new(policy, 5);
    scaling.answer("q", 8.0);
    scaling.turn(monday("09:00"));
    scaling.set(9);
    assert_eq!(scaling.turn(monday("09:00:30")), 9, "more than is wanted stays");
    let undone = Recorded::Undone { at: monday("09:00"), set: 8, found: 9 };
    assert_eq!(scaling.recorded(), [undone]);
    assert_eq!(scaling.wake_at(), Some(monday("09:02:30")), "to say that it is over");
    scaling.turn(monday("09:02:30"));
    assert_eq!((scaling.memory().unwrap().contest, scaling.recorded()), (None, vec![]));
}

#[test]
fn what_comes_under_the_name_of_a_deleted_target_is_no_interference() {
    let mut scaling = Scaling::new(Autoscaler::of("shop", 0, 100).by(external("q")), 5);
    scaling.answer("q", 8.0);
    scaling.turn(monday("09:00"));
    let target = scaling.target.clone();
    scaling.world.remove(&target);
    scaling.turn_that_ends(monday("09:00:10"), &Outcome::Withdrawn);
    scaling.world.workloads.insert(target, Workload { replicas: Some(2), current: None });
    assert_eq!(scaling.turn(monday("09:00:20")), 8);
    assert!(matches!(scaling.recorded()[..], [Recorded::Scaled { from: Some(2), to: 8, .. }]));
}

#[test]
fn a_contest_that_was_over_for_two_minutes_is_told_anew() {
    let mut scaling = Scaling::new(Autoscaler::of("shop", 0, 100).by(external("q")), 5);
    scaling.answer("q", 8.0);
    scaling.turn(monday("09:00"));
    scaling.set(5);
    scaling.turn(monday("09:01"));
    assert!(scaling.memory().unwrap().contest.is_some());
    scaling.turn(monday("09:03"));
    assert!(scaling.memory().unwrap().contest.is_none());
    scaling.set(5);
    scaling.turn(monday("09:04"));
    assert!(scaling.recorded().iter().any(|it| matches!(it, Recorded::Undone { .. })));
}
