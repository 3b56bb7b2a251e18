//! Each score, and their sums.

use almanac_engine::Slim;
use almanac_engine::placement::{Cluster, HubObject, PrioritizerMode, Quantity};
use almanac_fixtures::placements::{
    add_decision, add_scores, cluster, cluster_with_cpu, decision, object, placement, scores,
};

use crate::support::placements::Fleet;
use crate::support::{NANOSECOND, monday};

fn exact(scores: &[(&str, i64)]) -> almanac_engine::placement::Placement {
    placement(None, PrioritizerMode::Exact, scores)
}

#[test]
fn a_cluster_is_the_better_balanced_the_fewer_others_have_selected_it() {
    let mut fleet = Fleet::new(&["a", "b", "c", "d"], exact(&[("Balance", 1)]));
    for (name, clusters) in [("x", &["a", "b", "c"][..]), ("y", &["a", "b"]), ("z", &["a"])] {
        add_decision(&mut fleet.world, &format!("{name}-decision-1"), decision(name, clusters));
    }
    assert_eq!(fleet.totals(), "d 100, c 32, b -32, a -100");
}

#[test]
fn selections_of_a_placement_of_equal_name_in_another_namespace_count() {
    let mut fleet = Fleet::new(&["a", "b", "c"], exact(&[("Balance", 1)]));
    let [own, elsewhere] = ["default", "elsewhere"]
        .map(|namespace| object("PlacementDecision", namespace, "web-decision-1"));
    for (at, clusters) in [(own, &["c"][..]), (elsewhere, &["a"])] {
        fleet.world.upsert(at, Slim::Hub(HubObject::Decision(decision("web", clusters))));
    }
    assert_eq!(fleet.totals(), "b 100, c 100, a -100", "its own does not count");
    let third = object("PlacementDecision", "third", "x-decision-1");
    fleet.world.upsert(third.clone(), Slim::Hub(HubObject::Decision(decision("x", &["a", "b"]))));
    assert_eq!(fleet.totals(), "c 100, b 0, a -100");
    fleet.world.remove(&third);
    assert_eq!(fleet.totals(), "b 100, c 100, a -100");
}

#[test]
fn the_largest_count_is_of_all_clusters_and_not_only_of_the_candidates() {
    let mut fleet = Fleet::new(&["a"], exact(&[("Balance", 1)]));
    for (name, clusters) in [("x", &["a", "far"][..]), ("y", &["far"]), ("z", &["far"])] {
        add_decision(&mut fleet.world, &format!("{name}-decision-1"), decision(name, clusters));
    }
    assert_eq!(fleet.totals(), "a 32");
}

#[test]
fn allocatable_cpu_is_compared_in_exact_numbers_and_is_nothing_without_data() {
    let cpu = |cpu| cluster_with_cpu(cpu);
    let mut fleet = Fleet::new(&[], exact(&[("ResourceAllocatableCPU", 1)]))
        .with("a", cpu(Some(10_000)))
        .with("b", cpu(Some(7_000)))
        .with("c", cpu(Some(9_000)))
        .with("d", cpu(Some(1_500)))
        .with("e", cpu(None));
    assert_eq!(fleet.totals(), "a 100, c 76, b 29, e 0, d -100");
    // In binary fractions, (0.6 - 0.5) * 200 is a little less than 20.
    fleet.world = Fleet::new(&[], exact(&[("ResourceAllocatableCPU", 1)]))
        .with("a", cpu(Some(0)))
        .with("b", cpu(Some(600)))
        .with("c", cpu(Some(1_000)))
        .world;
    assert_eq!(fleet.totals(), "c 100, b 20, a -100");
}

#[test]
fn equal_allocatable_amounts_have_the_maximum_score() {
    let fleet = Fleet::new(&["none"], exact(&[("ResourceAllocatableCPU", 1)]))
        .with("a", cluster_with_cpu(Some(4_000)))
        .with("b", cluster_with_cpu(Some(4_000)));
    assert_eq!(fleet.totals(), "a 100, b 100, none 0");
}

#[test]
fn only_clusters_that_may_be_selected_are_compared() {
    let tainted = Cluster {
        taints: [almanac_fixtures::placements::taint("gone:NoSelect", None)].into(),
        ..cluster_with_cpu(Some(100_000))
    };
    let fleet = Fleet::new(&[], exact(&[("ResourceAllocatableCPU", 1)]))
        .with("a", cluster_with_cpu(Some(2_000)))
        .with("b", cluster_with_cpu(Some(4_000)))
        .with("huge", tainted);
    assert_eq!(fleet.totals(), "b 100, a -100");
}

