//! The watch events of decisions, in any order with the responses to own writes, and the placements that a change of a
//! cluster requeues.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use almanac_api::checking::{CheckContext, check_json};
use almanac_api::kinds::Kind;
use almanac_api::objects::PLACEMENT_LABEL;
use almanac_engine::{Family, Identity, PolicyName};
use almanac_fixtures::{at, hub};
use almanac_shell::clock::Clock;
use almanac_shell::following::Follower as _;
use jiff::SignedDuration;
use kube::api::DynamicObject;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::json;

use super::{HubFollower, hub_object};
use crate::cluster::Cluster;
use crate::placement::metrics::PlacementMetrics;
use crate::work_queue::WorkQueue;

/// A placement `web`, and the watch of its decisions.
struct Stage {
    cluster: Arc<Cluster>,
    turns: Arc<WorkQueue>,
    metrics: PlacementMetrics,
    decisions: HubFollower,
}

impl Stage {
    fn set() -> Self {
        let cluster = Arc::new(Cluster::default());
        let context = CheckContext::new("default", now());
        let placement = check_json(Kind::Placement, hub::placement("web", &json!({})), context);
        let identity = Kind::Placement.identity("default", "web");
        let slim = placement.slim.expect("the object is usable");
        cluster.lock().world.upsert(identity, slim);
        let readings = AtomicI64::new(0);
        // Time passes between two readings of the clock.
        let passing =
            move || now() + SignedDuration::from_micros(readings.fetch_add(1, Ordering::Relaxed));
        let turns = Arc::new(WorkQueue::new(Clock::from_fn(passing)));
        let metrics = PlacementMetrics::default();
        let decisions = follower(Kind::PlacementDecision, &cluster, &turns, &metrics);
        Self { cluster, turns, metrics, decisions }
    }

    fn is_known(&self) -> bool {
        let state = self.cluster.lock();
        let is_held = state.world.placement.extra.decisions.get(&decision()).is_some();
        assert_eq!(state.hub.decision(&decision()).is_some(), is_held);
        is_held
    }

    /// The number of changes by another field manager.
    fn undone(&self) -> String {
        let (mut registry, mut text) = (Registry::default(), String::new());
        self.metrics.register(&mut registry);
        encode(&mut text, &registry).expect("encode the metrics");
        let lines =
            text.lines().filter_map(|it| it.strip_prefix("almanac_placement_undone_total "));
        lines.collect()
    }
}

fn now() -> jiff::Timestamp {
    at("2026-11-20T09:00:00Z")
}

fn follower(
    kind: Kind,
    cluster: &Arc<Cluster>,
    turns: &Arc<WorkQueue>,
    metrics: &PlacementMetrics,
) -> HubFollower {
    let (cluster, turns) = (Arc::clone(cluster), Arc::clone(turns));
    let (mut follower, _) = HubFollower::new(kind, cluster, turns, metrics.clone());
    follower.begin_list();
    follower.list_complete();
    follower
}

fn decision() -> Identity {
    Kind::PlacementDecision.identity("default", "web-decision-1")
}

fn decision_object(uid: &str, version: &str, cluster: &str) -> DynamicObject {
    let mut object = hub::hub_object("v1beta1", "PlacementDecision", "web-decision-1", &json!({}));
    object["metadata"] = json!({
        "name": "web-decision-1", "namespace": "default", "uid": uid, "resourceVersion": version,
        "labels": { PLACEMENT_LABEL: "web" },
    });
    object["status"] = json!({ "decisions": [{ "clusterName": cluster, "reason": "" }] });
    serde_json::from_value(object).expect("the object is valid")
}

#[test]
fn our_own_deletion_of_a_decision_is_not_a_foreign_change() {
    let mut stage = Stage::set();
    stage.decisions.upsert(decision_object("1", "5", "c1"));
    assert!(stage.is_known());
    let before = stage.undone();
    {
        let mut known_now = stage.cluster.lock();
        assert!(known_now.hub.note_deleted(&decision(), "1"));
        known_now.world.remove(&decision());
    }
    // The watch lags.
    stage.decisions.upsert(decision_object("1", "6", "c1"));
    assert!(!stage.is_known());
    stage.decisions.delete(decision_object("1", "7", "c1"));
    assert_eq!(stage.undone(), before);
    stage.decisions.upsert(decision_object("2", "8", "c1"));
    stage.decisions.delete(decision_object("2", "9", "c1"));
    assert_ne!(stage.undone(), before, "another field manager wrote this decision");
}

#[test]
fn a_late_watch_event_of_an_earlier_decision_is_ignored() {
    let mut stage = Stage::set();
    stage.decisions.upsert(decision_object("2", "8", "c2"));
    let clusters = |stage: &Stage| {
        stage
            .cluster
            .lock()
            .world
            .placement
            .extra
            .decisions
            .get(&decision())
            .map(|it| it.clusters.clone())
    };
    let known = clusters(&stage);
    stage.decisions.upsert(decision_object("1", "5", "c1"));
    assert_eq!(clusters(&stage), known);
    stage.decisions.delete(decision_object("1", "6", "c1"));
    assert_eq!(clusters(&stage), known);
    stage.decisions.delete(decision_object("3", "9", "c1"));
    assert!(!stage.is_known(), "no event reports the creation");
}

#[test]
fn a_list_of_another_kind_says_nothing_of_decisions() {
    let mut stage = Stage::set();
    stage.decisions.upsert(decision_object("1", "5", "c1"));
    {
        let mut known_now = stage.cluster.lock();
        assert!(known_now.hub.note_deleted(&decision(), "1"));
        known_now.world.remove(&decision());
    }
    drop(follower(Kind::ManagedCluster, &stage.cluster, &stage.turns, &stage.metrics));
    stage.decisions.upsert(decision_object("1", "5", "c1"));
    assert!(!stage.is_known(), "the own deletion is still recorded");
}

