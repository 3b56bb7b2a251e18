//! The reasons for the effect of a rule, rule by rule.

use almanac_engine::cron_scaling::{Cause, explain};
use almanac_engine::{Outcome, Verdict};

use crate::support::cron::{Scaling, bounds, hourly, rule, workload};
use crate::support::{monday, seconds};

fn cause(scaling: &Scaling, now: &str) -> Vec<(Option<u32>, Verdict, Cause)> {
    let reasons = explain(&scaling.input(), monday(now));
    reasons.iter().map(|it| (it.rule, it.verdict, it.cause)).collect()
}

#[test]
fn every_rule_is_explained_as_fired_superseded_not_due_or_suspended() {
    let rules = [
        rule("early", "3 * * * *", 5),
        rule("late", "4 * * * *", 7),
        rule("waits", "30 * * * *", 8),
        rule("suspended", "4 * * * *", 9).suspended(),
    ];
    let scaling = Scaling::of_workload(1, &rules).turned("09:00");
    let expected = [
        (Some(0), Verdict::Lost, Cause::Superseded { by: 1 }),
        (Some(1), Verdict::Won, Cause::Fired),
        (Some(2), Verdict::Inactive, Cause::NotDue),
        (Some(3), Verdict::Excluded, Cause::Suspended),
    ];
    assert_eq!(cause(&scaling, "09:04"), expected);
}

#[test]
fn a_rule_that_is_not_due_names_its_next_firing() {
    let scaling = hourly();
    assert_eq!(explain(&scaling.input(), monday("09:01"))[0].until, Some(monday("09:03")));
}

#[test]
fn a_missed_firing_a_missing_target_and_a_retry_are_reasons_too() {
    let mut scaling =
        Scaling::for_target(workload("shop"), &[rule("r", "3 * * * *", 5)]).turned("09:00");
    let missed = Cause::Missed { by: seconds(600) };
    assert_eq!(cause(&scaling, "09:13"), [(Some(0), Verdict::Error, missed)]);
    assert_eq!(cause(&scaling, "09:03"), [(Some(0), Verdict::Error, Cause::TargetMissing)]);
    scaling.turn(monday("09:03"));
    scaling.set_replicas(1);
    scaling.failed_turn(monday("09:03:01"), &Outcome::Conflict);
    let retrying = Cause::Retrying { attempts: 2 };
    assert_eq!(cause(&scaling, "09:03:02"), [(Some(0), Verdict::Error, retrying)]);
    let gave_up = (Some(0), Verdict::Error, Cause::GaveUp { attempts: 2 });
    assert_eq!(cause(&scaling, "09:09")[0], gave_up);
}

#[test]
fn reasons_read_as_lines_for_a_person() {
    let rules =
        [bounds("lower", "3 * * * *", Some(8), None), bounds("again", "3 * * * *", Some(9), None)];
    let scaling = Scaling::of_autoscaler(1, 5, &rules).turned("09:00");
    let lines = scaling.explained(monday("09:03")).join("\n");
    assert!(lines.contains("fired, but was superseded by again"), "{lines}");
    assert!(lines.contains("fired; moved the other bound too"), "{lines}");
    let lines = scaling.explained(monday("09:01")).join("\n");
    assert!(lines.contains("not due"), "{lines}");
}

#[test]
fn failed_attempts_are_counted_in_the_reason_until_the_rule_gives_up() {
    let mut scaling = hourly();
    let reads = |scaling: &Scaling, now: &str| {
        let lines = scaling.explained(monday(now));
        lines[0].split_once(": ").expect("the schedule comes first").1.to_owned()
    };
    scaling.failed_turn(monday("09:03"), &Outcome::Conflict);
    assert_eq!(reads(&scaling, "09:03"), "fired; 1 failed attempt; retrying");
    assert_eq!(reads(&scaling, "09:09"), "fired; gave up after 1 attempt");
    scaling.failed_turn(monday("09:03:01"), &Outcome::Conflict);
    assert_eq!(reads(&scaling, "09:03:02"), "fired; 2 failed attempts; retrying");
    assert_eq!(reads(&scaling, "09:09"), "fired; gave up after 2 attempts");
}

#[test]
fn the_delay_of_a_firing_is_rendered_in_whole_seconds() {
    let scaling = hourly();
    let late = monday("09:09:26") + jiff::SignedDuration::from_nanos(796_485_599);
    assert_eq!(scaling.explained(late), ["every hour, at minute 3 (UTC): missed by 6m 26s"]);
}
