//! Another field manager on the same target: it is reported once, and its changes are reverted at growing intervals.

use almanac_engine::metric_scaling::{Recorded, ScalingRules, Select};
use almanac_engine::{Outcome, Workload};
use jiff::SignedDuration;

use crate::support::monday;
use crate::support::scaling::{Autoscaler, Scaling, by_one_query, external};

#[test]
fn a_replaced_value_is_set_again_once_a_query_period() {
    let mut scaling = by_one_query(5).answered("q", 8.0);
    assert_eq!(scaling.turn(monday("09:00")), 8);
    scaling.set(5);
    assert_eq!(scaling.turn(monday("09:00:01")), 5);
    let undone = Recorded::Undone { at: monday("09:00"), set: 8, found: 5 };
    assert_eq!(scaling.recorded(), [undone]);
    assert_eq!(scaling.wake_at(), Some(monday("09:00:10")));
    assert_eq!(scaling.turn(monday("09:00:10")), 8);
    // The contention continues, and is not reported again.
    scaling.set(5);
    assert_eq!(scaling.turn(monday("09:00:20")), 8);
    assert!(matches!(scaling.recorded()[..], [Recorded::Scaled { from: Some(5), to: 8, .. }]));
}

#[test]
fn a_value_of_another_recommendation_does_not_wait() {
    let mut scaling = by_one_query(5).answered("q", 8.0).turned("09:00");
    scaling.set(5);
    scaling.answer("q", 9.0);
    assert_eq!(scaling.turn(monday("09:00:01")), 9);
}

#[test]
fn a_replaced_value_is_recorded_even_if_the_desired_value_has_changed() {
    let down = ScalingRules { select: Select::Disabled, ..ScalingRules::default_down() };
    let policy = Autoscaler::for_deployment("shop", 0, 100).by(external("q")).down(down);
    let mut scaling = Scaling::new(policy, 5).answered("q", 8.0).turned("09:00");
    scaling.set(9);
    assert_eq!(scaling.turn(monday("09:00:30")), 9, "more than is wanted stays");
    let undone = Recorded::Undone { at: monday("09:00"), set: 8, found: 9 };
    assert_eq!(scaling.recorded(), [undone]);
    assert_eq!(scaling.wake_at(), Some(monday("09:02:30")), "to say that it is over");
    scaling.turn(monday("09:02:30"));
    assert_eq!((scaling.memory().unwrap().contest.clone(), scaling.recorded()), (None, vec![]));
}

#[test]
fn a_new_target_of_the_same_name_is_not_interference() {
    let mut scaling = by_one_query(5).answered("q", 8.0).turned("09:00");
    let target = scaling.target.clone();
    scaling.world.remove(&target);
    scaling.turn_that_ends(monday("09:00:10"), &Outcome::Withdrawn);
    scaling.world.objects.workloads.insert(target, Workload { replicas: Some(2), current: None });
    assert_eq!(scaling.turn(monday("09:00:20")), 8);
    assert!(matches!(scaling.recorded()[..], [Recorded::Scaled { from: Some(2), to: 8, .. }]));
}

#[test]
fn a_contention_is_recorded_again_after_two_quiet_minutes() {
    let mut scaling = by_one_query(5).answered("q", 8.0).turned("09:00");
    scaling.set(5);
    scaling.turn(monday("09:01"));
    assert!(scaling.memory().unwrap().contest.is_some());
    scaling.turn(monday("09:03"));
    assert!(scaling.memory().unwrap().contest.is_none());
    scaling.set(5);
    scaling.turn(monday("09:04"));
    assert!(scaling.recorded().iter().any(|it| matches!(it, Recorded::Undone { .. })));
}

/// Resets the replicas every three seconds, with a turn after each reset and at each wake; returns the instants of all
/// writes.
fn fight(
    scaling: &mut Scaling,
    from: &str,
    lasting: SignedDuration,
    mut answer: impl FnMut(i64) -> f64,
) -> Vec<i64> {
    let begun = monday(from);
    let (mut now, mut written) = (begun, Vec::new());
    while now.duration_since(begun) < lasting {
        scaling.answer("q", answer(now.duration_since(begun).as_secs()));
        scaling.turn(now);
        if scaling.recorded().iter().any(|it| matches!(it, Recorded::Scaled { .. })) {
            written.push(now.duration_since(begun).as_secs());
        }
        scaling.set(5);
        now += SignedDuration::from_secs(3);
    }
    written
}

#[test]
fn replicas_that_a_tool_resets_for_hours_are_set_a_few_times_an_hour() {
    let mut scaling = by_one_query(5);
    let written = fight(&mut scaling, "09:00", SignedDuration::from_hours(4), |_| 8.0);
    let within = |hour: i64| written.iter().filter(|it| **it / 3600 == hour).count();
    assert!(within(0) <= 10, "{written:?}");
    assert!((1..4).all(|hour| within(hour) <= 3), "{written:?}");
    assert!(within(3) >= 2, "it is not given up: {written:?}");
}

/// Resets the replicas right after each write, with turns only at the wakes.
#[test]
fn a_contention_is_recorded_once_despite_long_backoffs() {
    let mut scaling = by_one_query(5).answered("q", 8.0);
    let (mut now, mut undone_count, mut written) = (monday("09:00"), 0, 0);
    while now < monday("13:00") {
        scaling.turn(now);
        let recorded = scaling.recorded();
        undone_count += recorded.iter().filter(|it| matches!(it, Recorded::Undone { .. })).count();
        if recorded.iter().any(|it| matches!(it, Recorded::Scaled { .. })) {
            written += 1;
            scaling.set(5);
            now += SignedDuration::from_secs(1);
        } else {
            now = scaling.wake_at().expect("a wake of the policy");
        }
    }
    assert!((12..25).contains(&written), "{written}");
    assert_eq!(undone_count, 1);
}

#[test]
fn a_changed_recommendation_does_not_shorten_the_backoff() {
    let mut scaling = by_one_query(5);
    let up_and_up = |seconds: i64| f64::from(u32::try_from(seconds / 300).unwrap_or(0) + 8);
    let written = fight(&mut scaling, "09:00", SignedDuration::from_hours(2), up_and_up);
    assert!(written.len() <= 13, "{written:?}");
}

#[test]
fn replicas_reset_every_few_minutes_are_set_a_few_times_an_hour() {
    let mut scaling = by_one_query(5).answered("q", 8.0);
    let mut written = Vec::new();
    for second in (0..4 * 3600).step_by(5) {
        if second % 180 == 0 {
            scaling.set(5);
        }
        scaling.turn(monday("09:00") + SignedDuration::from_secs(second));
        if scaling.recorded().iter().any(|it| matches!(it, Recorded::Scaled { .. })) {
            written.push(second);
        }
    }
    let last = written.iter().filter(|it| **it >= 3 * 3600).count();
    assert!((2..=4).contains(&last), "{written:?}");
}

#[test]
fn after_an_hour_without_contention_a_value_is_set_again_immediately() {
    let mut scaling = by_one_query(5);
    fight(&mut scaling, "09:00", SignedDuration::from_hours(1), |_| 8.0);
    assert_eq!(scaling.turn(monday("10:30")), 8);
    scaling.set(5);
    assert_eq!(scaling.turn(monday("12:00")), 8);
    scaling.set(5);
    assert_eq!(scaling.turn(monday("12:00:10")), 8);
}
