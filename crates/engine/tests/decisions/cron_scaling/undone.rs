//! Values that another field manager replaces as soon as a rule has set them.

use almanac_engine::cron_scaling::Recorded;
use almanac_engine::other_writer::ExternalChange;
use almanac_engine::{self as engine, Field, Outcome, Value};
use jiff::Timestamp;

use crate::support::cron::{Scaling, bounds, hourly, rule};
use crate::support::monday;

/// The changes detected at an instant, as lines, if others have set the target's current values.
fn noticed(scaling: &mut Scaling, now: Timestamp) -> Vec<String> {
    let name = scaling.name();
    let target = scaling.world.target_of(&name).unwrap().target.identity().clone();
    let number = |field: Field| match field.read(&scaling.world, &target) {
        Some(Value::Number(to)) => Some(ExternalChange { field, to, by: "somebody".into() }),
        _ => None,
    };
    let foreign: Vec<ExternalChange> = Field::ALL.into_iter().filter_map(number).collect();
    noticed_of(scaling, &foreign, now)
}

/// The changes detected when others have made these changes.
fn noticed_of(scaling: &mut Scaling, foreign: &[ExternalChange], now: Timestamp) -> Vec<String> {
    let name = scaling.name();
    let line = |recorded: engine::Recorded| match recorded {
        engine::Recorded::CronScaling(Recorded::Undone { rule, field, set, found, .. }) => {
            format!("{rule}: {field} {set} became {found}")
        }
        other => panic!("{other:?} is not noticed"),
    };
    scaling.world.detect_undone(&name, foreign, now).into_iter().map(line).collect()
}

/// Five replicas since three minutes past nine.
fn scaled() -> Scaling {
    let mut scaling = hourly();
    assert!(scaling.turn(monday("09:03")));
    scaling
}

fn is_undone(scaling: &Scaling) -> bool {
    scaling.rule_memory("r").undone.as_ref().is_some_and(|undone| !undone.is_over)
}

#[test]
fn an_immediately_replaced_value_is_reported_once_per_firing_and_not_set_again() {
    let mut scaling = scaled();
    assert!(noticed(&mut scaling, monday("09:03:10")).is_empty());
    scaling.set_replicas(2);
    assert!(scaling.world.reacts_to_changes(&scaling.name(), monday("09:03:15")));
    assert_eq!(noticed(&mut scaling, monday("09:03:15")), ["r: replicas 5 became 2"]);
    assert!(noticed(&mut scaling, monday("09:03:16")).is_empty());
    assert!(!scaling.turn(monday("09:03:20")), "nothing is written again");
    scaling.set_replicas(3);
    assert!(noticed(&mut scaling, monday("09:03:30")).is_empty());
    assert!(is_undone(&scaling));
    let explained = scaling.world.explain(&scaling.name(), monday("09:30"));
    let cause = &explained[0].message;
    assert!(cause.ends_with("fired; another writer has set replicas to 3 since"), "{cause}");
    assert!(scaling.turn(monday("10:03")));
    assert!(noticed(&mut scaling, monday("10:03")).is_empty());
    assert!(!is_undone(&scaling), "the next firing has set the value again");
    scaling.set_replicas(2);
    assert_eq!(noticed(&mut scaling, monday("10:03:15")), ["r: replicas 5 became 2"]);
}

#[test]
fn a_value_that_was_put_back_is_no_longer_undone() {
    let mut scaling = scaled();
    scaling.set_replicas(2);
    assert_eq!(noticed(&mut scaling, monday("09:03:15")).len(), 1);
    scaling.set_replicas(5);
    assert!(scaling.world.reacts_to_changes(&scaling.name(), monday("09:40")));
    assert!(noticed(&mut scaling, monday("09:40")).is_empty());
    assert!(!is_undone(&scaling));
    scaling.set_replicas(8);
    assert!(noticed(&mut scaling, monday("09:50")).is_empty());
    assert!(!is_undone(&scaling), "a later replacement is not undone");
}

