//! The parts of pods and nodes on which node units depend.

use std::sync::Arc;

use almanac_engine::Labels;
use almanac_engine::units::{DeletionCost, Node, Owner, Pod, Ungoverned};
use jiff::Timestamp;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::MIRROR;
use super::requirements::{PodRequirements, resources};
use crate::exempt::{is_marked, is_marked_in};
use crate::lenient::exact_instant;

/// The annotation with the deletion cost of a pod, by which its `ReplicaSet` selects the pods to delete.
pub const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
/// The annotation with the owner of the deletion cost.
pub const DELETION_COST_OWNER: &str = "almanac.dev/deletion-cost-owner";
/// Binding annotation: the name of the policy that governed a pod when the extender bound it.
pub const BOUND_POLICY: &str = "almanac.dev/resource-policy";
/// Binding annotation: the name of the unit that received the pod.
pub const BOUND_UNIT: &str = "almanac.dev/unit";

/// The kind of the owners whose pods no policy governs.
const DAEMON_SET: &str = "DaemonSet";

/// The parts of a pod on which node units depend.
#[must_use]
pub fn unit_pod(object: &Value) -> Pod {
    let metadata = &object["metadata"];
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(Arc::from);
    let owners = metadata["ownerReferences"].as_array();
    let owner = owners.into_iter().flatten().find(|it| it["controller"] == true);
    let owner = owner.map(|it| Owner {
        group: group_of(it["apiVersion"].as_str().unwrap_or_default()),
        kind: text(&it["kind"]).unwrap_or_default(),
        name: text(&it["name"]).unwrap_or_default(),
        uid: text(&it["uid"]),
    });
    pod_of(
        Metadata {
            uid: text(&metadata["uid"]),
            version: metadata["resourceVersion"].as_str(),
            labels: super::labels(&metadata["labels"]),
            created: exact_instant(&metadata["creationTimestamp"]),
            deleted: exact_instant(&metadata["deletionTimestamp"]),
            owner,
            is_marked: is_marked_in(metadata),
        },
        |key| metadata["annotations"][key].as_str(),
        object,
    )
}

/// The parts of a watched pod on which node units depend.
#[must_use]
pub fn watched_unit_pod(object: &DynamicObject) -> Pod {
    let metadata = &object.metadata;
    let labels = metadata.labels.iter().flatten().map(|(key, value)| (key, value.as_str()));
    let owners = metadata.owner_references.iter().flatten();
    let owner = owners.into_iter().find(|it| it.controller == Some(true)).map(|it| Owner {
        group: group_of(&it.api_version),
        kind: it.kind.as_str().into(),
        name: it.name.as_str().into(),
        uid: Some(it.uid.as_str().into()),
    });
    pod_of(
        Metadata {
            uid: metadata.uid.as_deref().map(Arc::from),
            version: metadata.resource_version.as_deref(),
            labels: Labels::new(labels),
            created: metadata.creation_timestamp.as_ref().map(|it| it.0),
            deleted: metadata.deletion_timestamp.as_ref().map(|it| it.0),
            owner,
            is_marked: is_marked(metadata),
        },
        |key| Some(metadata.annotations.as_ref()?.get(key)?.as_str()),
        &object.data,
    )
}

/// The parts of a node on which node units depend.
#[must_use]
pub fn unit_node(object: &Value) -> Node {
    let metadata = &object["metadata"];
    let version = metadata["resourceVersion"].as_str();
    node_of(super::labels(&metadata["labels"]), version, object)
}

/// The parts of a watched node on which node units depend.
#[must_use]
pub fn watched_unit_node(object: &DynamicObject) -> Node {
    let metadata = &object.metadata;
    let labels = metadata.labels.iter().flatten().map(|(key, value)| (key, value.as_str()));
    node_of(Labels::new(labels), metadata.resource_version.as_deref(), &object.data)
}

/// The metadata of a pod without its annotations.
struct Metadata<'a> {
    uid: Option<Arc<str>>,
    version: Option<&'a str>,
    labels: Labels,
    created: Option<Timestamp>,
    deleted: Option<Timestamp>,
    owner: Option<Owner>,
    is_marked: bool,
}

