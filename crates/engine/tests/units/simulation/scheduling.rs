//! Schedulers: the pods that they try, their use of the response, and the time of the retry.
//!
//! A refused pod waits until it is requeued. Its scheduler reacts to no change by itself, so the ledger must react to
//! all of them.

use std::sync::Arc;
use std::time::Duration;

use almanac_engine::Identity;
use almanac_engine::units::{FilterOutcome, Ledger, NodeId, Pod, Verdict};

use super::faults::{Check, Fault, Violation, wrong};
use super::replica::Replica;
use super::world::World;
use crate::support::LEASE;

impl World {
    /// The pods in the queue of a scheduler.
    pub(super) fn queued(&self) -> Vec<Identity> {
        let is_pending =
            |pod: &Pod| pod.node.is_none() && pod.deleted.is_none() && !pod.is_finished;
        // Without a node that it fits on, there is no filter request, and the scheduler itself sees new nodes.
        let has_node = |pod: &Pod| self.api.held.nodes.keys().any(|node| fits(pod, node));
        let pending = self.api.held.pods.iter().filter(|(_, pod)| is_pending(pod) && has_node(pod));
        let is_queued = |name: &&Identity| {
            // A scheduler that has decided on a pod waits for the outcome.
            let is_decided = self.decided.iter().any(|(decided, _, _)| decided == *name);
            let backs_off = self.backing_off.get(*name).is_some_and(|until| self.now < *until);
            !is_decided && !backs_off && !self.refused.contains(*name) && !self.is_being_bound(name)
        };
        pending.map(|(name, _)| name).filter(is_queued).cloned().collect()
    }

    /// Whether a scheduler waits for the response to a binding.
    fn is_being_bound(&self, name: &Identity) -> bool {
        let in_tasks = |replica: &Replica| replica.tasks.iter().any(|task| task.pod == *name);
        self.replicas.iter().any(in_tasks) || self.flights.iter().any(|it| it.is_awaited(name))
    }

    pub(super) fn back_off(&mut self, pod: &Identity) {
        let until = self.now + Duration::from_millis(self.rng.u64(0..4_000));
        self.backing_off.insert(pod.clone(), until);
    }

    /// A scheduler filters the nodes for a pod.
    pub(super) fn schedule(&mut self, index: usize) -> Result<(), Violation> {
        // Sometimes all refused pods are tried again.
        if !self.is_quiet && self.rng.u16(..400) == 0 {
            self.refused.clear();
        }
        let queued = self.queued();
        let Some(pod) = self.rng.choice(queued) else { return Ok(()) };
        self.filter(index, &pod)
    }

    fn filter(&mut self, index: usize, pod: &Identity) -> Result<(), Violation> {
        if !self.is_leading(index) {
            self.back_off(pod);
            return Ok(());
        }
        // A scheduler may observe nodes before this replica does.
        let sent = self.api.held.pods[pod].clone();
        let known = self.api.held.nodes.keys().filter(|node| fits(&sent, node)).cloned();
        let names: Vec<Arc<str>> = known.collect();
        let is_read = self.rng.u8(..4) == 0;
        let replica = &mut self.replicas[index];
        if is_read || replica.seen.pods.get(pod).is_none_or(|known| known.uid != sent.uid) {
            replica.read_pod(pod, &sent);
        }
        let ids: Vec<Option<NodeId>> = names.iter().map(|name| replica.ledger.node(name)).collect();
        let candidates: Vec<NodeId> = ids.iter().copied().flatten().collect();
        let leased = leases(&replica.ledger);
        let (fault, uid) = (self.fault, sent.uid.as_deref());
        let chosen: Vec<usize> = match replica.ledger.filter(pod, uid, &candidates, self.now, LEASE)
        {
            FilterOutcome::Untouched => (0..names.len()).collect(),
            FilterOutcome::ByNode(verdicts) => {
                let is_let_through = |place: &usize| match verdicts.get(ids[*place]) {
                    Verdict::Chosen => true,
                    Verdict::Lower => fault == Some(Fault::AllowsLowerUnits),
                    Verdict::Full => fault == Some(Fault::AllowsFullUnits),
                    _ => false,
                };
                (0..names.len()).filter(is_let_through).collect()
            }
            FilterOutcome::Conflict(_) | FilterOutcome::NotPending => {
                self.refuse(pod);
                return Ok(());
            }
            FilterOutcome::NotServing | FilterOutcome::UnknownPod => {
                self.back_off(pod);
                return Ok(());
            }
        };
        self.heed(self.check_order(index, pod, &names, &chosen, leased))?;
        if let Some(place) = self.rng.choice(chosen) {
            let uid = Arc::clone(sent.uid.as_ref().unwrap());
            self.decided.push((pod.clone(), uid, Arc::clone(&names[place])));
        } else {
            self.refuse(pod);
        }
        Ok(())
    }

    /// No node was found for a pod. Its scheduler reports that in the condition.
    fn refuse(&mut self, pod: &Identity) {
        self.refused.insert(pod.clone());
        if !self.api.held.pods[pod].is_refused {
            self.api.edit_pod(pod, |pod| pod.is_refused = true);
        }
    }

    /// Checks that the chosen nodes are those of the plain count, or fewer while holds exist.
    fn check_order(
        &self,
        index: usize,
        pod: &Identity,
        names: &[Arc<str>],
        chosen: &[usize],
        leased: u32,
    ) -> Result<(), Violation> {
        let replica = &self.replicas[index];
        let view = replica.view();
        let Some(expected) = view.verdicts(pod, names) else { return Ok(()) };
        let mut unleased = replica.ledger.clone();
        unleased.lose_leadership();
        let ids: Vec<Option<NodeId>> = names.iter().map(|name| unleased.node(name)).collect();
        let candidates: Vec<NodeId> = ids.iter().copied().flatten().collect();
        let uid = view.pods[pod].uid.as_deref();
        let FilterOutcome::ByNode(verdicts) = unleased.verdicts(pod, uid, &candidates) else {
            return Err(wrong(Check::Order, format!("{pod} is ruled on as a whole")));
        };
        let found: Vec<Verdict> = ids.iter().map(|node| verdicts.get(*node)).collect();
        if found != expected {
            let why = format!("verdicts on {pod}: {found:?}, expected {expected:?}");
            return Err(wrong(Check::Order, why));
        }
        let expected: Vec<usize> =
            (0..names.len()).filter(|place| expected[*place] == Verdict::Chosen).collect();
        if leased == 0 && chosen != expected {
            let why = format!("{pod} is sent to {chosen:?}, expected {expected:?}");
            return Err(wrong(Check::Order, why));
        }
        let is_allowed = |place: &usize| found[*place] == Verdict::Chosen;
        if !chosen.iter().all(is_allowed) || chosen.is_empty() != expected.is_empty() {
            let why = format!("{pod} is sent to {chosen:?}, not among {expected:?}");
            return Err(wrong(Check::Order, why));
        }
        Ok(())
    }
}

/// Whether a pod would fit on a node if there were no policies.
pub(super) fn fits(pod: &Pod, node: &str) -> bool {
    let bytes = pod.uid.iter().flat_map(|uid| uid.bytes()).chain(node.bytes());
    bytes.fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) % 8 < 5
}

/// The number of leases.
fn leases(ledger: &Ledger) -> u32 {
    let reports = ledger.policies().filter_map(|policy| ledger.report(policy));
    let groups = reports.flat_map(|report| report.groups);
    groups.flat_map(|group| group.units).map(|unit| unit.leased).sum()
}
