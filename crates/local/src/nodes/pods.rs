//! What a kubelet reports of the pods that were bound to its node. It is worked out from the pod
//! alone; which pods, and when, is the simulator's.

use k8s_openapi::api::core::v1::{Container, Pod};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

/// What has to be told the API server about a pod.
#[derive(Debug, PartialEq)]
pub(crate) enum Report {
    /// Nothing: it knows.
    Nothing,
    /// A patch of the status.
    Status(Value),
    /// That its processes have ended, so that the object can go.
    Gone,
}

/// Looks at a bound pod and says what is to be reported.
pub(crate) fn report(pod: &Pod, address: impl FnOnce() -> String, now: Timestamp) -> Report {
    if pod.metadata.deletion_timestamp.is_some() {
        return Report::Gone;
    }
    let status = pod.status.clone().unwrap_or_default();
    match status.phase.as_deref() {
        Some("Succeeded" | "Failed") => Report::Nothing,
        Some("Running") if condition(pod, "Ready") == Some(gates_are_open(pod)) => Report::Nothing,
        Some("Running") => Report::Status(json!({"status": {"conditions": conditions(pod, now)}})),
        _ => Report::Status(json!({"status": running(pod, &address(), now)})),
    }
}

/// A pod is ready when its containers are and every readiness gate it names is open.
fn gates_are_open(pod: &Pod) -> bool {
    let gates = pod.spec.iter().flat_map(|spec| spec.readiness_gates.iter().flatten());
    gates.into_iter().all(|gate| condition(pod, &gate.condition_type) == Some(true))
}

fn condition(pod: &Pod, kind: &str) -> Option<bool> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let found = conditions.iter().find(|condition| condition.type_ == kind)?;
    Some(found.status == "True")
}

fn conditions(pod: &Pod, now: Timestamp) -> Value {
    let one = |kind: &str, holds: bool| {
        json!({
            "type": kind,
            "status": if holds { "True" } else { "False" },
            "lastTransitionTime": now,
        })
    };
    json!([
        one("PodReadyToStartContainers", true),
        one("Initialized", true),
        one("ContainersReady", true),
        one("Ready", gates_are_open(pod)),
    ])
}

fn running(pod: &Pod, address: &str, now: Timestamp) -> Value {
    let spec = pod.spec.clone().unwrap_or_default();
    let containers: Vec<_> =
        spec.containers.iter().map(|container| started(container, now)).collect();
    let init: Vec<_> = spec
        .init_containers
        .iter()
        .flatten()
        .map(|container| match container.restart_policy.as_deref() {
            Some("Always") => started(container, now),
            _ => completed(container, now),
        })
        .collect();
    json!({
        "phase": "Running",
        "conditions": conditions(pod, now),
        "startTime": now,
        "hostIP": "127.0.0.1",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "containerStatuses": containers,
        "initContainerStatuses": init,
    })
}

fn started(container: &Container, now: Timestamp) -> Value {
    container_status(container, true, &json!({"running": {"startedAt": now}}))
}

fn completed(container: &Container, now: Timestamp) -> Value {
    let state = json!({"terminated": {
        "exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now,
    }});
    container_status(container, false, &state)
}

fn container_status(container: &Container, is_started: bool, state: &Value) -> Value {
    json!({
        "name": container.name,
        "image": container.image,
        "imageID": "simulated",
        "containerID": "simulated://1",
        "ready": true,
        "started": is_started,
        "restartCount": 0,
        "state": state,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(more: &Value) -> Pod {
        let mut object = json!({
            "metadata": {"name": "p"},
            "spec": {"nodeName": "n", "containers": [{"name": "c"}],
                     "readinessGates": [{"conditionType": "gate"}]},
        });
        for (key, value) in more.as_object().expect("an object") {
            object[key] = value.clone();
        }
        serde_json::from_value(object).expect("a pod")
    }

    fn reported(pod: &Pod) -> Report {
        report(pod, || "10.0.0.1".into(), Timestamp::UNIX_EPOCH)
    }

    fn ready_of(report: &Report) -> Value {
        let Report::Status(patch) = report else { panic!("no status in {report:?}") };
        let conditions = patch["status"]["conditions"].as_array().expect("conditions").clone();
        conditions.into_iter().find(|one| one["type"] == "Ready").expect("Ready")["status"].clone()
    }

    #[test]
    fn a_pod_becomes_ready_only_when_its_gates_are_open() {
        let pending = reported(&pod(&json!({"status": {"phase": "Pending"}})));
        assert_eq!(ready_of(&pending), "False");
        let opened = reported(&pod(&json!({"status": {"phase": "Running", "conditions": [
            {"type": "Ready", "status": "False"}, {"type": "gate", "status": "True"},
        ]}})));
        assert_eq!(ready_of(&opened), "True");
    }

    #[test]
    fn an_up_to_date_pod_is_not_reported_again() {
        let same = pod(&json!({"status": {"phase": "Running", "conditions": [
            {"type": "Ready", "status": "False"},
        ]}}));
        assert_eq!(reported(&same), Report::Nothing);
        assert_eq!(reported(&pod(&json!({"status": {"phase": "Failed"}}))), Report::Nothing);
    }

    #[test]
    fn a_deleted_pod_goes_whatever_its_phase() {
        let deleted = pod(&json!({
            "metadata": {"name": "p", "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "status": {"phase": "Running"},
        }));
        assert_eq!(reported(&deleted), Report::Gone);
    }
}
