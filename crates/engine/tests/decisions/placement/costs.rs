//! The cost limits of expressions. Each cluster has its own share of steps. If its evaluation needs more, nothing is
//! assumed.

use std::sync::Arc;

use almanac_engine::placement::{Cluster, Expression, ExpressionReaders, Satisfaction};
use almanac_engine::{Outcome, Recorded};
use almanac_fixtures::placements::{
    add_cluster, add_decision, add_placement, add_scores, decision, object, scores, taint,
    toleration,
};

use super::expressions::{NOT_BUSY, by, cluster_of};
use crate::support::monday;
use crate::support::placements::Fleet;

/// Iterates over the zones of a cluster four times, nested.
pub(super) const COSTLY: &str = "managedCluster.status.zones.all(a, managedCluster.status.zones.all(b, \
                      managedCluster.status.zones.all(c, managedCluster.status.zones.all(d, a + b + c + d != ''))))";

/// A cluster with this number of zones. A hundred exceed the share of any cluster with this expression.
pub(super) fn with_zones(count: usize) -> Cluster {
    let zones: Vec<String> = (0..count).map(|it| format!("z{it}")).collect();
    cluster_of("v1", &zones.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Gives the clusters with these numbers this number of zones each.
fn zones(fleet: &mut Fleet, numbers: std::ops::Range<usize>, count: usize) {
    for number in numbers {
        add_cluster(&mut fleet.world, &format!("c{number:03}"), with_zones(count));
    }
}

/// Three selected clusters for which the expression is too costly from then on.
fn overwhelmed() -> Fleet {
    let mut fleet = Fleet::new(&[], by(&[&[COSTLY]]));
    zones(&mut fleet, 0..3, 1);
    assert_eq!(after(&mut fleet, "11:00"), "c000 c001 c002");
    zones(&mut fleet, 0..3, 100);
    assert_eq!(after(&mut fleet, "11:30"), "c000 c001 c002");
    fleet
}

/// The selection after a turn.
fn after(fleet: &mut Fleet, time: &str) -> String {
    let _turn = fleet.turn(monday(time));
    fleet.selects_now().join(" ")
}

fn satisfaction(fleet: &Fleet) -> Satisfaction {
    fleet.decide(monday("12:00")).satisfaction
}

#[test]
fn an_expression_too_costly_for_one_cluster_excludes_that_cluster() {
    let zones = "managedCluster.status.zones";
    let all = format!("{zones}.all(a, {zones}.all(b, {zones}.all(c, a + b + c != '')))");
    let many: Vec<String> = (0..100).map(|it| it.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let fleet = Fleet::new(&[], by(&[&[&all]]))
        .with("a", cluster_of("", &["x"]))
        .with("wide", cluster_of("", &many));
    assert_eq!(fleet.selects(), "a");
    let lines = fleet.explained(monday("12:00"));
    assert!(lines[1].ends_with("has no result: it would take more than 100000 steps"), "{lines:?}");
}

#[test]
fn the_expressions_of_a_placement_are_refused_for_their_total_steps() {
    let list = format!("[{}]", vec!["1"; 100].join(","));
    let nested = format!("{list}.all(a, {list}.all(b, a + b > 0))");
    let mut allowance = almanac_engine::placement::Allowance::new();
    let compiled: Vec<bool> =
        (0..4).map(|_| Expression::compile_within(&mut allowance, &nested).is_ok()).collect();
    assert_eq!(compiled, [true, false, false, false]);
}

#[test]
fn the_only_candidate_cannot_stay_by_costing_too_much() {
    let mut fleet = Fleet::new(&[], by(&[&[COSTLY]]));
    zones(&mut fleet, 0..1, 1);
    assert_eq!(after(&mut fleet, "11:00"), "c000");
    zones(&mut fleet, 0..1, 100);
    assert_eq!(after(&mut fleet, "12:00"), "");
    assert_eq!(satisfaction(&fleet), Satisfaction::NoneMatches);
}

#[test]
fn an_expression_too_costly_everywhere_changes_nothing_and_is_explained() {
    let mut fleet = overwhelmed();
    assert_eq!(satisfaction(&fleet), Satisfaction::TooCostly);
    zones(&mut fleet, 3..4, 100);
    assert_eq!(after(&mut fleet, "12:00"), "c000 c001 c002", "a new one does not come");
    let lines = fleet.explained(monday("12:00"));
    let why = "its expressions take more than 100000 steps, as over every other cluster, so it is unknown whether the \
               cluster matches";
    assert_eq!(lines[0], format!("c000 Won: rank 1 of 3: total 0; {why}, and it stays"));
    assert_eq!(lines[3], format!("c003 Excluded: {why}, and it is not selected"));
    zones(&mut fleet, 1..2, 1);
    assert_eq!(after(&mut fleet, "13:00"), "c001", "over one it can be afforded");
}

#[test]
fn costly_clusters_leave_all_others_unchanged() {
    let mut fleet = Fleet::new(&[], by(&[&[COSTLY]]));
    zones(&mut fleet, 0..55, 1);
    let _turn = fleet.turn(monday("11:00"));
    // From here on, fifty agents report as much data as they can.
    zones(&mut fleet, 0..50, 100);
    add_cluster(&mut fleet.world, "c053", cluster_of("v1", &[""]));
    fleet.world.remove(&object("ManagedCluster", "", "c054"));
    zones(&mut fleet, 60..61, 1);
    zones(&mut fleet, 61..62, 100);
    let _turn = fleet.turn(monday("12:00"));
    let selected = fleet.selects_now();
    assert_eq!(selected[49..], ["c049", "c050", "c051", "c052", "c060"]);
    assert_eq!(satisfaction(&fleet), Satisfaction::TooCostly);
    let of_one = |name: &str| {
        let lines = fleet.explained(monday("12:00"));
        lines.into_iter().find(|it| it.starts_with(name)).unwrap()
    };
    assert!(
        of_one("c000").ends_with(
            "over 56 clusters, so it is unknown whether the cluster matches, and it stays"
        )
    );
    assert!(
        of_one("c061").ends_with("unknown whether the cluster matches, and it is not selected")
    );
}

#[test]
fn enough_clusters_with_known_matches_satisfy_the_placement() {
    let mut it = by(&[&[COSTLY]]);
    it.number_of_clusters = Some(2);
    let mut fleet = Fleet::new(&[], it);
    zones(&mut fleet, 0..53, 100);
    zones(&mut fleet, 53..55, 1);
    assert_eq!(after(&mut fleet, "12:00"), "c053 c054");
    assert_eq!(satisfaction(&fleet), Satisfaction::Satisfied);
}

#[test]
fn taints_deletion_and_the_end_of_a_binding_count_despite_costly_expressions() {
    let mut fleet = overwhelmed();
    let tainted = Cluster { taints: [taint("down:NoSelect", None)].into(), ..with_zones(100) };
    add_cluster(&mut fleet.world, "c000", tainted);
    assert_eq!(after(&mut fleet, "12:00"), "c001 c002");
    let gone = Cluster { is_terminating: true, ..with_zones(100) };
    add_cluster(&mut fleet.world, "c001", gone);
    zones(&mut fleet, 3..4, 100);
    assert_eq!(after(&mut fleet, "12:10"), "c002");
    let bindings =
        fleet.world.placement.extra.hub.bindings["default"].keys().cloned().collect::<Vec<_>>();
    for binding in bindings {
        fleet.world.remove(&object("ManagedClusterSetBinding", "default", &binding));
    }
    assert_eq!(after(&mut fleet, "12:20"), "");
}

#[test]
fn an_edited_decision_is_restored_despite_costly_expressions() {
    let mut fleet = overwhelmed();
    zones(&mut fleet, 3..4, 100);
    let _turn = fleet.turn(monday("11:45"));
    add_decision(&mut fleet.world, "web-decision-1", decision("web", &["c000", "c003"]));
    assert_eq!(after(&mut fleet, "12:00"), "c000 c001 c002");
    fleet.world.remove(&object("PlacementDecision", "default", "web-decision-1"));
    assert_eq!(after(&mut fleet, "12:10"), "c000 c001 c002");
}

#[test]
fn writes_before_a_failed_one_are_recorded_despite_costly_expressions() {
    let mut fleet = Fleet::new(&[], by(&[&[COSTLY]]));
    zones(&mut fleet, 0..150, 1);
    let mut writes = 0;
    let _turn = fleet.turn_with(monday("11:00"), |world, action| {
        writes += 1;
        if writes == 1 { world.apply(action) } else { Outcome::Unknown("lost".into()) }
    });
    assert_ne!(fleet.selects_now(), [""; 0]);
    let written = fleet.selects_now().len();
    for number in 0..150 {
        fleet.world.remove(&object("ManagedCluster", "", &format!("c{number:03}")));
    }
    let names = fleet.selects_now();
    for name in &names[..3] {
        add_cluster(&mut fleet.world, name, with_zones(100));
    }
    assert!(written > 3);
    let turn = fleet.turn(monday("11:30"));
    assert_eq!(fleet.selects_now(), names[..3]);
    let [recorded] = &turn.recorded[..] else { panic!("{:?}", turn.recorded) };
    assert_eq!((recorded_added(recorded), fleet.selects_now().len()), (3, 3));
}

fn recorded_added(recorded: &Recorded) -> usize {
    let Recorded::Placement(recorded) = recorded else { panic!("{recorded:?}") };
    recorded.added.len()
}

#[test]
fn scores_and_tolerations_wake_despite_costly_expressions() {
    let both = format!("{NOT_BUSY} && {COSTLY}");
    let mut it = by(&[&[&both]]);
    it.tolerations = [toleration("down", Some(3600))].into();
    let mut fleet = Fleet::new(&[], it);
    zones(&mut fleet, 0..2, 1);
    for (name, until) in [("c000", "14:00"), ("c001", "13:30")] {
        add_scores(&mut fleet.world, name, "default", scores(&[("load", 1)], Some(monday(until))));
    }
    assert_eq!(after(&mut fleet, "11:00"), "c000 c001");
    zones(&mut fleet, 0..2, 100);
    assert_eq!(fleet.decide(monday("12:00")).wake_at, Some(monday("13:30")));
    let taints = [taint("down:NoSelect", Some(monday("12:00")))].into();
    add_cluster(&mut fleet.world, "c000", Cluster { taints, ..with_zones(100) });
    assert_eq!(fleet.decide(monday("12:00")).wake_at, Some(monday("13:00")));
    assert_eq!(after(&mut fleet, "13:00"), "c001");
}

#[test]
fn too_high_cost_is_the_reason_exactly_while_it_lasts() {
    let mut fleet = overwhelmed();
    let why = |fleet: &mut Fleet, time: &str| {
        let turn = fleet.turn(monday(time));
        turn.effects[0].reason.render(&fleet.world, &Fleet::name().identity).unwrap().1
    };
    assert_eq!(
        why(&mut fleet, "12:00"),
        "3 clusters selected; for 3 clusters it is unknown whether they match, because expressions take too many steps: those \
         of them that were selected stay, and no others are added"
    );
    let gone = Cluster { is_terminating: true, ..with_zones(100) };
    add_cluster(&mut fleet.world, "c002", gone);
    assert!(
        why(&mut fleet, "12:10").starts_with("2 clusters selected; for 2 clusters it is unknown")
    );
    zones(&mut fleet, 0..2, 1);
    assert_eq!(why(&mut fleet, "12:20"), "all matching clusters selected: 2");
}

#[test]
fn a_costly_predicate_leaves_its_share_to_the_next() {
    let zone = "managedCluster.status.zones[0] == 'z0'";
    let fleet = |predicates: &[&[&str]], count| {
        Fleet::new(&[], by(predicates)).with("a", with_zones(count)).selects()
    };
    assert_eq!(fleet(&[&[COSTLY], &[zone]], 100), "a");
    assert_eq!(fleet(&[&[zone], &[COSTLY]], 100), "a");
    assert_eq!(fleet(&[&[COSTLY], &["false"]], 1), "a");
    let rejected = Fleet::new(&[], by(&[&[COSTLY], &["false"]])).with("a", with_zones(100));
    let lines = rejected.explained(monday("12:00"));
    assert!(
        lines[0].contains("it would take more than 50000 steps; or the expression false"),
        "{lines:?}"
    );
}

#[test]
fn a_cluster_is_evaluated_again_if_its_steps_leave_the_end_of_its_match_unknown() {
    // Of nine objects, one more expires every minute, without any effect.
    let mut fleet = Fleet::new(&[], by(&[&["true"]]));
    let names: Vec<String> = (0..9).map(|it| format!("scores-{it}")).collect();
    let reads = names.iter().map(|it| format!("managedCluster.scores('{it}').size() >= 0"));
    let reads = reads.collect::<Vec<_>>().join(" && ");
    let both = format!("{reads} && {COSTLY}");
    let mut it = by(&[&[&both]]);
    it.tolerations = [toleration("down", Some(60))].into();
    fleet.set(it);
    let tainted = Cluster { taints: [taint("down:NoSelect", None)].into(), ..with_zones(8) };
    add_cluster(&mut fleet.world, "a", tainted);
    for (minute, name) in names.iter().enumerate() {
        let values = scores(&[("load", 1)], Some(monday(&format!("13:0{minute}"))));
        add_scores(&mut fleet.world, "a", name, values);
    }
    let decision = fleet.decide(monday("12:00"));
    assert_eq!(decision.undated, ["a".into()]);
    let wake_at = decision.wake_at.expect("an end of the match");
    assert!(wake_at < monday("13:08"), "{wake_at}");
}

/// The placements that a change of a cluster requeues.
fn woken(placements: &[(&str, &str)], before: Cluster, after: Cluster) -> String {
    let mut fleet = Fleet::new(&[], by(&[&["true"]]));
    add_cluster(&mut fleet.world, "a", before);
    for (name, expression) in placements {
        add_placement(&mut fleet.world, name, by(&[&[expression]]));
    }
    let readers = ExpressionReaders::for_cluster(fleet.world.view(), "a");
    let woken = readers.concerned(&fleet.cluster("a"), &Arc::new(after), monday("12:00"));
    woken.iter().map(|it| it.identity.name()).collect::<Vec<_>>().join(" ")
}

#[test]
fn costly_placements_do_not_wake_those_after_them_when_a_cluster_changes() {
    let mut placements: Vec<(String, &str)> =
        (0..40).map(|it| (format!("a-hostile-{it}"), COSTLY)).collect();
    placements.push(("later".to_owned(), "managedCluster.status.version == 'v1'"));
    let placements: Vec<(&str, &str)> =
        placements.iter().map(|(name, it)| (&**name, *it)).collect();
    let other = Cluster { object: cluster_of("v2", &["x"]).object, ..with_zones(100) };
    assert!(!woken(&placements, with_zones(100), with_zones(99)).contains("later"));
    assert!(woken(&placements, with_zones(100), other).ends_with("later"));
}

#[test]
fn a_costlier_expression_with_the_same_result_wakes_no_placement() {
    let all = [("all", "managedCluster.status.zones.all(z, z.size() > 0)")];
    assert_eq!(woken(&all, with_zones(1), with_zones(20)), "");
    assert_eq!(woken(&all, with_zones(1), cluster_of("v1", &["a", ""])), "all");
}

#[test]
fn heartbeats_of_a_cluster_that_costs_too_much_wake_no_placement() {
    let mut fleet = Fleet::new(&[], by(&[&[COSTLY]]));
    zones(&mut fleet, 0..1, 100);
    let said = |fleet: &Fleet| {
        let readers = ExpressionReaders::for_cluster(fleet.world.view(), "c000");
        readers.matched(&fleet.cluster("c000"), monday("12:00"))
    };
    assert_eq!(said(&fleet), [None], "it is decided what that comes to");
    let _turn = fleet.turn(monday("12:00"));
    let known = said(&fleet);
    zones(&mut fleet, 0..1, 99);
    assert!(known[0].is_some() && said(&fleet) == known);
    zones(&mut fleet, 0..1, 1);
    assert_ne!(said(&fleet), known);
}

#[test]
fn a_placement_that_no_longer_finds_a_cluster_costly_is_named_to_readers_from_before() {
    let mut fleet = Fleet::new(&[], by(&[&[COSTLY]]));
    zones(&mut fleet, 0..1, 100);
    let _turn = fleet.turn(monday("12:00"));
    let readers = ExpressionReaders::for_cluster(fleet.world.view(), "c000");
    assert_eq!(readers.no_longer_costly(fleet.world.view()), []);
    zones(&mut fleet, 0..1, 1);
    let _turn = fleet.turn(monday("12:10"));
    assert_eq!(readers.no_longer_costly(fleet.world.view()).len(), 1);
}
