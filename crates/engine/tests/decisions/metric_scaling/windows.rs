//! Earlier recommendations are considered as long as they are in the window.

use std::sync::Arc;

use almanac_engine::metric_scaling::{
    FiniteNumber, Memory, Sample, ScalingRules, Select, TargetType,
};
use jiff::Timestamp;

use crate::support::scaling::{Autoscaler, Scaling, at_once, by_one_query, count_in, external};
use crate::support::{NANOSECOND, monday, owned};

fn window(seconds: u32) -> ScalingRules {
    ScalingRules { window_seconds: seconds, select: Select::Max, policies: Box::default() }
}

fn scaling(up: u32, down: u32, replicas: u32) -> Scaling {
    let policy = Autoscaler::for_deployment("shop", 0, 100)
        .by(external("q"))
        .up(window(up))
        .down(window(down));
    Scaling::new(policy, replicas).answered("q", replicas.into()).turned("08:00")
}

#[test]
fn a_drop_comes_exactly_a_window_after_the_recommendation_fell() {
    let mut scaling = scaling(0, 300, 8);
    scaling.answer("q", 3.0);
    assert_eq!(scaling.turn(monday("09:00")), 8);
    assert_eq!(scaling.wake_at(), Some(monday("09:05")));
    assert_eq!(scaling.turn(monday("09:05") - NANOSECOND), 8);
    assert_eq!(scaling.turn(monday("09:05")), 3);
}

#[test]
fn the_best_recommendation_of_the_window_holds() {
    let mut scaling = scaling(0, 300, 8);
    scaling.answer("q", 5.0);
    assert_eq!(scaling.turn(monday("09:00")), 8);
    scaling.answer("q", 3.0);
    assert_eq!(scaling.turn(monday("09:02")), 8);
    let expected = owned(&[("09:05:00", 5), ("09:07:00", 3)]);
    assert_eq!(scaling.run(monday("09:02"), monday("10:00")), expected);
}

#[test]
fn a_rise_that_does_not_last_as_long_as_the_window_is_never_followed() {
    let mut scaling = scaling(60, 300, 3);
    scaling.answer("q", 8.0);
    assert_eq!(scaling.turn(monday("09:00")), 3);
    assert_eq!(scaling.wake_at(), Some(monday("09:01")));
    scaling.answer("q", 4.0);
    assert_eq!(scaling.turn(monday("09:00:30")), 3);
    // The smallest recommendation since a minute ago is followed.
    assert_eq!(scaling.turn(monday("09:01")), 4);
}

#[test]
fn a_new_autoscaler_has_no_history_and_scales_down_immediately() {
    let mut scaling = by_one_query(8).answered("q", 3.0);
    assert_eq!(scaling.turn(monday("09:00")), 3);
}

#[test]
fn where_the_history_is_lost_the_replicas_count_as_a_recommendation_for_one_window() {
    let mut scaling = by_one_query(8);
    scaling.set_memory(Some(Memory { is_lost: true, ..Memory::default() }));
    scaling.answer("q", 3.0);
    assert_eq!(scaling.turn(monday("09:00")), 8);
    assert_eq!(scaling.wake_at(), Some(monday("09:05")));
    assert_eq!(scaling.turn(monday("09:05")), 3);
}

#[test]
fn only_relevant_recommendations_are_kept() {
    let mut scaling = scaling(0, 300, 8);
    for (time, answer) in [("09:00", 5.0), ("09:01", 4.0), ("09:02", 6.0), ("09:03", 3.0)] {
        scaling.answer("q", answer);
        scaling.turn(monday(time));
    }
    let recommended = |scaling: &Scaling| {
        let all = scaling.memory().unwrap().recommendations.iter();
        all.map(|it| it.replicas).collect::<Vec<_>>()
    };
    // Six replaced five and four as the maximum; five still marks the end of eight.
    assert_eq!(recommended(&scaling), [8, 5, 6, 3]);
    scaling.turn(monday("09:08"));
    assert_eq!(recommended(&scaling), [3]);
}

#[test]
fn a_change_missing_from_the_status_counts_as_a_change_now() {
    let policy = Autoscaler::for_deployment("shop", 0, 100)
        .by(external("q"))
        .up(ScalingRules { policies: [count_in(4, 60)].into(), ..ScalingRules::default_up() });
    let mut scaling = Scaling::new(policy, 3).answered("q", 3.0).turned("09:00");
    let mut written = scaling.memory().unwrap().clone();
    assert_eq!(written.last_scale, None, "it has never scaled");
    written.written_with = Some(3);
    scaling.answer("q", 20.0);
    assert_eq!(scaling.turn(monday("09:00:10")), 7);
    // The process is killed before it can write the status.
    scaling.set_memory(Some(written));
    assert_eq!(scaling.turn(monday("09:00:12")), 7, "no faster than its policy allows");
    scaling.answer("q", 3.0);
    assert_eq!(scaling.turn(monday("09:00:20")), 7, "and not down before the window is over");
    assert_eq!(scaling.run(monday("09:00:20"), monday("09:10")).last().unwrap().1, 3);
}

#[test]
fn the_state_of_another_target_is_dropped() {
    let mut scaling = scaling(0, 300, 8);
    scaling.answer("q", 8.0);
    scaling.turn(monday("09:00"));
    let mut other = scaling.memory().unwrap().clone();
    other.target = Some(Arc::from("Deployment.apps default/other"));
    scaling.set_memory(Some(other));
    scaling.answer("q", 3.0);
    assert_eq!(scaling.turn(monday("09:01")), 3, "a new autoscaler has no history");
}

#[test]
fn a_number_that_multiplies_the_replicas_counts_once() {
    let policy =
        Autoscaler::for_deployment("shop", 0, 200).with(external("q"), TargetType::Value, 1_000);
    let mut scaling = Scaling::new(policy.down(at_once(Select::Max)), 5);
    let answer = |scaling: &mut Scaling, number: f64, at: Timestamp| {
        let value = Ok(FiniteNumber::new(number).unwrap());
        let sample = Sample::requested(Arc::from("q"), at, value);
        scaling.world.metric_scaling.extra.hold(&scaling.name.identity.clone(), sample);
    };
    answer(&mut scaling, 2.0, monday("09:00"));
    assert_eq!(scaling.turn(monday("09:00:00.1")), 10);
    scaling.there_are(10);
    assert_eq!(scaling.turn(monday("09:00:01")), 10, "that is what it has led to");
    answer(&mut scaling, 1.0, monday("09:00:10"));
    assert_eq!(scaling.turn(monday("09:00:10.1")), 10);
    answer(&mut scaling, 2.0, monday("09:00:20"));
    assert_eq!(scaling.turn(monday("09:00:20.1")), 20, "another number starts again");
}
