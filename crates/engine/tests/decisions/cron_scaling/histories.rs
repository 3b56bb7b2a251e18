//! The entries of the histories, and their limits.

use almanac_engine::Outcome;

use crate::support::cron::{Scaling, hourly, rule};
use crate::support::monday;

#[test]
fn histories_are_newest_first_with_the_firings_own_instant_and_when_it_was_applied() {
    let mut scaling = Scaling::of_workload(1, &[rule("r", "*/10 * * * *", 5)]).turned("09:05");
    scaling.turn(monday("09:10:02"));
    scaling.turn(monday("09:20:01"));
    assert_eq!(scaling.history("r"), ["09:20:00 done replicas 5", "09:10:00 done replicas 5"]);
    let newest = &scaling.rule_memory("r").executions[0];
    assert_eq!((newest.scheduled(), newest.executed()), (monday("09:20"), monday("09:20:01")));
}

#[test]
fn each_kind_is_kept_up_to_its_own_limit() {
    let mut scaling =
        Scaling::of_workload(1, &[rule("r", "*/10 * * * *", 5).keeps(2, 1)]).turned("09:05");
    for missed in ["09:16", "09:36"] {
        scaling.turn(monday(missed));
        scaling.run_until(monday(missed) + crate::support::seconds(600));
    }
    let history = scaling.history("r");
    assert_eq!(history.iter().filter(|it| it.contains("done")).count(), 2);
    assert_eq!(history.iter().filter(|it| it.contains("missed")).count(), 1);
}

#[test]
fn a_lowered_limit_trims_immediately_and_has_no_other_effect() {
    let mut scaling = Scaling::of_workload(1, &[rule("r", "*/10 * * * *", 5)]).turned("09:05");
    scaling.run_until(monday("09:30"));
    assert_eq!(scaling.history("r").len(), 3);
    scaling.edit(&[rule("r", "*/10 * * * *", 5).keeps(1, 3)]);
    assert!(!scaling.turn(monday("09:31")));
    assert_eq!(scaling.history("r"), ["09:30:00 done replicas 5"]);
}

#[test]
fn with_no_failures_allowed_a_failure_is_handled_but_not_kept() {
    let mut scaling =
        Scaling::of_workload(1, &[rule("r", "3 * * * *", 5).keeps(3, 0)]).turned("09:00");
    scaling.failed_turn(monday("09:03"), &Outcome::Conflict);
    scaling.turn(monday("09:09"));
    assert_eq!(scaling.history("r"), [""; 0]);
    assert_eq!(scaling.rule_memory("r").handled, monday("09:03"));
    assert!(!scaling.turn(monday("09:10")));
}

#[test]
fn lowering_the_limit_of_failures_to_zero_removes_the_existing_ones() {
    let mut scaling = hourly().turned("09:30");
    assert_eq!(scaling.history("r").len(), 1);
    scaling.edit(&[rule("r", "3 * * * *", 5).keeps(3, 0)]);
    scaling.turn(monday("09:31"));
    assert_eq!(scaling.history("r"), [""; 0]);
}

#[test]
fn applied_values_are_those_that_were_written() {
    let rules = [
        crate::support::cron::bounds("both", "3 * * * *", Some(2), Some(9)),
        crate::support::cron::bounds("lower", "3 * * * *", Some(4), None),
    ];
    let scaling = Scaling::of_autoscaler(1, 10, &rules).turned("09:00").turned("09:03");
    assert_eq!(scaling.history("both"), ["09:03:00 done max 9"]);
    assert_eq!(scaling.history("lower"), ["09:03:00 done min 4"]);
}
