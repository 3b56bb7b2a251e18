//! Why a pod is where it is, why it is pending, and where it would go: the same verdicts as a scheduler gets, over all
//! nodes.

use std::sync::Arc;

use super::binds::{conflict_message, short};
use super::verdicts::{Ruling, Verdict};
use super::{Governing, Ledger, PodSlot, Seat};
use crate::Identity;
use crate::units::Ungoverned;
use crate::units::slots::NodeId;

/// What a policy does with a pod.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodExplanation {
    /// The policy that governs it, if one does.
    pub policy: Option<Identity>,
    /// Its group, as `with pod-template-hash=abc`; empty if the policy has no groups.
    pub group: String,
    /// The name of the unit it is in; `None` outside all of them, and while it has no node.
    pub unit: Option<Arc<str>>,
    /// What is the case, as a line for a person.
    pub summary: String,
    /// For a pod without a node, the verdict on each unit, and why; last, on the nodes outside all units.
    pub units: Vec<(Verdict, String)>,
}

impl Ledger {
    /// Why a pod is where it is; `None` if it is not known. For one without a node, all nodes are candidates: which of
    /// them fit it otherwise is up to the scheduler.
    #[must_use]
    pub fn explain(&self, pod: &Identity) -> Option<PodExplanation> {
        let id = *self.pod_ids.get(pod)?;
        let slot = &self.pods[id];
        let mut explanation = PodExplanation::default();
        let (policy, group) = match self.governing(slot) {
            Governing::None => {
                why_ungoverned(slot).clone_into(&mut explanation.summary);
                return Some(explanation);
            }
            Governing::Several => {
                explanation.summary = conflict_message(&self.conflict_of(slot.shape));
                return Some(explanation);
            }
            Governing::One(policy, group) => (policy, group),
        };
        let book = &self.books[policy];
        explanation.policy = Some(book.identity.clone());
        let described = book.describe(&book.groups[group].key);
        described.trim_start().clone_into(&mut explanation.group);
        if let Some(seat) = slot.seat {
            explanation.unit = book.unit(seat.place).map(|unit| Arc::clone(&unit.name));
            explanation.summary = self.describe_seat(slot, seat);
        } else if slot.is_finished {
            "it has finished and is not counted".clone_into(&mut explanation.summary);
        } else if slot.is_terminating {
            "it is being deleted and is not counted".clone_into(&mut explanation.summary);
        } else {
            self.explain_pending(pod, &mut explanation);
        }
        Some(explanation)
    }

    fn explain_pending(&self, pod: &Identity, explanation: &mut PodExplanation) {
        let known = self.nodes.iter().filter(|(_, node)| node.labels.is_some());
        let nodes: Vec<NodeId> = known.map(|(id, _)| id).collect();
        let Ruling::ByNode(verdicts) = self.verdicts(pod, &nodes) else { return };
        let chosen: Vec<String> = verdicts
            .by_unit()
            .filter(|(_, verdict, _)| *verdict == Verdict::Chosen)
            .map(|(unit, _, _)| match unit {
                Some(unit) => format!("a node of unit \"{}\"", unit.name),
                None => "a node outside all units".to_owned(),
            })
            .collect();
        let policy = short(verdicts.policy());
        explanation.summary = if chosen.is_empty() {
            format!("no unit of ResourcePolicy {policy} has room, and its strategy is required")
        } else {
            format!("ResourcePolicy {policy} allows {}", chosen.join(" or "))
        };
        explanation.units = verdicts.by_unit().map(|(_, verdict, why)| (verdict, why)).collect();
    }

    fn describe_seat(&self, slot: &PodSlot, seat: Seat) -> String {
        let book = &self.books[seat.policy];
        let policy = short(&book.identity);
        let node = self.node_of(slot).map(|node| &*self.nodes[node].name).unwrap_or_default();
        let is_seen = if slot.node.is_some() { "is" } else { "is being bound" };
        let Some(unit) = book.unit(seat.place) else {
            return format!(
                "it {is_seen} on node {node}, outside every unit of ResourcePolicy {policy}"
            );
        };
        let over = if slot.over.is_some() { ", and over its cap" } else { "" };
        let used = book.groups[seat.group].cell(seat.place).map_or(0, |cell| cell.used);
        let count = match unit.max {
            Some(max) => format!("{used} of {max} pods"),
            None => format!("{used} pods"),
        };
        format!(
            "it {is_seen} on node {node}, in unit \"{}\" of ResourcePolicy {policy} ({count}){over}",
            unit.name
        )
    }
}

fn why_ungoverned(slot: &PodSlot) -> &'static str {
    match slot.ungoverned {
        Some(Ungoverned::DaemonSet) => "no ResourcePolicy governs it: a DaemonSet owns it",
        Some(Ungoverned::Mirror) => "no ResourcePolicy governs it: it is a mirror pod",
        Some(Ungoverned::Exempt) => "no ResourcePolicy governs it: it is exempt",
        None => "no ResourcePolicy selects it",
    }
}
