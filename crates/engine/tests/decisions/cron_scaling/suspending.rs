//! Rules that are suspended and resumed.

use almanac_engine::Outcome;

use crate::support::cron::{Scaling, hourly, rule};
use crate::support::monday;

fn suspended_after_one_firing() -> Scaling {
    let mut scaling = hourly().turned("09:03");
    scaling.edit(&[rule("r", "3 * * * *", 5).suspended()]);
    scaling.turn(monday("09:30"));
    scaling
}

#[test]
fn suspending_keeps_the_history_and_clears_the_next_firing() {
    let scaling = suspended_after_one_firing();
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
    assert_eq!(scaling.next_of("r", monday("09:30")), None);
    assert_eq!(scaling.wake_at, None);
}

#[test]
fn a_policy_is_armed_unless_all_of_its_rules_are_suspended() {
    let [suspended, armed] = ["a", "b"].map(|name| rule(name, "3 * * * *", 5));
    let suspended = suspended.suspended();
    let mut scaling = Scaling::of_workload(1, &[suspended.clone(), armed]);
    assert!(scaling.world.is_armed(&scaling.name()));
    scaling.edit(&[suspended]);
    assert!(!scaling.world.is_armed(&scaling.name()));
}

#[test]
fn a_suspended_rule_neither_fires_nor_misses() {
    let mut scaling = suspended_after_one_firing();
    assert!(!scaling.turn(monday("12:30")));
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
}

#[test]
fn a_resumed_rule_does_not_fire_for_the_past() {
    let mut scaling = suspended_after_one_firing();
    scaling.edit(&[rule("r", "3 * * * *", 5)]);
    scaling.set_replicas(1);
    assert!(!scaling.turn(monday("10:04")), "10:03 was while it was suspended");
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
    assert_eq!(scaling.wake_at, Some(monday("11:03")));
}

#[test]
fn a_rule_suspended_during_retries_gives_up() {
    let mut scaling = hourly();
    scaling.failed_turn(monday("09:03"), &Outcome::Conflict);
    scaling.edit(&[rule("r", "3 * * * *", 5).suspended()]);
    assert!(!scaling.turn(monday("09:03:01")));
    let expected = ["09:03:00 failed after 1: gave up because the rule was changed"];
    assert_eq!(scaling.history("r"), expected);
}

#[test]
fn one_suspended_rule_leaves_the_others_armed() {
    let rules = [rule("a", "3 * * * *", 5).suspended(), rule("b", "10 * * * *", 7)];
    let mut scaling = Scaling::of_workload(1, &rules).turned("09:00");
    assert_eq!(scaling.run_until(monday("09:30")), [monday("09:10")]);
    assert_eq!(scaling.replicas(), Some(7));
}
