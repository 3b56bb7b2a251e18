//! The recommendation of a metric, the decisive one of several, and the effect of the bounds on it; without any
//! window.

use almanac_engine::metric_scaling::{Select, TargetType};

use crate::support::monday;
use crate::support::scaling::{Autoscaler, Scaling, at_once, external};

/// The recommendation of a metric with a target in thousandths at this number of replicas.
fn metric(target_type: TargetType, thousandths: u32, answer: f64, replicas: u32) -> u32 {
    let policy = Autoscaler::for_deployment("shop", 0, 1_000)
        .with(external("q"), target_type, thousandths)
        .down(at_once(Select::Max));
    let mut scaling = Scaling::new(policy, replicas).answered("q", answer);
    scaling.turn(monday("09:00"))
}

/// The result of recommendations at five replicas, with rules for up and down and with bounds.
fn of_five(recommended: &[f64], up: Select, down: Select, (min, max): (u32, u32)) -> u32 {
    let policy = Autoscaler::for_deployment("shop", min, max).up(at_once(up)).down(at_once(down));
    let queries = ["a", "b"].into_iter().zip(recommended);
    let policy = queries.clone().fold(policy, |policy, (query, _)| policy.by(external(query)));
    let mut scaling = Scaling::new(policy, 5);
    queries.for_each(|(query, answer)| scaling.answer(query, *answer));
    scaling.turn(monday("09:00"))
}

const WIDE: (u32, u32) = (0, 1_000);

#[test]
fn a_value_target_compares_the_sample_and_multiplies_the_replicas() {
    assert_eq!(metric(TargetType::Value, 3_000, 50.0, 8), 134);
    assert_eq!(metric(TargetType::Value, 3_000, 50.0, 0), 1);
}

#[test]
fn an_average_value_target_compares_the_sample_alone() {
    assert_eq!(metric(TargetType::AverageValue, 50_000, 304.0, 3), 7);
    assert_eq!(metric(TargetType::AverageValue, 4_000, 41.0, 1), 11);
    assert_eq!(metric(TargetType::AverageValue, 4_000, 0.0, 1), 0);
}

#[test]
fn a_utilization_is_a_fraction_of_one_compared_with_a_percentage() {
    assert_eq!(metric(TargetType::Utilization, 50_000, 0.6, 2), 3);
    assert_eq!(metric(TargetType::Utilization, 50_000, 0.6, 0), 1);
    assert_eq!(metric(TargetType::Utilization, 60_000, 0.85, 5), 8);
}

#[test]
fn the_current_replicas_count_and_not_the_set_ones() {
    let policy =
        Autoscaler::for_deployment("shop", 0, 1_000).with(external("q"), TargetType::Value, 3_000);
    let mut scaling = Scaling::new(policy, 5);
    scaling.there_are(8);
    scaling.answer("q", 50.0);
    assert_eq!(scaling.turn(monday("09:00")), 134);
}

#[test]
fn the_direction_is_up_if_any_recommendation_is_above_the_set_value() {
    assert_eq!(of_five(&[8.0, 3.0], Select::Max, Select::Max, WIDE), 8);
    assert_eq!(of_five(&[3.0, 4.0], Select::Max, Select::Max, WIDE), 4);
    assert_eq!(of_five(&[3.0, 4.0], Select::Max, Select::Min, WIDE), 3);
    assert_eq!(of_five(&[8.0, 7.0], Select::Min, Select::Max, WIDE), 7);
}

#[test]
fn nothing_is_scaled_in_a_direction_that_is_disabled() {
    assert_eq!(of_five(&[8.0, 3.0], Select::Disabled, Select::Max, WIDE), 5);
    assert_eq!(of_five(&[3.0, 4.0], Select::Max, Select::Disabled, WIDE), 5);
    // The direction is up, and the smallest of all recommendations lies below.
    assert_eq!(of_five(&[8.0, 3.0], Select::Min, Select::Disabled, WIDE), 5);
}

#[test]
fn without_metrics_only_the_bounds_count() {
    assert_eq!(of_five(&[], Select::Max, Select::Max, WIDE), 5);
    assert_eq!(of_five(&[], Select::Max, Select::Max, (7, 9)), 7);
}

#[test]
fn the_bounds_come_last() {
    assert_eq!(of_five(&[40.0], Select::Max, Select::Max, (0, 23)), 23);
    assert_eq!(of_five(&[8.0], Select::Disabled, Select::Max, (7, 9)), 7);
    assert_eq!(of_five(&[9.0], Select::Max, Select::Disabled, (1, 4)), 4);
}

/// The recommendation for a sample at five replicas of ten each.
fn within(tolerance: f64, answer: f64) -> u32 {
    let policy =
        Autoscaler::for_deployment("shop", 0, 100).with(external("q"), TargetType::Value, 10_000);
    let mut scaling = Scaling::new(policy, 5).answered("q", answer);
    scaling.world.metric_scaling.extra.settings.tolerance = tolerance;
    scaling.turn(monday("09:00"))
}

#[test]
fn a_tenth_above_is_within_a_tenth_as_a_tenth_below_is() {
    assert_eq!([9.0, 11.0, 11.1].map(|answer| within(0.1, answer)), [5, 5, 6]);
}

#[test]
fn a_sample_within_the_tolerance_changes_nothing() {
    assert_eq!(within(0.0, 10.5), 6);
    assert_eq!(within(0.04, 10.5), 6);
    assert_eq!(within(0.06, 10.5), 5);
}
