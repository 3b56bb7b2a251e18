//! A partly known past: a status, a creation time, a read of the cluster.

use almanac_engine::cron_scaling::{Cause, Memory};
use almanac_engine::{
    Autoscaler, Field, PolicyObject, Replayed, Slim, World, continues, start_as_new,
};
use jiff::Timestamp;

use crate::support::cron::{Rule, Scaling, autoscaler, bounds, checked, rule, workload};
use crate::support::instant;
use crate::support::monday;
use crate::support::run::{Run, object_name};

/// The object of these rules after some turns until an instant, with its status.
fn lived(rules: &[Rule], until: Timestamp) -> World {
    let mut scaling = Scaling::of_autoscaler(2, 5, rules).turned("00:00");
    scaling.run_until(until);
    scaling.restart();
    scaling.world
}

/// The object of these rules, with only its creation time known.
fn created(rules: &[Rule], at: Timestamp) -> World {
    Scaling::of_autoscaler(2, 5, rules).created(at).world
}

fn tuesday(time: &str) -> Timestamp {
    instant(&format!("2026-03-03T{time}:00Z"))
}

fn moves_both() -> [Rule; 2] {
    [bounds("low", "0 20 * * *", Some(3), None), bounds("high", "0 8 * * *", Some(7), None)]
}

#[test]
fn the_last_write_of_a_field_is_credited_to_the_rule_that_made_it() {
    // On the second day, the rule sets its own bound again, but not the other bound.
    let world = lived(&moves_both(), tuesday("09:00"));
    let run = Run::beginning(world, tuesday("12:00"));
    let max = run.last_write_of(&autoscaler("shop"), Field::MaxReplicas).unwrap();
    assert_eq!((max.value, max.rule), (Some(7), Some(1)));
    assert_eq!((max.cause, max.since), (Cause::MovedOtherBound, Some(monday("08:00"))));
    let min = run.last_write_of(&autoscaler("shop"), Field::MinReplicas).unwrap();
    assert_eq!((min.rule, min.since), (Some(1), Some(tuesday("08:00"))));
    assert_eq!(run.start.replayed, Replayed::default());
}

#[test]
fn a_split_world_with_statuses_or_creation_times_starts_like_an_unsplit_one() {
    for world in [lived(&moves_both(), monday("09:00")), created(&moves_both(), monday("07:00"))] {
        let mut whole = Run::beginning(world.clone(), monday("10:00"));
        whole.until(tuesday("12:00"));
        let mut part = Run::beginning(world, tuesday("12:00"));
        assert_eq!(part.last_writes, whole.last_writes);
        assert!(part.last_write_of(&autoscaler("shop"), Field::MaxReplicas).is_some());
        whole.until(tuesday("22:00"));
        part.until(tuesday("22:00"));
        assert_eq!(part.last_writes, whole.last_writes);
    }
}

#[test]
fn a_new_object_does_not_fire_for_the_time_before_it_was_created() {
    let world = created(&moves_both(), monday("12:00"));
    let run = Run::beginning(world, monday("18:00"));
    assert_eq!(run.bounds_of(&autoscaler("shop")), (Some(2), Some(5)));
    assert_eq!((run.last_writes.len(), run.start.replayed), (0, Replayed::default()));
}

#[test]
fn a_firing_missed_before_the_observation_is_not_applied() {
    let rules = [rule("r", "3 9 * * *", 5)];
    let mut scaling = Scaling::of_workload(1, &rules).turned("09:00");
    scaling.world.objects.seen_at = Some(monday("09:30"));
    let run = Run::beginning(scaling.world.clone(), monday("09:40"));
    let target = scaling.target().identity().clone();
    assert_eq!(run.world.objects.workloads[&target].replicas, Some(1));
    scaling.world = run.world;
    assert_eq!(scaling.history("r"), ["09:03:00 missed by 1620 s"]);
    assert_eq!(run.last_writes.len(), 0);
}

#[test]
fn a_firing_due_at_the_observation_is_applied_then() {
    let rules = [rule("r", "3 9 * * *", 5)];
    let mut scaling = Scaling::of_workload(1, &rules).turned("09:00");
    scaling.world.objects.seen_at = Some(monday("09:05"));
    let run = Run::beginning(scaling.world.clone(), monday("09:40"));
    let holder = run.last_write_of(&scaling.target(), Field::Replicas).unwrap();
    assert_eq!((holder.value, holder.since), (Some(5), Some(monday("09:05"))));
}

#[test]
fn a_status_covers_every_policy_of_its_object() {
    // Only one of two objects has a status; it covers both.
    let mut world = lived(&moves_both(), monday("21:00"));
    let rules = [bounds("night", "0 23 * * *", None, Some(4))];
    let other = PolicyObject::new(checked(autoscaler("shop"), &rules, &[]));
    world.upsert(object_name("other"), Slim::CronScaling(other));
    let run = Run::beginning(world, monday("22:00"));
    assert_eq!(run.start.replayed, Replayed::default());
    assert_eq!(run.bounds_of(&autoscaler("shop")), (Some(3), Some(7)));
    let first_turns: Vec<_> = run.start.first_turns.iter().map(|(_, at)| *at).collect();
    assert_eq!(first_turns, [monday("20:00"); 2]);
}

