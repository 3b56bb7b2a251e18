//! The slim forms of the objects that policies act on, read from JSON.
//!
//! These functions are cheap and produce no findings. Watches of tens of thousands of objects and the checks of files
//! both use them. The checks of policies create their slim forms; the module `hub` creates those of the objects that
//! placements select from.

mod cluster_document;
mod hub;
pub(crate) mod quantity;
mod requirements;
mod units;

use std::sync::Arc;

use almanac_engine::placement::Score;
use almanac_engine::qos_levels::{LeftAlone, Pod, QosAnnotations};
use almanac_engine::{Autoscaler, Labels, Slim, Workload};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::DynamicObject;
use serde_json::Value;

pub use self::hub::hub_object;
pub use self::requirements::{PodRequirements, Requirements};
use crate::kinds::{Kind, Role};
use crate::lenient::count;

pub(crate) use self::requirements::{THOUSANDTH, WHOLE, amount, container_defaults};
pub(crate) use self::units::unit_pod_of_template;
pub use self::units::{
    BOUND_POLICY, BOUND_UNIT, DELETION_COST, DELETION_COST_OWNER, first_number, unit_node,
    unit_pod, unit_template, watched_unit_node, watched_unit_pod,
};

/// The annotation with the QoS level of a pod.
pub const QOS_LEVEL: &str = "volcano.sh/qos-level";
/// The annotation with the original QoS level, which the user set, while a policy sets another level.
pub const ORIGINAL_QOS_LEVEL: &str = "volcano.sh/original-qos-level";
/// The annotation with the policy that sets the QoS level.
pub const QOS_POLICY: &str = "almanac.dev/qos-policy";
/// The annotation with the QoS level that the policy has set.
pub const QOS_APPLIED: &str = "almanac.dev/qos-applied";
/// The annotation of a mirror pod, which stands for a pod that a node runs by itself.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// The default minimum of an autoscaler.
const DEFAULT_MIN_REPLICAS: u32 = 1;

/// The slim form of an object that policies act on; `None` for every other kind. A mangled number is treated as
/// unknown.
#[must_use]
pub fn from_object(kind: Kind, object: &Value) -> Option<Slim> {
    let spec = &object["spec"];
    match kind.role() {
        Role::Workload { absent_replicas } => {
            let replicas = number(&spec["replicas"], absent_replicas);
            // A controller that has observed the object omits a zero.
            let status = &object["status"];
            let none = (!status["observedGeneration"].is_null()).then_some(0);
            let current = number(&status["replicas"], none);
            Some(Slim::Workload(Workload { replicas, current }))
        }
        Role::Bounds => Some(Slim::Autoscaler(Autoscaler {
            min_replicas: number(&spec["minReplicas"], Some(DEFAULT_MIN_REPLICAS)),
            max_replicas: number(&spec["maxReplicas"], None),
        })),
        Role::Hub => hub_object(kind, object, &object["status"]).map(Slim::Hub),
        Role::Policy(_) => None,
    }
}

/// The slim form of a `scale`, which omits a zero.
#[must_use]
pub fn from_scale(scale: &Value) -> Workload {
    let replicas = |part: &str| number(&scale[part]["replicas"], Some(0));
    Workload { replicas: replicas("spec"), current: replicas("status") }
}

/// The fields of the spec that the slim form of an object with this role uses.
pub(crate) fn fields(role: Role) -> &'static [&'static str] {
    match role {
        Role::Workload { .. } => &["replicas"],
        Role::Bounds => &["minReplicas", "maxReplicas"],
        Role::Policy(_) | Role::Hub => &[],
    }
}

/// The parts of a pod on which QoS levels depend.
#[must_use]
pub fn pod(object: &Value) -> Pod {
    let metadata = &object["metadata"];
    let annotation = |key: &str| metadata["annotations"][key].as_str();
    let is_terminating = !metadata["deletionTimestamp"].is_null();
    pod_of(labels(&metadata["labels"]), annotation, is_terminating, object)
}

