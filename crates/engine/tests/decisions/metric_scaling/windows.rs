//! What was recommended earlier counts as long as it is in the window.

use almanac_engine::metric_scaling::{Memory, ScalingRules, Select};

use crate::support::scaling::{Autoscaler, Scaling, external};
use crate::support::{NANOSECOND, monday};

fn window(seconds: u32) -> ScalingRules {
    ScalingRules { window_seconds: seconds, select: Select::Max, policies: Box::default() }
}

fn scaling(up: u32, down: u32, replicas: u32) -> Scaling {
    let policy = Autoscaler::of("shop", 0, 100).by(external("q"));
    let mut scaling = Scaling::new(policy.up(window(up)).down(window(down)), replicas);
    scaling.answer("q", replicas.into());
    scaling.turn(monday("08:00"));
    scaling
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
    assert_eq!(
        scaling.run(monday("09:02"), monday("10:00")),
        [("09:05:00".to_owned(), 5), ("09:07:00".to_owned(), 3),]
    );
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
fn a_new_autoscaler_has_no_history_and_scales_down_at_once() {
    let policy = Autoscaler::of("shop", 0, 100).by(external("q"));
    let mut scaling = Scaling::new(policy, 8);
    scaling.answer("q", 3.0);
    assert_eq!(scaling.turn(monday("09:00")), 3);
}

#[test]
fn where_the_history_is_lost_the_replicas_count_as_a_recommendation_for_one_window() {
    let policy = Autoscaler::of("shop", 0, 100).by(external("q"));
    let mut scaling = Scaling::new(policy, 8);
    scaling.remember(Some(Memory { is_lost: true, ..Memory::default() }));
    scaling.answer("q", 3.0);
    assert_eq!(scaling.turn(monday("09:00")), 8);
    assert_eq!(scaling.wake_at(), Some(monday("09:05")));
    assert_eq!(scaling.turn(monday("09:05")), 3);
}

#[test]
fn only_what_can_still_matter_is_remembered() {
    let mut scaling = scaling(0, 300, 8);
    for (time, answer) in [("09:00", 5.0), ("09:01", 4.0), ("09:02", 6.0), ("09:03", 3.0)] {
        scaling.answer("q", answer);
        scaling.turn(monday(time));
    }
    let recommended = |scaling: &Scaling| {
        let all = scaling.memory().unwrap().recommendations.iter();
        all.map(|it| it.replicas).collect::<Vec<_>>()
    };
    // Five and four were outdone by six; five still says until when eight held.
    assert_eq!(recommended(&scaling), [8, 5, 6, 3]);
    scaling.turn(monday("09:08"));
    assert_eq!(recommended(&scaling), [3]);
}
