//! Answers which nodes a pod may use, how good they are, and where evicting pods helps. Nothing is written by that.
//!
//! The ledger decides which nodes a pod may use. This module queries it and translates its verdicts into the extender
//! API.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use almanac_engine::Identity;
use almanac_engine::units::{Eviction, NodeId, Ruling, Verdict};
use almanac_shell::calls::Answer;
use http::StatusCode;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use super::binding::read_pod;
use super::deciding::Deciding;
use super::protocol::{
    Arguments, AskedPod, FilterResult, HostPriority, PreemptionArguments, PreemptionResult, Refused,
};
use super::watches::pod_identity;

/// How long a place is kept for a pod that was sent to a unit: about as long as it takes kube-scheduler to bind it.
const LEASE: Duration = Duration::from_secs(5);

/// How long to wait for the watch event of a pod that kube-scheduler has already. After that the pod is read.
const WAITS_FOR_POD: Duration = Duration::from_millis(200);

/// The verdict about each candidate, detached from the ledger.
struct Sorted {
    /// For each candidate, which of the reasons it has.
    of_nodes: Vec<u16>,
    reasons: Vec<(Verdict, String)>,
}

/// The outcome of a filter request.
enum Asked {
    /// All candidates may be used.
    All,
    /// None of them, for this reason.
    Error(String),
    /// Each has its verdict.
    Sorted(Sorted),
    /// The pod is not known yet.
    Unknown,
}

/// Which candidates a pod may use, and why not the others.
pub(super) async fn filter(deciding: &Deciding, body: &[u8]) -> Answer {
    let arguments = match Arguments::read(body) {
        Ok(arguments) => arguments,
        Err(why) => return malformed(&why),
    };
    let (pod, names) = match (arguments.pod(), arguments.node_names()) {
        (Ok(pod), Ok(names)) => (pod, names),
        (Err(why), _) | (_, Err(why)) => return malformed(&why),
    };
    match ask_until_known(deciding, pod, &names).await {
        Asked::All => json(&FilterResult { node_names: names, ..FilterResult::default() }),
        Asked::Error(error) => json(&FilterResult { error: &error, ..FilterResult::default() }),
        Asked::Sorted(sorted) => json(&told(&names, &sorted)),
        Asked::Unknown => {
            let error = format!("the pod {}/{} is gone", pod.namespace, pod.name);
            json(&FilterResult { error: &error, ..FilterResult::default() })
        }
    }
}

/// Queries the ledger, and again once it has the pod.
async fn ask_until_known(deciding: &Deciding, pod: AskedPod<'_>, names: &[&str]) -> Asked {
    let deadline = Instant::now() + WAITS_FOR_POD;
    loop {
        // Before the query, so that a pod that comes in between is not missed.
        let arrival = deciding.arrival();
        match ask(deciding, pod, names) {
            Asked::Unknown => {}
            asked => return asked,
        }
        if timeout_at(deadline, arrival).await.is_err() {
            break;
        }
    }
    let identity = identity(pod);
    match read_pod(deciding, &identity).await {
        Ok(Some(found)) => {
            deciding.lock().ledger.read_pod(&identity, &found);
            ask(deciding, pod, names)
        }
        Ok(None) => Asked::Unknown,
        Err(error) => Asked::Error(error),
    }
}

fn ask(deciding: &Deciding, pod: AskedPod<'_>, names: &[&str]) -> Asked {
    let now = deciding.elapsed();
    let mut state = deciding.lock();
    let candidates = state.candidates(names);
    let known: Vec<NodeId> = candidates.iter().flatten().copied().collect();
    // A lease has an end, of which the upkeep has to know.
    deciding.tell_change();
    let ruling = state.ledger.filter(&identity(pod), Some(pod.uid), &known, now, LEASE);
    match &ruling {
        Ruling::Untouched => Asked::All,
        Ruling::UnknownPod => Asked::Unknown,
        // The reason has nothing to do with any node, so it is sent once, and not for each.
        Ruling::NotServing | Ruling::NotPending | Ruling::Conflict(_) => {
            Asked::Error(ruling.why_refused().unwrap_or_default())
        }
        Ruling::ByNode(verdicts) => {
            // Nodes of a unit have the same verdict and the same reason, so both are made once.
            let mut of_numbers: BTreeMap<Option<usize>, u16> = BTreeMap::new();
            let mut reasons = Vec::new();
            let of_nodes = candidates.into_iter().map(|node| {
                *of_numbers.entry(node.map(|node| verdicts.reason_of(node))).or_insert_with(|| {
                    reasons.push((verdicts.of(node), verdicts.why(node)));
                    u16::try_from(reasons.len() - 1).unwrap_or(u16::MAX)
                })
            });
            let of_nodes = of_nodes.collect();
            Asked::Sorted(Sorted { of_nodes, reasons })
        }
    }
}