/// The parts of a watched pod on which QoS levels depend.
#[must_use]
pub fn watched_pod(object: &DynamicObject) -> Pod {
    let metadata = &object.metadata;
    let labels = metadata.labels.iter().flatten().map(|(key, value)| (key, value.as_str()));
    let annotation = |key: &str| Some(metadata.annotations.as_ref()?.get(key)?.as_str());
    let is_terminating = metadata.deletion_timestamp.is_some();
    pod_of(Labels::new(labels), annotation, is_terminating, &object.data)
}

/// The annotations of an object about its QoS level.
#[must_use]
pub fn level_annotations(metadata: &ObjectMeta) -> QosAnnotations {
    level_in(|key| Some(metadata.annotations.as_ref()?.get(key)?.as_str()))
}

fn level_in<'a>(annotation: impl Fn(&str) -> Option<&'a str>) -> QosAnnotations {
    let annotation = |key| annotation(key).map(Arc::from);
    QosAnnotations {
        level: annotation(QOS_LEVEL),
        original: annotation(ORIGINAL_QOS_LEVEL),
        policy: annotation(QOS_POLICY),
        applied: annotation(QOS_APPLIED),
    }
}

fn pod_of<'a>(
    labels: Labels,
    annotation: impl Fn(&str) -> Option<&'a str>,
    is_terminating: bool,
    data: &Value,
) -> Pod {
    let left_alone = if is_terminating {
        Some(LeftAlone::Terminating)
    } else if matches!(data["status"]["phase"].as_str(), Some("Succeeded" | "Failed")) {
        Some(LeftAlone::Finished)
    } else {
        annotation(MIRROR).is_some().then_some(LeftAlone::Mirror)
    };
    let node = data["spec"]["nodeName"].as_str().filter(|name| !name.is_empty()).map(Arc::from);
    let mut pod = Pod { labels, node, left_alone, ..Pod::default() };
    pod.annotate(&level_in(annotation));
    pod
}

/// Reads a score; `None` for an invalid value.
pub(crate) fn score(value: &Value) -> Option<Score> {
    value.as_i64().and_then(Score::new)
}

/// The labels of an object.
#[must_use]
pub fn labels(labels: &Value) -> Labels {
    let pairs = labels.as_object().into_iter().flatten();
    Labels::new(pairs.filter_map(|(key, value)| Some((key, value.as_str()?))))
}

