//! Firings while no controller runs: restarts, failovers and long sleeps.

use crate::support::cron::{Scaling, hourly, rule};
use crate::support::{NANOSECOND, monday, seconds};

#[test]
fn a_restart_before_a_firing_changes_nothing() {
    let mut scaling = hourly();
    scaling.restart();
    scaling.turn(monday("09:02"));
    assert_eq!(scaling.wake_at, Some(monday("09:03")));
    assert!(scaling.turn(monday("09:03")));
}

#[test]
fn a_restart_after_the_write_and_before_it_was_recorded_writes_nothing_twice() {
    let mut scaling = hourly();
    let before = scaling.memory().cloned();
    assert!(scaling.turn(monday("09:03")));
    scaling.object().memory = before;
    assert!(!scaling.turn(monday("09:04")), "the target is so already");
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
}

#[test]
fn a_restart_after_a_firing_was_recorded_does_not_fire_again() {
    let mut scaling = hourly().turned("09:03");
    scaling.restart();
    scaling.set_replicas(1);
    assert!(!scaling.turn(monday("09:04")));
    assert_eq!(scaling.replicas(), Some(1));
}

#[test]
fn a_firing_exactly_as_late_as_allowed_is_applied() {
    let mut scaling = hourly();
    assert!(scaling.turn(monday("09:08")));
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
    assert_eq!(scaling.rule_memory("r").executions[0].executed(), monday("09:08"));
}

#[test]
fn a_firing_a_nanosecond_later_than_allowed_is_recorded_as_missed() {
    let mut scaling = hourly();
    assert!(!scaling.turn(monday("09:08") + NANOSECOND));
    assert_eq!(scaling.history("r"), ["09:03:00 missed by 300 s"]);
    assert_eq!(scaling.replicas(), Some(1));
}

#[test]
fn asleep_for_ten_firings_only_the_latest_runs_and_the_others_are_recorded_once() {
    let mut scaling =
        Scaling::of_workload(1, &[rule("r", "*/10 * * * *", 5).keeps(3, 32)]).turned("09:05");
    assert!(scaling.turn(monday("10:41")));
    let history = scaling.history("r");
    assert_eq!(history.len(), 10);
    assert_eq!(history[0], "10:40:00 done replicas 5");
    assert_eq!(history[1], "10:30:00 missed by 660 s");
    assert_eq!(history[9], "09:10:00 missed by 5460 s");
    assert!(!scaling.turn(monday("10:42")));
    assert_eq!(scaling.history("r"), history);
}

#[test]
fn no_more_missed_firings_are_recorded_than_the_history_holds() {
    let mut scaling =
        Scaling::of_workload(1, &[rule("r", "*/10 * * * *", 5).keeps(3, 2)]).turned("09:05");
    scaling.turn(monday("10:41"));
    assert_eq!(
        scaling.history("r"),
        ["10:40:00 done replicas 5", "10:30:00 missed by 660 s", "10:20:00 missed by 1260 s"]
    );
}

#[test]
fn when_even_the_latest_is_too_late_all_are_missed() {
    let mut scaling = Scaling::of_workload(1, &[rule("r", "*/10 * * * *", 5)]).turned("09:05");
    assert!(!scaling.turn(monday("09:36")));
    assert_eq!(
        scaling.history("r"),
        ["09:30:00 missed by 360 s", "09:20:00 missed by 960 s", "09:10:00 missed by 1560 s"]
    );
    assert_eq!(scaling.wake_at, Some(monday("09:40")));
}

#[test]
fn a_sleep_of_ten_years_is_over_in_one_turn() {
    let mut scaling = Scaling::of_workload(1, &[rule("r", "* * * * *", 5).delay(59).keeps(3, 32)])
        .turned("09:00");
    let later = monday("09:00") + seconds(10 * 366 * 86_400 + 30);
    assert!(scaling.turn(later));
    assert_eq!(scaling.history("r").len(), 33);
}

#[test]
fn skipped_firings_are_not_recorded_again_while_the_latest_is_tried() {
    for limit in [0, 2] {
        let mut scaling = Scaling::of_workload(1, &[rule("r", "*/10 * * * *", 5).keeps(3, limit)])
            .turned("09:05");
        scaling.failed_turn(monday("10:40"), &almanac_engine::Outcome::Conflict);
        let history = scaling.history("r");
        assert_eq!(history.len(), usize::from(limit));
        assert_eq!(scaling.rule_memory("r").handled, monday("10:30"));
        scaling.failed_turn(monday("10:40:05"), &almanac_engine::Outcome::Conflict);
        assert_eq!(scaling.history("r"), history);
    }
}