#[test]
fn a_value_replaced_later_is_legitimate() {
    let mut scaling = scaled();
    scaling.set_replicas(2);
    let later = monday("09:05:01");
    assert!(!scaling.world.reacts_to_changes(&scaling.name(), later));
    assert!(noticed(&mut scaling, later).is_empty());
    assert!(!is_undone(&scaling));
}

#[test]
fn a_value_that_goes_back_and_forth_is_reported_once_per_firing() {
    let mut scaling = scaled();
    let mut all_noticed = Vec::new();
    for second in ["09:03:10", "09:03:30", "09:03:50"] {
        scaling.set_replicas(2);
        all_noticed.extend(noticed(&mut scaling, monday(second)));
        assert!(is_undone(&scaling));
        scaling.set_replicas(5);
        all_noticed.extend(noticed(&mut scaling, monday(second)));
        assert!(!is_undone(&scaling));
    }
    assert_eq!(all_noticed, ["r: replicas 5 became 2"]);
}

#[test]
fn a_change_without_a_known_field_manager_is_not_undone() {
    let two_rules = [rule("r", "3 * * * *", 5), rule("s", "4 * * * *", 6)];
    let start = || Scaling::of_workload(1, &two_rules).turned("09:00").turned("09:03");
    // Written by the rule s, although the response was lost.
    let mut scaling = start();
    scaling.turn_with(monday("09:04"), |world, action| {
        world.apply(action);
        Outcome::Unknown("no response within 10 s".into())
    });
    assert!(noticed_of(&mut scaling, &[], monday("09:04:10")).is_empty());

    // Set by a rule that has been removed since.
    let mut scaling = start().turned("09:04");
    assert!(noticed(&mut scaling, monday("09:04:10")).is_empty(), "six, by the rule s");
    scaling.edit(&two_rules[..1]);
    scaling.turn(monday("09:04:30"));
    assert!(noticed_of(&mut scaling, &[], monday("09:04:30")).is_empty());

    // Set by another policy, after another field manager had set a different value.
    let mut scaling = start();
    scaling.set_replicas(7);
    let earlier = ExternalChange { field: Field::Replicas, to: 2, by: "somebody".into() };
    assert!(noticed_of(&mut scaling, &[earlier], monday("09:03:30")).is_empty());
}

#[test]
fn the_replaced_one_of_two_bounds_is_named() {
    let rules = [bounds("r", "3 * * * *", Some(4), Some(9))];
    let mut scaling = Scaling::of_autoscaler(1, 3, &rules).turned("09:00");
    assert!(scaling.turn(monday("09:03")));
    scaling.set_bounds(Some(4), Some(3));
    assert_eq!(noticed(&mut scaling, monday("09:03:15")), ["r: maxReplicas 9 became 3"]);
    // One bound is restored and the other replaced: the message changes, without a second record.
    scaling.set_bounds(Some(2), Some(9));
    assert!(noticed(&mut scaling, monday("09:03:25")).is_empty());
    let undone = scaling.rule_memory("r").undone.as_ref().expect("a changed lower bound");
    assert_eq!(&*undone.message, "another writer has set minReplicas to 2 since");
}

#[test]
fn an_edit_resets_detection_and_a_deleted_target_is_not_undone() {
    let mut scaling = scaled();
    scaling.set_replicas(2);
    noticed(&mut scaling, monday("09:03:15"));
    let workloads = std::mem::take(&mut scaling.world.objects.workloads);
    assert!(noticed(&mut scaling, monday("09:03:20")).is_empty());
    assert!(is_undone(&scaling), "nothing is known to have changed");
    scaling.world.objects.workloads = workloads;
    scaling.edit(&[rule("r", "3 * * * *", 4)]);
    scaling.turn(monday("09:03:30"));
    assert!(!is_undone(&scaling));
    assert!(noticed(&mut scaling, monday("09:03:31")).is_empty());

    // In the very second of the firing.
    let mut scaling = scaled();
    scaling.set_replicas(2);
    scaling.edit(&[rule("r", "3 * * * *", 4)]);
    let edited = monday("09:03") + jiff::SignedDuration::from_millis(500);
    scaling.turn(edited);
    assert!(noticed(&mut scaling, edited).is_empty());
}