#[test]
fn a_decision_that_a_read_did_not_find_stays_missing_until_it_is_created() {
    let mut stage = Stage::set();
    stage.decisions.upsert(decision_object("1", "5", "c1"));
    {
        let mut known_now = stage.cluster.lock();
        let before = known_now.hub.any_decision(&decision()).cloned();
        assert!(known_now.hub.note_missing(&decision(), before.as_ref()));
        known_now.world.remove(&decision());
    }
    stage.decisions.upsert(decision_object("1", "6", "c1"));
    assert!(!stage.is_known(), "the watch lags");
    stage.decisions.upsert(decision_object("2", "8", "c1"));
    assert!(stage.is_known());
    let mut known_now = stage.cluster.lock();
    assert!(!known_now.hub.note_missing(&decision(), None), "the decision was created since");
}

/// A hub with one cluster, a placement `web`, and, with an expression, another placement `up` that selects by it; and
/// the follower of clusters.
fn listed(expression: Option<&str>, cluster: DynamicObject) -> (Stage, HubFollower) {
    let stage = Stage::set();
    let selector = expression.map(|it| json!({ "celSelector": { "celExpressions": [it] } }));
    let predicates: Vec<_> =
        selector.iter().map(|it| json!({ "requiredClusterSelector": it })).collect();
    let spec = json!({ "predicates": predicates });
    for (kind, object) in [
        (Kind::ManagedClusterSet, hub::managed_cluster_set()),
        (Kind::ManagedClusterSetBinding, hub::managed_cluster_set_binding()),
        (Kind::Placement, hub::placement("up", &spec)),
    ] {
        let namespace = if kind == Kind::ManagedClusterSet { "" } else { "default" };
        let identity = kind.identity(namespace, object["metadata"]["name"].as_str().unwrap());
        let slim = check_json(kind, object, CheckContext::new(namespace, now())).slim;
        stage.cluster.lock().world.upsert(identity, slim.expect("the object is usable"));
    }
    let (known, turns) = (Arc::clone(&stage.cluster), Arc::clone(&stage.turns));
    let (mut clusters, _) =
        HubFollower::new(Kind::ManagedCluster, known, turns, stage.metrics.clone());
    clusters.begin_list();
    clusters.upsert(cluster);
    clusters.list_complete();
    assert!(stage.turns.is_quiet(), "the placements are woken when everything is listed");
    (stage, clusters)
}

/// Whether a change of a cluster requeues a placement.
fn wakes(expression: Option<&str>, before: DynamicObject, after: DynamicObject) -> bool {
    let (stage, mut clusters) = listed(expression, before);
    clusters.upsert(after);
    !stage.turns.is_quiet()
}

/// A cluster with the second of its last heartbeat, and whether it is available.
fn cluster_with_heartbeat(second: u32, is_available: bool, labels: &[&str]) -> DynamicObject {
    let mut object = hub::managed_cluster("c1");
    object["metadata"]["resourceVersion"] = json!(second.to_string());
    for label in labels {
        object["metadata"]["labels"][label] = json!("");
    }
    let at = format!("2026-11-20T09:00:{second:02}Z");
    object["metadata"]["annotations"] = json!({ "heard-of": &at });
    let status = if is_available { "True" } else { "False" };
    object["status"] = json!({ "conditions": [
        { "type": "Available", "status": status, "lastTransitionTime": at },
    ] });
    serde_json::from_value(object).expect("the object is valid")
}

const AVAILABLE: &str =
    "managedCluster.status.conditions.exists(c, c.type == 'Available' && c.status == 'True')";

#[test]
fn a_heartbeat_of_a_cluster_requeues_no_placement() {
    for expression in [None, Some(AVAILABLE)] {
        assert!(!wakes(
            expression,
            cluster_with_heartbeat(1, true, &[]),
            cluster_with_heartbeat(2, true, &[])
        ));
    }
}

#[test]
fn a_new_result_of_an_expression_requeues_its_placement_and_a_label_all() {
    let (up, down) =
        (|| cluster_with_heartbeat(1, true, &[]), || cluster_with_heartbeat(2, false, &[]));
    assert!(wakes(Some(AVAILABLE), up(), down()) && wakes(Some(AVAILABLE), down(), up()));
    assert!(!wakes(None, up(), down()));
    assert!(wakes(None, up(), cluster_with_heartbeat(1, true, &["new"])));
    let annotated = "managedCluster.metadata.annotations['heard-of'] < '2026-11-20T09:00:02Z'";
    assert!(wakes(Some(annotated), up(), down()), "annotations can be read");
}

#[test]
fn expressions_are_evaluated_without_the_lock_and_a_placement_that_is_deleted_by_then_is_not_woken()
{
    for is_deleted in [false, true] {
        let (stage, clusters) = listed(Some(AVAILABLE), cluster_with_heartbeat(1, true, &[]));
        let c1 = Kind::ManagedCluster.identity("", "c1");
        let down =
            hub_object(Kind::ManagedCluster, &c1, cluster_with_heartbeat(2, false, &[]), now());
        let change =
            clusters.store(&mut stage.cluster.lock(), &c1, down.expect("the object is usable"));
        let change = change.expect("an expression may read the change");
        assert!(stage.turns.is_quiet(), "nothing has been evaluated");
        if is_deleted {
            let up = PolicyName::new(Family::Placement, Kind::Placement.identity("default", "up"));
            stage.cluster.lock().world.remove_policy(&up);
        }
        clusters.wake_concerned(&c1, &change);
        assert_eq!(stage.turns.is_quiet(), is_deleted);
    }
}
