//! The instant of an autoscaler's next turn, as long as its queries return the same samples.

use almanac_engine::PolicyObject;
use almanac_engine::metric_scaling::{Select, TargetType};
use almanac_fixtures::names;

use crate::support::scaling::{Autoscaler, Scaling, at_once, by_one_query, external, scheduled};
use crate::support::schedule::Schedule;
use crate::support::{monday, owned};

#[test]
fn a_target_with_the_desired_replicas_needs_no_turn() {
    let scaling = by_one_query(5).answered("q", 5.0).turned("09:00");
    assert_eq!(scaling.wake_at(), None);
}

#[test]
fn an_autoscaler_wakes_when_a_schedule_of_its_query_changes() {
    let mut scaling =
        Scaling::new(Autoscaler::for_deployment("shop", 0, 100).by(scheduled("shop")), 1);
    let schedule = Schedule::utc(2).daily(2, "08:00", "12:00").daily(7, "10:00", "17:00");
    let object = PolicyObject::new(schedule.checked());
    scaling
        .world
        .scheduled_capacity
        .policies
        .insert(names::metrics_producer("shop").identity, object);
    assert_eq!(scaling.turn(monday("09:00")), 2);
    assert_eq!(scaling.wake_at(), Some(monday("12:00")));
    assert_eq!(scaling.turn(monday("12:00")), 7);
    assert_eq!(scaling.wake_at(), Some(monday("17:00")));
    assert_eq!(scaling.turn(monday("17:00")), 7);
    assert_eq!(scaling.wake_at(), Some(monday("17:05")));
}

#[test]
fn a_choice_that_its_own_write_changes_is_decided_again_after_a_query_period() {
    let policy = Autoscaler::for_deployment("shop", 0, 100).by(external("a")).by(external("b"));
    let policy = policy.down(at_once(Select::Min));
    let mut scaling = Scaling::new(policy, 2).answered("a", 4.0).answered("b", 3.0);
    // Four is above two; but then three is below four, and the smallest of those counts.
    let expected = owned(&[("09:00:00", 4), ("09:00:10", 3), ("09:00:20", 4)]);
    assert_eq!(scaling.run(monday("09:00"), monday("09:00:30")), expected);
}

#[test]
fn a_multiplying_metric_is_decided_every_query_period_until_stable() {
    let policy =
        Autoscaler::for_deployment("shop", 0, 100).with(external("q"), TargetType::Value, 10_000);
    let mut scaling = Scaling::new(policy, 3).answered("q", 20.0);
    let expected = owned(&[
        ("09:00:00", 6),
        ("09:00:10", 12),
        ("09:00:20", 24),
        ("09:00:30", 48),
        ("09:00:40", 96),
        ("09:00:50", 100),
    ]);
    assert_eq!(scaling.run(monday("09:00"), monday("09:30")), expected);
    assert_eq!(scaling.wake_at(), None);
}
