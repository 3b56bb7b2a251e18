//! Binds a pod to a node. The ledger reserves a permit, by the node and the pod as they were just read. The ledger
//! releases the permit only when the binding certainly was not created.

use std::sync::Arc;
use std::time::Duration;

use almanac_api::slim::{self, BOUND_POLICY, BOUND_UNIT, DELETION_COST, DELETION_COST_OWNER};
use almanac_engine::Identity;
use almanac_engine::units::{BindOutcome, Confirmed, DeletionCost, Node, Pod, UnsettledBinding};
use almanac_shell::server::ServerResponse;
use almanac_shell::writer::{ObjectPath, WriteError, summarize};
use kube::Api;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use serde_json::{Map, Value, json};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::filtering::{json, malformed};
use super::leader::{BIND_TIME, Leader, longest_bind};
use super::protocol::{BindingArguments, BindingResult};
use super::watches::pod_identity;
use crate::runtime::core;

/// The number of attempts for a pod that changes after it was read.
const ATTEMPTS: u32 = 3;

/// The time limit of a read.
const READ_TIME: Duration = Duration::from_secs(5);

/// The delay after a failure before unknown bindings are read again.
const READ_RETRY_DELAY: Duration = Duration::from_secs(1);

/// The reason that a pod was not bound, or might not be bound.
enum NotBound {
    /// The pod has changed since it was read; another read may help.
    Changed(String),
    /// Any other reason.
    Other(String),
}

impl From<String> for NotBound {
    fn from(why: String) -> Self {
        Self::Other(why)
    }
}

/// Binds a pod, or returns the reason that it is not bound. A binding that has started is finished even if the client
/// disconnects.
pub(super) async fn bind(leader: &Arc<Leader>, body: &[u8]) -> ServerResponse {
    let arguments = match BindingArguments::read(body) {
        Ok(arguments) => arguments,
        Err(why) => return malformed(&why),
    };
    // A client that disconnects while it waits for a permit starts no binding.
    let Ok(permit) = Arc::clone(&leader.binding).acquire_owned().await else {
        return json(&BindingResult { error: "this replica does not decide any more" });
    };
    let leader = Arc::clone(leader);
    let task = tokio::spawn(async move {
        let _permit = permit;
        let result = attempt(&leader, &arguments).await;
        if let Err(error) = &result {
            let BindingArguments { namespace, name, node, .. } = &arguments;
            tracing::info!(pod = format!("{namespace}/{name}"), node, error, "did not bind a pod");
        }
        result
    });
    let error = match task.await {
        Ok(result) => result.err().unwrap_or_default(),
        Err(error) => error.to_string(),
    };
    json(&BindingResult { error: &error })
}

/// Tries to bind, and retries if the pod has changed since it was read.
async fn attempt(leader: &Leader, arguments: &BindingArguments) -> Result<(), String> {
    let mut attempts = ATTEMPTS;
    loop {
        attempts -= 1;
        match try_bind(leader, arguments).await {
            Ok(()) => return Ok(()),
            Err(NotBound::Changed(_)) if attempts > 0 => {}
            Err(NotBound::Changed(why) | NotBound::Other(why)) => return Err(why),
        }
    }
}

async fn try_bind(leader: &Leader, arguments: &BindingArguments) -> Result<(), NotBound> {
    let BindingArguments { namespace, name, uid, node } = arguments;
    let identity = pod_identity(namespace, name);
    let (pod, node_object) =
        tokio::join!(read_pod(leader, &identity), read(leader, core("Node", "nodes"), None, node));
    let pod = pod?.filter(|pod| pod.uid.as_deref() == Some(uid));
    let pod =
        pod.ok_or_else(|| format!("the pod {namespace}/{name} with this UID does not exist"))?;
    let node_object = node_object?.ok_or_else(|| format!("the node {node} does not exist"))?;
    let current: Node = slim::watched_unit_node(&node_object);
    let reserved = {
        let mut state = leader.lock();
        let now = leader.elapsed();
        let reserved =
            state.ledger.reserve((&identity, &pod), (node, &current), now, longest_bind());
        reserved.map_err(|why| why.to_string())?
    };
    let mut withdrawn = None;
    let confirm = || {
        let confirmed = leader.lock().ledger.confirm(reserved, leader.elapsed(), longest_bind());
        confirmed
            .map(|confirmed| binding(arguments, &confirmed))
            .map_err(|why| withdrawn = Some(why.to_string()))
            .ok()
    };
    let collection = format!("/api/v1/namespaces/{namespace}/pods");
    let path = ObjectPath { collection: &collection, name };
    let response = leader.writer.bind(path, BIND_TIME, confirm).await;
    let (outcome, result) = match response {
        Ok(()) => (BindOutcome::Posted, Ok(())),
        Err(WriteError::Withdrawn) => {
            (BindOutcome::Failed, Err(NotBound::Changed(withdrawn.unwrap_or_default())))
        }
        Err(WriteError::Fenced(error)) => (BindOutcome::Failed, Err(error.to_string().into())),
        // Either the pod has changed, or etcd lost its connection during the write, which may have succeeded. The API
        // server has one response for both.
        Err(WriteError::Refused(refusal)) if refusal.is_conflict() => {
            (BindOutcome::Unknown, Err(NotBound::Changed(refusal.to_string())))
        }
        Err(WriteError::Refused(refusal)) => (BindOutcome::Failed, Err(refusal.to_string().into())),
        Err(WriteError::Unknown(why)) => (BindOutcome::Unknown, Err(why.into())),
    };
    leader.lock().ledger.settle(reserved, outcome);
    leader.metrics.count(outcome);
    leader.notify_change();
    if outcome == BindOutcome::Unknown {
        settle_by_read(leader, &UnsettledBinding { id: reserved, pod: identity }).await;
        leader.unsettled.notify_one();
    }
    result
}

