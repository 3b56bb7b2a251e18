//! Forecasts use known state: a cluster as observed, a status, a creation time.

use std::sync::Arc;

use almanac_engine::cron_scaling::{
    Applied, CronRule, Execution, FiringOutcome, Memory, RuleMemory,
};
use almanac_engine::{Field, Occurrence, Verdict};
use almanac_forecast::{AssumedValues, Assumption, Forecast, Upcoming, explain};

use crate::builders::*;

/// The status entry of a rule whose last firing was applied and set this number of replicas.
fn handled(rule: &CronRule, scheduled: &str, replicas: u32) -> RuleMemory {
    let done = FiringOutcome::Done(Applied::Replicas(replicas));
    let execution = Execution::new(at(scheduled), at(scheduled), done);
    RuleMemory::beginning(rule, at(scheduled)).with_executions([execution])
}

fn open_and_close() -> Vec<CronRule> {
    vec![rule("open", "0 8 * * *", 10), rule("close", "0 20 * * *", 3)]
}

/// A shop of rules with this status.
fn known_shop(replicas: u32, rules: Vec<CronRule>, of_rules: Vec<RuleMemory>) -> Building {
    Building::default()
        .workload("shop", replicas)
        .scaling("s", to_workload("shop"), rules)
        .with_status("s", None, Some(Memory { rules: of_rules }))
}

/// The shop last opened at this instant, and closed on the evening of the fourth.
fn opened_and_closed(rules: &[CronRule], opened: &str) -> Vec<RuleMemory> {
    vec![handled(&rules[0], opened, 10), handled(&rules[1], "2026-03-04T20:00:00Z", 3)]
}

/// A shop that was observed at noon, after the rule of the morning.
fn seen_at_noon(replicas: u32) -> Building {
    let rules = open_and_close();
    let memory = Memory { rules: opened_and_closed(&rules, "2026-03-05T08:00:00Z") };
    Building::default()
        .workload("shop", replicas)
        .scaling("s", to_workload("shop"), rules)
        .with_status("s", Some("2026-01-01T00:00:00Z"), Some(memory))
        .seen_at("2026-03-05T12:00:00Z")
}

#[test]
fn a_forecast_of_a_cluster_starts_with_the_live_value_and_its_writer() {
    let world = seen_at_noon(10).world();
    let from_now = period("2026-03-05T12:00:00Z", "2026-03-06T12:00:00Z");
    let series = series(&world, from_now, Field::Replicas);
    assert_eq!(
        segment_lines(&series),
        ["05 12:00 10 s/open", "05 20:00 3 s/close", "06 08:00 10 s/open"]
    );
    assert_eq!(Forecast::new(&world, from_now, AssumedValues::new()).assumptions(), []);
}

#[test]
fn a_value_changed_by_hand_is_kept_and_reported() {
    let world = seen_at_noon(7).world();
    let from_now = period("2026-03-05T12:00:00Z", "2026-03-06T00:00:00Z");
    let series = series(&world, from_now, Field::Replicas);
    assert_eq!(segment_lines(&series), ["05 12:00 7 nobody", "05 20:00 3 s/close"]);
    let reason = &series.segments[0].origin.reason;
    assert!(reason.contains("s open set it to 10 at 2026-03-05T08:00:00Z"), "{reason}");
}

#[test]
fn a_firing_that_a_cluster_missed_stays_missed_and_the_value_stays() {
    let rules = open_and_close();
    let memory = opened_and_closed(&rules, "2026-03-04T08:00:00Z");
    let world = known_shop(3, rules, memory).seen_at("2026-03-05T12:00:00Z").world();
    let from_now = period("2026-03-05T12:00:00Z", "2026-03-06T00:00:00Z");
    assert_eq!(segment_lines(&series(&world, from_now, Field::Replicas)), ["05 12:00 3 s/close"]);
    let events: Vec<_> = Upcoming::new(world.clone(), from_now, &AssumedValues::new()).collect();
    assert_eq!((events[0].what, events[0].rule.as_deref()), (Occurrence::Missed, Some("open")));
    let explanation = explain(&world, &cron_policy("s"), at("2026-03-05T12:00:00Z")).unwrap();
    assert_eq!(explanation.reasons[0].verdict, Verdict::Error);
    assert!(explanation.reasons[0].message.contains("missed by 4h"), "{explanation:?}");
}

