//! Failed attempts: the backoff between them, the deadline, and the one entry at the end.

use almanac_engine::cron_scaling::{FiringBacklog, firing_backlog};
use almanac_engine::{Outcome, World};

use crate::support::cron::{Scaling, bounds, hourly, rule, workload};
use crate::support::{NANOSECOND, monday, seconds};

/// Runs the requested turns until `to`, all of which fail; returns the seconds from the firing to each turn.
fn retry_until(scaling: &mut Scaling, outcome: &Outcome, firing: &str, to: &str) -> Vec<i64> {
    let mut attempts = Vec::new();
    while let Some(at) = scaling.wake_at.filter(|at| *at <= monday(to)) {
        if scaling.failed_turn(at, outcome) {
            attempts.push(at.duration_since(monday(firing)).as_secs());
        }
    }
    attempts
}

#[test]
fn the_backoff_doubles_up_to_a_minute_until_the_deadline() {
    let mut scaling = hourly();
    let attempts = retry_until(&mut scaling, &Outcome::Conflict, "09:03", "09:30");
    assert_eq!(attempts, [0, 1, 3, 7, 15, 31, 63, 123, 183, 243]);
    assert_eq!(
        scaling.history("r"),
        ["09:03:00 failed after 10: another client changed the target at the same time"]
    );
    assert_eq!(scaling.wake_at, Some(monday("10:03")));
}

#[test]
fn the_failure_is_recorded_just_past_the_last_instant_that_was_allowed() {
    let mut scaling = hourly();
    retry_until(&mut scaling, &Outcome::Conflict, "09:03", "09:08");
    assert_eq!(scaling.history("r"), [""; 0]);
    assert_eq!(scaling.wake_at, Some(monday("09:08") + NANOSECOND));
}

#[test]
fn the_failed_execution_has_the_last_message() {
    let mut scaling = hourly();
    scaling.failed_turn(monday("09:03"), &Outcome::Conflict);
    scaling.failed_turn(monday("09:03:01"), &Outcome::Refused("forbidden".into()));
    scaling.turn(monday("09:09"));
    assert_eq!(scaling.history("r"), ["09:03:00 failed after 2: forbidden"]);
}

#[test]
fn a_missing_target_is_retried() {
    let mut scaling =
        Scaling::for_target(workload("shop"), &[rule("r", "3 * * * *", 5)]).turned("09:00");
    assert!(!scaling.turn(monday("09:03")));
    assert_eq!(scaling.wake_at, Some(monday("09:03:01")));
    scaling.set_replicas(1);
    assert!(scaling.turn(monday("09:03:01")));
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
}

#[test]
fn a_target_that_never_appears_is_one_failed_execution() {
    let mut scaling =
        Scaling::for_target(workload("shop"), &[rule("r", "3 * * * *", 5)]).turned("09:00");
    scaling.run_until(monday("09:59"));
    let attempts = 10;
    assert_eq!(
        scaling.history("r"),
        [format!("09:03:00 failed after {attempts}: Deployment.apps default/shop not found")]
    );
}

#[test]
fn a_target_without_a_scale_subresource_is_refused_and_retried() {
    let mut scaling = hourly();
    let refused = Outcome::Refused("the server could not find the scale subresource".into());
    assert!(scaling.failed_turn(monday("09:03"), &refused));
    assert!(
        !scaling.turn(monday("09:03") + seconds(1) - NANOSECOND),
        "not before the pause is over"
    );
    assert!(scaling.turn(monday("09:03:01")));
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
}

#[test]
fn an_unknown_outcome_that_took_effect_is_found_to_be_done() {
    let mut scaling = hourly();
    scaling.turn_with(monday("09:03"), |world: &mut World, action| {
        world.apply(action);
        Outcome::Unknown("the answer was lost".into())
    });
    assert_eq!(scaling.history("r"), [""; 0]);
    assert!(!scaling.turn(monday("09:03:01")), "the target is so already");
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
}

#[test]
fn an_unknown_outcome_without_effect_is_retried() {
    let mut scaling = hourly();
    scaling.failed_turn(monday("09:03"), &Outcome::Unknown("the answer was lost".into()));
    assert!(scaling.turn(monday("09:03:01")));
    assert_eq!(scaling.replicas(), Some(5));
}

#[test]
fn an_outcome_of_unchanged_is_a_success() {
    let mut scaling = hourly();
    scaling.turn_with(monday("09:03"), |world: &mut World, action| {
        // Another field manager has written the same value.
        world.apply(action);
        Outcome::Unchanged
    });
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
}

