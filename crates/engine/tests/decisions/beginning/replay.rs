//! An unknown past: all rules are assumed to have always been in force.

use almanac_engine::cron_scaling::Cause;
use almanac_engine::{Autoscaler, Family, Field, PolicyName, Replayed, World};
use jiff::Timestamp;

use crate::support::cron::{Rule, autoscaler, bounds};
use crate::support::instant;
use crate::support::run::{LastWrite, Run, add_rules, object_name};

/// An autoscaler with bounds of 2 and 5, and the rules of an object.
fn world(rules: &[Rule]) -> World {
    let mut world = World::default();
    let live = Autoscaler { min_replicas: Some(2), max_replicas: Some(5) };
    world.objects.autoscalers.insert(autoscaler("shop").identity().clone(), live);
    add_rules(&mut world, "rules", autoscaler("shop"), rules);
    world
}

/// On Thursday, 5 March 2026.
fn thursday() -> Timestamp {
    instant("2026-03-05T12:00:00Z")
}

fn bounds_at(rules: &[Rule], at: Timestamp) -> (Option<u32>, Option<u32>) {
    Run::beginning(world(rules), at).bounds_of(&autoscaler("shop"))
}

fn last_write_at(rules: &[Rule], field: Field, at: Timestamp) -> LastWrite {
    let run = Run::beginning(world(rules), at);
    run.last_write_of(&autoscaler("shop"), field)
        .cloned()
        .unwrap_or_else(|| panic!("no write has set it"))
}

#[test]
fn a_field_starts_with_the_value_of_the_last_firing_that_named_it() {
    let rules = [
        bounds("morning", "0 8 * * *", Some(4), None),
        bounds("evening", "0 20 * * *", Some(3), None),
        bounds("weekly", "0 7 * * 1", None, Some(9)),
    ];
    assert_eq!(bounds_at(&rules, thursday()), (Some(4), Some(9)));
    assert_eq!(last_write_at(&rules, Field::MinReplicas, thursday()).rule, Some(0));
    let weekly = last_write_at(&rules, Field::MaxReplicas, thursday());
    assert_eq!((weekly.rule, weekly.since), (Some(2), Some(instant("2026-03-02T07:00:00Z"))));
    assert_eq!(bounds_at(&rules, instant("2026-03-05T07:00:00Z")), (Some(3), Some(9)));
}

#[test]
fn a_run_starts_before_the_firing_of_its_first_instant() {
    let rules = [bounds("morning", "0 8 * * *", Some(4), None)];
    let mut run = Run::beginning(world(&rules), instant("2026-03-05T08:00:00Z"));
    let since =
        |run: &Run| run.last_write_of(&autoscaler("shop"), Field::MinReplicas).unwrap().since;
    assert_eq!(since(&run), Some(instant("2026-03-04T08:00:00Z")));
    run.until(instant("2026-03-05T08:00:01Z"));
    assert_eq!(since(&run), Some(instant("2026-03-05T08:00:00Z")));
}

#[test]
fn replaying_the_past_is_reported_with_its_reason() {
    let rules = [bounds("morning", "0 8 * * *", Some(4), None)];
    let replayed = Run::beginning(world(&rules), thursday()).start.replayed;
    assert_eq!(replayed, Replayed { as_if_in_force: true, predates_state: false });

    let mut seen_later = world(&rules);
    seen_later.objects.seen_at = Some(instant("2026-03-06T00:00:00Z"));
    let replayed = Run::beginning(seen_later.clone(), thursday()).start.replayed;
    assert_eq!(replayed, Replayed { as_if_in_force: true, predates_state: true });
    let replayed = Run::beginning(seen_later, instant("2026-03-06T00:00:00Z")).start.replayed;
    assert_eq!(replayed, Replayed::default());

    let mut created_later = world(&rules);
    let object = created_later.cron_scaling.policies.get_mut(&object_name("rules")).unwrap();
    object.created = Some(instant("2026-03-06T00:00:00Z"));
    let replayed = Run::beginning(created_later, thursday()).start.replayed;
    assert_eq!(replayed, Replayed { as_if_in_force: true, predates_state: true });
}

