//! Responds with the nodes that a pod may use, their scores, and the nodes where eviction helps. It writes nothing.
//!
//! The ledger decides which nodes a pod may use. This module queries it and translates its verdicts into the extender
//! API.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use almanac_engine::Identity;
use almanac_engine::units::{Eviction, FilterOutcome, NodeId, Verdict};
use almanac_shell::server::ServerResponse;
use http::StatusCode;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use super::binding::read_pod;
use super::leader::Leader;
use super::protocol::{
    Arguments, FilterResult, HostPriority, PreemptionArguments, PreemptionResult, RejectedNodes,
    RequestedPod,
};
use super::watches::pod_identity;

/// The duration of a hold: about the time that kube-scheduler takes to bind a pod after `filter`.
const LEASE: Duration = Duration::from_secs(5);

/// The time to wait for the watch event of a pod that kube-scheduler already has. After that the pod is read.
const WAITS_FOR_POD: Duration = Duration::from_millis(200);

/// The verdict about each candidate, detached from the ledger.
struct SortedNodes {
    /// For each candidate, the index of its reason.
    of_nodes: Vec<u16>,
    reasons: Vec<(Verdict, String)>,
}

/// The outcome of a filter request.
enum FilterResponse {
    /// All candidates may be used.
    All,
    /// No candidate may be used, for this reason.
    Error(String),
    /// Each candidate has its verdict.
    SortedNodes(SortedNodes),
    /// The pod is still unknown.
    Unknown,
}

/// Responds with the candidates that a pod may use, and the reasons against the other candidates.
pub(super) async fn filter(leader: &Leader, body: &[u8]) -> ServerResponse {
    let arguments = match Arguments::read(body) {
        Ok(arguments) => arguments,
        Err(why) => return malformed(&why),
    };
    let (pod, names) = match (arguments.pod(), arguments.node_names()) {
        (Ok(pod), Ok(names)) => (pod, names),
        (Err(why), _) | (_, Err(why)) => return malformed(&why),
    };
    match filter_until_known(leader, pod, &names).await {
        FilterResponse::All => json(&FilterResult { node_names: names, ..FilterResult::default() }),
        FilterResponse::Error(error) => {
            json(&FilterResult { error: &error, ..FilterResult::default() })
        }
        FilterResponse::SortedNodes(sorted) => json(&sorted_result(&names, &sorted)),
        FilterResponse::Unknown => {
            let error =
                format!("the pod {}/{} with this UID does not exist", pod.namespace, pod.name);
            json(&FilterResult { error: &error, ..FilterResult::default() })
        }
    }
}

/// Queries the ledger, and again once the ledger has the pod.
async fn filter_until_known(
    leader: &Leader,
    pod: RequestedPod<'_>,
    names: &[&str],
) -> FilterResponse {
    let deadline = Instant::now() + WAITS_FOR_POD;
    loop {
        // Created before the query, so that a pod that arrives in between is not missed.
        let arrival = leader.arrival();
        match filter_known(leader, pod, names) {
            FilterResponse::Unknown => {}
            response => return response,
        }
        if timeout_at(deadline, arrival).await.is_err() {
            break;
        }
    }
    let identity = identity(pod);
    match read_pod(leader, &identity).await {
        Ok(Some(found)) => {
            leader.lock().ledger.read_pod(&identity, &found);
            filter_known(leader, pod, names)
        }
        Ok(None) => FilterResponse::Unknown,
        Err(error) => FilterResponse::Error(error),
    }
}

fn filter_known(leader: &Leader, pod: RequestedPod<'_>, names: &[&str]) -> FilterResponse {
    let now = leader.elapsed();
    let mut state = leader.lock();
    let candidates = state.candidates(names);
    let nodes: Vec<NodeId> = candidates.iter().flatten().copied().collect();
    // A hold expires, and the task that requeues pods must consider that.
    leader.notify_change();
    let outcome = state.ledger.filter(&identity(pod), Some(pod.uid), &nodes, now, LEASE);
    match &outcome {
        FilterOutcome::Untouched => FilterResponse::All,
        FilterOutcome::UnknownPod => FilterResponse::Unknown,
        // The reason does not depend on the node, so it is sent once, and not for each node.
        FilterOutcome::NotServing | FilterOutcome::NotPending | FilterOutcome::Conflict(_) => {
            FilterResponse::Error(outcome.why_refused().unwrap_or_default())
        }
        FilterOutcome::ByNode(verdicts) => {
            // Nodes of a unit have the same verdict and reason, so both are built once.
            let mut of_numbers: BTreeMap<Option<usize>, u16> = BTreeMap::new();
            let mut reasons = Vec::new();
            let of_nodes = candidates.into_iter().map(|node| {
                *of_numbers.entry(node.map(|node| verdicts.reason_of(node))).or_insert_with(|| {
                    reasons.push((verdicts.get(node), verdicts.reason(node)));
                    u16::try_from(reasons.len() - 1).unwrap_or(u16::MAX)
                })
            });
            let of_nodes = of_nodes.collect();
            FilterResponse::SortedNodes(SortedNodes { of_nodes, reasons })
        }
    }
}

