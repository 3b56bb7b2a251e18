//! Explains the node of a pod, the reason that it is pending, and the destination of this pod or the next one. The
//! verdicts are those that a scheduler receives, over all nodes.

use std::sync::Arc;

use super::refusals::{conflict_message, count_of_pods, short};
use super::verdicts::{Verdict, Verdicts};
use super::{Allocation, Ledger, PodSlot};
use crate::units::slots::{GroupId, NodeId, PodId, PolicyId};
use crate::units::{Strategy, Ungoverned};
use crate::{Identity, few_joined};

/// The state of a pod under a policy.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodExplanation {
    /// The policy that governs the pod; `None` if no policy does.
    pub policy: Option<Identity>,
    /// Whether several policies select the pod.
    pub is_conflict: bool,
    /// The group of the pod, as `with pod-template-hash=abc`; empty if the policy has no groups.
    pub group: String,
    /// The name of the unit of the pod; `None` outside all units, and for a pending pod.
    pub unit: Option<Arc<str>>,
    /// The state as a line for users.
    pub summary: String,
    /// The destination of the next pod with the same labels, as a line for users; `None` for a pod that is itself
    /// pending, or that no policy governs.
    pub next: Option<String>,
    /// The verdict on each unit with its reason, for this pod if it is pending, and otherwise for the next pod. The
    /// last verdict is on the nodes outside all units, if any exist.
    pub units: Vec<(Verdict, String)>,
}

impl Ledger {
    /// Explains the node of a pod, and the destination of the next one; `None` if the pod is unknown. All nodes are
    /// candidates: the scheduler checks all other conditions.
    #[must_use]
    pub fn explain(&self, pod: &Identity) -> Option<PodExplanation> {
        let id = *self.pod_ids.get(pod)?;
        let slot = &self.pods[id];
        let mut explanation = PodExplanation::default();
        match *self.governing(slot) {
            [] => why_ungoverned(slot).clone_into(&mut explanation.summary),
            [(policy, group)] => self.explain_under(id, policy, group, &mut explanation),
            [_, _, ..] => {
                explanation.is_conflict = true;
                explanation.summary = self.describe_conflict(slot);
            }
        }
        Some(explanation)
    }

    fn explain_under(
        &self,
        id: PodId,
        policy: PolicyId,
        group: GroupId,
        explanation: &mut PodExplanation,
    ) {
        let slot = &self.pods[id];
        let usage = &self.usages[policy];
        explanation.policy = Some(usage.identity.clone());
        usage.describe(&usage.groups[group].key).trim_start().clone_into(&mut explanation.group);
        let is_pending = self.is_pending(id);
        let nodes: Vec<NodeId> = self.node_ids.keys().filter_map(|name| self.node(name)).collect();
        let verdicts = self.verdicts_under(Some(id).filter(|_| is_pending), policy, group, &nodes);
        let there_is = verdicts.by_unit().filter(|on| on.unit.is_some() || on.is_candidate);
        explanation.units = there_is
            .map(|on| match on.unit {
                Some(unit) if !on.is_candidate => {
                    let policy = short(&usage.identity);
                    let why =
                        format!("unit \"{}\" of ResourcePolicy {policy} has no nodes", unit.name);
                    (on.verdict, why)
                }
                _ => (on.verdict, on.why),
            })
            .collect();
        let to_go = destination(&verdicts);
        if is_pending {
            let policy = short(&usage.identity);
            explanation.summary = match to_go {
                Ok(nodes) => format!("ResourcePolicy {policy} allows {nodes}"),
                Err(why) => why,
            };
            return;
        }
        explanation.next = Some(match to_go {
            Ok(nodes) => format!("the next pod may go to {nodes}"),
            Err(why) => format!("the next pod must wait: {why}"),
        });
        if let Some(allocation) =
            slot.allocations.iter().find(|allocation| allocation.at.group == group)
        {
            explanation.unit =
                usage.unit(allocation.at.unit_index).map(|unit| Arc::clone(&unit.name));
            explanation.summary = self.describe_allocation(slot, *allocation);
        } else {
            let what = if slot.is_finished { "has finished" } else { "is being deleted" };
            explanation.summary = format!("the pod {what} and is not counted");
        }
    }