/// The body of the request.
fn binding(arguments: &BindingArguments, confirmed: &Confirmed) -> Value {
    let mut annotations = Map::new();
    if let Some(bound) = &confirmed.bound {
        annotations.insert(BOUND_POLICY.to_owned(), json!(bound.policy.name()));
        if let Some(unit) = &bound.unit {
            annotations.insert(BOUND_UNIT.to_owned(), json!(&**unit));
        }
        if let Some(cost) = bound.cost {
            annotations.insert(DELETION_COST.to_owned(), json!(cost.to_string()));
            annotations
                .insert(DELETION_COST_OWNER.to_owned(), json!(DeletionCost::owner_mark(cost)));
        }
    }
    let version = confirmed.version.map(|version| version.to_string());
    json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            "name": arguments.name,
            "namespace": arguments.namespace,
            "uid": arguments.uid,
            "resourceVersion": version,
            "annotations": annotations,
        },
        "target": { "apiVersion": "v1", "kind": "Node", "name": arguments.node },
    })
}

/// Resolves bindings with an unknown outcome, as soon as a read can show the outcome. Never ends by itself.
pub(super) async fn settle_all(leader: &Leader, end: CancellationToken) {
    while !end.is_cancelled() {
        let now = leader.elapsed();
        let (due, next) = {
            let state = leader.lock();
            let due: Vec<UnsettledBinding> = state.ledger.unsettled(now).collect();
            (due, state.ledger.next_unsettled())
        };
        let mut is_failing = false;
        for unsettled in &due {
            is_failing |= !settle_by_read(leader, unsettled).await;
        }
        let delay = async {
            match next {
                _ if is_failing => sleep(READ_RETRY_DELAY).await,
                Some(next) => sleep(now.until(next)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = delay => {}
            () = leader.unsettled.notified() => {}
            () = end.cancelled() => {}
        }
    }
}

/// Reads the pod of a binding; returns whether that succeeded.
async fn settle_by_read(leader: &Leader, unsettled: &UnsettledBinding) -> bool {
    let started = leader.elapsed();
    match read_pod(leader, &unsettled.pod).await {
        Ok(found) => {
            leader.lock().ledger.settle_by_read(unsettled.id, found.as_ref(), started);
            true
        }
        Err(error) => {
            tracing::warn!(pod = %unsettled.pod, error, "failed to determine whether a pod was bound");
            false
        }
    }
}

pub(super) async fn read_pod(leader: &Leader, pod: &Identity) -> Result<Option<Pod>, String> {
    let object = read(leader, core("Pod", "pods"), Some(pod.namespace()), pod.name()).await?;
    Ok(object.map(|it| slim::watched_unit_pod(&it)))
}

/// The current version of an object.
async fn read(
    leader: &Leader,
    kind: ApiResource,
    namespace: Option<&str>,
    name: &str,
) -> Result<Option<DynamicObject>, String> {
    let client = leader.client.clone();
    let api: Api<DynamicObject> = match namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &kind),
        None => Api::all_with(client, &kind),
    };
    let what = || format!("failed to read the {} {name}", kind.kind.to_lowercase());
    match timeout(READ_TIME, api.get_opt(name)).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => Err(format!("{}: {}", what(), summarize(&error))),
        Err(_) => Err(format!("{}: no response in time", what())),
    }
}
