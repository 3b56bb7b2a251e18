//! Rules that are not applied, because their object or its target is exempt.

use std::sync::Arc;

use almanac_checker::check_cron_scaling;
use almanac_engine::cron_scaling::{
    Decision, Execution, FiringOutcome, Pending, decide, firing_backlog,
};
use almanac_engine::{Exemptions, NamespaceMark, Outcome};
use jiff::Timestamp;

use crate::support::cron::{Scaling, hourly, rule};
use crate::support::monday;

fn mark_namespace(scaling: &mut Scaling, mark: NamespaceMark) {
    Arc::make_mut(&mut scaling.world.objects.exempt).mark_namespace("default", mark);
}

/// A rule in an unreadable namespace.
fn unread(rule_name: &str, schedule: &str) -> Scaling {
    let mut scaling =
        Scaling::of_workload(1, &[rule(rule_name, schedule, 5)]).created(monday("09:00"));
    mark_namespace(&mut scaling, NamespaceMark::Unread);
    scaling.turn(monday("09:01"));
    scaling
}

fn mark_target(scaling: &mut Scaling, is_marked: bool) {
    let target = scaling.target().identity().clone();
    Arc::make_mut(&mut scaling.world.objects.exempt).mark(&target, is_marked);
}

#[test]
fn an_exempt_target_is_not_changed_and_no_firing_is_missed() {
    let mut scaling = hourly();
    mark_target(&mut scaling, true);
    scaling.run_until(monday("12:30"));
    assert_eq!(scaling.replicas(), Some(1));
    assert_eq!(scaling.history("r"), Vec::<String>::new());
    let [explained] = scaling.explained(monday("12:30")).try_into().unwrap();
    let why = "not applied; the target is marked with almanac.dev/ignore";
    assert!(explained.ends_with(why), "{explained}");
    assert_eq!(scaling.world.footprint(&scaling.name()).writes, []);
    assert!(!scaling.world.is_armed(&scaling.name()));
}

#[test]
fn a_firing_due_while_exempt_is_never_applied() {
    let mut scaling = hourly();
    mark_target(&mut scaling, true);
    scaling.run_until(monday("12:30"));
    mark_target(&mut scaling, false);
    assert!(!scaling.turn(monday("12:31")));
    assert_eq!(scaling.run_until(monday("13:30")), [monday("13:03")]);
    assert_eq!(scaling.history("r"), ["13:03:00 done replicas 5"]);
}

#[test]
fn a_firing_that_is_being_tried_is_dropped_as_soon_as_it_is_exempt() {
    let mut scaling = hourly();
    scaling.failed_turn(monday("09:03"), &Outcome::Conflict);
    mark_target(&mut scaling, true);
    assert!(!scaling.turn(monday("09:03:01")));
    mark_target(&mut scaling, false);
    assert!(!scaling.turn(monday("09:03:02")));
    assert_eq!(scaling.history("r"), Vec::<String>::new());
}

#[test]
fn objects_in_an_exempt_namespace_are_unchanged() {
    let mut scaling = hourly();
    scaling.world.objects.exempt = Arc::new(Exemptions::for_namespaces(["default"]));
    scaling.run_until(monday("09:30"));
    assert_eq!(scaling.replicas(), Some(1));
    let [explained] = scaling.explained(monday("09:30")).try_into().unwrap();
    assert!(explained.ends_with("the namespace of the object is exempt"), "{explained}");
    scaling.skip_stopped(monday("10:30"), monday("10:30"));
    assert_eq!(scaling.history("r"), Vec::<String>::new(), "it would not have been applied anyway");
}

#[test]
fn a_firing_due_while_a_namespace_is_unreadable_is_applied_later() {
    let mut scaling = unread("r", "3 * * * *");
    scaling.run_until(monday("09:04"));
    assert_eq!(scaling.replicas(), Some(1));
    assert_eq!(scaling.history("r"), Vec::<String>::new());
    let backlog = firing_backlog(scaling.world.view(), monday("09:04"));
    assert_eq!((backlog.armed, backlog.oldest_overdue), (1, Some(monday("09:03"))));
    let [explained] = scaling.explained(monday("09:04")).try_into().unwrap();
    let why = "not applied; the namespace of the object cannot be read, and may be marked with almanac.dev/ignore";
    assert!(explained.ends_with(why), "{explained}");
    assert_eq!(scaling.world.footprint(&scaling.name()).writes, []);
    mark_namespace(&mut scaling, NamespaceMark::Absent);
    assert!(scaling.turn(monday("09:05")));
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
}