fn pod_of<'a>(
    metadata: Metadata<'_>,
    annotation: impl Fn(&str) -> Option<&'a str>,
    data: &Value,
) -> Pod {
    let is_of_daemon_set = metadata.owner.as_ref().is_some_and(|it| &*it.kind == DAEMON_SET);
    let ungoverned = if is_of_daemon_set {
        Some(Ungoverned::DaemonSet)
    } else if annotation(MIRROR).is_some() {
        Some(Ungoverned::Mirror)
    } else {
        metadata.is_marked.then_some(Ungoverned::Exempt)
    };
    let mut conditions = data["status"]["conditions"].as_array().into_iter().flatten();
    let scheduled = conditions.find(|it| it["type"] == "PodScheduled");
    let bound = scheduled.filter(|it| it["status"] == "True");
    Pod {
        uid: metadata.uid,
        version: metadata.version.and_then(|it| it.parse().ok()),
        labels: metadata.labels,
        node: data["spec"]["nodeName"].as_str().filter(|name| !name.is_empty()).map(Arc::from),
        is_finished: matches!(data["status"]["phase"].as_str(), Some("Succeeded" | "Failed")),
        is_refused: scheduled.is_some_and(is_refusal),
        nominated: nominated(&data["status"]),
        scheduler: scheduler(&data["spec"]),
        gates: gates(&data["spec"]),
        deleted: metadata.deleted,
        created: metadata.created,
        bound: bound.and_then(|it| exact_instant(&it["lastTransitionTime"])),
        owner: metadata.owner.map(Arc::new),
        ungoverned,
        requests: PodRequirements::read(&data["spec"]).requests(),
        cost: DeletionCost::read(annotation(DELETION_COST), annotation(DELETION_COST_OWNER)),
        bound_policy: annotation(BOUND_POLICY).map(Arc::from),
    }
}

fn nominated(status: &Value) -> Option<Arc<str>> {
    status["nominatedNodeName"].as_str().filter(|name| !name.is_empty()).map(Arc::from)
}

fn scheduler(spec: &Value) -> Option<Arc<str>> {
    let name = spec["schedulerName"].as_str();
    name.filter(|name| !matches!(*name, "" | "default-scheduler")).map(Arc::from)
}

fn gates(spec: &Value) -> Box<[Arc<str>]> {
    let all = spec["schedulingGates"].as_array().into_iter().flatten();
    all.map(|gate| gate["name"].as_str().unwrap_or_default().into()).collect()
}

/// The group of an `apiVersion`; empty for that of Kubernetes' core.
fn group_of(api_version: &str) -> Arc<str> {
    api_version.split_once('/').map_or("", |(group, _)| group).into()
}

/// Whether a scheduler found no node for a reason of the ledger. Each such reason names its policies.
fn is_refusal(condition: &Value) -> bool {
    let names_policies = |message: &str| message.contains("ResourcePolic");
    condition["status"] == "False"
        && condition["reason"] == "Unschedulable"
        && condition["message"].as_str().is_some_and(names_policies)
}

/// The pod that a template creates, of a workload of this kind.
#[must_use]
pub(crate) fn unit_pod_of_template(metadata: &Value, spec: &Value, kind: &str) -> Pod {
    let pod = unit_pod(&json!({ "metadata": metadata, "spec": spec }));
    let of_daemon_set = (kind == DAEMON_SET).then_some(Ungoverned::DaemonSet);
    Pod { node: None, ungoverned: of_daemon_set.or(pod.ungoverned), ..pod }
}

/// The pod that a workload of this kind creates; `None` if another object owns the workload.
#[must_use]
pub fn unit_template(object: &DynamicObject, kind: &str) -> Option<Pod> {
    let is_owned = object.metadata.owner_references.iter().flatten().next().is_some();
    let template = &object.data["spec"]["template"];
    let creates_pods = !template["spec"]["containers"].is_null();
    let pod = || unit_pod_of_template(&template["metadata"], &template["spec"], kind);
    (creates_pods && !is_owned).then(pod)
}

/// The number of the first pod of a `StatefulSet`; `None` unless the spec sets it.
#[must_use]
pub fn first_number(spec: &Value) -> Option<u64> {
    spec["ordinals"]["start"].as_u64()
}

fn node_of(labels: Labels, version: Option<&str>, data: &Value) -> Node {
    let allocatable = &data["status"]["allocatable"];
    Node {
        version: version.and_then(|it| it.parse().ok()),
        labels,
        is_unschedulable: data["spec"]["unschedulable"] == true,
        allocatable: allocatable.is_object().then(|| resources(allocatable)),
    }
}
