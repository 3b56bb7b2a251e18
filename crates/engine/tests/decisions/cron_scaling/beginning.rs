//! The instant from which a rule fires: a new object, a new rule, a lost status; and ordinary firings.

use almanac_engine::cron_scaling::Memory;

use crate::support::cron::{Scaling, hourly, rule};
use crate::support::monday;

/// The rule of [`hourly`] in an object that was created at this time on Monday, and has had no turn.
fn created(at: &str) -> Scaling {
    Scaling::of_workload(1, &[rule("r", "3 * * * *", 5)]).created(monday(at))
}

#[test]
fn a_rule_at_minute_3_applied_at_9_04_fires_at_10_03_and_then_at_11_03() {
    let mut scaling = created("09:04");
    assert!(!scaling.turn(monday("09:04")));
    assert_eq!(scaling.next_of("r", monday("09:04")), Some(monday("10:03")));
    assert_eq!(scaling.wake_at, Some(monday("10:03")));
    assert!(scaling.turn(monday("10:03")));
    assert_eq!(scaling.replicas(), Some(5));
    assert_eq!(scaling.next_of("r", monday("10:03")), Some(monday("11:03")));
    assert_eq!(scaling.history("r"), ["10:03:00 done replicas 5"]);
}

#[test]
fn a_rule_at_minute_3_applied_at_9_01_fires_at_9_03_and_then_at_10_03() {
    let mut scaling = created("09:01").turned("09:01");
    assert_eq!(scaling.run_until(monday("10:02")), [monday("09:03")]);
    assert_eq!(scaling.wake_at, Some(monday("10:03")));
}

#[test]
fn a_new_object_starts_at_its_creation_even_if_it_is_seen_later() {
    let mut scaling = created("09:01");
    assert!(scaling.turn(monday("09:04")), "created before the firing, and seen within its delay");
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
}

#[test]
fn a_new_object_that_is_seen_too_late_records_what_it_missed() {
    let mut scaling = created("09:01");
    assert!(!scaling.turn(monday("09:30")));
    assert_eq!(scaling.history("r"), ["09:03:00 missed by 1620 s"]);
}

#[test]
fn an_object_from_a_file_starts_at_its_first_turn() {
    let mut scaling = Scaling::of_workload(1, &[rule("r", "3 * * * *", 5)]);
    assert!(!scaling.turn(monday("09:04")));
    assert_eq!(scaling.rule_memory("r").handled, monday("09:04"));
}

#[test]
fn an_object_created_after_now_starts_now() {
    let scaling = created("12:00").turned("09:00");
    assert_eq!(scaling.wake_at, Some(monday("09:03")));
}

#[test]
fn an_object_whose_status_could_not_be_read_does_not_fire_for_the_past() {
    let mut scaling = created("08:00");
    scaling.object().memory = Some(Memory::default());
    assert!(!scaling.turn(monday("09:04")));
    assert_eq!(scaling.history("r"), [""; 0]);
    assert_eq!(scaling.wake_at, Some(monday("10:03")));
}

#[test]
fn a_firing_exactly_at_the_start_is_past() {
    let mut scaling = created("09:03");
    assert!(!scaling.turn(monday("09:03")));
    assert_eq!(scaling.wake_at, Some(monday("10:03")));
}

#[test]
fn a_restart_without_changes_leaves_the_state_unchanged() {
    let mut scaling = hourly().turned("09:03");
    let before = scaling.memory().cloned();
    scaling.restart();
    scaling.turn(monday("09:30"));
    assert_eq!(scaling.memory().cloned(), before);
}

#[test]
fn an_equal_value_is_a_success_that_writes_nothing() {
    let mut scaling = Scaling::of_workload(5, &[rule("r", "3 * * * *", 5)]).turned("09:00");
    assert!(!scaling.turn(monday("09:03")));
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
}

#[test]
fn a_workload_is_scaled_to_zero_and_from_zero() {
    let rules = [rule("down", "0 20 * * *", 0), rule("up", "0 8 * * *", 4)];
    let mut scaling = Scaling::of_workload(4, &rules).turned("12:00");
    assert!(scaling.turn(monday("20:00")));
    assert_eq!(scaling.replicas(), Some(0));
    assert!(scaling.turn(monday("20:00") + crate::support::seconds(12 * 3600)));
    assert_eq!(scaling.replicas(), Some(4));
}

#[test]
fn a_workload_without_replicas_is_written() {
    let mut scaling = Scaling::of_workload(5, &[rule("r", "3 * * * *", 5)]);
    let target = scaling.target().identity().clone();
    scaling.world.objects.workloads.insert(target, almanac_engine::Workload::default());
    scaling.turn(monday("09:00"));
    assert!(scaling.turn(monday("09:03")));
}

#[test]
fn an_object_without_rules_has_no_desired_values() {
    let mut scaling = Scaling::of_workload(5, &[]);
    assert!(!scaling.turn(monday("09:00")));
    assert_eq!(scaling.wake_at, None);
}
