//! The number of selected clusters, and the choice among several with the same total.

use almanac_engine::placement::{Placement, PrioritizerMode};
use almanac_fixtures::placements::{
    add_cluster, add_decision, add_placement, add_scores, cluster, decision, placement, scores,
};

use crate::support::monday;
use crate::support::placements::Fleet;

#[test]
fn the_first_clusters_by_name_of_equal_total_are_selected() {
    let two = placement(Some(2), PrioritizerMode::Exact, &[]);
    let mut fleet = Fleet::new(&["d", "b", "c", "a"], two);
    assert_eq!(fleet.selects(), "a b");
    fleet = fleet.scored("d", "cpuratio", 1);
    fleet.set(placement(Some(2), PrioritizerMode::Exact, &[("default/cpuratio", 1)]));
    assert_eq!(fleet.selects(), "a d");
}

#[test]
fn without_a_number_all_matching_clusters_are_selected() {
    assert_eq!(Fleet::new(&["b", "a"], Placement::default()).selects(), "a b");
}

#[test]
fn a_hundred_and_twenty_eight_clusters_become_ten_and_then_none() {
    let names: Vec<String> = (0..128).map(|number| format!("c{number:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let of = |clusters| placement(Some(clusters), PrioritizerMode::Additive, &[]);
    let mut fleet = Fleet::new(&names, of(128));
    let turn = fleet.turn(monday("12:00"));
    assert_eq!((fleet.decisions().len(), turn.done.len()), (2, 2));
    fleet.set(of(10));
    fleet.turn(monday("12:01"));
    assert_eq!(fleet.decisions(), [format!("web-decision-1 0 : {}", names[..10].join(" "))]);
    fleet.set(of(0));
    fleet.turn(monday("12:02"));
    assert_eq!(fleet.decisions(), ["web-decision-1 0 : "]);
    assert!(fleet.turn(monday("12:03")).done.is_empty());
}

#[test]
fn exactly_steady_three_and_a_score_select_three_clusters_as_in_the_design() {
    let scores = [("Steady", 3), ("default/cpuratio", 1)];
    let three = placement(Some(3), PrioritizerMode::Exact, &scores);
    let mut fleet = Fleet::new(&["a", "b", "c", "d", "e"], three)
        .scored("a", "cpuratio", 10)
        .scored("b", "cpuratio", 90)
        .scored("c", "cpuratio", -80)
        .scored("d", "cpuratio", 50)
        .scored("e", "memratio", 100);
    fleet.turn(monday("12:00"));
    assert_eq!(fleet.selects(), "a b d");
    // A score does not outweigh the current selection of a cluster.
    fleet = fleet.scored("c", "cpuratio", 100).scored("a", "cpuratio", -100);
    assert_eq!(fleet.totals(), "b 390, d 350, a 200, c 100, e 0");
    assert_eq!(fleet.selects(), "a b d");
}

#[test]
fn a_weight_below_zero_selects_the_last() {
    let of = |weight| placement(Some(1), PrioritizerMode::Exact, &[("default/cpuratio", weight)]);
    let mut fleet = Fleet::new(&["a", "b", "c"], of(1))
        .scored("a", "cpuratio", 20)
        .scored("b", "cpuratio", 88)
        .scored("c", "cpuratio", -7);
    assert_eq!(fleet.selects(), "b");
    fleet.set(of(-1));
    assert_eq!(fleet.selects(), "c");
}

#[test]
fn selections_of_others_are_counted_and_its_own_are_not() {
    let one = placement(Some(1), PrioritizerMode::Additive, &[]);
    let mut fleet = Fleet::new(&["a", "b"], one.clone());
    add_placement(&mut fleet.world, "api", one);
    add_decision(&mut fleet.world, "api-decision-1", decision("api", &["a"]));
    assert_eq!(fleet.selects(), "b");
    fleet.turn(monday("12:00"));
    assert_eq!(fleet.selects(), "b", "the own decision of the placement does not count");
}

#[test]
fn the_four_stories_of_the_design_select_the_clusters_it_names() {
    // Scores that agents push, and those computed on the hub, are treated equally here.
    let best = placement(Some(1), PrioritizerMode::Exact, &[("default/cpuratio", 1)]);
    let mut fleet = Fleet::new(&[], best);
    for (name, score) in [("cluster1", 88), ("cluster2", 12)] {
        add_cluster(&mut fleet.world, name, cluster(""));
        let scores = scores(&[("cpuratio", score), ("memratio", 77)], None);
        add_scores(&mut fleet.world, name, "default", scores);
    }
    assert_eq!(fleet.selects(), "cluster1");

    let workload = [("disasterrecovery/workload", 1)];
    let one = placement(Some(1), PrioritizerMode::Exact, &workload);
    let mut fleet = Fleet::new(&["primary", "backup"], one);
    for (name, score) in [("primary", 100), ("backup", 0)] {
        let scores = scores(&[("workload", score)], None);
        add_scores(&mut fleet.world, name, "disasterrecovery", scores);
    }
    fleet.turn(monday("12:00"));
    assert_eq!(fleet.decisions(), ["web-decision-1 0 : primary"]);
    let mut down = cluster("");
    let taint = "cluster.open-cluster-management.io/unavailable:NoSelect";
    down.taints = [almanac_fixtures::placements::taint(taint, None)].into();
    add_cluster(&mut fleet.world, "primary", down);
    fleet.turn(monday("12:01"));
    assert_eq!(fleet.decisions(), ["web-decision-1 0 : backup"]);
    add_cluster(&mut fleet.world, "primary", cluster(""));
    fleet.turn(monday("12:02"));
    assert_eq!(fleet.decisions(), ["web-decision-1 0 : primary"]);
}
