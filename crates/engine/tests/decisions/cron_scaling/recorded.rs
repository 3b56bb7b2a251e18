//! The records of a turn: each event once, in order, and the fields that were set.

use almanac_engine::cron_scaling::{Cause, FiringOutcome, Recorded};
use almanac_engine::{self as engine, Action, EffectReason, Field, Occurrence, Outcome, Value};

use crate::support::cron::{Scaling, bounds, hourly, rule};
use crate::support::{NANOSECOND, monday};

/// The records of the last turn, a line each.
pub(super) fn recorded(scaling: &Scaling) -> Vec<String> {
    let recorded = scaling.last.iter().flat_map(|turn| &turn.recorded);
    let line = |it: &engine::Recorded| {
        let engine::Recorded::CronScaling(it) = it else { panic!("not of cron rules: {it:?}") };
        match it {
            Recorded::Ended { rule, execution } => {
                let at = execution.scheduled().strftime("%H:%M");
                let how = match &execution.ending {
                    FiringOutcome::Done(_) => "done".to_owned(),
                    FiringOutcome::Failed { attempts, .. } => format!("failed after {attempts}"),
                    FiringOutcome::Missed => panic!("missed firings are recorded together"),
                    FiringOutcome::Superseded { by } => format!("superseded by {by}"),
                    FiringOutcome::Stopped => "stopped".to_owned(),
                };
                format!("{at} {rule} {how}")
            }
            Recorded::AttemptFailed { rule, scheduled, attempts, message } => {
                format!("{} {rule} attempt {attempts}: {message}", scheduled.strftime("%H:%M"))
            }
            Recorded::Missed { rule, count: 1, last, .. } => {
                format!("{} {rule} missed", last.strftime("%H:%M"))
            }
            Recorded::Missed { rule, count, first, last, .. } => {
                let (first, last) = (first.strftime("%H:%M"), last.strftime("%H:%M"));
                format!("{first} to {last} {rule} missed {count}")
            }
            Recorded::Undone { .. } => panic!("a turn does not look for that"),
            Recorded::ClockWasAhead { rule, until } => format!("{rule} was ahead until {until}"),
        }
    };
    recorded.map(line).collect()
}

/// The effects of the last turn, a line each.
fn effects(scaling: &Scaling) -> Vec<String> {
    let effects = scaling.last.iter().flat_map(|turn| &turn.effects);
    let line = |effect: &engine::turn::Effect| {
        let EffectReason::CronScaling(reason) = effect.reason else {
            panic!("not of cron rules: {effect:?}")
        };
        let rule = &scaling.policy().rules[reason.rule.unwrap() as usize].name;
        format!("{rule} {} {}: {:?}", effect.field, effect.value, reason.cause)
    };
    effects.map(line).collect()
}

#[test]
fn a_firing_that_is_done_is_recorded_with_the_field_it_has_set() {
    let mut scaling = hourly();
    assert_eq!((recorded(&scaling), effects(&scaling)), (vec![], vec![]));
    scaling.turn(monday("09:03"));
    assert_eq!(recorded(&scaling), ["09:03 r done"]);
    assert_eq!(effects(&scaling), ["r replicas 5: Fired"]);
    scaling.turn(monday("09:03"));
    assert_eq!((recorded(&scaling), effects(&scaling)), (vec![], vec![]));
}

#[test]
fn a_field_that_already_had_its_value_still_counts_as_set() {
    let mut scaling = Scaling::of_workload(5, &[rule("r", "3 * * * *", 5)]).turned("09:00");
    scaling.turn(monday("09:03"));
    assert_eq!(scaling.written, []);
    assert_eq!(effects(&scaling), ["r replicas 5: AlreadySet"]);
}

#[test]
fn each_failed_attempt_is_recorded_and_none_of_them_sets_anything() {
    let mut scaling = hourly();
    scaling.failed_turn(monday("09:03"), &Outcome::Refused("forbidden".into()));
    assert_eq!(recorded(&scaling), ["09:03 r attempt 1: forbidden"]);
    assert_eq!(effects(&scaling), [""; 0]);
    scaling.turn(monday("09:03:01") - NANOSECOND);
    assert_eq!(recorded(&scaling), [""; 0], "its pause is not over");
    scaling.failed_turn(monday("09:03:01"), &Outcome::Conflict);
    let expected = ["09:03 r attempt 2: another client changed the target at the same time"];
    assert_eq!(recorded(&scaling), expected);
    scaling.turn(monday("09:08") + NANOSECOND);
    assert_eq!(recorded(&scaling), ["09:03 r failed after 2"]);
}