    /// Describes a pod that several policies select. On a node, the pod counts under each of these policies.
    fn describe_conflict(&self, slot: &PodSlot) -> String {
        let conflict = conflict_message(&self.selecting_names(slot.shape));
        let Some(node) = self.node_of(slot).filter(|_| !slot.allocations.is_empty()) else {
            return conflict;
        };
        let described = |allocation: &Allocation| {
            let usage = &self.usages[allocation.at.policy];
            let policy = short(&usage.identity);
            match usage.unit(allocation.at.unit_index) {
                Some(unit) => format!("in unit \"{}\" of ResourcePolicy {policy}", unit.name),
                None => format!("outside every unit of ResourcePolicy {policy}"),
            }
        };
        let mut units: Vec<String> = slot.allocations.iter().map(described).collect();
        units.sort_unstable();
        let (node, units) = (&self.nodes[node].name, few_joined(units, " and "));
        format!("{conflict}; the pod is on node {node}, and counts {units}")
    }

    fn describe_allocation(
        &self,
        slot: &PodSlot,
        Allocation { at, over, .. }: Allocation,
    ) -> String {
        let usage = &self.usages[at.policy];
        let policy = short(&usage.identity);
        let node = self.node_of(slot).map(|node| &*self.nodes[node].name).unwrap_or_default();
        let is_there = if slot.node.is_some() { "is on" } else { "is being bound to" };
        let Some(unit) = usage.unit(at.unit_index) else {
            return format!(
                "the pod {is_there} node {node}, outside every unit of ResourcePolicy {policy}"
            );
        };
        let over = if over.is_some() { ", and over its cap" } else { "" };
        let used = usage.groups[at.group].unit_usage(at.unit_index).used;
        let count = count_of_pods(used, unit.max);
        format!(
            "the pod {is_there} node {node}, in unit \"{}\" of ResourcePolicy {policy} ({count}){over}",
            unit.name
        )
    }
}

/// `a node of unit "a" or a node outside all units`, or the reason that no node is available.
fn destination(verdicts: &Verdicts<'_>) -> Result<String, String> {
    let chosen = verdicts.by_unit().filter(|on| on.is_candidate && on.verdict == Verdict::Chosen);
    let chosen: Vec<String> = chosen
        .map(|on| match on.unit {
            Some(unit) => format!("a node of unit \"{}\"", unit.name),
            None => "a node outside all units".to_owned(),
        })
        .collect();
    if !chosen.is_empty() {
        return Ok(few_joined(chosen, " or "));
    }
    let policy = short(verdicts.policy());
    let has_room = |verdict| matches!(verdict, Verdict::Chosen | Verdict::Lower);
    let mut units = verdicts.by_unit().filter(|on| on.unit.is_some());
    let with_nodes = if units.any(|on| has_room(on.verdict)) { " with nodes" } else { "" };
    let and = match verdicts.usage.policy.strategy {
        Strategy::Required => "its strategy is required",
        Strategy::Prefer => "there are no nodes outside its units",
    };
    Err(format!("no unit{with_nodes} of ResourcePolicy {policy} has room, and {and}"))
}

fn why_ungoverned(slot: &PodSlot) -> &'static str {
    match slot.ungoverned {
        Some(Ungoverned::DaemonSet) => "no ResourcePolicy governs the pod: a DaemonSet owns it",
        Some(Ungoverned::Mirror) => "no ResourcePolicy governs the pod: it is a mirror pod",
        Some(Ungoverned::Exempt) => "no ResourcePolicy governs the pod: it is exempt",
        None => "no ResourcePolicy selects the pod",
    }
}
