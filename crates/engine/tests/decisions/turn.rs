//! One policy's turn: the state at its opening, and the events before it is closed.

use almanac_engine::turn::{self, OpenTurn, Turn};
use almanac_engine::{Field, Fingerprint, Outcome, PolicyObject, Reach, Slim, Value, World};
use jiff::Timestamp;

use crate::support::cron::{Scaling, hourly, rule};
use crate::support::monday;
use crate::support::schedule::{Producer, Publish as _, Schedule};

/// Applies the actions of a turn, and closes it.
fn carry_out(open: OpenTurn, world: &mut World, now: Timestamp) -> Turn {
    let outcomes = open.actions().iter().map(|action| world.apply(action)).collect();
    open.close(world, outcomes, now)
}

fn effects(turn: &Turn) -> Vec<(Field, Value)> {
    turn.effects.iter().map(|effect| (effect.field, effect.value.clone())).collect()
}

/// Makes an object unusable.
fn break_rules(scaling: &mut Scaling) {
    let broken = PolicyObject { policy: None, created: None, memory: None };
    scaling.world.upsert(scaling.identity.clone(), Slim::CronScaling(broken));
}

#[test]
fn a_turn_that_is_not_closed_leaves_no_trace() {
    let scaling = hourly();
    let before = scaling.memory().cloned();
    let open = scaling.open(monday("09:03"));
    assert_eq!(open.actions().len(), 1);
    drop(open);
    assert_eq!(scaling.memory().cloned(), before);
}

#[test]
fn a_whole_turn_opens_applies_and_closes() {
    let (mut one, mut other) = (hourly(), hourly());
    one.turn(monday("09:03"));
    let name = other.name();
    assert_eq!(turn::take(&mut other.world, &name, monday("09:03")), one.last);
    assert_eq!(other.memory(), one.memory());
    assert_eq!(other.replicas(), Some(5));
}

#[test]
fn a_policy_without_a_usable_rule_has_no_turn() {
    let mut scaling = hourly();
    break_rules(&mut scaling);
    let reach = Reach::everything();
    assert!(turn::open(&scaling.world, &scaling.name(), &reach, monday("09:03")).is_none());
    let name = scaling.name();
    assert_eq!(turn::take(&mut scaling.world, &name, monday("09:03")), None);
}

#[test]
fn a_missing_policy_has_no_turn() {
    let mut scaling = hourly();
    let name = scaling.name();
    scaling.world.remove_policy(&name);
    assert_eq!(turn::take(&mut scaling.world, &name, monday("09:03")), None);
}

#[test]
fn a_policy_edited_before_closing_records_what_the_old_rules_did() {
    let mut scaling = hourly();
    let open = scaling.open(monday("09:03"));
    scaling.edit(&[rule("r", "3 * * * *", 7)]);
    let turn = carry_out(open, &mut scaling.world, monday("09:03:01"));
    assert_eq!(effects(&turn), [(Field::Replicas, Value::Number(5))]);
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
    // The edited rule is a new one, and does not fire for the past.
    assert!(!scaling.turn(monday("09:03:02")));
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
    assert_eq!(scaling.wake_at, Some(monday("10:03")));
    assert!(scaling.turn(monday("10:03")));
    assert_eq!(scaling.replicas(), Some(7));
}

#[test]
fn a_failed_attempt_of_a_policy_edited_before_closing_is_given_up() {
    let mut scaling = hourly();
    let open = scaling.open(monday("09:03"));
    scaling.edit(&[rule("r", "3 * * * *", 7)]);
    open.close(&mut scaling.world, vec![Outcome::Conflict], monday("09:03"));
    assert!(!scaling.turn(monday("09:03:01")));
    let expected = ["09:03:00 failed after 1: gave up because the rule was changed"];
    assert_eq!(scaling.history("r"), expected);
}

#[test]
fn a_policy_invalidated_before_closing_keeps_its_history_and_retries_nothing() {
    let mut scaling = hourly().turned("09:03");
    scaling.set_replicas(1);
    let open = scaling.open(monday("10:03"));
    break_rules(&mut scaling);
    let turn = open.close(&mut scaling.world, vec![Outcome::Conflict], monday("10:03"));
    assert_eq!((turn.recorded.len(), turn.effects), (1, vec![]));
    assert_eq!(scaling.rule_memory("r").fingerprint, Fingerprint::empty());
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
    // Fixed to its previous text, within the delay of the firing.
    let fixed = hourly().object().clone();
    scaling.world.upsert(scaling.identity.clone(), Slim::CronScaling(fixed));
    assert!(!scaling.turn(monday("10:04")));
    let expected = [
        "10:03:00 failed after 1: gave up because the rule was changed",
        "09:03:00 done replicas 5",
    ];
    assert_eq!(scaling.history("r"), expected);
}

