//! Rules that are renamed, removed, added, edited or reordered, and targets that are changed.

use almanac_engine::Outcome;

use crate::support::cron::{Scaling, hourly, rule, workload};
use crate::support::monday;

fn fired() -> Scaling {
    hourly().turned("09:03")
}

#[test]
fn an_edited_rule_does_not_fire_for_the_past_and_keeps_its_history() {
    let mut scaling = fired();
    scaling.edit(&[rule("r", "0 * * * *", 7)]);
    assert!(!scaling.turn(monday("10:01")), "10:00 was before the edit was seen");
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
    assert_eq!(scaling.wake_at, Some(monday("11:00")));
}

#[test]
fn an_edited_value_applies_from_the_next_firing() {
    let mut scaling = fired();
    scaling.edit(&[rule("r", "3 * * * *", 7)]);
    assert!(!scaling.turn(monday("09:04")));
    scaling.run_until(monday("10:03"));
    assert_eq!(scaling.replicas(), Some(7));
}

#[test]
fn an_edit_gives_up_a_pending_attempt_and_records_that() {
    let mut scaling = fired();
    scaling.failed_turn(monday("10:03"), &Outcome::Conflict);
    scaling.set_replicas(1);
    scaling.failed_turn(monday("10:03:01"), &Outcome::Conflict);
    scaling.failed_turn(monday("11:03"), &Outcome::Conflict);
    scaling.edit(&[rule("r", "3 * * * *", 7)]);
    assert!(!scaling.turn(monday("11:03:01")));
    let expected = "11:03:00 failed after 1: gave up because the rule was changed";
    assert_eq!(scaling.history("r")[0], expected);
}

#[test]
fn a_changed_delay_or_limit_is_not_an_edit_of_what_the_rule_does() {
    let mut scaling = fired();
    scaling.edit(&[rule("r", "3 * * * *", 5).delay(600).keeps(5, 5)]);
    scaling.set_replicas(1);
    assert!(scaling.turn(monday("10:13")));
}

#[test]
fn a_renamed_rule_is_a_new_one_without_history() {
    let mut scaling = fired();
    scaling.edit(&[rule("renamed", "3 * * * *", 5)]);
    assert!(!scaling.turn(monday("10:04")));
    assert_eq!(scaling.history("renamed"), [""; 0]);
    assert_eq!(scaling.memory().unwrap().rules.len(), 1);
}

#[test]
fn a_removed_rule_loses_its_history() {
    let mut scaling = fired();
    scaling.edit(&[]);
    assert!(!scaling.turn(monday("10:03")));
    assert_eq!(scaling.memory().unwrap().rules, []);
    scaling.edit(&[rule("r", "3 * * * *", 5)]);
    assert!(!scaling.turn(monday("10:04")), "it is a new rule now");
    assert_eq!(scaling.history("r"), [""; 0]);
}

#[test]
fn an_added_rule_does_not_disturb_the_others() {
    let mut scaling = fired();
    scaling.set_replicas(1);
    scaling.edit(&[rule("new", "4 * * * *", 9), rule("r", "3 * * * *", 5)]);
    assert!(scaling.turn(monday("10:04")), "r is late, and new begins only now");
    assert_eq!(scaling.replicas(), Some(5));
    assert_eq!(scaling.history("new"), [""; 0]);
    assert_eq!(scaling.history("r").len(), 2);
}

#[test]
fn reordered_rules_keep_their_state() {
    let rules = [rule("a", "3 * * * *", 5), rule("b", "10 * * * *", 7)];
    let mut scaling = Scaling::of_workload(1, &rules).turned("09:00");
    scaling.run_until(monday("09:30"));
    let [a, b] = rules;
    scaling.edit(&[b, a]);
    scaling.turn(monday("09:31"));
    let names: Vec<_> = scaling.memory().unwrap().rules.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["b", "a"]);
    assert_eq!(scaling.history("a"), ["09:03:00 done replicas 5"]);
    assert_eq!(scaling.history("b"), ["09:10:00 done replicas 7"]);
}

#[test]
fn a_changed_target_is_not_written_for_the_past_nor_when_it_is_changed_back() {
    let mut scaling = fired();
    let rules = [rule("r", "3 * * * *", 5)];
    scaling.retarget(workload("other"), &rules);
    scaling.set_replicas(1);
    assert!(!scaling.turn(monday("10:04")));
    scaling.retarget(workload("shop"), &rules);
    scaling.set_replicas(1);
    assert!(!scaling.turn(monday("10:05")));
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
    assert!(scaling.turn(monday("11:03")));
}

#[test]
fn an_edited_rule_starts_over_after_the_clock_was_set_back() {
    for back in ["09:02:52", "08:00"] {
        let mut scaling = fired();
        scaling.edit(&[rule("r", "3 * * * *", 7)]);
        assert!(!scaling.turn(monday(back)));
        assert_eq!(scaling.next_of("r", monday(back)), scaling.wake_at);
        scaling.run_until(monday("09:03"));
        assert_eq!(scaling.replicas(), Some(7), "since {back}");
    }
}
