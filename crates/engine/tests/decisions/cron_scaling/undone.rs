//! What another writer replaces as soon as a rule has set it.

use almanac_engine::cron_scaling::Recorded;
use almanac_engine::{self as engine, Identity};
use jiff::Timestamp;

use crate::support::cron::{Scaling, bounds, rule};
use crate::support::monday;

/// What is noticed at an instant, as lines.
fn noticed(scaling: &mut Scaling, now: Timestamp) -> Vec<String> {
    let name = scaling.name();
    let line = |recorded: engine::Recorded| match recorded {
        engine::Recorded::CronScaling(Recorded::Undone { rule, field, set, found, .. }) => {
            format!("{rule}: {field} {set} became {found}")
        }
        other => panic!("{other:?} is not noticed"),
    };
    scaling.world.notice(&name, now).into_iter().map(line).collect()
}

/// Five replicas since three minutes past nine.
fn scaled() -> Scaling {
    let mut scaling = Scaling::of_workload(1, &[rule("r", "3 * * * *", 5)]);
    scaling.turn(monday("09:00"));
    assert!(scaling.turn(monday("09:03")));
    scaling
}

fn is_undone(scaling: &Scaling) -> bool {
    scaling.rule_memory("r").undone.is_some()
}

#[test]
fn what_another_writer_replaces_at_once_is_noticed_once_a_firing_and_left_as_it_is() {
    let mut scaling = scaled();
    assert!(noticed(&mut scaling, monday("09:03:10")).is_empty());
    scaling.set_replicas(2);
    assert!(scaling.world.minds_changes(&scaling.name(), monday("09:03:15")));
    assert_eq!(noticed(&mut scaling, monday("09:03:15")), ["r: replicas 5 became 2"]);
    assert!(noticed(&mut scaling, monday("09:03:16")).is_empty());
    assert!(!scaling.turn(monday("09:03:20")), "nobody fights");
    scaling.set_replicas(3);
    assert!(noticed(&mut scaling, monday("09:03:30")).is_empty());
    assert!(is_undone(&scaling));
    let explained = scaling.world.explain(&scaling.name(), monday("09:30"));
    let because = &explained[0].because;
    assert!(because.ends_with("fired; another writer has set replicas to 2 since"), "{because}");
    assert!(scaling.turn(monday("10:03")));
    assert!(noticed(&mut scaling, monday("10:03")).is_empty());
    assert!(!is_undone(&scaling), "the next firing has set it anew");
    scaling.set_replicas(2);
    assert_eq!(noticed(&mut scaling, monday("10:03:15")), ["r: replicas 5 became 2"]);
}

#[test]
fn what_is_put_back_is_undone_no_more() {
    let mut scaling = scaled();
    scaling.set_replicas(2);
    assert_eq!(noticed(&mut scaling, monday("09:03:15")).len(), 1);
    scaling.set_replicas(5);
    assert!(scaling.world.minds_changes(&scaling.name(), monday("09:40")));
    assert!(noticed(&mut scaling, monday("09:40")).is_empty());
    assert!(!is_undone(&scaling));
}

#[test]
fn what_is_replaced_later_is_nobodys_mistake() {
    let mut scaling = scaled();
    scaling.set_replicas(2);
    let later = monday("09:05:01");
    assert!(!scaling.world.minds_changes(&scaling.name(), later));
    assert!(noticed(&mut scaling, later).is_empty());
    assert!(!is_undone(&scaling));
}

#[test]
fn what_another_policy_or_rule_has_set_since_is_not_undone() {
    let mut scaling =
        Scaling::of_workload(1, &[rule("r", "3 * * * *", 5), rule("s", "4 * * * *", 6)]);
    scaling.turn(monday("09:00"));
    scaling.turn(monday("09:03"));
    scaling.turn(monday("09:04"));
    assert!(noticed(&mut scaling, monday("09:04:10")).is_empty(), "six, by the rule s");

    let mut scaling = scaled();
    let mut later = scaled();
    later.edit(&[rule("other", "4 * * * *", 7)]);
    later.turn(monday("09:03:30"));
    assert!(later.turn(monday("09:04")));
    let (group, kind) = (scaling.identity.group(), scaling.identity.kind());
    let other = Identity::new(group, kind, scaling.identity.namespace(), "other");
    scaling.world.cron_scalings.insert(other, later.object().clone());
    scaling.set_replicas(7);
    assert!(noticed(&mut scaling, monday("09:04:10")).is_empty(), "seven, by another policy");
}

#[test]
fn of_two_bounds_the_one_that_was_replaced_is_named() {
    let rules = [bounds("r", "3 * * * *", Some(4), Some(9))];
    let mut scaling = Scaling::of_autoscaler(1, 3, &rules);
    scaling.turn(monday("09:00"));
    assert!(scaling.turn(monday("09:03")));
    scaling.set_bounds(Some(4), Some(3));
    assert_eq!(noticed(&mut scaling, monday("09:03:15")), ["r: maxReplicas 9 became 3"]);
}

#[test]
fn an_edited_rule_begins_anew_and_a_target_that_is_gone_says_nothing() {
    let mut scaling = scaled();
    scaling.set_replicas(2);
    noticed(&mut scaling, monday("09:03:15"));
    let workloads = std::mem::take(&mut scaling.world.workloads);
    assert!(noticed(&mut scaling, monday("09:03:20")).is_empty());
    assert!(is_undone(&scaling), "nothing is known to have changed");
    scaling.world.workloads = workloads;
    scaling.edit(&[rule("r", "3 * * * *", 4)]);
    scaling.turn(monday("09:03:30"));
    assert!(!is_undone(&scaling));
    assert!(noticed(&mut scaling, monday("09:03:31")).is_empty());

    // In the very second in which it has fired.
    let mut scaling = scaled();
    scaling.set_replicas(2);
    scaling.edit(&[rule("r", "3 * * * *", 4)]);
    let edited = monday("09:03") + jiff::SignedDuration::from_millis(500);
    scaling.turn(edited);
    assert!(noticed(&mut scaling, edited).is_empty());
}
