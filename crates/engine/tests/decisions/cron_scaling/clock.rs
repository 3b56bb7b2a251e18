//! Clock changes: a clock that is set back or forward, and summer time.

use almanac_engine::Outcome;

use super::recorded::recorded;
use crate::support::cron::{Scaling, hourly, rule};
use crate::support::{instant, monday, seconds};

#[test]
fn a_clock_set_back_eight_seconds_never_fires_a_handled_instant_twice() {
    let mut scaling = hourly();
    assert!(scaling.turn(monday("09:03:02")));
    scaling.set_replicas(1);
    assert!(!scaling.turn(monday("09:02:54")));
    assert_eq!(scaling.wake_at, Some(monday("10:03")), "not at 09:03 again");
    assert!(!scaling.turn(monday("09:03")));
    assert_eq!(scaling.replicas(), Some(1));
    assert_eq!(scaling.history("r").len(), 1);
}

#[test]
fn a_clock_set_forward_an_hour_is_a_downtime_like_any_other() {
    let mut scaling = hourly();
    assert!(!scaling.turn(monday("10:02")), "the firing of 09:03 is too late by now");
    assert_eq!(scaling.history("r"), ["09:03:00 missed by 3540 s"]);
    assert!(scaling.turn(monday("10:03")));
}

#[test]
fn an_attempt_in_progress_when_the_clock_is_set_back_resumes_when_its_time_comes_again() {
    let mut scaling = hourly();
    scaling.failed_turn(monday("09:03"), &Outcome::Conflict);
    assert!(!scaling.turn(monday("09:02:50")));
    assert_eq!(scaling.wake_at, Some(monday("09:03")));
    assert!(!scaling.turn(monday("09:03")), "its pause is not over");
    assert!(scaling.turn(monday("09:03:01")));
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
}

/// A month later than the other clocks of this file.
fn a_month_ahead() -> jiff::Timestamp {
    monday("09:03:02") + seconds(720 * 3600)
}

#[test]
fn firings_handled_by_a_clock_a_month_ahead_are_discarded_and_the_rule_continues_from_now() {
    let mut scaling = hourly().turned("09:03");
    assert!(!scaling.turn(a_month_ahead()), "it is so already");
    let handled = a_month_ahead() - seconds(2);
    scaling.set_replicas(1);
    assert!(!scaling.turn(monday("09:03:08")), "09:03 is not applied again");
    assert_eq!(recorded(&scaling), [format!("r was ahead until {handled}")]);
    assert_eq!(scaling.wake_at, Some(monday("10:03")), "not a month later");
    assert_eq!(scaling.history("r")[0], "09:03:00 done replicas 5", "what was done stays");
    assert_eq!(scaling.rule_memory("r").executions[0].scheduled(), handled);
    assert!(scaling.turn(monday("10:03")));
    assert_eq!(recorded(&scaling), ["10:03 r done"], "it is recorded once");
}

#[test]
fn an_attempt_by_a_clock_a_month_ahead_is_discarded() {
    let mut scaling = hourly();
    scaling.failed_turn(a_month_ahead(), &Outcome::Conflict);
    assert!(!scaling.turn(monday("09:03:00") - seconds(1)));
    assert_eq!(scaling.rule_memory("r").pending, None);
    assert_eq!(scaling.wake_at, Some(monday("09:03")));
    assert!(scaling.turn(monday("09:03")));
}

#[test]
fn up_to_five_minutes_ahead_the_clock_was_set_back_and_beyond_that_it_was_wrong() {
    for (handled, is_forgotten) in [("09:08", false), ("09:08:01", true)] {
        let mut scaling = hourly();
        scaling.object().memory.as_mut().unwrap().rules[0].handled = monday(handled);
        scaling.turn(monday("09:03"));
        assert_eq!(!recorded(&scaling).is_empty(), is_forgotten, "{handled}");
    }
}

#[test]
fn a_rule_that_was_handled_by_a_clock_that_was_ahead_is_explained_so() {
    let mut scaling = hourly();
    scaling.turn(a_month_ahead());
    let expected = "every hour, at minute 3 (UTC): not due; firings up to 2026-04-01T09:03:00Z \
                    were handled by a clock that ran ahead";
    assert_eq!(scaling.explained(monday("09:03:08")), [expected]);
    scaling.turn(monday("09:03:08"));
    let explained = scaling.world.explain(&scaling.name(), monday("09:04"));
    assert_eq!(explained[0].message, expected, "also once it is forgotten");
}

#[test]
fn a_fixed_time_in_the_gap_fires_once_after_it() {
    let daily = rule("r", "30 2 * * *", 5).zone("America/New_York");
    let mut scaling = Scaling::of_workload(1, &[daily]);
    scaling.turn(instant("2026-03-08T00:00:00-05:00"));
    assert_eq!(scaling.wake_at, Some(instant("2026-03-08T03:00:00-04:00")));
    assert!(scaling.turn(instant("2026-03-08T03:00:00-04:00")));
    assert_eq!(scaling.wake_at, Some(instant("2026-03-09T02:30:00-04:00")));
}

#[test]
fn a_fixed_time_in_the_fold_fires_once() {
    let daily = rule("r", "30 1 * * *", 5).zone("America/New_York");
    let mut scaling = Scaling::of_workload(1, &[daily]);
    scaling.turn(instant("2026-11-01T00:00:00-04:00"));
    assert!(scaling.turn(instant("2026-11-01T01:30:00-04:00")));
    assert_eq!(scaling.wake_at, Some(instant("2026-11-02T01:30:00-05:00")));
}

#[test]
fn an_interval_in_the_fold_fires_whenever_the_clock_shows_it() {
    let quarters = rule("r", "*/15 1 * * *", 5).zone("America/New_York");
    let mut scaling = Scaling::of_workload(1, &[quarters]);
    scaling.turn(instant("2026-11-01T00:00:00-04:00"));
    let turns = scaling.run_until(instant("2026-11-01T12:00:00-05:00"));
    assert_eq!(turns.len(), 8);
}