#[test]
fn a_restart_resets_the_attempts_but_not_the_deadline() {
    let mut scaling = hourly();
    scaling.failed_turn(monday("09:03"), &Outcome::Conflict);
    scaling.restart();
    scaling.failed_turn(monday("09:07"), &Outcome::Conflict);
    scaling.turn(monday("09:08") + NANOSECOND);
    assert_eq!(
        scaling.history("r"),
        ["09:03:00 failed after 1: another client changed the target at the same time"]
    );
}

#[test]
fn a_later_rule_supersedes_one_that_is_still_being_tried() {
    let rules = [rule("early", "3 * * * *", 5), rule("late", "4 * * * *", 7)];
    let mut scaling = Scaling::of_workload(1, &rules).turned("09:00");
    scaling.failed_turn(monday("09:03"), &Outcome::Conflict);
    scaling.turn(monday("09:04"));
    assert_eq!(scaling.replicas(), Some(7));
    assert_eq!(scaling.history("early"), ["09:03:00 superseded by late"]);
}

#[test]
fn a_rule_is_superseded_by_itself_when_its_delay_reaches_its_next_firing() {
    // The API layer admits no such delay, but the decision still keeps its records in order.
    let mut scaling =
        Scaling::of_workload(1, &[rule("r", "* * * * *", 5).delay(300)]).turned("09:02:30");
    scaling.failed_turn(monday("09:03"), &Outcome::Conflict);
    assert!(scaling.turn(monday("09:04")));
    assert_eq!(scaling.history("r"), ["09:04:00 done replicas 5", "09:03:00 superseded by r"]);
}

#[test]
fn an_action_that_was_not_attempted_counts_as_failed() {
    let mut scaling = hourly();
    let open = scaling.open(monday("09:03"));
    assert_eq!(open.actions().len(), 1);
    let turn = open.close(&mut scaling.world, Vec::new(), monday("09:03"));
    assert_eq!((turn.done, turn.effects), (vec![], vec![]));
    assert!(scaling.turn(monday("09:03:01")));
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
}

#[test]
fn a_withdrawn_write_is_not_an_attempt_and_is_missed_past_its_deadline() {
    let mut scaling = hourly();
    let open = scaling.open(monday("09:03"));
    assert_eq!(open.deadline(), Some(monday("09:08")), "the delay is 300 seconds");
    scaling.failed_turn(monday("09:03"), &Outcome::Withdrawn);
    assert_eq!(scaling.rule_memory("r").pending.as_ref().map(|it| it.attempts), Some(0));
    assert!(!scaling.turn(monday("09:08:01")));
    assert_eq!(scaling.history("r"), ["09:03:00 missed by 301 s"]);
}

#[test]
fn a_write_of_several_firings_has_the_earliest_deadline() {
    let rules = [
        bounds("min", "3 * * * *", Some(2), None).delay(200),
        bounds("max", "4 * * * *", None, Some(9)).delay(60),
    ];
    let scaling = Scaling::of_autoscaler(1, 5, &rules).turned("09:00");
    assert_eq!(scaling.open(monday("09:04")).deadline(), Some(monday("09:05")));
    assert_eq!(scaling.open(monday("09:02")).deadline(), None, "there is nothing to carry out");
}

#[test]
fn an_unhandled_due_firing_is_overdue_and_a_failed_one_is_retried() {
    let rules = [rule("r", "3 * * * *", 5), rule("later", "30 * * * *", 7)];
    let mut scaling = Scaling::of_workload(1, &rules).turned("09:00");
    let seen = |scaling: &Scaling, at: &str| {
        let FiringBacklog { armed, next, oldest_overdue, retrying } =
            firing_backlog(scaling.world.view(), monday(at));
        assert_eq!(armed, 2);
        (next, oldest_overdue, retrying)
    };
    let (due, later) = (Some(monday("09:03")), Some(monday("09:30")));
    assert_eq!(seen(&scaling, "09:02"), (due, None, 0));
    assert_eq!(seen(&scaling, "09:04"), (later, due, 0), "the firing is overdue");
    scaling.failed_turn(monday("09:04"), &Outcome::Conflict);
    assert_eq!(seen(&scaling, "09:05"), (later, due, 1));
    scaling.turn(monday("09:05"));
    assert_eq!(seen(&scaling, "09:05"), (later, None, 0));
}
