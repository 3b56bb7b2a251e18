//! The writes of a turn: only the differences, and a cluster that stays selected is always in a decision.

use almanac_engine::placement::{DecisionGroup, Placement, PlacementDecision, PrioritizerMode};
use almanac_engine::{Action, Outcome, World};
use almanac_fixtures::placements::{
    add_cluster, add_decision, cluster, cluster_selector, decision, object, placement,
};

use crate::support::monday;
use crate::support::placements::Fleet;

fn names(numbers: std::ops::Range<u32>) -> Vec<String> {
    numbers.map(|number| format!("c{number:04}")).collect()
}

fn written(done: &[(Action, Outcome)]) -> Vec<String> {
    let shown = done.iter().map(|(action, _)| match action {
        Action::RemoveDecision { decision } => format!("remove {}", decision.name()),
        other => format!("write {}", other.target().name()),
    });
    shown.collect()
}

#[test]
fn a_turn_that_changes_nothing_writes_nothing() {
    let mut fleet = Fleet::new(&["a", "b"], Placement::default());
    assert_eq!(fleet.turn(monday("12:00")).done.len(), 1);
    let again = fleet.turn(monday("12:00"));
    assert!(again.done.is_empty() && again.recorded.is_empty());
    assert_eq!(again.effects.len(), 1);
}

#[test]
fn the_new_decision_of_a_cluster_is_written_before_the_old_one() {
    let all = names(0..250);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut fleet = Fleet::new(&all[1..], Placement::default());
    fleet.turn(monday("12:00"));
    add_cluster(&mut fleet.world, all[0], cluster(""));
    let added = fleet.turn(monday("12:01"));
    let order = ["write web-decision-3", "write web-decision-2", "write web-decision-1"];
    assert_eq!(written(&added.done), order);
    fleet.world.remove(&object("ManagedCluster", "", all[0]));
    let removed = fleet.turn(monday("12:02"));
    assert_eq!(written(&removed.done), [order[2], order[1], order[0]]);
    fleet.set(placement(Some(90), PrioritizerMode::Exact, &[]));
    let shrunk = fleet.turn(monday("12:03"));
    let expected = ["write web-decision-1", "remove web-decision-3", "remove web-decision-2"];
    assert_eq!(written(&shrunk.done), expected);
}

#[test]
fn exchanged_clusters_are_in_a_spare_decision_until_the_exchange_ends() {
    let group = |name: &str| DecisionGroup {
        name: name.into(),
        selector: cluster_selector(&format!("group={name}"), ""),
    };
    let placement =
        Placement { groups: [group("one"), group("two")].into(), ..Placement::default() };
    let mut fleet =
        Fleet::new(&[], placement).with("a", cluster("group=one")).with("b", cluster("group=two"));
    fleet.turn(monday("12:00"));
    add_cluster(&mut fleet.world, "a", cluster("group=two"));
    add_cluster(&mut fleet.world, "b", cluster("group=one"));
    let turn = fleet.turn(monday("12:01"));
    assert_eq!(written(&turn.done).last().unwrap(), "remove web-decision-3");
    assert_eq!(fleet.decisions(), ["web-decision-1 0 one: b", "web-decision-2 1 two: a"]);
    assert!(turn.recorded.is_empty(), "the same clusters are selected");
}

#[test]
fn a_failed_write_is_repeated_and_the_selection_stays() {
    let all = names(0..250);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut fleet = Fleet::new(&all[1..], Placement::default());
    fleet.turn(monday("12:00"));
    add_cluster(&mut fleet.world, all[0], cluster(""));
    let mut left = 1;
    let failed = fleet.turn_with(monday("12:01"), |world: &mut World, action: &Action| {
        if left == 0 {
            return Outcome::Conflict;
        }
        left -= 1;
        world.apply(action)
    });
    assert!(failed.recorded.is_empty() && failed.effects.is_empty());
    let shown = fleet.world.placement.extra.decisions.iter().flat_map(|(_, it)| &it.clusters);
    let shown: std::collections::BTreeSet<&str> = shown.map(|it| &**it).collect();
    assert!(all[1..].iter().all(|it| shown.contains(it)));
    let again = fleet.turn(monday("12:02"));
    assert_eq!((again.done.len(), again.effects.len()), (2, 1));
}

#[test]
fn a_partly_written_change_is_recorded_once_it_is_complete() {
    let all = names(0..150);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut fleet = Fleet::new(&all, Placement::default());
    // All are written; the last response is lost.
    let recorded_counts = |turn: &almanac_engine::turn::Turn| match &turn.recorded[..] {
        [] => None,
        [almanac_engine::Recorded::Placement(it)] => Some((it.added.len(), it.removed.len())),
        other => panic!("{other:?}"),
    };
    let mut number = 0;
    let mut lossy = |world: &mut World, action: &Action| {
        number += 1;
        let outcome = world.apply(action);
        if number % 2 == 0 { Outcome::Conflict } else { outcome }
    };
    assert_eq!(recorded_counts(&fleet.turn_with(monday("12:00"), &mut lossy)), None);
    assert_eq!(recorded_counts(&fleet.turn(monday("12:01"))), Some((150, 0)));
    assert_eq!(recorded_counts(&fleet.turn(monday("12:02"))), None);
    for gone in [all[0], all[149]] {
        fleet.world.remove(&object("ManagedCluster", "", gone));
    }
    let failed = fleet.turn_with(monday("12:03"), &mut lossy);
    assert_eq!((recorded_counts(&failed), failed.done.len()), (None, 2));
    assert_eq!(recorded_counts(&fleet.turn(monday("12:04"))), Some((0, 2)));
}

#[test]
fn decisions_with_wrong_labels_or_names_are_corrected() {
    let mut fleet = Fleet::new(&["a"], Placement::default());
    let unlabeled = PlacementDecision { placement: None, ..decision("web", &["a"]) };
    add_decision(&mut fleet.world, "web-decision-1", unlabeled);
    add_decision(&mut fleet.world, "odd", decision("web", &["a"]));
    add_decision(&mut fleet.world, "web-decision-7", decision("web", &["b"]));
    add_decision(&mut fleet.world, "other-decision-1", decision("other", &["a"]));
    let turn = fleet.turn(monday("12:00"));
    assert_eq!(fleet.decisions(), ["other-decision-1 0 : a", "web-decision-1 0 : a"]);
    let [recorded] = &turn.recorded[..] else { panic!("{:?}", turn.recorded) };
    let almanac_engine::Recorded::Placement(recorded) = recorded else { panic!() };
    assert_eq!((&*recorded.added, &*recorded.removed), (&[][..], &["b".into()][..]));
}
