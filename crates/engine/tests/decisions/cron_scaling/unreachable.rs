//! Targets that may exist but cannot be read.

use almanac_engine::cron_scaling::{Cause, explain};
use almanac_engine::{Reach, Unreachable, Verdict};

use crate::support::cron::{Scaling, hourly};
use crate::support::{NANOSECOND, monday};

fn out_of_sight() -> Scaling {
    let mut scaling = hourly();
    scaling.lose_sight("the API server does not answer");
    scaling
}

#[test]
fn an_unreachable_target_is_not_written_and_the_firing_is_retried() {
    let mut scaling = out_of_sight();
    assert!(!scaling.turn(monday("09:03")));
    assert_eq!(scaling.wake_at, Some(monday("09:03:01")));
    let pending = scaling.rule_memory("r").pending.as_ref().unwrap();
    assert_eq!(pending.message.as_deref(), Some("the API server does not answer"));
    assert_eq!((pending.at, pending.attempts), (monday("09:03"), 1));
    scaling.find_again();
    assert!(scaling.turn(monday("09:03:01")));
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
}

#[test]
fn the_failed_execution_names_why_the_target_was_unreachable() {
    let mut scaling = out_of_sight();
    scaling.run_until(monday("09:03"));
    let target = scaling.target().identity().clone();
    let why = Unreachable::Forbidden("deployments.apps is forbidden".into());
    scaling.reach = Reach::without(target, why);
    scaling.run_until(monday("09:30"));
    assert_eq!(scaling.history("r"), ["09:03:00 failed after 10: deployments.apps is forbidden"]);
}

#[test]
fn the_last_known_state_of_an_unreachable_target_does_not_count() {
    let mut scaling = out_of_sight();
    // The target has the value already, as far as was known.
    scaling.set_replicas(5);
    assert!(!scaling.turn(monday("09:03")));
    assert_eq!(scaling.history("r"), [""; 0]);
}

#[test]
fn another_unreachable_object_changes_nothing() {
    let mut scaling = out_of_sight();
    let other = crate::support::cron::workload("other").identity().clone();
    scaling.reach = Reach::without(other, Unreachable::Unknown("no response".into()));
    assert!(scaling.turn(monday("09:03")));
}

#[test]
fn unreachable_is_distinguished_from_missing() {
    let scaling = out_of_sight();
    let reasons = explain(&scaling.input(), monday("09:03"));
    let cause: Vec<_> = reasons.iter().map(|it| (it.verdict, it.cause)).collect();
    assert_eq!(cause, [(Verdict::Error, Cause::TargetUnreachable)]);
    let lines = scaling.explained(monday("09:03"));
    assert!(lines[0].ends_with(": fired, but the target could not be read"), "{lines:?}");
}

#[test]
fn a_late_firing_of_an_unreachable_target_is_missed() {
    let mut scaling = out_of_sight();
    assert!(!scaling.turn(monday("09:08") + NANOSECOND));
    assert_eq!(scaling.history("r"), ["09:03:00 missed by 300 s"]);
}
