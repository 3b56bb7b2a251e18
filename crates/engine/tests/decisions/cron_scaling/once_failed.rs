//! Lives that failed once, written out: a seed draws a different life after the strategies have changed.

use almanac_engine::cron_scaling::decide;
use jiff::Timestamp;

use super::properties::Life;
use super::random::Fate::{Conflict, CrashWithEffect, Done, UnknownWithEffect};
use super::random::{Case, Step};
use crate::support::cron::{Rule, bounds, rule};
use crate::support::instant;

fn start() -> Timestamp {
    instant("2026-03-08T06:30:00Z")
}

fn lives_on(rules: Vec<Rule>, scales_bounds: bool, steps: Vec<Step>) {
    let case = Case { scales_bounds, start: start(), rules, steps };
    let mut life = Life::new(&case, &decide);
    life.live(&case.steps).and_then(|()| life.end()).unwrap();
}

#[test]
fn an_edit_gives_up_a_pending_attempt_even_if_the_clock_is_set_back() {
    let at_once = rule("r0", "* * * * *", 0).delay(0).keeps(1, 0);
    let steps = vec![
        Step::HideOrShowTarget,
        Step::Wake(Done),
        Step::Edit(0, at_once.clone().suspended()),
        Step::Back(8, Done),
    ];
    let rules = vec![at_once];
    let case = Case { scales_bounds: false, start: start(), rules, steps };
    Life::new(&case, &decide).live(&case.steps).unwrap();
}

#[test]
fn a_write_of_unknown_outcome_is_settled_even_after_a_crash() {
    let rules = vec![rule("r0", "* * * * *", 2).delay(0).keeps(32, 32)];
    lives_on(rules, false, vec![Step::Wake(UnknownWithEffect), Step::After(1, 0, CrashWithEffect)]);
}

#[test]
fn an_attempt_is_made_once_even_if_the_clock_is_set_back_across_a_restart() {
    let rules = vec![
        rule("r0", "0,1,30 * * * *", 0).delay(0).keeps(32, 32),
        rule("r1", "3 * * * *", 1).delay(0).keeps(32, 32),
    ];
    let steps = vec![
        Step::Wake(Done),
        Step::Wake(Done),
        Step::Wake(Conflict),
        Step::Back(1255, Done),
        Step::Restart,
        Step::Back(6007, Done),
    ];
    lives_on(rules, false, steps);
}

#[test]
fn a_write_of_unknown_outcome_is_settled_by_another_rule() {
    let rules = vec![
        bounds("r0", "* * * * *", Some(2), None).delay(0).keeps(32, 32),
        bounds("r1", "*/2 * * * *", Some(1), None).delay(119).keeps(32, 32),
    ];
    let mut steps = vec![Step::Wake(Done); 4];
    steps.push(Step::After(1, 0, Done));
    steps.extend([Done, Conflict, Done, Done, Done, Done, Conflict].map(Step::Wake));
    steps.push(Step::After(5085, 0, Conflict));
    steps.extend([Conflict, UnknownWithEffect, CrashWithEffect].map(Step::Wake));
    steps.extend([Step::After(1, 0, Conflict), Step::Wake(Done)]);
    lives_on(rules, true, steps);
}

#[test]
fn a_rule_that_gives_up_one_firing_and_finds_the_next_already_set_has_one_effect() {
    let rules = vec![rule("r0", "* * * * *", 0).delay(30).keeps(32, 32)];
    lives_on(rules, false, vec![Step::Wake(Conflict), Step::After(60, 0, Done)]);
}
