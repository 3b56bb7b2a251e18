//! Compares a ledger with a plain count of the events that it received, and with a ledger that receives all objects at
//! the same time, in any order.

use std::collections::BTreeMap;

use almanac_engine::Identity;
use almanac_engine::units::{FilterOutcome, Ledger, Node, NodeId, Pod, Verdict};
use fastrand::Rng;

use super::faults::{Check, Violation, wrong};
use super::replica::Replica;
use crate::naive::ClusterView;

/// The checks that this is about.
pub(super) const CHECKS: [Check; 3] = [Check::Counts, Check::Costs, Check::Order];

pub(super) fn compare(replica: &Replica, rng: &mut Rng) -> Result<(), Violation> {
    let view = replica.view();
    if let Some(why) = view.difference(&replica.ledger) {
        return Err(wrong(Check::Counts, why));
    }
    if let Some(pod) = view.pods.keys().find(|pod| !replica.ledger.has_pod(pod)) {
        return Err(wrong(Check::Counts, format!("{pod} is unknown")));
    }
    // A pod that is being bound gets its cost with the binding.
    let mut costs: BTreeMap<Identity, Option<i32>> = view.cost_changes();
    costs.retain(|name, _| !replica.held.contains_key(name));
    let is_serving = replica.is_serving();
    for name in view.pods.keys().filter(|_| is_serving) {
        let change = replica.ledger.cost_change(name).map(|change| change.cost);
        if change != costs.get(name).copied() {
            let expected = costs.get(name);
            let why = format!("the cost of {name}: {change:?}, expected {expected:?}");
            return Err(wrong(Check::Costs, why));
        }
    }
    if replica.ledger.reservations() != replica.held.len() {
        let (theirs, ours) = (replica.ledger.reservations(), replica.held.len());
        let why = format!("{theirs} bindings are reserved, expected {ours}");
        return Err(wrong(Check::Counts, why));
    }
    // A ledger that receives all objects at the same time has no record of bindings in progress, or of the labels that
    // they give.
    let gives_labels =
        view.being_bound.iter().any(|(name, (_, to_come))| view.pods[name].labels != *to_come);
    let view = ClusterView { being_bound: BTreeMap::new(), ..view };
    let rebuilt = rebuilt(&view, rng);
    if let Some(why) = view.difference(&rebuilt) {
        return Err(wrong(Check::Counts, format!("rebuilt, {why}")));
    }
    if gives_labels { Ok(()) } else { compare_verdicts(replica, &view, &rebuilt, rng) }
}

/// A ledger that receives all objects at the same time, in any order.
fn rebuilt(view: &ClusterView, rng: &mut Rng) -> Ledger {
    enum ObjectChange<'a> {
        Policy(&'a Identity),
        Node(&'a str),
        GoneNode(&'a str),
        Pod(&'a Identity, &'a Pod),
    }
    let mut all: Vec<ObjectChange<'_>> = Vec::new();
    all.extend(view.policies.keys().map(ObjectChange::Policy));
    all.extend(view.nodes.keys().map(|name| ObjectChange::Node(name)));
    all.extend(view.gone_nodes.keys().map(|name| ObjectChange::GoneNode(name)));
    all.extend(view.pods.iter().map(|(name, pod)| ObjectChange::Pod(name, pod)));
    rng.shuffle(&mut all);
    let mut ledger = Ledger::alone();
    for object in all {
        match object {
            ObjectChange::Policy(name) => {
                ledger.set_policy(name, view.policies[name].clone(), None);
            }
            ObjectChange::Node(name) => ledger.set_node(name, &view.nodes[name]),
            ObjectChange::GoneNode(name) => {
                let labels = view.gone_nodes[name].clone();
                ledger.set_node(name, &Node { labels, ..Node::default() });
            }
            ObjectChange::Pod(name, pod) => ledger.set_pod(name, pod),
        }
    }
    for name in view.gone_nodes.keys() {
        ledger.remove_node(name, None);
    }
    ledger
}

/// A pending pod has the same verdicts in both.
fn compare_verdicts(
    replica: &Replica,
    view: &ClusterView,
    rebuilt: &Ledger,
    rng: &mut Rng,
) -> Result<(), Violation> {
    let pending: Vec<&Identity> =
        view.pods.iter().filter(|(_, pod)| pod.node.is_none()).map(|(name, _)| name).collect();
    let Some(pod) = rng.choice(pending) else { return Ok(()) };
    let mut unleased = replica.ledger.clone();
    unleased.lose_leadership();
    let of = |ledger: &Ledger| -> Result<Vec<Verdict>, String> {
        let nodes: Vec<Option<NodeId>> = view.nodes.keys().map(|name| ledger.node(name)).collect();
        let candidates: Vec<NodeId> = nodes.iter().copied().flatten().collect();
        match ledger.verdicts(pod, view.pods[pod].uid.as_deref(), &candidates) {
            FilterOutcome::ByNode(verdicts) => {
                Ok(nodes.into_iter().map(|node| verdicts.get(node)).collect())
            }
            other => Err(other.why_refused().unwrap_or_default()),
        }
    };
    let (kept, again) = (of(&unleased), of(rebuilt));
    if kept == again {
        Ok(())
    } else {
        Err(wrong(Check::Order, format!("verdicts on {pod}: {kept:?}, rebuilt {again:?}")))
    }
}