fn sorted_result<'a>(names: &[&'a str], sorted: &'a SortedNodes) -> FilterResult<'a> {
    let mut result = FilterResult::default();
    for (name, reason) in names.iter().zip(&sorted.of_nodes) {
        let Some((verdict, why)) = sorted.reasons.get(usize::from(*reason)) else { continue };
        let rejected: &mut RejectedNodes<'a> = match verdict {
            Verdict::Chosen => {
                result.node_names.push(name);
                continue;
            }
            verdict if verdict.is_unresolvable() => &mut result.unresolvable,
            _ => &mut result.failed,
        };
        rejected.nodes.push((name, why));
    }
    result
}

/// Responds with the scores of the candidates. Without different scores the response is empty: kube-scheduler then adds
/// nothing.
pub(super) fn prioritize(leader: &Leader, body: &[u8]) -> ServerResponse {
    let arguments = match Arguments::read(body) {
        Ok(arguments) => arguments,
        Err(why) => return malformed(&why),
    };
    let (pod, names) = match (arguments.pod(), arguments.node_names()) {
        (Ok(pod), Ok(names)) => (pod, names),
        (Err(why), _) | (_, Err(why)) => return malformed(&why),
    };
    let (nodes, scores) = {
        let mut state = leader.lock();
        let candidates = state.candidates(&names);
        let nodes: Vec<(&str, NodeId)> =
            names.iter().zip(candidates).filter_map(|(name, id)| Some((*name, id?))).collect();
        let ids: Vec<NodeId> = nodes.iter().map(|(_, id)| *id).collect();
        let names: Vec<&str> = nodes.iter().map(|(name, _)| *name).collect();
        (names, state.ledger.scores(&identity(pod), Some(pod.uid), &ids))
    };
    let scores = match scores {
        Ok(scores) => scores,
        Err(error) => return unavailable(&error.to_string()),
    };
    let are_equal = scores.windows(2).all(|pair| pair[0] == pair[1]);
    let unequal = nodes.into_iter().zip(scores).filter(|_| !are_equal);
    let priorities: Vec<HostPriority<'_>> =
        unequal.map(|(node, score)| HostPriority { node, score }).collect();
    json(&priorities)
}

/// Responds with the nodes where evicting the victims frees capacity for a pod. The ledger holds back capacity on these
/// nodes for the pod.
pub(super) fn preempt(leader: &Leader, body: &[u8]) -> ServerResponse {
    let arguments = match PreemptionArguments::read(body) {
        Ok(arguments) => arguments,
        Err(why) => return malformed(&why),
    };
    let pod = match arguments.pod() {
        Ok(pod) => (identity(pod), pod.uid.to_owned()),
        Err(why) => return malformed(&why),
    };
    let (pod, uid) = pod;
    let mut victims = arguments.into_victims();
    let now = leader.elapsed();
    let mut state = leader.lock();
    // A hold expires, and the task that requeues pods must consider that.
    leader.notify_change();
    let known_nodes = victims.iter().filter_map(|(name, victims)| {
        let (node, violations) = (state.ledger.node(name)?, victims.violations());
        Some((&**name, Eviction { node, victims: victims.uids(), violations }))
    });
    let (names, evictions): (Vec<&str>, Vec<Eviction<'_>>) = known_nodes.unzip();
    let helpful_nodes = match state.ledger.preempt(&pod, Some(&uid), &evictions, now) {
        Ok(helpful_nodes) => helpful_nodes,
        Err(error) => return unavailable(&error.to_string()),
    };
    drop(state);
    let helpful_nodes: BTreeSet<String> = names
        .iter()
        .zip(&evictions)
        .filter(|(_, eviction)| helpful_nodes.contains(&eviction.node))
        .map(|(name, _)| (*name).to_owned())
        .collect();
    victims.retain(|name, _| helpful_nodes.contains(name));
    json(&PreemptionResult { victims })
}

fn identity(pod: RequestedPod<'_>) -> Identity {
    pod_identity(pod.namespace, pod.name)
}

fn unavailable(why: &str) -> ServerResponse {
    ServerResponse::refusal(StatusCode::SERVICE_UNAVAILABLE, why)
}

pub(super) fn malformed(why: &str) -> ServerResponse {
    // Kube-scheduler does not report this error.
    tracing::warn!(error = why, "rejected a malformed request");
    ServerResponse::refusal(StatusCode::BAD_REQUEST, why)
}

pub(super) fn json(value: &impl Serialize) -> ServerResponse {
    match serde_json::to_vec(value) {
        Ok(body) => ServerResponse::json(body),
        Err(error) => {
            let why = format!("failed to write the response: {error}");
            ServerResponse::refusal(StatusCode::INTERNAL_SERVER_ERROR, &why)
        }
    }
}