#[test]
fn a_rule_that_gives_up_one_firing_and_applies_the_next_sets_its_field_once() {
    let mut scaling = Scaling::of_workload(1, &[rule("r", "*/10 * * * *", 5)]).turned("09:05");
    scaling.failed_turn(monday("09:10"), &Outcome::Conflict);
    scaling.turn(monday("09:20"));
    assert_eq!(recorded(&scaling), ["09:10 r failed after 1", "09:20 r done"]);
    assert_eq!(effects(&scaling), ["r replicas 5: Fired"]);
}

#[test]
fn a_superseded_firing_is_recorded_and_sets_nothing() {
    let rules =
        [bounds("high", "1 * * * *", Some(7), None), bounds("low", "2 * * * *", Some(2), None)];
    let scaling = Scaling::of_autoscaler(1, 5, &rules).turned("09:00").turned("09:02");
    assert_eq!(recorded(&scaling), ["09:01 high superseded by low", "09:02 low done"]);
    assert_eq!(effects(&scaling), ["low minReplicas 2: Fired"]);
    let target = scaling.target().identity().clone();
    assert_eq!(scaling.written, [Action::SetBounds { target, min: Some(2), max: None }]);
}

#[test]
fn a_moved_bound_is_attributed_to_the_rule_that_moved_it() {
    let mut scaling =
        Scaling::of_autoscaler(1, 5, &[bounds("r", "3 * * * *", Some(8), None)]).turned("09:00");
    scaling.turn(monday("09:03"));
    let moved = format!("{:?}", Cause::MovedOtherBound);
    let expected = [format!("r minReplicas 8: {moved}"), format!("r maxReplicas 8: {moved}")];
    assert_eq!(effects(&scaling), expected);
    let values: Vec<_> = scaling.last.iter().flat_map(|it| &it.effects).collect();
    assert_eq!((values[1].field, &values[1].value), (Field::MaxReplicas, &Value::Number(8)));
}

#[test]
fn executions_beyond_the_history_limit_are_still_recorded() {
    let mut scaling =
        Scaling::of_workload(1, &[rule("r", "3 * * * *", 5).keeps(3, 0)]).turned("09:00");
    scaling.turn(monday("09:30"));
    assert_eq!(scaling.history("r"), [""; 0]);
    assert_eq!(recorded(&scaling), ["09:03 r missed"]);
}

#[test]
fn skipped_firings_are_recorded_together_with_their_count() {
    for keeps in [0, 3, 32] {
        let often = rule("r", "3 * * * *", 5).keeps(3, keeps);
        let mut scaling = Scaling::of_workload(1, std::slice::from_ref(&often)).turned("00:00");
        scaling.turn(monday("19:03"));
        let expected_records = ["00:03 to 18:03 r missed 19", "19:03 r done"];
        assert_eq!(recorded(&scaling), expected_records, "with room for {keeps}");
        let scaling = Scaling::of_workload(1, &[often]).turned("00:00").turned("18:30");
        assert_eq!(recorded(&scaling), ["00:03 to 18:03 r missed 19"], "the latest among them");
        assert_eq!(scaling.history("r").len(), usize::from(keeps.min(19)));
    }
}

#[test]
fn records_are_in_order_of_time_and_then_of_the_spec() {
    let rules = [
        rule("b", "2 * * * *", 5),
        rule("c", "2 * * * *", 6),
        rule("a", "1 * * * *", 7),
        rule("late", "0 * * * *", 8).delay(0),
    ];
    let scaling = Scaling::of_workload(1, &rules).turned("09:30").turned("10:03");
    assert_eq!(
        recorded(&scaling),
        ["10:00 late missed", "10:01 a superseded by c", "10:02 b superseded by c", "10:02 c done"]
    );
}

#[test]
fn every_record_except_an_attempt_has_an_occurrence() {
    let mut scaling = hourly();
    let what = |scaling: &Scaling| -> Vec<Option<Occurrence>> {
        let recorded = scaling.last.iter().flat_map(|turn| &turn.recorded);
        let (world, name) = (&scaling.world, &scaling.identity);
        recorded.map(|it| it.occurrence(world, name).map(|(what, _)| what)).collect()
    };
    scaling.failed_turn(monday("09:03"), &Outcome::Conflict);
    assert_eq!(what(&scaling), [None]);
    scaling.turn(monday("09:03:01"));
    assert_eq!(what(&scaling), [Some(Occurrence::Fires)]);
    scaling.turn(monday("10:30"));
    assert_eq!(what(&scaling), [Some(Occurrence::Missed)]);
}