#[test]
fn nothing_is_replayed_where_no_rule_fires() {
    let rules = [bounds("morning", "0 8 * * *", Some(4), None).suspended()];
    let run = Run::beginning(world(&rules), thursday());
    assert_eq!(run.start.replayed, Replayed::default());
    let expected = ((Some(2), Some(5)), 0);
    assert_eq!((run.bounds_of(&autoscaler("shop")), run.last_writes.len()), expected);
}

#[test]
fn an_unnamed_bound_is_where_the_rule_that_moves_it_furthest_left_it() {
    let rules = [
        bounds("low", "0 20 * * *", Some(3), None),
        bounds("high", "0 8 * * *", Some(7), None),
        bounds("highest", "0 9 * * 1", Some(9), None),
    ];
    let holder = last_write_at(&rules, Field::MaxReplicas, thursday());
    let policy = PolicyName::new(Family::CronScaling, object_name("rules"));
    let cause = Cause::MovedOtherBound;
    assert_eq!(holder, LastWrite { value: Some(9), policy, rule: Some(2), cause, since: None });
    assert_eq!(bounds_at(&rules, thursday()), (Some(7), Some(9)));
}

#[test]
fn the_first_of_several_rules_that_move_a_bound_equally_far_is_credited() {
    let high = |name: &str, cron: &str| bounds(name, cron, Some(9), None);
    let rules = [high("a", "0 20 * * *"), high("b", "0 8 * * *")];
    for hour in 0..24 {
        let at = instant(&format!("2026-03-05T{hour:02}:30:00Z"));
        assert_eq!(last_write_at(&rules, Field::MaxReplicas, at).rule, Some(0), "at {at}");
    }
}

#[test]
fn a_rule_that_is_always_superseded_moves_no_bound() {
    let rules =
        [bounds("high", "0 8 * * *", Some(9), None), bounds("low", "0 8 * * *", Some(3), None)];
    let run = Run::beginning(world(&rules), thursday());
    assert_eq!(run.bounds_of(&autoscaler("shop")), (Some(3), Some(5)));
    assert_eq!(run.last_write_of(&autoscaler("shop"), Field::MaxReplicas), None);
}

#[test]
fn a_rule_superseded_on_all_days_but_one_moved_the_other_bound_on_that_day() {
    // On Sundays, no later rule supersedes it; tested from each day of a week.
    for (always, on_weekdays) in [("0 * * * *", "0 * * * 1-6"), ("* * * * *", "* * * * 1-6")] {
        let rules =
            [bounds("high", always, Some(9), None), bounds("low", on_weekdays, Some(3), None)];
        for day in 2..9 {
            let at = instant(&format!("2026-03-{day:02}T23:30:00Z"));
            assert_eq!(bounds_at(&rules, at).1, Some(9), "at {at}");
        }
    }
}

#[test]
fn a_suspended_rule_neither_moves_a_bound_nor_takes_a_place() {
    let rules = [
        bounds("high", "0 8 * * *", Some(9), None),
        bounds("low", "0 8 * * *", Some(3), None).suspended(),
        bounds("highest", "0 8 * * *", Some(12), None).suspended(),
    ];
    assert_eq!(bounds_at(&rules, thursday()), (Some(9), Some(9)));
}

#[test]
fn a_split_world_starts_like_an_unsplit_one() {
    // The rule that moved an unnamed bound does not depend on the start of a run.
    let rules =
        [bounds("low", "0 20 * * *", Some(3), None), bounds("high", "0 8 * * *", Some(7), None)];
    let (first, second, end) = ("2026-03-01", "2026-03-04", "2026-03-08");
    let midnight = |day: &str| instant(&format!("{day}T00:00:00Z"));
    let mut whole = Run::beginning(world(&rules), midnight(first));
    whole.until(midnight(second));
    let mut part = Run::beginning(world(&rules), midnight(second));
    assert_eq!(part.last_writes, whole.last_writes);
    whole.until(midnight(end));
    part.until(midnight(end));
    assert_eq!(part.last_writes, whole.last_writes);
}
