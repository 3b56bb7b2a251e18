//! The status that a kubelet reports of the pods bound to its node, and when a pod ends. Both are computed from the pod
//! alone; `kubelet` selects the pods.
//!
//! Nothing runs in a pod, so nothing in it ends by itself. The pods that are meant to end, such as those of jobs, end
//! with success: after the longest sleep in the command of a container, or else soon.

use k8s_openapi::api::core::v1::{Container, Pod};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// The report about a pod that the API server still lacks.
#[derive(Debug, PartialEq)]
pub(crate) enum Report {
    /// No report: the status is up to date.
    Nothing,
    /// A patch of the status.
    Status(Value),
    /// The processes have ended, so that the object can be deleted.
    Gone,
}

/// Returns the report that a bound pod needs.
pub(crate) fn report(pod: &Pod, address: impl FnOnce() -> String, now: Timestamp) -> Report {
    if pod.metadata.deletion_timestamp.is_some() {
        return Report::Gone;
    }
    let status = pod.status.clone().unwrap_or_default();
    match status.phase.as_deref() {
        Some("Succeeded" | "Failed") => Report::Nothing,
        Some("Running") if ends_at(pod).is_some_and(|end| end <= now) => {
            Report::Status(json!({"status": succeeded(pod, now)}))
        }
        Some("Running") if condition(pod, "Ready") == Some(gates_are_open(pod)) => Report::Nothing,
        Some("Running") => Report::Status(json!({"status": {"conditions": conditions(pod, now)}})),
        _ => Report::Status(json!({"status": running(pod, &address(), now)})),
    }
}

/// The end of the processes of a running pod; `None` for what runs until it is deleted.
pub(crate) fn ends_at(pod: &Pod) -> Option<Timestamp> {
    let status = pod.status.as_ref().filter(|it| it.phase.as_deref() == Some("Running"))?;
    let started = status.start_time.as_ref()?.0;
    let spec = pod.spec.as_ref()?;
    if !matches!(spec.restart_policy.as_deref(), Some("Never" | "OnFailure")) {
        return None;
    }
    let runs: Option<Vec<SignedDuration>> = spec.containers.iter().map(runs_for).collect();
    started.checked_add(runs?.into_iter().max()?).ok()
}

/// The running time of a container whose command has no sleep.
const USUALLY: SignedDuration = SignedDuration::from_secs(5);

/// The sleep of a container, as in `[sleep, "90"]` or `[sh, -c, "work && sleep 5m"]`; `None` for an endless sleep.
fn runs_for(container: &Container) -> Option<SignedDuration> {
    let texts = container.command.iter().flatten().chain(container.args.iter().flatten());
    let mut words = texts.flat_map(|text| text.split(|it: char| it.is_whitespace() || it == ';'));
    let Some(time) = words.find(|word| *word == "sleep").and_then(|_| words.next()) else {
        return Some(USUALLY);
    };
    if time == "infinity" {
        return None;
    }
    let (number, unit) = match time.strip_suffix(['s', 'm', 'h', 'd']) {
        Some(number) => (number, time.as_bytes().last()),
        None => (time, None),
    };
    let seconds = match unit {
        Some(b'm') => 60.0,
        Some(b'h') => 3_600.0,
        Some(b'd') => 86_400.0,
        _ => 1.0,
    };
    let slept = number.parse::<f64>().ok();
    let slept = slept.and_then(|it| SignedDuration::try_from_secs_f64(it * seconds).ok());
    Some(slept.unwrap_or(USUALLY))
}

/// A pod is ready when its containers are ready and all its readiness gates are open.
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
    json!([
        one_condition("PodReadyToStartContainers", true, now),
        one_condition("Initialized", true, now),
        one_condition("ContainersReady", true, now),
        one_condition("Ready", gates_are_open(pod), now),
    ])
}