#[test]
fn a_missed_firing_within_its_deadline_is_applied_immediately() {
    let mut rules = open_and_close();
    rules[0].max_delay_seconds = 300;
    let memory = opened_and_closed(&rules, "2026-03-04T08:00:00Z");
    let world = known_shop(3, rules, memory).seen_at("2026-03-05T08:04:00Z").world();
    let from_now = period("2026-03-05T08:04:00Z", "2026-03-06T00:00:00Z");
    let series = series(&world, from_now, Field::Replicas);
    assert_eq!(segment_lines(&series), ["05 08:04 10 s/open", "05 20:00 3 s/close"]);
}

#[test]
fn a_start_in_the_future_is_reached_by_running_up_to_it() {
    let world = seen_at_noon(7).world();
    let before_eight = period("2026-03-05T19:00:00Z", "2026-03-05T21:00:00Z");
    let series_before = series(&world, before_eight, Field::Replicas);
    assert_eq!(segment_lines(&series_before), ["05 19:00 7 nobody", "05 20:00 3 s/close"]);
    let a_week_later = period("2026-03-12T19:00:00Z", "2026-03-12T21:00:00Z");
    let series_later = series(&world, a_week_later, Field::Replicas);
    assert_eq!(segment_lines(&series_later), ["12 19:00 10 s/open", "12 20:00 3 s/close"]);
}

#[test]
fn a_start_in_the_past_is_replayed_and_reported() {
    let world = seen_at_noon(7).world();
    let behind = period("2026-03-04T12:00:00Z", "2026-03-04T21:00:00Z");
    let series = series(&world, behind, Field::Replicas);
    assert_eq!(segment_lines(&series), ["04 12:00 10 s/open", "04 20:00 3 s/close"]);
    let assumptions = Forecast::new(&world, behind, AssumedValues::new()).assumptions();
    assert!(assumptions.contains(&Assumption::Replayed { from: behind.from() }), "{assumptions:?}");
}

#[test]
fn an_object_without_a_status_starts_at_its_creation() {
    let world = Building::default()
        .workload("shop", 7)
        .scaling("s", to_workload("shop"), open_and_close())
        .with_status("s", Some("2026-03-05T12:00:00Z"), None)
        .world();
    let later = period("2026-03-05T19:00:00Z", "2026-03-05T21:00:00Z");
    let series = series(&world, later, Field::Replicas);
    assert_eq!(segment_lines(&series), ["05 19:00 7 nobody", "05 20:00 3 s/close"]);
}

#[test]
fn a_run_continues_from_a_status_in_a_file() {
    let rules = open_and_close();
    let opened = handled(&rules[0], "2026-03-05T08:00:00Z", 10);
    let world = known_shop(12, rules, vec![opened]).world();
    // A user has set twelve since then; that value stays until the next firing.
    let later = period("2026-03-05T19:00:00Z", "2026-03-05T21:00:00Z");
    let series = series(&world, later, Field::Replicas);
    assert_eq!(segment_lines(&series), ["05 19:00 12 nobody", "05 20:00 3 s/close"]);
}

#[test]
fn a_rule_missing_from_a_status_never_fires_for_the_past() {
    let rules = open_and_close();
    let opened = handled(&rules[0], "2026-03-05T08:00:00Z", 10);
    let world = known_shop(10, rules, vec![opened]).seen_at("2026-03-05T20:00:20Z").world();
    let from_now = period("2026-03-05T20:00:20Z", "2026-03-06T07:00:00Z");
    assert_eq!(segment_lines(&series(&world, from_now, Field::Replicas)), ["05 20:00 10 s/open"]);
}

#[test]
fn two_consecutive_periods_agree_with_one_long_period() {
    // No rule names the upper bound; the rule that moved it must not depend on the start.
    let rules = || {
        vec![
            bounds("eight", "0 8 * * *", Some(20), None),
            bounds("nine", "0 9 * * *", Some(20), None),
            bounds("night", "0 22 * * *", Some(2), None),
        ]
    };
    let world = Building::default().autoscaler("shop", 1, 10);
    let world = world.scaling("s", to_autoscaler("shop"), rules()).world();
    for field in [Field::MinReplicas, Field::MaxReplicas] {
        let whole = series(&world, period("2026-03-05T00:00:00Z", "2026-03-07T00:00:00Z"), field);
        for border in ["2026-03-05T08:30:00Z", "2026-03-05T09:00:00Z", "2026-03-06T08:00:00Z"] {
            let late = series(&world, period(border, "2026-03-07T00:00:00Z"), field);
            let same = whole.at(at(border)).unwrap();
            assert_eq!(late.segments[0].value, same.value, "{field} from {border}");
            assert_eq!(late.segments[0].origin, same.origin, "{field} from {border}");
        }
    }
}

