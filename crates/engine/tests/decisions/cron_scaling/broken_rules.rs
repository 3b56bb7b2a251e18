//! Rules that cannot be used as written.

use crate::support::cron::{Scaling, rule};
use crate::support::monday;

fn three() -> [crate::support::cron::Rule; 3] {
    [rule("a", "3 * * * *", 5), rule("bad", "10 * * * *", 6), rule("c", "20 * * * *", 7)]
}

#[test]
fn an_invalid_rule_between_valid_ones_blocks_none_of_them() {
    let [a, _, c] = three();
    let mut scaling = Scaling::of_workload(1, &[]);
    scaling.edit_with_unusable(&[a, c], &["bad"]);
    scaling.turn(monday("09:00"));
    assert_eq!(scaling.run_until(monday("09:59")), [monday("09:03"), monday("09:20")]);
    assert_eq!(scaling.replicas(), Some(7));
}

#[test]
fn a_rule_that_becomes_unusable_keeps_its_history_and_gets_it_back() {
    let mut scaling = Scaling::of_workload(1, &three()).turned("09:00");
    scaling.run_until(monday("09:30"));
    let [a, bad, c] = three();
    scaling.edit_with_unusable(&[a.clone(), c.clone()], &["bad"]);
    scaling.turn(monday("09:31"));
    assert_eq!(scaling.history("bad"), ["09:10:00 done replicas 6"]);
    scaling.edit(&[a, bad, c]);
    scaling.turn(monday("09:40"));
    assert_eq!(scaling.history("bad"), ["09:10:00 done replicas 6"]);
}

#[test]
fn a_fixed_rule_does_not_fire_for_the_time_it_was_broken() {
    let mut scaling = Scaling::of_workload(1, &three()).turned("09:00");
    let [a, bad, c] = three();
    scaling.edit_with_unusable(&[a.clone(), c.clone()], &["bad"]);
    scaling.turn(monday("09:05"));
    // Fixed to exactly its previous text, with a firing within its delay.
    scaling.edit(&[a, bad, c]);
    assert!(!scaling.turn(monday("09:11")));
    assert_eq!(scaling.history("bad"), [""; 0]);
}

#[test]
fn the_state_of_a_broken_rule_does_not_change_between_turns() {
    let mut scaling = Scaling::of_workload(1, &three()).turned("09:00");
    let [a, _, c] = three();
    scaling.edit_with_unusable(&[a, c], &["bad", "never seen"]);
    scaling.turn(monday("09:01"));
    let before = scaling.memory().cloned();
    scaling.turn(monday("09:02"));
    assert_eq!(scaling.memory().cloned(), before);
}

#[test]
fn a_broken_rule_gives_up_what_it_was_trying() {
    let mut scaling = Scaling::of_workload(1, &three()).turned("09:04");
    scaling.failed_turn(monday("09:10"), &almanac_engine::Outcome::Conflict);
    let [a, _, c] = three();
    scaling.edit_with_unusable(&[a, c], &["bad"]);
    assert!(!scaling.turn(monday("09:10:01")));
    let expected = ["09:10:00 failed after 1: gave up because the rule was changed"];
    assert_eq!(scaling.history("bad"), expected);
}
