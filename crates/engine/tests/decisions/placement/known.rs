//! The results of predicates, kept for the next turn.

use almanac_engine::placement::{
    Decision, ExpressionReaders, KnownMatches, MatchVerdict, Memory, Placement, decide, gather,
};
use almanac_engine::{PolicyObject, Slim};
use almanac_fixtures::placements::{add_cluster, add_scores, object, placement_name, scores};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::costs::{COSTLY, with_zones};
use super::expressions::{BUSY, NOT_BUSY, by};
use crate::support::monday;
use crate::support::placements::Fleet;
use crate::support::property::holds;

fn memory(fleet: &Fleet) -> Memory {
    gather(fleet.world.view(), &Fleet::name().identity)
        .unwrap()
        .memory
        .expect("a policy after a turn")
}

fn names(fleet: &Fleet) -> String {
    fleet.selects_now().join(" ")
}

#[test]
fn only_changed_clusters_are_evaluated_again() {
    let mut fleet = Fleet::new(&[], by(&[&["true"]]));
    for name in ["a", "b", "c"] {
        add_cluster(&mut fleet.world, name, with_zones(1));
    }
    let _turn = fleet.turn(monday("12:00"));
    // The kept results of one placement would be wrong for another, so this shows whether they are used.
    let known = memory(&fleet);
    fleet.set(by(&[&["false"]]));
    fleet.world.remove_policy(&Fleet::name());
    let mut other = PolicyObject::new(by(&[&["managedCluster.status.zones.size() > 1"]]));
    other.memory = Some(known);
    fleet.world.upsert(placement_name("web").identity, Slim::Placement(other));
    add_cluster(&mut fleet.world, "b", with_zones(1));
    let input = gather(fleet.world.view(), &Fleet::name().identity).unwrap();
    assert_eq!(decide(&input, monday("12:01")).clusters, ["a".into(), "c".into()]);
}

#[test]
fn a_heartbeat_evaluates_only_the_cluster_as_it_is_then() {
    let mut fleet = Fleet::new(&[], by(&[&["true"]]));
    add_cluster(&mut fleet.world, "a", with_zones(1));
    let _turn = fleet.turn(monday("12:00"));
    // As above: the kept results would be wrong for this placement.
    let known = memory(&fleet);
    fleet.world.remove_policy(&Fleet::name());
    let mut other = PolicyObject::new(by(&[&["false"]]));
    other.memory = Some(known);
    fleet.world.upsert(Fleet::name().identity, Slim::Placement(other));
    let said = |fleet: &Fleet| {
        let readers = ExpressionReaders::for_cluster(fleet.world.view(), "a");
        let said = readers.matched(&fleet.cluster("a"), monday("12:01"));
        let said = said.into_iter().map(|it| it.expect("a result within the steps").verdict);
        said.collect::<Vec<_>>()
    };
    assert_eq!(said(&fleet), [MatchVerdict::Matches], "it is known, and not evaluated");
    add_cluster(&mut fleet.world, "a", with_zones(1));
    assert_eq!(said(&fleet), [MatchVerdict::DoesNot], "it is evaluated");
}

#[test]
fn an_edited_placement_keeps_no_matches_from_before() {
    let mut fleet = Fleet::new(&["a", "b"], by(&[&["true"]]));
    let _turn = fleet.turn(monday("12:00"));
    assert_eq!(names(&fleet), "a b");
    fleet.set(by(&[&["managedCluster.status.zones.size() > 1"]]));
    let _turn = fleet.turn(monday("12:01"));
    assert_eq!(names(&fleet), "");
}

/// The changes of a hub between two turns.
#[derive(Clone, Debug)]
enum Change {
    Cluster(usize, usize),
    Gone(usize),
    Score(usize, i64, bool),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => (0..6_usize, select(&[0_usize, 1, 2, 7, 100][..])).prop_map(|(it, zones)| Change::Cluster(it, zones)),
        1 => (0..6_usize).prop_map(Change::Gone),
        2 => (0..6_usize, 40..60_i64, any::<bool>()).prop_map(|(it, load, ends)| Change::Score(it, load, ends)),
    ]
}

fn a_placement() -> impl Strategy<Value = Placement> {
    let texts = ["managedCluster.status.zones.size() > 1", COSTLY, BUSY, NOT_BUSY, "true", "false"];
    vec(vec(select(texts.to_vec()), 1..3), 1..4).prop_map(|predicates| {
        let predicates: Vec<&[&str]> = predicates.iter().map(|it| &it[..]).collect();
        by(&predicates)
    })
}

#[test]
fn kept_results_do_not_change_the_decision() {
    let cases = (a_placement(), vec(vec(change(), 0..4), 1..5));
    holds("kept_results_do_not_change_the_decision", 60, cases, |(it, turns)| {
        let mut fleet = Fleet::new(&[], it);
        for number in 0..6 {
            add_cluster(&mut fleet.world, &format!("c{number}"), with_zones(number % 3));
        }
        for (minute, changes) in turns.iter().enumerate() {
            for change in changes {
                apply(&mut fleet, change);
            }
            let now = monday(&format!("12:{minute:02}"));
            let mut input = gather(fleet.world.view(), &Fleet::name().identity).unwrap();
            let known: Decision = decide(&input, now);
            if let Some(memory) = &mut input.memory {
                memory.known = KnownMatches::default();
            }
            prop_assert_eq!(known, decide(&input, now));
            let _turn = fleet.turn(now);
        }
        Ok(())
    });
}

fn apply(fleet: &mut Fleet, change: &Change) {
    match *change {
        Change::Cluster(it, zones) => {
            add_cluster(&mut fleet.world, &format!("c{it}"), with_zones(zones));
        }
        Change::Gone(it) => fleet.world.remove(&object("ManagedCluster", "", &format!("c{it}"))),
        Change::Score(it, load, ends) => {
            let until = ends.then(|| monday("12:02"));
            add_scores(
                &mut fleet.world,
                &format!("c{it}"),
                "default",
                scores(&[("load", load)], until),
            );
        }
    }
}
