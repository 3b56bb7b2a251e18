//! Turns of groups, in front of a stub of the API and of a provider that only counts.

mod bench;

use almanac_api::exempt::MARK;
use almanac_engine::NamespaceMark;
use almanac_fixtures::objects;
use almanac_shell::following::Follower as _;
use almanac_shell::lease::Fence;
use almanac_stub::Fault;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::*;
use crate::namespaces::Part;
use bench::Bench;

#[tokio::test(start_paused = true)]
async fn a_group_gets_its_desired_nodes_and_reports_them_once() {
    let bench = Bench::with_replicas(3);
    assert_eq!(bench.turn().await, None);
    assert_eq!(bench.provider.has(), 3);
    let status = bench.object()["status"].clone();
    assert_eq!((&status["replicas"], &status["selector"]), (&json!(3), &json!("pool=spot")));
    assert_eq!(status["observedGeneration"], 1);
    assert_eq!(bench.reasons(), ["True NodesProvided"; 2]);
    assert_eq!(bench.condition("Ready")[2], "the group has 3 nodes, as wanted");
    assert_eq!(bench.turn().await, None);
    let writes = bench.stub.requests_where(|it| it.method == Method::PATCH);
    assert_eq!(writes.len(), 1, "the second turn writes nothing");
    assert_eq!(bench.events().await, ["Scaled scaled from 0 nodes to 3"]);
    let labels = "{name=\"pool\",namespace=\"default\"} 3";
    for metric in ["almanac_node_group_desired_replicas", "almanac_node_group_current_replicas"] {
        assert!(bench.metrics().contains(&format!("{metric}{labels}")), "{}", bench.metrics());
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_without_a_number_keeps_its_nodes() {
    let mut bench = Bench::with_replicas(2);
    bench.turn().await;
    let mut object = objects::scalable_node_group("pool", "Counted", "spot", 0);
    object["spec"]["replicas"].take();
    bench.put(object);
    assert_eq!(bench.turn().await, None);
    assert_eq!(bench.provider.has(), 2);
    let [status, _, message] = bench.condition("Ready");
    assert_eq!(
        (&*status, &*message),
        ("True", "spec.replicas is not set: the group keeps its 2 nodes")
    );
}

#[tokio::test(start_paused = true)]
async fn while_everything_is_stopped_a_group_keeps_its_nodes() {
    let bench = Bench::with_replicas(3);
    bench.groups.switch.update(Some("wrong values"));
    assert_eq!(bench.turn().await, Some(RECHECK_INTERVAL));
    assert_eq!(
        (bench.provider.has(), bench.reasons()),
        (0, ["False Stopped", "True Stopped"].map(str::to_owned))
    );
    bench.groups.switch.update(None);
    assert_eq!(bench.turn().await, None);
    assert_eq!(bench.provider.has(), 3);
    assert_eq!(bench.events().await, ["Scaled scaled from 0 nodes to 3"]);
}

#[tokio::test(start_paused = true)]
async fn a_group_that_is_exempt_keeps_its_nodes_and_needs_no_attention() {
    let mut bench = Bench::with_replicas(3);
    let mut object = objects::scalable_node_group("pool", "Counted", "spot", 3);
    object["metadata"]["annotations"] = json!({ MARK: "true" });
    bench.put(object);
    assert_eq!(bench.turn().await, None);
    assert_eq!(bench.reasons(), ["False Exempt", "True Exempt"]);
    bench.put(objects::scalable_node_group("pool", "Counted", "spot", 3));
    let mark = |mark| {
        let mut state = bench.groups.cluster.lock();
        Arc::make_mut(&mut state.world.objects.exempt).mark_namespace("default", mark);
    };
    mark(NamespaceMark::Unread);
    assert_eq!(bench.turn().await, None);
    assert_eq!(bench.reasons(), ["False NamespaceUnreadable"; 2]);
    mark(NamespaceMark::Present);
    assert_eq!(bench.turn().await, None);
    assert_eq!((bench.provider.has(), bench.object()["status"]["replicas"].clone()), (0, json!(0)));
    mark(NamespaceMark::Absent);
    bench.turn().await;
    assert_eq!(bench.provider.has(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_reported_once_and_retried_and_keeps_the_observed_replicas() {
    let mut bench = Bench::with_replicas(2);
    bench.turn().await;
    *bench.provider.unobserved.lock().expect("lock is not poisoned") =
        Some(ProviderError::Failed("the cloud is away".to_owned()));
    bench.put(objects::scalable_node_group("pool", "Counted", "spot", 5));
    let delays = [bench.turn().await, bench.turn().await, bench.turn().await];
    assert!(delays.iter().all(|it| it.is_some_and(|it| it <= RECHECK_INTERVAL)), "{delays:?}");
    assert_eq!(bench.reasons(), ["False ProviderFailed"; 2]);
    assert_eq!(bench.object()["status"]["replicas"], 2);
    let events = bench.events().await;
    assert_eq!(events, ["Scaled scaled from 0 nodes to 2", "ProviderFailed the cloud is away"]);
    assert!(bench.metrics().contains("almanac_node_group_failed_total 3"), "{}", bench.metrics());
    *bench.provider.unobserved.lock().expect("lock is not poisoned") = None;
    assert_eq!(bench.turn().await, None);
    assert_eq!(
        (bench.provider.has(), bench.reasons()),
        (5, ["True NodesProvided"; 2].map(str::to_owned))
    );
}

#[tokio::test(start_paused = true)]
async fn a_group_that_its_provider_cannot_have_is_not_retried() {
    let mut bench = Bench::with_replicas(2);
    *bench.provider.refused.lock().expect("lock is not poisoned") =
        Some(ProviderError::Invalid("spec.id has a space".to_owned()));
    assert_eq!(bench.turn().await, None);
    assert_eq!(bench.condition("AbleToScale"), ["False", "GroupInvalid", "spec.id has a space"]);
    let mut object = objects::scalable_node_group("pool", "Counted", "spot", 0);
    object["spec"]["replicas"] = json!(-1);
    bench.put(object);
    assert_eq!(bench.turn().await, None);
    let [_, reason, message] = bench.condition("Ready");
    assert_eq!(reason, "GroupInvalid");
    assert_eq!(message, "spec.replicas is negative; it must be 0 or more");
}

/// Delivers an edited version, as a watch event does.
fn deliver(groups: &NodeGroups, edited: Value) {
    let (queue, cluster) = (Arc::clone(&groups.queue), Arc::clone(&groups.cluster));
    let (mut follower, _) = NodeGroupFollower::new(cluster, queue);
    follower.upsert(serde_json::from_value(edited).expect("the object is valid"));
}

#[tokio::test(start_paused = true)]
async fn a_turn_never_reports_a_spec_that_arrived_during_the_turn_as_observed() {
    let bench = Bench::with_replicas(3);
    bench.turn().await;
    let mut edited = objects::scalable_node_group("pool", "Counted", "spot", 1);
    edited["status"] = bench.object()["status"].clone();
    let (groups, edited) = (Arc::clone(&bench.groups), objects::stored(edited, "1", 900, 9));
    *bench.provider.before_observation.lock().expect("lock is not poisoned") =
        Some(Box::new(move || deliver(&groups, edited.clone())));
    assert_eq!(bench.turn().await, None);
    assert_eq!(bench.object()["status"]["observedGeneration"], 1);
    let writes = bench.stub.requests_where(|it| it.method == Method::PATCH);
    assert_eq!(writes.len(), 1, "only the turn before has written");
}

/// An event during a turn, with the edited version.
type Change = fn(&NodeGroups, &Fence, Value);

#[tokio::test(start_paused = true)]
async fn a_write_is_withdrawn_when_the_group_changes_in_the_meantime_or_may_not_be_changed() {
    let edited = objects::scalable_node_group("pool", "Counted", "spot", 1);
    let edited = objects::stored(edited, "1", 900, 9);
    let changes: [Change; 4] = [
        |groups, _, edited| deliver(groups, edited),
        |groups, _, _| groups.switch.update(Some("stop")),
        |groups, _, _| {
            let mut state = groups.cluster.lock();
            Arc::make_mut(&mut state.world.objects.exempt)
                .mark_namespace("default", NamespaceMark::Present);
        },
        |_, fence, _| fence.shut(),
    ];
    for change in changes {
        let bench = Bench::with_replicas(3);
        let (groups, fence) = (Arc::clone(&bench.groups), bench.fence.clone());
        let edited = edited.clone();
        *bench.provider.before_write.lock().expect("lock is not poisoned") =
            Some(Box::new(move || change(&groups, &fence, edited.clone())));
        assert_eq!(bench.turn().await, Some(WITHDRAWN_DELAY));
        assert_eq!(bench.provider.has(), 0);
        assert_eq!(bench.object()["status"], Value::Null, "no status was written");
    }
}

#[tokio::test(start_paused = true)]
async fn the_nodes_of_a_deleted_group_are_removed_once_the_deletion_is_known() {
    let mut bench = Bench::with_replicas(3);
    bench.turn().await;
    bench.groups.cluster.lock().node_groups.listed.clear();
    bench.go();
    assert_eq!(bench.turn().await, Some(RECHECK_INTERVAL));
    bench.follower.begin_list();
    bench.follower.list_complete();
    bench.groups.switch.update(Some("stop"));
    assert_eq!(bench.turn().await, Some(RECHECK_INTERVAL));
    assert_eq!((bench.provider.has(), bench.provider.abandoned()), (3, Vec::new()));
    bench.groups.switch.update(None);
    assert_eq!(bench.turn().await, None);
    assert_eq!((bench.provider.has(), bench.provider.abandoned().len()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_deleted_group_without_nodes_has_no_further_turn_while_held_back() {
    let holds: [fn(&NodeGroups); 3] = [
        |groups| groups.switch.update(Some("stop")),
        |groups| {
            let mut state = groups.cluster.lock();
            Arc::make_mut(&mut state.world.objects.exempt)
                .mark_namespace("default", NamespaceMark::Present);
        },
        |groups| groups.cluster.lock().node_groups.listed.clear(),
    ];
    for hold in holds {
        let mut bench = Bench::with_replicas(0);
        hold(&bench.groups);
        bench.go();
        assert_eq!(bench.turn().await, None);
    }
    let mut bench = Bench::with_replicas(0);
    bench.run_karpenter().await;
    bench.go();
    assert_eq!(bench.turn().await, None);
    *bench.provider.unobserved.lock().expect("lock is not poisoned") =
        Some(ProviderError::Failed("the cloud is away".to_owned()));
    assert_eq!(bench.turn().await, Some(RECHECK_INTERVAL), "the group may have nodes");
}

#[tokio::test(start_paused = true)]
async fn the_nodes_of_a_group_stay_while_only_another_namespace_is_listed() {
    let mut bench = Bench::with_replicas(3);
    bench.turn().await;
    let groups = Arc::clone(&bench.groups);
    let follow = |namespace: &str| {
        let (queue, cluster) = (Arc::clone(&groups.queue), Arc::clone(&groups.cluster));
        let (follower, _) = NodeGroupFollower::new(cluster, queue);
        follower.with_part(Part::Namespace(namespace.into()))
    };
    groups.cluster.lock().node_groups.listed.clear();
    let [mut other, mut own] = ["other", "default"].map(follow);
    other.begin_list();
    other.list_complete();
    assert_eq!(
        groups.cluster.lock().node_groups.len(),
        1,
        "no list of another namespace has the group"
    );
    bench.go();
    assert_eq!(bench.turn().await, Some(RECHECK_INTERVAL));
    assert_eq!((bench.provider.has(), bench.provider.abandoned()), (3, Vec::new()));
    own.begin_list();
    own.list_complete();
    assert_eq!(bench.turn().await, None);
    assert_eq!(bench.provider.has(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_group_that_is_not_in_the_next_list_or_is_being_deleted_is_removed() {
    for is_terminating in [false, true] {
        let mut bench = Bench::with_replicas(3);
        bench.turn().await;
        bench.follower.begin_list();
        if is_terminating {
            let mut object = bench.object();
            object["metadata"]["deletionTimestamp"] = json!("2026-11-20T09:00:00Z");
            bench.follower.upsert(serde_json::from_value(object).expect("the object is valid"));
        }
        bench.follower.list_complete();
        assert_eq!(bench.turn().await, None);
        assert_eq!(bench.provider.has(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_without_a_provider_has_no_nodes_and_its_status_names_the_fix() {
    let mut bench = Bench::with_replicas(3);
    bench.turn().await;
    bench.put(objects::scalable_node_group("pool", "AWSEKSNodeGroup", "arn", 3));
    assert_eq!(bench.turn().await, None);
    assert_eq!(bench.provider.abandoned(), ["default/pool"], "the group was of another type");
    let applied = bench.stub.requests_where(|it| it.method == Method::PATCH);
    let status = &applied.last().expect("the status was written").body["status"];
    assert_eq!((&status["replicas"], bench.provider.has()), (&Value::Null, 0));
    let [_, reason, message] = bench.condition("AbleToScale");
    assert_eq!(reason, "Unsupported");
    bench.groups.switch.update(Some("stop"));
    assert_eq!(bench.turn().await, Some(RECHECK_INTERVAL), "nodes may be to be removed");
    assert!(message.contains("groups of type AWSEKSNodeGroup; to scale real nodes"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn groups_are_left_to_karpenter_and_only_their_conditions_change() {
    let mut bench = Bench::with_replicas(3);
    bench.stub.change(
        "scalablenodegroups",
        "default",
        "pool",
        &json!({ "status": { "replicas": 7 } }),
    );
    bench.run_karpenter().await;
    bench.see();
    assert_eq!(bench.turn().await, Some(RECHECK_INTERVAL));
    assert_eq!(bench.reasons(), ["False UpstreamController"; 2]);
    assert!(bench.condition("Ready")[2].ends_with("--take-over=scalable-node-group"));
    assert_eq!((bench.object()["status"]["replicas"].clone(), bench.provider.has()), (json!(7), 0));
}

#[tokio::test(start_paused = true)]
async fn a_status_that_could_not_be_written_is_written_later() {
    let bench = Bench::with_replicas(3);
    let failed = Fault::respond(StatusCode::INTERNAL_SERVER_ERROR, "etcd is gone");
    bench.stub.inject(failed.method(Method::PATCH).path_contains("/pool/status").always());
    assert!(bench.turn().await.is_some_and(|delay| delay < RECHECK_INTERVAL));
    assert_eq!(bench.object()["status"], Value::Null);
    bench.stub.clear_faults();
    assert_eq!(bench.turn().await, None);
    assert_eq!(bench.object()["status"]["replicas"], 3);
}
