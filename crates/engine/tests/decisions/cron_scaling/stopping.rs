//! Firings that fall due while everything is stopped.

use almanac_engine::Outcome;

use crate::support::cron::{Scaling, hourly, rule};
use crate::support::monday;

#[test]
fn a_firing_due_while_stopped_is_recorded_and_not_applied() {
    let mut scaling = hourly();
    scaling.skip_stopped(monday("09:03"), monday("09:03"));
    let expected = (Some(1), vec!["09:03:00 stopped".to_owned()]);
    assert_eq!((scaling.replicas(), scaling.history("r")), expected);
    assert_eq!(scaling.wake_at, Some(monday("10:03")));
}

#[test]
fn a_firing_due_while_stopped_is_skipped_and_the_next_one_applied() {
    let mut scaling = hourly();
    scaling.skip_stopped(monday("09:03"), monday("09:03"));
    assert!(!scaling.turn(monday("09:04")));
    assert!(scaling.turn(monday("10:03")));
    assert_eq!(scaling.history("r"), ["10:03:00 done replicas 5", "09:03:00 stopped"]);
}

#[test]
fn a_pending_firing_is_given_up_even_if_no_turn_happened_during_the_stop() {
    let mut scaling = hourly();
    scaling.failed_turn(monday("09:03"), &Outcome::Conflict);
    scaling.skip_stopped(monday("09:03:20"), monday("09:03:40"));
    assert!(!scaling.turn(monday("09:03:40")));
    assert_eq!(scaling.history("r"), ["09:03:00 stopped"]);
}

#[test]
fn a_firing_due_after_resuming_is_applied() {
    let mut scaling = hourly();
    scaling.skip_stopped(monday("09:02"), monday("09:03"));
    assert!(scaling.turn(monday("09:03")));
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
}

#[test]
fn a_firing_that_was_already_too_late_is_missed() {
    let mut scaling = hourly();
    scaling.skip_stopped(monday("09:30"), monday("09:30"));
    assert_eq!(scaling.history("r"), ["09:03:00 missed by 1620 s"]);
}

#[test]
fn a_suspended_rule_is_not_stopped() {
    let mut scaling = Scaling::of_workload(1, &[rule("r", "3 * * * *", 5).suspended()]);
    scaling.skip_stopped(monday("09:03"), monday("09:03"));
    assert_eq!(scaling.history("r"), [""; 0]);
}
