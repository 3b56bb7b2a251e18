//! The clusters that may be selected: sets, bindings, predicates, and placements that are not decided.

use std::sync::Arc;

use almanac_engine::placement::{
    Cluster, ClusterSet, HubObject, Placement, PlacementState, Satisfaction, unsatisfied,
};
use almanac_engine::{Exemptions, Reach, Slim, turn};
use almanac_fixtures::levels::label_selector;
use almanac_fixtures::placements::{
    SET, add_decision, cluster, cluster_selector, decision, labels_of, object,
};

use crate::support::monday;
use crate::support::placements::Fleet;

fn of_set(set: &str) -> Cluster {
    Cluster { set: Some(set.into()), ..Cluster::default() }
}

fn upsert(fleet: &mut Fleet, identity: almanac_engine::Identity, object: HubObject) {
    fleet.world.upsert(identity, Slim::Hub(object));
}

fn satisfaction(fleet: &Fleet) -> Satisfaction {
    fleet.decide(monday("12:00")).satisfaction
}

#[test]
fn only_clusters_of_sets_that_exist_and_are_bound_to_the_namespace_are_selected() {
    let mut fleet = Fleet::new(&["a"], Placement::default())
        .with("edge", of_set("edge"))
        .with("nowhere", Cluster::default())
        .with("chosen", Cluster { labels: labels_of("tier=gold"), ..Cluster::default() });
    assert_eq!(fleet.selects(), "a");
    upsert(&mut fleet, object("ManagedClusterSet", "", "edge"), HubObject::Set(ClusterSet::ByName));
    assert_eq!(fleet.selects(), "a", "it is not bound");
    let gold = ClusterSet::Selected(label_selector("tier=gold"));
    for (set, members) in [("edge", ClusterSet::ByName), ("gold", gold)] {
        upsert(&mut fleet, object("ManagedClusterSet", "", set), HubObject::Set(members));
        let binding = object("ManagedClusterSetBinding", "default", set);
        upsert(&mut fleet, binding, HubObject::Binding(set.into()));
    }
    let elsewhere = object("ManagedClusterSetBinding", "other", "absent");
    upsert(&mut fleet, elsewhere, HubObject::Binding("absent".into()));
    let absent = object("ManagedClusterSetBinding", "default", "absent");
    upsert(&mut fleet, absent, HubObject::Binding("absent".into()));
    assert_eq!(fleet.selects(), "a chosen edge");
    let sets = ["gold", "absent"].map(Arc::from).into();
    fleet.set(Placement { cluster_sets: sets, ..Placement::default() });
    assert_eq!(fleet.selects(), "chosen");
    fleet.world.remove(&object("ManagedClusterSet", "", "gold"));
    assert_eq!(fleet.selects(), "");
    assert_eq!(satisfaction(&fleet), Satisfaction::NoneOfItsSets);
}

#[test]
fn a_set_that_selects_everything_is_an_object_like_any_other() {
    let global = HubObject::Set(ClusterSet::Selected(label_selector("")));
    let mut fleet = Fleet::new(&["a"], Placement::default()).with("b", of_set("edge"));
    upsert(&mut fleet, object("ManagedClusterSet", "", "global"), global);
    assert_eq!(fleet.selects(), "a");
    let binding = object("ManagedClusterSetBinding", "default", "global");
    upsert(&mut fleet, binding.clone(), HubObject::Binding("global".into()));
    assert_eq!(fleet.selects(), "a b");
    fleet.world.remove(&binding);
    assert_eq!(fleet.selects(), "a");
}

#[test]
fn a_cluster_that_is_being_deleted_is_not_selected() {
    let leaving = Cluster { is_terminating: true, ..cluster("") };
    let fleet = Fleet::new(&["a"], Placement::default()).with("b", leaving);
    assert_eq!(fleet.selects(), "a");
    assert_eq!(fleet.explained(monday("12:00"))[1], "b Excluded: the cluster is being deleted");
}

#[test]
fn one_predicate_must_match_with_its_labels_and_its_claims() {
    let claimed =
        |labels: &str, claims: &str| Cluster { claims: labels_of(claims), ..cluster(labels) };
    let mut fleet = Fleet::new(&["bare"], Placement::default())
        .with("both", claimed("region=eu", "platform=aws"))
        .with("claim", claimed("region=us", "platform=aws"))
        .with("label", claimed("region=eu", "platform=gcp"))
        .with("prod", claimed("env=prod", ""));
    let mut predicates = vec![cluster_selector("region=eu", "platform=aws")];
    fleet.set(Placement { predicates: predicates.clone().into(), ..Placement::default() });
    assert_eq!(fleet.selects(), "both");
    predicates.push(cluster_selector("env=prod", ""));
    fleet.set(Placement { predicates: predicates.into(), ..Placement::default() });
    assert_eq!(fleet.selects(), "both prod");
    assert_eq!(
        fleet.explained(monday("12:00"))[2],
        "bare Excluded: no predicate matches: labels region=eu, claims platform=aws; or labels env=prod"
    );
}