fn number(written: &Value, absent: Option<u32>) -> Option<u32> {
    if written.is_null() { absent } else { count(written) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn workload(kind: Kind, spec: &Value) -> Option<u32> {
        match from_object(kind, &json!({ "spec": spec })) {
            Some(Slim::Workload(workload)) => workload.replicas,
            other => panic!("{other:?} is no workload"),
        }
    }

    #[test]
    fn a_pod_is_known_by_its_labels_its_node_and_the_annotations_of_its_level() {
        let read = pod(&json!({
            "metadata": {
                "labels": { "app": "batch", "odd": 3 },
                "annotations": { QOS_LEVEL: "-1", ORIGINAL_QOS_LEVEL: "", QOS_POLICY: "p", "x": "y" }
            },
            "spec": { "nodeName": "n1" }, "status": { "phase": "Running" }
        }));
        assert_eq!(
            (read.labels.to_string().as_str(), read.node.as_deref()),
            ("app=batch", Some("n1"))
        );
        let annotations = read.annotations();
        assert_eq!(annotations.level.as_deref(), Some("-1"));
        assert_eq!(annotations.original.as_deref(), Some(""));
        assert_eq!((annotations.policy.as_deref(), annotations.applied), (Some("p"), None));
        assert_eq!(read.left_alone, None);
        assert_eq!(pod(&Value::Null), Pod::default());
    }

    #[test]
    fn a_pod_that_ends_is_deleted_or_is_a_mirror_gets_no_level() {
        for (object, why) in [
            (json!({ "status": { "phase": "Succeeded" } }), LeftAlone::Finished),
            (json!({ "status": { "phase": "Failed" } }), LeftAlone::Finished),
            (
                json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } }),
                LeftAlone::Terminating,
            ),
            (json!({ "metadata": { "annotations": { MIRROR: "x" } } }), LeftAlone::Mirror),
        ] {
            assert_eq!(pod(&object).left_alone, Some(why), "{object}");
        }
    }

    #[test]
    fn absent_replicas_have_the_default_of_the_kind() {
        for (kind, absent) in [
            (Kind::Deployment, Some(1)),
            (Kind::StatefulSet, Some(1)),
            (Kind::ReplicaSet, Some(1)),
            (Kind::ReplicationController, Some(1)),
            (Kind::ScalableNodeGroup, None),
        ] {
            for spec in [json!({}), json!({ "replicas": null }), Value::Null] {
                assert_eq!(workload(kind, &spec), absent, "{kind:?} {spec}");
            }
            assert_eq!(workload(kind, &json!({ "replicas": 0 })), Some(0));
            for mangled in [json!("3"), json!(-1), json!(1.5), json!(2_147_483_648_i64)] {
                assert_eq!(workload(kind, &json!({ "replicas": mangled })), None, "{mangled}");
            }
        }
    }

    #[test]
    fn an_absent_replica_count_is_zero_once_a_controller_has_observed_the_object() {
        let current = |status: Value| {
            let object = json!({ "spec": { "replicas": 8 }, "status": status });
            match from_object(Kind::Deployment, &object) {
                Some(Slim::Workload(workload)) => workload.current,
                other => panic!("{other:?} is no workload"),
            }
        };
        assert_eq!(current(json!({ "observedGeneration": 1 })), Some(0));
        assert_eq!(current(json!({ "observedGeneration": 1, "replicas": 3 })), Some(3));
        for absent in [Value::Null, json!({})] {
            assert_eq!(current(absent), None);
        }
    }

    #[test]
    fn an_autoscaler_without_min_replicas_has_a_minimum_of_one() {
        for kind in [Kind::FederatedHPA, Kind::HorizontalPodAutoscaler] {
            for (spec, min, max) in [
                (json!({ "maxReplicas": 5 }), Some(1), Some(5)),
                (json!({ "minReplicas": null, "maxReplicas": 5 }), Some(1), Some(5)),
                (json!({ "minReplicas": 0 }), Some(0), None),
                (json!({ "minReplicas": "two", "maxReplicas": [] }), None, None),
            ] {
                let Some(Slim::Autoscaler(bounds)) = from_object(kind, &json!({ "spec": spec }))
                else {
                    panic!("{kind:?} has bounds")
                };
                assert_eq!((bounds.min_replicas, bounds.max_replicas), (min, max), "{spec}");
            }
        }
    }

    #[test]
    fn a_scale_omits_a_zero() {
        for (scale, replicas) in [
            (json!({ "spec": { "replicas": 3 } }), Some(3)),
            (json!({ "spec": {} }), Some(0)),
            (json!({}), Some(0)),
            (json!({ "spec": { "replicas": "many" } }), None),
        ] {
            assert_eq!(from_scale(&scale).replicas, replicas, "{scale}");
        }
    }

    #[test]
    fn only_data_has_a_slim_form_of_its_own() {
        let is_data = |kind: &&Kind| from_object(**kind, &Value::Null).is_some();
        let data: Vec<_> = Kind::ALL.iter().filter(is_data).map(|it| it.name()).collect();
        let expected = "ScalableNodeGroup ManagedCluster ManagedClusterSet AddOnPlacementScore \
                        PlacementDecision FederatedHPA HorizontalPodAutoscaler Deployment \
                        StatefulSet ReplicaSet ReplicationController";
        assert_eq!(data.join(" "), expected);
    }
}