#[test]
fn the_result_for_a_policy_invalidated_before_closing_is_recorded_and_kept() {
    let mut scaling = hourly();
    let open = scaling.open(monday("09:03"));
    break_rules(&mut scaling);
    let turn = carry_out(open, &mut scaling.world, monday("09:03"));
    assert_eq!(effects(&turn), [(Field::Replicas, Value::Number(5))]);
    assert_eq!(scaling.history("r"), ["09:03:00 done replicas 5"]);
}

#[test]
fn the_result_for_a_policy_removed_before_closing_is_recorded_but_not_kept() {
    let mut scaling = hourly();
    let open = scaling.open(monday("09:03"));
    let name = scaling.name();
    scaling.world.remove_policy(&name);
    let turn = carry_out(open, &mut scaling.world, monday("09:03"));
    assert_eq!(turn.recorded.len(), 1);
    assert_eq!(effects(&turn), [(Field::Replicas, Value::Number(5))]);
    assert!(scaling.world.cron_scaling.policies.is_empty());
}

#[test]
fn the_next_wake_is_computed_from_the_opening() {
    let rules = [rule("r", "3 * * * *", 5), rule("next", "4 * * * *", 6)];
    let mut scaling = Scaling::of_workload(1, &rules).turned("09:00");
    let open = scaling.open(monday("09:03"));
    // The response arrives after the next firing.
    let turn = carry_out(open, &mut scaling.world, monday("09:04:30"));
    assert_eq!(turn.wake_at, Some(monday("09:04")));
    assert!(scaling.turn(monday("09:04:30")));
    assert_eq!(scaling.history("next"), ["09:04:00 done replicas 6"]);
}

#[test]
fn the_backoff_after_a_failed_attempt_counts_from_the_closing() {
    let mut scaling = hourly();
    let open = scaling.open(monday("09:03"));
    let turn = open.close(&mut scaling.world, vec![Outcome::Conflict], monday("09:03:20"));
    assert_eq!(turn.wake_at, Some(monday("09:03:21")));
}

fn office_hours() -> Producer {
    let mut producer = Schedule::utc(1).with(4, "hours=9", "hours=17").published();
    producer.turn(monday("08:00"));
    producer
}

#[test]
fn a_schedule_edited_before_closing_publishes_the_old_value() {
    let mut producer = office_hours();
    let open = producer.open(monday("09:00"));
    let edited = Schedule::utc(1).with(6, "hours=9", "hours=17").published();
    let edited = edited.world.scheduled_capacity.policies[&edited.identity].clone();
    producer.world.upsert(producer.identity.clone(), Slim::ScheduledCapacity(edited));
    let turn = carry_out(open, &mut producer.world, monday("09:00:01"));
    assert_eq!(effects(&turn), [(Field::Value, Value::Number(4))]);
    assert_eq!(turn.wake_at, Some(monday("17:00")));
    producer.turn(monday("09:00:01"));
    assert_eq!(producer.memory().map(|it| it.value), Some(6));
}

#[test]
fn a_schedule_invalidated_or_removed_before_closing_publishes_nothing() {
    let mut broken = office_hours();
    let open = broken.open(monday("09:00"));
    let nothing = PolicyObject { policy: None, created: None, memory: None };
    broken.world.upsert(broken.identity.clone(), Slim::ScheduledCapacity(nothing));
    let _ = carry_out(open, &mut broken.world, monday("09:00"));
    assert_eq!(broken.memory(), None);
    let name = broken.name();
    assert_eq!(turn::take(&mut broken.world, &name, monday("09:30")), None);

    let mut removed = office_hours();
    let open = removed.open(monday("09:00"));
    removed.world.remove_policy(&name);
    let _ = carry_out(open, &mut removed.world, monday("09:00"));
    assert!(removed.world.scheduled_capacity.policies.is_empty());
}

#[test]
fn a_late_turn_of_a_schedule_still_records_openings_and_closings() {
    let said = |at: &str| {
        let schedule =
            Schedule::utc(1).with(4, "hours=9", "hours=12").with(6, "hours=12", "hours=17");
        let mut producer = schedule.published();
        let mut said = Vec::new();
        for turn in ["08:00", "09:00:02", "12:00:02", at] {
            producer.turn(monday(turn));
            let recorded = producer.last.take().into_iter().flat_map(|turn| turn.recorded);
            let (world, name) = (&producer.world, &producer.identity);
            said.extend(recorded.filter_map(|it| it.occurrence(world, name)).map(
                |(what, behavior)| {
                    format!("{} {}", behavior.as_deref().unwrap_or("?"), what.name())
                },
            ));
        }
        said
    };
    let opened = ["behaviors[0] opens", "behaviors[1] opens", "behaviors[1] closes"];
    assert_eq!(said("17:00:02"), opened);
    assert_eq!(said("12:30"), opened[..2]);
}