#[test]
fn firings_that_are_sure_to_be_repeated_are_skipped() {
    let rules =
        [bounds("both", "0 8 * * *", Some(2), Some(9)), bounds("low", "0 20 * * *", Some(3), None)];
    let world = lived(&rules, monday("09:00"));
    let run = Run::beginning(world, instant("2027-03-02T12:00:00Z"));
    // One round of both bounds, and the previous round with the values that the last round observed.
    let first_turns: Vec<_> = run.start.first_turns.iter().map(|(_, at)| *at).collect();
    assert_eq!(first_turns, [instant("2027-03-01T08:00:00Z")]);
    assert_eq!(run.effects.len(), 2 + 1 + 2);
    assert_eq!(run.bounds_of(&autoscaler("shop")), (Some(2), Some(9)));
    assert_eq!(run.start.replayed, Replayed::default());
}

#[test]
fn an_invalid_policy_has_no_first_turn_and_affects_no_other() {
    let mut world = created(&moves_both(), monday("07:00"));
    let broken = PolicyObject { policy: None, created: None, memory: Some(Memory::default()) };
    world.upsert(object_name("broken"), Slim::CronScaling(broken));
    let run = Run::beginning(world, monday("09:00"));
    let names: Vec<&str> = run.start.first_turns.iter().map(|it| it.0.identity.name()).collect();
    assert_eq!(names, ["shop"]);
    assert_eq!(run.bounds_of(&autoscaler("shop")), (Some(7), Some(7)));
}

#[test]
fn a_value_changed_since_by_another_field_manager_is_unchanged() {
    let mut world = lived(&moves_both(), monday("09:00"));
    let live = Autoscaler { min_replicas: Some(1), max_replicas: Some(20) };
    world.objects.autoscalers.insert(autoscaler("shop").identity().clone(), live);
    let run = Run::beginning(world, monday("10:00"));
    assert_eq!(run.bounds_of(&autoscaler("shop")), (Some(1), Some(20)));
    // The value that was set is reported nevertheless.
    let max = run.start.prior_writes.iter().find(|held| held.field == Field::MaxReplicas).unwrap();
    assert_eq!(max.value.number(), Some(7));
}

#[test]
fn a_schedule_starts_just_before_the_first_instant_despite_its_status() {
    use crate::support::schedule::{Publish as _, Schedule};
    let mut producer = Schedule::utc(1).with(4, "hours=9", "hours=17").published();
    producer.turn(monday("08:00"));
    let start = almanac_engine::begin(&mut producer.world, monday("09:00"));
    let nanosecond = crate::support::NANOSECOND;
    assert_eq!(start.first_turns, [(producer.name(), monday("09:00") - nanosecond)]);
    assert_eq!((start.prior_writes, start.replayed), (vec![], Replayed::default()));
    assert_eq!(producer.memory(), None);
}

#[test]
fn a_rule_that_was_retargeted_is_not_credited_with_the_new_target() {
    let rules = [rule("r", "3 9 * * *", 5)];
    let mut scaling = Scaling::of_workload(1, &rules).turned("09:00");
    scaling.run_until(monday("09:10"));
    let before = Run::beginning(scaling.world.clone(), monday("10:00"));
    assert!(before.last_write_of(&workload("shop"), Field::Replicas).is_some());
    scaling.retarget(workload("other"), &rules);
    scaling.set_replicas(5);
    let since = Run::beginning(scaling.world, monday("10:00"));
    assert_eq!(since.last_write_of(&workload("other"), Field::Replicas), None);
}

#[test]
fn a_policy_that_starts_over_fires_from_that_instant() {
    let rules = [rule("open", "0 9 * * *", 5), rule("close", "0 20 * * *", 2)];
    let mut scaling = Scaling::of_workload(1, &rules);
    let name = scaling.name();
    start_as_new(&mut scaling.world, &name, tuesday("09:00"));
    let mut run = Run::beginning(scaling.world.clone(), tuesday("09:00"));
    assert_eq!((run.last_writes.len(), run.start.replayed), (0, Replayed::default()));
    run.until(tuesday("09:01"));
    let held = run.last_write_of(&scaling.target(), Field::Replicas).unwrap();
    assert_eq!((held.value, held.since), (Some(5), Some(tuesday("09:00"))));
    start_as_new(&mut scaling.world, &name, tuesday("09:01"));
    let run = Run::beginning(scaling.world, tuesday("10:00"));
    assert_eq!((run.last_writes.len(), run.start.replayed), (0, Replayed::default()));
}

#[test]
fn an_object_continues_if_its_rules_have_equal_names_and_effects() {
    let [open, close] = [rule("open", "0 9 * * *", 5), rule("close", "0 20 * * *", 2)];
    let before = Scaling::of_workload(1, &[open.clone(), close.clone()]);
    let continues = |rules: &[Rule]| {
        let mut after = before.clone();
        after.edit(rules);
        continues(&after.world, &before.name(), &before.world)
    };
    assert!(continues(&[open.clone(), close.clone()]));
    assert!(continues(&[open.clone().delay(1).keeps(1, 1), close.clone()]));
    let edited = [rule("open", "0 9 * * *", 6), close.clone()];
    let renamed = [rule("opens", "0 9 * * *", 5), close.clone()];
    let added = [open.clone(), close.clone(), rule("noon", "0 12 * * *", 3)];
    for changed in [&edited[..], &renamed, &added, &[close.clone(), open.clone()], &[open]] {
        assert!(!continues(changed), "{changed:?}");
    }
    let mut empty = before.world.clone();
    empty.remove_policy(&before.name());
    assert!(!almanac_engine::continues(&before.world, &before.name(), &empty));
}