fn told<'a>(names: &[&'a str], sorted: &'a Sorted) -> FilterResult<'a> {
    let mut result = FilterResult::default();
    for (name, reason) in names.iter().zip(&sorted.of_nodes) {
        let Some((verdict, why)) = sorted.reasons.get(usize::from(*reason)) else { continue };
        let refused: &mut Refused<'a> = match verdict {
            Verdict::Chosen => {
                result.node_names.push(name);
                continue;
            }
            verdict if verdict.is_unresolvable() => &mut result.unresolvable,
            _ => &mut result.failed,
        };
        refused.nodes.push((name, why));
    }
    result
}

/// How good the candidates are. Where all are as good, nothing is said of any: kube-scheduler adds nothing then.
pub(super) fn prioritize(deciding: &Deciding, body: &[u8]) -> Answer {
    let arguments = match Arguments::read(body) {
        Ok(arguments) => arguments,
        Err(why) => return malformed(&why),
    };
    let (pod, names) = match (arguments.pod(), arguments.node_names()) {
        (Ok(pod), Ok(names)) => (pod, names),
        (Err(why), _) | (_, Err(why)) => return malformed(&why),
    };
    let (nodes, scores) = {
        let mut state = deciding.lock();
        let candidates = state.candidates(&names);
        let known: Vec<(&str, NodeId)> =
            names.iter().zip(candidates).filter_map(|(name, id)| Some((*name, id?))).collect();
        let ids: Vec<NodeId> = known.iter().map(|(_, id)| *id).collect();
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        (names, state.ledger.scores(&identity(pod), Some(pod.uid), &ids))
    };
    let scores = match scores {
        Ok(scores) => scores,
        Err(error) => return unavailable(&error.to_string()),
    };
    let all_alike = scores.windows(2).all(|pair| pair[0] == pair[1]);
    let told = nodes.into_iter().zip(scores).filter(|_| !all_alike);
    let told: Vec<HostPriority<'_>> =
        told.map(|(node, score)| HostPriority { node, score }).collect();
    json(&told)
}

/// On which nodes evicting the victims makes room for a pod. A place is kept for it there.
pub(super) fn preempt(deciding: &Deciding, body: &[u8]) -> Answer {
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
    let now = deciding.elapsed();
    let mut state = deciding.lock();
    // What is kept for the pod has an end, of which the upkeep has to know.
    deciding.tell_change();
    let known = victims.iter().filter_map(|(name, victims)| {
        let (node, violations) = (state.ledger.node(name)?, victims.violations());
        Some((&**name, Eviction { node, victims: victims.uids(), violations }))
    });
    let (names, evictions): (Vec<&str>, Vec<Eviction<'_>>) = known.unzip();
    let kept = match state.ledger.preempt(&pod, Some(&uid), &evictions, now) {
        Ok(kept) => kept,
        Err(error) => return unavailable(&error.to_string()),
    };
    drop(state);
    let kept: BTreeSet<String> = names
        .iter()
        .zip(&evictions)
        .filter(|(_, eviction)| kept.contains(&eviction.node))
        .map(|(name, _)| (*name).to_owned())
        .collect();
    victims.retain(|name, _| kept.contains(name));
    json(&PreemptionResult { victims })
}

fn identity(pod: AskedPod<'_>) -> Identity {
    pod_identity(pod.namespace, pod.name)
}

fn unavailable(why: &str) -> Answer {
    Answer::refusal(StatusCode::SERVICE_UNAVAILABLE, why)
}

pub(super) fn malformed(why: &str) -> Answer {
    // Kube-scheduler tells nobody of it.
    tracing::warn!(error = why, "rejected a malformed request");
    Answer::refusal(StatusCode::BAD_REQUEST, why)
}

pub(super) fn json(value: &impl Serialize) -> Answer {
    match serde_json::to_vec(value) {
        Ok(body) => Answer::json(body),
        Err(error) => {
            let why = format!("failed to write the response: {error}");
            Answer::refusal(StatusCode::INTERNAL_SERVER_ERROR, &why)
        }
    }
}