#[test]
fn the_causes_of_an_unsatisfied_placement_are_distinguished() {
    let mut fleet = Fleet::new(&["a", "b"], Placement::default());
    assert_eq!(satisfaction(&fleet), Satisfaction::Satisfied);
    for (wanted, found) in
        [(3, Satisfaction::Lacks(1)), (2, Satisfaction::Satisfied), (0, Satisfaction::Satisfied)]
    {
        fleet.set(Placement { number_of_clusters: Some(wanted), ..Placement::default() });
        assert_eq!(satisfaction(&fleet), found, "{wanted}");
    }
    let predicates = [cluster_selector("region=eu", "")].into();
    fleet.set(Placement { predicates, number_of_clusters: Some(1), ..Placement::default() });
    assert_eq!(satisfaction(&fleet), Satisfaction::NoneMatches);
    for name in ["a", "b"] {
        fleet.world.remove(&object("ManagedCluster", "", name));
    }
    assert_eq!(satisfaction(&fleet), Satisfaction::NoClusters);
    fleet.world.remove(&object("ManagedClusterSetBinding", "default", "fleet"));
    assert_eq!(satisfaction(&fleet), Satisfaction::NothingBound);
}

#[test]
fn a_placement_that_cannot_be_used_is_disabled_deleted_or_exempt_keeps_what_it_has_selected() {
    let mut fleet = Fleet::new(&["a", "b"], Placement::default());
    add_decision(&mut fleet.world, "web-decision-1", decision("web", &["a"]));
    let name = Fleet::name();
    let is_left_alone = |fleet: &Fleet| {
        turn::open(&fleet.world, &name, &Reach::everything(), monday("12:00")).is_none()
    };
    assert!(!is_left_alone(&fleet));
    for standing in [PlacementState::Disabled, PlacementState::Terminating] {
        fleet.set(Placement { standing, ..Placement::default() });
        assert!(is_left_alone(&fleet), "{standing:?}");
    }
    let expected = [
        " Excluded: not decided, so the PlacementDecisions are unchanged; the placement is being deleted",
    ];
    assert_eq!(fleet.explained(monday("12:00")), expected);
    fleet.set(Placement::default());
    fleet.world.objects.exempt = Arc::new(Exemptions::for_namespaces(["default"]));
    assert!(is_left_alone(&fleet));
    fleet.world.objects.exempt = Arc::default();
    fleet.set(Placement::unusable([].into()));
    assert!(is_left_alone(&fleet));
    assert_eq!(fleet.decisions(), ["web-decision-1 0 : a"]);
}

/// The first turn of a placement without decisions, if it has such a turn.
fn first_turn(fleet: &mut Fleet) -> Option<turn::Turn> {
    turn::take(&mut fleet.world, &Fleet::name(), monday("12:00"))
}

#[test]
fn a_placement_with_an_error_gets_an_empty_first_decision_once() {
    let mut fleet = Fleet::new(&["a", "b"], Placement::unusable([].into()));
    let turn = first_turn(&mut fleet).expect("a created object");
    assert_eq!((turn.recorded.len(), turn.effects.len(), turn.wake_at), (0, 0, None));
    assert_eq!(fleet.decisions(), ["web-decision-1 0 : "]);
    assert_eq!(first_turn(&mut fleet), None, "it is there");
    fleet.set(Placement::default());
    fleet.turn(monday("12:01"));
    assert_eq!(fleet.decisions(), ["web-decision-1 0 : a b"]);
}

#[test]
fn a_placement_whose_set_has_an_error_gets_an_empty_first_decision_too() {
    let mut fleet = Fleet::new(&["a"], Placement::default());
    upsert(&mut fleet, object("ManagedClusterSet", "", SET), HubObject::Set(ClusterSet::Unusable));
    first_turn(&mut fleet).expect("a created object");
    assert_eq!(fleet.decisions(), ["web-decision-1 0 : "]);
}

#[test]
fn a_placement_with_an_error_that_is_exempt_or_whose_decision_name_is_taken_gets_none() {
    let mut fleet = Fleet::new(&["a"], Placement::unusable([].into()));
    fleet.world.objects.exempt = Arc::new(Exemptions::for_namespaces(["default"]));
    assert_eq!(first_turn(&mut fleet), None, "it is exempt");
    fleet.world.objects.exempt = Arc::default();
    add_decision(&mut fleet.world, "web-decision-1", decision("other", &["a"]));
    assert_eq!(first_turn(&mut fleet), None, "the name is taken");
}

#[test]
fn the_sets_of_a_placement_with_an_error_explain_its_empty_selection() {
    let mut fleet = Fleet::new(&["a"], Placement::unusable([].into()));
    let reason = |fleet: &Fleet| unsatisfied(fleet.world.view(), &Fleet::name().identity).unwrap();
    assert_eq!(reason(&fleet), Satisfaction::NoneMatches);
    fleet.set(Placement::unusable(["other".into()].into()));
    assert_eq!(reason(&fleet), Satisfaction::NoneOfItsSets);
    fleet.set(Placement::unusable([].into()));
    fleet.world.remove(&object("ManagedCluster", "", "a"));
    assert_eq!(reason(&fleet), Satisfaction::NoClusters);
    upsert(&mut fleet, object("ManagedClusterSet", "", SET), HubObject::Set(ClusterSet::Unusable));
    assert_eq!(reason(&fleet), Satisfaction::NoneMatches, "its clusters are unknown");
    fleet.world.remove(&object("ManagedClusterSet", "", SET));
    assert_eq!(reason(&fleet), Satisfaction::NothingBound);
}