#[test]
fn an_assumed_bound_moves_the_other_bound() {
    let world = Building::default().autoscaler("shop", 1, 10);
    let rules = vec![suspended(bounds("off", "0 8 * * *", Some(2), None))];
    let world = world.scaling("s", to_autoscaler("shop"), rules).world();
    let day = period("2026-03-05T00:00:00Z", "2026-03-06T00:00:00Z");
    let assumed = AssumedValues::from([((autoscaler("shop"), Field::MinReplicas), 50)]);
    let forecast = Forecast::new(&world, day, assumed);
    let part = forecast.part(0);
    let values: Vec<_> = part.series.iter().map(|it| segment_lines(it)[0].clone()).collect();
    assert_eq!(values, ["05 00:00 50 nobody", "05 00:00 50 nobody"]);
    let (target, field) = (autoscaler("shop"), Field::MaxReplicas);
    assert!(part.assumptions.contains(&Assumption::MadeWay { target, field, value: 50 }));
}

#[test]
fn a_winner_is_shown_since_it_began_to_win_not_since_its_opening() {
    let behaviors = vec![daily("8", "18", 5, 0), daily("7", "12", 9, 1)];
    let world = Building::default().schedule("nodes", 1, behaviors).world();
    let explanation = explain(&world, &schedule("nodes"), at("2026-03-02T15:00:00Z")).unwrap();
    let winner = explanation.reasons.iter().find(|it| it.verdict == Verdict::Won).unwrap();
    assert_eq!(winner.rule, Some(Arc::from("behaviors[0]")));
    assert_eq!(winner.since, Some(at("2026-03-02T12:00:00Z")));
}

#[test]
fn the_message_of_a_failed_firing_is_repeated() {
    let rules = vec![
        rule("late", "0 8 * * *", 10),
        rule("lost", "0 8 * * *", 5),
        rule("win", "0 8 * * *", 3),
    ];
    let verdict_in_words = |rule: &CronRule, message: &str| {
        let failed = FiringOutcome::Failed { attempts: 0, message: message.into() };
        let execution =
            Execution::new(at("2026-03-05T08:00:00Z"), at("2026-03-05T08:06:00Z"), failed);
        RuleMemory::beginning(rule, at("2026-03-05T08:00:00Z")).with_executions([execution])
    };
    let memory = vec![
        verdict_in_words(&rules[0], "missed by 6m"),
        verdict_in_words(&rules[1], "superseded by rule \"win\""),
        handled(&rules[2], "2026-03-05T08:00:00Z", 3),
    ];
    let world = known_shop(3, rules, memory).world();
    let explanation = explain(&world, &cron_policy("s"), at("2026-03-05T12:00:00Z")).unwrap();
    let reasons: Vec<_> =
        explanation.reasons.iter().map(|it| (it.verdict, it.message.as_str())).collect();
    assert_eq!(reasons[0].0, Verdict::Error);
    assert!(reasons[0].1.ends_with("fired, missed by 6m"), "{reasons:?}");
    assert_eq!(reasons[1].0, Verdict::Lost);
    assert!(reasons[1].1.ends_with("fired, superseded by rule \"win\""), "{reasons:?}");
    assert_eq!(reasons[2].0, Verdict::Won);
}

#[test]
fn an_edited_rule_is_not_explained_by_its_earlier_firings() {
    let before = rule("up", "0 8 * * *", 10);
    let memory = vec![handled(&before, "2026-03-05T08:00:00Z", 10)];
    let world = known_shop(10, vec![rule("up", "0 10 * * *", 10)], memory).world();
    let explanation = explain(&world, &cron_policy("s"), at("2026-03-05T09:00:00Z")).unwrap();
    assert_eq!(explanation.reasons[0].verdict, Verdict::Inactive);
}

#[test]
fn the_creation_of_one_policy_does_not_affect_another() {
    let old = vec![rule("up", "0 9 1 * *", 5)];
    let world = Building::default()
        .workload("shop", 7)
        .scaling("a", to_workload("shop"), old)
        .with_status("a", Some("2026-01-01T00:00:00Z"), None)
        .scaling("b", to_workload("shop"), vec![rule("december", "0 9 25 12 *", 5)])
        .with_status("b", Some("2026-03-01T00:00:00Z"), None)
        .world();
    let explanation = explain(&world, &cron_policy("a"), at("2026-03-01T06:00:00Z")).unwrap();
    assert_eq!(explanation.reasons[0].verdict, Verdict::Won);
    assert_eq!(explanation.reasons[0].since, Some(at("2026-02-01T09:00:00Z")));
    let first = period("2026-03-01T00:00:00Z", "2026-03-01T09:00:00Z");
    assert_eq!(Upcoming::new(world, first, &AssumedValues::new()).count(), 0);
}