#[test]
fn scores_are_added_up_by_their_weights() {
    let listed = [("Balance", 3), ("ResourceAllocatableMemory", 1), ("default/ratio", 1)];
    let mut fleet = Fleet::new(&[], exact(&listed));
    for (name, bytes, score) in [("a", 100, 30), ("b", 50, 40), ("c", 0, 50)] {
        let allocatable_memory = Quantity::from_billionths(bytes * 1_000_000_000);
        fleet = fleet.with(name, Cluster { allocatable_memory, ..cluster("") });
        fleet = fleet.scored(name, "ratio", score);
    }
    assert_eq!(fleet.totals(), "a 430, b 340, c 250");
}

#[test]
fn a_score_counts_until_it_expires_and_nothing_when_it_is_missing() {
    let mut fleet = Fleet::new(&["a", "b", "c", "d"], exact(&[("default/cpuratio", 1)]));
    let end = monday("12:00");
    add_scores(&mut fleet.world, "a", "default", scores(&[("cpuratio", 88)], Some(end)));
    add_scores(&mut fleet.world, "b", "default", scores(&[("cpuratio", -5)], None));
    add_scores(&mut fleet.world, "c", "default", scores(&[("memratio", 99)], None));
    add_scores(&mut fleet.world, "d", "other", scores(&[("cpuratio", 99)], None));
    assert_eq!(fleet.totals(), "a 0, c 0, d 0, b -5", "an expired score does not count");
    assert_eq!(fleet.decide(end).wake_at, None);
    let before = fleet.decide(end - NANOSECOND);
    assert_eq!(before.wake_at, Some(end));
    let lines = fleet.explained(end);
    let expected = [
        "a Won: rank 1 of 4: total 0 (AddOn/default/cpuratio 0 x 1); AddOn/default/cpuratio counts 0: \
     it was valid until 2026-03-02T12:00:00Z",
        "c Won: rank 2 of 4: total 0 (AddOn/default/cpuratio 0 x 1); AddOn/default/cpuratio counts 0: \
     AddOnPlacementScore c/default has no cpuratio",
        "d Won: rank 3 of 4: total 0 (AddOn/default/cpuratio 0 x 1); AddOn/default/cpuratio counts 0: \
     there is no AddOnPlacementScore d/default",
        "b Won: rank 4 of 4: total -5 (AddOn/default/cpuratio -5 x 1)",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_score_that_changes_expires_or_is_emptied_moves_the_selection_at_that_instant() {
    let one = placement(Some(1), PrioritizerMode::Exact, &[("default/cpuratio", 1)]);
    let mut fleet = Fleet::new(&["a", "b"], one).scored("b", "cpuratio", 50);
    let end = monday("13:00");
    let expiring = |score| scores(&[("cpuratio", score)], Some(end));
    add_scores(&mut fleet.world, "a", "default", expiring(60));
    let turn = fleet.turn(monday("12:00"));
    let expected = (vec!["web-decision-1 0 : a".to_owned()], Some(end));
    assert_eq!((fleet.decisions(), turn.wake_at), expected);
    add_scores(&mut fleet.world, "a", "default", expiring(40));
    fleet.turn(monday("12:10"));
    assert_eq!(fleet.decisions(), ["web-decision-1 0 : b"]);
    add_scores(&mut fleet.world, "a", "default", expiring(60));
    fleet.turn(monday("12:20"));
    assert_eq!(fleet.decisions(), ["web-decision-1 0 : a"]);
    assert!(fleet.turn(end - NANOSECOND).done.is_empty());
    let turn = fleet.turn(end);
    assert_eq!((fleet.decisions(), turn.wake_at), (vec!["web-decision-1 0 : b".to_owned()], None));
    add_scores(&mut fleet.world, "b", "default", scores(&[], None));
    fleet.turn(monday("13:10"));
    assert_eq!(fleet.decisions(), ["web-decision-1 0 : a"], "both have nothing now");
}

#[test]
fn a_score_of_a_cluster_that_may_not_be_selected_wakes_no_placement() {
    let mut fleet = Fleet::new(&["a"], exact(&[("default/cpuratio", 1)]));
    let mut tainted = cluster("");
    tainted.taints = [almanac_fixtures::placements::taint("gone:NoSelect", None)].into();
    fleet = fleet.with("b", tainted);
    let ratio = |end| scores(&[("cpuratio", 10)], Some(end));
    add_scores(&mut fleet.world, "b", "default", ratio(monday("13:00")));
    assert_eq!(fleet.decide(monday("12:00")).wake_at, None);
    add_scores(&mut fleet.world, "a", "default", ratio(monday("14:00")));
    assert_eq!(fleet.decide(monday("12:00")).wake_at, Some(monday("14:00")));
    fleet.set(exact(&[("default/cpuratio", 0)]));
    assert_eq!(fleet.decide(monday("12:00")).wake_at, None, "a weight of 0 is off");
}
