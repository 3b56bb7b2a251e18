//! Explanations of a value: the verdict on every rule, and the next change.

use almanac_engine::metric_scaling::Select;
use almanac_engine::{Field, PolicyObject, RuleExplanation, Value, Verdict};
use almanac_fixtures::autoscalers::{Autoscaler, at_once, scheduled};
use almanac_fixtures::names::horizontal_autoscaler;
use almanac_forecast::{Explainer, Explanation, explain};
use jiff::SignedDuration;

use crate::builders::*;

/// Every rule as `name verdict since until`.
fn reason_lines(explanation: &Explanation) -> Vec<String> {
    let time = |at: Option<jiff::Timestamp>| at.map_or("-".to_owned(), |at| at.to_string());
    let line = |it: &RuleExplanation| {
        let rule = it.rule.as_deref().unwrap_or("default");
        format!("{rule} {:?} {} {}", it.verdict, time(it.since), time(it.until))
    };
    explanation.reasons.iter().map(line).collect()
}

fn value(explanation: &Explanation, field: Field) -> Option<u32> {
    let found = explanation.values.iter().find(|(it, _)| *it == field);
    found.and_then(|(_, holder)| holder.value.as_ref()?.number())
}

#[test]
fn the_rule_that_fired_last_wins_and_the_others_are_not_due() {
    let rules = vec![
        rule("open", "0 8 * * *", 10),
        rule("close", "0 20 * * *", 3),
        suspended(rule("off", "0 0 * * *", 0)),
    ];
    let world = Building::default().scaling("s", to_workload("shop"), rules).world();
    let explanation = explain(&world, &cron_policy("s"), at("2026-03-02T12:00:00Z")).unwrap();
    assert_eq!(value(&explanation, Field::Replicas), Some(10));
    let expected = [
        "open Won 2026-03-02T08:00:00Z 2026-03-02T20:00:00Z",
        "close Inactive - 2026-03-02T20:00:00Z",
        "off Excluded - -",
    ];
    assert_eq!(reason_lines(&explanation), expected);
    let next = explanation.next.unwrap();
    assert_eq!(
        (next.at, next.values),
        (at("2026-03-02T20:00:00Z"), vec![(Field::Replicas, Some(Value::Number(3)))])
    );
}

#[test]
fn an_instant_at_which_a_rule_fires_is_explained_by_that_firing() {
    let rules = vec![rule("open", "0 8 * * *", 10), rule("close", "0 20 * * *", 3)];
    let world = Building::default().scaling("s", to_workload("shop"), rules).world();
    let explanation = explain(&world, &cron_policy("s"), at("2026-03-02T20:00:00Z")).unwrap();
    assert_eq!(value(&explanation, Field::Replicas), Some(3));
    assert_eq!(explanation.reasons[1].verdict, Verdict::Won);
}

#[test]
fn two_rules_that_each_set_one_bound_both_win() {
    let rules = vec![
        bounds("floor", "0 6 * * *", Some(4), None),
        bounds("ceiling", "0 7 * * *", None, Some(8)),
    ];
    let world = Building::default().autoscaler("shop", 1, 10);
    let world = world.scaling("s", to_autoscaler("shop"), rules).world();
    let explanation = explain(&world, &cron_policy("s"), at("2026-03-02T12:00:00Z")).unwrap();
    let expected = ["floor Won 2026-03-02T06:00:00Z -", "ceiling Won 2026-03-02T07:00:00Z -"];
    assert_eq!(reason_lines(&explanation), expected);
    assert_eq!(explanation.next, None);
}

#[test]
fn a_rule_whose_value_another_policy_replaced_loses() {
    let world = Building::default()
        .scaling("day", to_workload("shop"), vec![rule("up", "0 8 * * *", 10)])
        .scaling("night", to_workload("shop"), vec![rule("down", "0 20 * * *", 2)])
        .world();
    let explanation = explain(&world, &cron_policy("day"), at("2026-03-02T21:00:00Z")).unwrap();
    assert_eq!(value(&explanation, Field::Replicas), Some(2));
    assert_eq!(explanation.reasons[0].verdict, Verdict::Lost);
    assert!(explanation.reasons[0].message.contains("CronFederatedHPA"), "{explanation:?}");
}

#[test]
fn a_schedule_is_explained_with_winners_losers_and_closed_behaviors() {
    let behaviors = vec![daily("9", "17", 5, 0), daily("8", "12", 9, 1), daily("20", "22", 2, 0)];
    let world = Building::default().schedule("nodes", 1, behaviors).world();
    let explanation = explain(&world, &schedule("nodes"), at("2026-03-02T10:00:00Z")).unwrap();
    assert_eq!(value(&explanation, Field::Value), Some(9));
    let expected = [
        "behaviors[0] Lost 2026-03-02T09:00:00Z 2026-03-02T17:00:00Z",
        "behaviors[1] Won 2026-03-02T08:00:00Z 2026-03-02T12:00:00Z",
        "behaviors[2] Inactive 2026-03-01T22:00:00Z 2026-03-02T20:00:00Z",
    ];
    assert_eq!(reason_lines(&explanation), expected);
    assert_eq!(explanation.next.unwrap().at, at("2026-03-02T12:00:00Z"));
}

#[test]
fn a_value_is_dated_by_a_run_from_a_week_before_the_day() {
    let behaviors = vec![
        behavior("UTC", "days=1; hours=0", "days=28; hours=0", 5, 0),
        behavior("UTC", "days=2; hours=9", "days=2; hours=10", 9, 1),
    ];
    let building = Building::default().workload("shop", 2).schedule("nodes", 1, behaviors);
    let mut world = building.world();
    let follows = Autoscaler::for_deployment("shop", 1, 10).by(scheduled("nodes"));
    let follows = PolicyObject::new(follows.down(at_once(Select::Max)).checked());
    let autoscaler = horizontal_autoscaler("shop");
    world.metric_scaling.policies.insert(autoscaler.identity.clone(), follows);
    let since = |text: &str| {
        let explanation = explain(&world, &autoscaler, at(text)).unwrap();
        assert_eq!(value(&explanation, Field::Replicas), Some(5));
        explanation.values[0].1.since
    };
    let closed = Some(at("2026-03-02T10:00:00Z"));
    assert_eq!(since("2026-03-09T00:00:00Z"), closed);
    assert_eq!(since("2026-03-09T23:59:59Z"), closed);
    assert_eq!(since("2026-03-10T00:00:00Z"), None);
}

#[test]
fn an_explanation_does_not_depend_on_earlier_explanations() {
    let world = Building::default()
        .schedule("nodes", 1, vec![daily("9", "17", 5, 0), daily("20", "22", 2, 0)])
        .schedule("pods", 3, vec![daily("6", "18", 4, 0)])
        .world();
    let mut explainer = Explainer::new(&world);
    for hour in [30, 12, 200, 13, 0, 47] {
        let then = at("2026-03-02T00:00:00Z") + SignedDuration::from_hours(hour);
        for policy in [schedule("nodes"), schedule("pods")] {
            assert_eq!(explainer.explain(&policy, then), explain(&world, &policy, then));
        }
    }
}

#[test]
fn a_missing_policy_has_no_explanation() {
    let world = Building::default().world();
    assert_eq!(explain(&world, &schedule("nodes"), at("2026-03-02T10:00:00Z")), None);
}
