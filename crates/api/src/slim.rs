//! The slim form of what policies act on, straight from JSON.
//!
//! Cheap and without findings: watches of tens of thousands of objects use the same functions as
//! the checking of files. The slim form of a policy comes from checking.

use almanac_engine::{Autoscaler, Slim, Workload};
use serde_json::Value;

use crate::kinds::{Kind, Role};
use crate::lenient::count;

/// The default minimum of an autoscaler.
const LEAST_UNLESS_SAID: u32 = 1;

/// The slim form of an object that policies act on; `None` for every other kind. A mangled number
/// counts as unknown.
#[must_use]
pub fn of_data(kind: Kind, object: &Value) -> Option<Slim> {
    let spec = &object["spec"];
    match kind.role() {
        Role::Workload { absent_replicas } => {
            let replicas = number(&spec["replicas"], absent_replicas);
            // A controller that has looked leaves out a zero.
            let status = &object["status"];
            let none = (!status["observedGeneration"].is_null()).then_some(0);
            let current = number(&status["replicas"], none);
            Some(Slim::Workload(Workload { replicas, current }))
        }
        Role::Bounds => Some(Slim::Autoscaler(Autoscaler {
            min_replicas: number(&spec["minReplicas"], Some(LEAST_UNLESS_SAID)),
            max_replicas: number(&spec["maxReplicas"], None),
        })),
        Role::Policy(_) => None,
    }
}

/// The slim form of a `scale`, which omits a zero.
#[must_use]
pub fn of_scale(scale: &Value) -> Workload {
    let replicas = |of: &str| number(&scale[of]["replicas"], Some(0));
    Workload { replicas: replicas("spec"), current: replicas("status") }
}

/// The fields of the spec the slim form of an object of this role is made from.
pub(crate) fn fields(role: Role) -> &'static [&'static str] {
    match role {
        Role::Workload { .. } => &["replicas"],
        Role::Bounds => &["minReplicas", "maxReplicas"],
        Role::Policy(_) => &[],
    }
}

fn number(written: &Value, absent: Option<u32>) -> Option<u32> {
    if written.is_null() { absent } else { count(written) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn workload(kind: Kind, spec: &Value) -> Option<u32> {
        match of_data(kind, &json!({ "spec": spec })) {
            Some(Slim::Workload(workload)) => workload.replicas,
            other => panic!("{other:?} is no workload"),
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
    fn an_autoscaler_without_min_replicas_has_a_minimum_of_one() {
        for kind in [Kind::FederatedHPA, Kind::HorizontalPodAutoscaler] {
            for (spec, min, max) in [
                (json!({ "maxReplicas": 5 }), Some(1), Some(5)),
                (json!({ "minReplicas": null, "maxReplicas": 5 }), Some(1), Some(5)),
                (json!({ "minReplicas": 0 }), Some(0), None),
                (json!({ "minReplicas": "two", "maxReplicas": [] }), None, None),
            ] {
                let Some(Slim::Autoscaler(bounds)) = of_data(kind, &json!({ "spec": spec })) else {
                    panic!("{kind:?} has bounds")
                };
                assert_eq!((bounds.min_replicas, bounds.max_replicas), (min, max), "{spec}");
            }
        }
    }

    #[test]
    fn a_scale_leaves_out_a_zero() {
        for (scale, replicas) in [
            (json!({ "spec": { "replicas": 3 } }), Some(3)),
            (json!({ "spec": {} }), Some(0)),
            (json!({}), Some(0)),
            (json!({ "spec": { "replicas": "many" } }), None),
        ] {
            assert_eq!(of_scale(&scale).replicas, replicas, "{scale}");
        }
    }

    #[test]
    fn only_data_has_a_slim_form_of_its_own() {
        let is_data = |kind: &&Kind| of_data(**kind, &Value::Null).is_some();
        let data: Vec<_> = Kind::ALL.iter().filter(is_data).map(|it| it.name()).collect();
        let expected = "ScalableNodeGroup FederatedHPA HorizontalPodAutoscaler Deployment \
                        StatefulSet ReplicaSet ReplicationController";
        assert_eq!(data.join(" "), expected);
    }
}