fn one_condition(kind: &str, holds: bool, now: Timestamp) -> Value {
    json!({
        "type": kind,
        "status": if holds { "True" } else { "False" },
        "lastTransitionTime": now,
    })
}

fn succeeded(pod: &Pod, now: Timestamp) -> Value {
    let started = pod.status.as_ref().and_then(|status| status.start_time.as_ref());
    let started = started.map_or(now, |time| time.0);
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let containers: Vec<_> =
        containers.map(|container| completed(container, false, (started, now))).collect();
    let [mut all, mut ready] =
        ["ContainersReady", "Ready"].map(|kind| one_condition(kind, false, now));
    (all["reason"], ready["reason"]) = ("PodCompleted".into(), "PodCompleted".into());
    json!({"phase": "Succeeded", "conditions": [all, ready], "containerStatuses": containers})
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
            _ => completed(container, true, (now, now)),
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
    container_status(container, (true, true), &json!({"running": {"startedAt": now}}))
}

/// An init container stays ready once it has ended.
fn completed(container: &Container, is_ready: bool, (from, to): (Timestamp, Timestamp)) -> Value {
    let state = json!({"terminated": {
        "exitCode": 0, "reason": "Completed", "startedAt": from, "finishedAt": to,
    }});
    container_status(container, (is_ready, false), &state)
}

fn container_status(
    container: &Container,
    (is_ready, is_started): (bool, bool),
    state: &Value,
) -> Value {
    json!({
        "name": container.name,
        "image": container.image,
        "imageID": "simulated",
        "containerID": "simulated://1",
        "ready": is_ready,
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

    /// The running time of a pod with this restart policy and these words in its command, in seconds.
    fn runs(policy: &str, command: &[&str]) -> Option<i64> {
        let pod = pod(&json!({
            "spec": {"restartPolicy": policy, "containers": [
                {"name": "short", "command": ["sleep", "1"]},
                {"name": "c", "command": command},
            ]},
            "status": {"phase": "Running", "startTime": "1970-01-01T00:00:00Z"},
        }));
        ends_at(&pod).map(Timestamp::as_second)
    }

    #[test]
    fn a_pod_of_a_job_ends_when_its_longest_container_has_slept() {
        assert_eq!(runs("Never", &["sleep", "90"]), Some(90));
        assert_eq!(runs("OnFailure", &["sh", "-c", "echo moin; sleep 2m; exit"]), Some(120));
        assert_eq!(runs("Never", &["render"]), Some(USUALLY.as_secs()));
        assert_eq!(runs("Never", &["sleep", "long"]), Some(USUALLY.as_secs()));
        assert_eq!(runs("Never", &["sleep", "infinity"]), None);
        assert_eq!(runs("Always", &["sleep", "90"]), None);
    }

    #[test]
    fn a_pod_that_has_ended_has_succeeded_and_is_not_ready_any_more() {
        let running = pod(&json!({
            "spec": {"nodeName": "n", "restartPolicy": "Never", "containers": [{"name": "c"}]},
            "status": {"phase": "Running", "startTime": "1970-01-01T00:00:00Z", "conditions": [
                {"type": "Ready", "status": "True"},
            ]},
        }));
        assert_eq!(reported(&running), Report::Nothing);
        let end = Timestamp::UNIX_EPOCH + USUALLY;
        let ended = report(&running, || "10.0.0.1".into(), end);
        assert_eq!(ready_of(&ended), "False");
        let Report::Status(patch) = ended else { panic!("its end is not reported") };
        assert_eq!(patch["status"]["phase"], "Succeeded");
        let state = &patch["status"]["containerStatuses"][0]["state"]["terminated"];
        assert_eq!(state["finishedAt"], "1970-01-01T00:00:05Z");
    }

    #[test]
    fn a_deleted_pod_is_removed_in_every_phase() {
        let deleted = pod(&json!({
            "metadata": {"name": "p", "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "status": {"phase": "Running"},
        }));
        assert_eq!(reported(&deleted), Report::Gone);
    }
}