#[test]
fn a_firing_beyond_its_delay_is_missed() {
    let mut scaling = unread("r", "3 * * * *");
    scaling.run_until(monday("11:30"));
    mark_namespace(&mut scaling, NamespaceMark::Absent);
    assert!(!scaling.turn(monday("11:31")));
    let missed = [("11:03", 1680), ("10:03", 5280), ("09:03", 8880)];
    let missed = missed.map(|(at, by)| format!("{at}:00 missed by {by} s"));
    assert_eq!(scaling.history("r"), missed);
}

#[test]
fn a_namespace_found_exempt_was_exempt_all_the_time() {
    let mut scaling = unread("r", "3 * * * *");
    scaling.run_until(monday("09:04"));
    mark_namespace(&mut scaling, NamespaceMark::Present);
    assert!(!scaling.turn(monday("09:05")));
    mark_namespace(&mut scaling, NamespaceMark::Absent);
    assert!(!scaling.turn(monday("09:06")));
    assert_eq!(scaling.history("r"), Vec::<String>::new());
}

#[test]
fn a_rule_that_is_edited_or_added_while_its_namespace_cannot_be_read_counts_from_then_on() {
    let mut scaling = unread("r", "3 * * * *");
    scaling.edit(&[rule("first", "7 * * * *", 4), rule("r", "9 * * * *", 6)]);
    assert!(!scaling.turn(monday("09:06")));
    assert!(!scaling.turn(monday("09:08")));
    let overdue = |scaling: &Scaling, at| firing_backlog(scaling.world.view(), at).oldest_overdue;
    assert_eq!(overdue(&scaling, monday("09:08")), Some(monday("09:07")));
    // Only firings after the edit are applied.
    mark_namespace(&mut scaling, NamespaceMark::Absent);
    assert!(scaling.turn(monday("09:08:30")));
    assert!(scaling.turn(monday("09:09")));
    assert_eq!(scaling.history("first"), ["09:07:00 done replicas 4"]);
    assert_eq!(scaling.history("r"), ["09:09:00 done replicas 6"]);
}

#[test]
fn a_stop_skips_and_records_nothing_in_an_unreadable_namespace() {
    let mut scaling = unread("r", "3 * * * *");
    scaling.skip_stopped(monday("09:04"), monday("09:04"));
    assert_eq!(scaling.history("r"), Vec::<String>::new());
    mark_namespace(&mut scaling, NamespaceMark::Absent);
    scaling.skip_stopped(monday("09:04"), monday("09:05"));
    assert_eq!(scaling.history("r").len(), 1, "the stop is recorded once the exemption is known");
    assert!(!scaling.turn(monday("09:06")));
}

#[test]
fn the_checker_rejects_a_decision_in_an_unreadable_namespace() {
    let scaling = unread("r", "3 * * * *");
    let now = monday("09:04");
    let decision = decide(&scaling.input(), now);
    assert!(check_cron_scaling(&scaling.input(), now, &decision).is_empty());
    let faults: [fn(&mut Decision); 3] = [
        |it| it.memory.rules[0].handled = monday("09:03"),
        |it| {
            let missed = Execution::new(monday("09:03"), monday("09:04"), FiringOutcome::Missed);
            it.memory.rules[0].executions = [missed].into();
        },
        |it| it.memory.rules[0].pending = Some(Box::new(pending(monday("09:03")))),
    ];
    for fault in faults {
        let mut decision = decision.clone();
        fault(&mut decision);
        assert!(!check_cron_scaling(&scaling.input(), now, &decision).is_empty(), "{decision:?}");
    }
}

fn pending(at: Timestamp) -> Pending {
    Pending { at, attempts: 0, retry_at: at, message: None, applying: None }
}
