//! What watches tell of decisions, in whatever order it comes with the responses to our own writes.

use std::sync::Arc;

use almanac_api::checking::{CheckContext, check_json};
use almanac_api::kinds::Kind;
use almanac_api::objects::PLACEMENT_LABEL;
use almanac_engine::Identity;
use almanac_fixtures::{at, hub};
use almanac_shell::clock::Clock;
use almanac_shell::following::Follower as _;
use kube::api::DynamicObject;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::json;

use super::HubFollower;
use crate::cluster::Cluster;
use crate::placement::PlacementMetrics;
use crate::work_queue::WorkQueue;

/// A placement `web`, and who watches its decisions.
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
        let slim = placement.slim.expect("it is one");
        cluster.lock().world.upsert(identity, slim);
        let turns = Arc::new(WorkQueue::new(Clock::from_fn(now)));
        let metrics = PlacementMetrics::default();
        let decisions = follower(Kind::PlacementDecision, &cluster, &turns, &metrics);
        Self { cluster, turns, metrics, decisions }
    }

    fn is_known(&self) -> bool {
        let state = self.cluster.lock();
        let is_held = state.world.decisions.get(&decision()).is_some();
        assert_eq!(state.hub.decision(&decision()).is_some(), is_held);
        is_held
    }

    /// How often another writer was found at work.
    fn undone(&self) -> String {
        let (mut registry, mut text) = (Registry::default(), String::new());
        self.metrics.register(&mut registry);
        encode(&mut text, &registry).expect("it can be written");
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

fn told(uid: &str, version: &str, cluster: &str) -> DynamicObject {
    let mut object = hub::hub_object("v1beta1", "PlacementDecision", "web-decision-1", &json!({}));
    object["metadata"] = json!({
        "name": "web-decision-1", "namespace": "default", "uid": uid, "resourceVersion": version,
        "labels": { PLACEMENT_LABEL: "web" },
    });
    object["status"] = json!({ "decisions": [{ "clusterName": cluster, "reason": "" }] });
    serde_json::from_value(object).expect("it has the shape of an object")
}

#[test]
fn a_decision_that_we_have_deleted_is_not_taken_for_one_that_somebody_else_has() {
    let mut stage = Stage::set();
    stage.decisions.upsert(told("1", "5", "c1"));
    assert!(stage.is_known());
    let before = stage.undone();
    {
        let mut known_now = stage.cluster.lock();
        assert!(known_now.hub.note_deleted(&decision(), "1"));
        known_now.world.remove(&decision());
    }
    // The watch is behind.
    stage.decisions.upsert(told("1", "6", "c1"));
    assert!(!stage.is_known());
    stage.decisions.delete(told("1", "7", "c1"));
    assert_eq!(stage.undone(), before);
    stage.decisions.upsert(told("2", "8", "c1"));
    stage.decisions.delete(told("2", "9", "c1"));
    assert_ne!(stage.undone(), before, "this one somebody else has");
}

#[test]
fn what_is_told_late_of_an_earlier_decision_of_the_name_is_no_news() {
    let mut stage = Stage::set();
    stage.decisions.upsert(told("2", "8", "c2"));
    let clusters = |stage: &Stage| {
        stage.cluster.lock().world.decisions.get(&decision()).map(|it| it.clusters.clone())
    };
    let known = clusters(&stage);
    stage.decisions.upsert(told("1", "5", "c1"));
    assert_eq!(clusters(&stage), known);
    stage.decisions.delete(told("1", "6", "c1"));
    assert_eq!(clusters(&stage), known);
    stage.decisions.delete(told("3", "9", "c1"));
    assert!(!stage.is_known(), "that it was created is not told");
}

#[test]
fn a_list_of_another_kind_says_nothing_of_decisions() {
    let mut stage = Stage::set();
    stage.decisions.upsert(told("1", "5", "c1"));
    {
        let mut known_now = stage.cluster.lock();
        assert!(known_now.hub.note_deleted(&decision(), "1"));
        known_now.world.remove(&decision());
    }
    drop(follower(Kind::ManagedCluster, &stage.cluster, &stage.turns, &stage.metrics));
    stage.decisions.upsert(told("1", "5", "c1"));
    assert!(!stage.is_known(), "it is still known that we have deleted it");
}

#[test]
fn a_decision_that_was_missing_when_it_was_read_stays_so_until_one_is_created() {
    let mut stage = Stage::set();
    stage.decisions.upsert(told("1", "5", "c1"));
    {
        let mut known_now = stage.cluster.lock();
        let before = known_now.hub.any_decision(&decision()).cloned();
        assert!(known_now.hub.note_missing(&decision(), before.as_ref()));
        known_now.world.remove(&decision());
    }
    stage.decisions.upsert(told("1", "6", "c1"));
    assert!(!stage.is_known(), "the watch is behind");
    stage.decisions.upsert(told("2", "8", "c1"));
    assert!(stage.is_known());
    let mut known_now = stage.cluster.lock();
    assert!(!known_now.hub.note_missing(&decision(), None), "it was created since");
}
