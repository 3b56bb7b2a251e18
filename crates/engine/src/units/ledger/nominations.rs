//! Capacity for pods that evict others: each such pod has an entry in its unit until it is bound, deleted, or no longer
//! nominated. The unit's free capacity limits the number of these pods, and no other pod uses that capacity.
//!
//! The node that a scheduler selects from the kept ones is unknown before the nomination. If a unit is full and a
//! victim is counted in it, the entry uses the capacity of the victim. After the deletion of the first victim, the
//! entry is counted by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use super::{CountedIn, Ledger};
use crate::Identity;
use crate::units::Elapsed;
use crate::units::slots::{GroupId, NodeId, PodId, PolicyId};

/// The maximum time between the response with kept nodes and the nomination: a scheduler may evict all victims first.
const NOMINATED_WITHIN: Duration = Duration::from_secs(10);

/// The maximum number of nominated pods to check in one call for nominations to clear: a scheduler is blocked during
/// the call.
const CHECKED_PER_CALL: usize = 256;

/// The maximum number of recorded schedulers. If it is exceeded, all are removed, and each is recorded again by its
/// next request: users choose the schedulers of their pods.
const MAX_SCHEDULERS: usize = 100;

/// Nominations to clear.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StaleNominations {
    /// The pods with these nominations, in order.
    pub pods: Vec<Identity>,
    /// Whether unchecked pods remain.
    pub has_more: bool,
}

/// The order in which capacity was kept: the first entries apply if their number exceeds a cap.
pub(super) type Turn = (u64, PodId);

/// Capacity that is kept for a pod that evicts others.
#[derive(Clone, Debug)]
struct KeptPlace {
    at: CountedIn,
    turn: Turn,
    /// The deadline for a nomination; `None` after the API server has reported one.
    until: Option<Elapsed>,
    /// Counted pods whose capacity is freed for this entry.
    victims: BTreeSet<PodId>,
    /// Whether the entry is counted in addition to its victims.
    is_counted: bool,
}

/// All nominations.
#[derive(Clone, Debug, Default)]
pub(super) struct Nominations {
    kept: BTreeMap<PodId, KeptPlace>,
    ends: BTreeSet<(Elapsed, PodId)>,
    /// The pod for which each victim frees capacity.
    claimed: BTreeMap<PodId, PodId>,
    /// Unscheduled pods that are nominated in the API server.
    shown: BTreeSet<PodId>,
    /// The nominated pods that their node no longer accepts, although their unit would: no capacity is kept for these
    /// pods.
    pub(super) refused: BTreeSet<PodId>,
    /// The schedulers that have sent requests about a pod. The ledger does not clear the nominations of other
    /// components.
    schedulers: BTreeSet<Option<Arc<str>>>,
    /// The last checked pod of `shown`, if unchecked pods remain after it.
    looked_at: Option<PodId>,
    next: u64,
}

impl Ledger {
    /// The pods that a scheduler has nominated for a node of a unit that does not accept them. Until the nomination is
    /// cleared, the scheduler keeps capacity on the node from all other pods. Empty while this ledger does not decide.
    ///
    /// A call checks some of many nominated pods; the next call checks the following ones.
    #[must_use]
    pub fn stale_nominations(&mut self) -> StaleNominations {
        let after = self.nominations.looked_at.take();
        if !self.is_serving() {
            return StaleNominations::default();
        }
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut rest = self.nominations.shown.range((from, Bound::Unbounded)).copied();
        let looked_at: Vec<PodId> = rest.by_ref().take(CHECKED_PER_CALL).collect();
        let has_more = rest.next().is_some();
        self.nominations.looked_at = looked_at.last().copied().filter(|_| has_more);
        let stale = looked_at.into_iter().filter(|pod| self.is_stale(*pod));
        let mut pods: Vec<Identity> = stale.map(|pod| self.pods[pod].identity.clone()).collect();
        pods.sort_unstable();
        StaleNominations { pods, has_more }
    }

    /// Records the scheduler that sends requests about a pod.
    pub(super) fn record_scheduler(&mut self, pod: PodId) {
        let scheduler = &self.pods[pod].scheduler;
        let schedulers = &mut self.nominations.schedulers;
        if !schedulers.contains(scheduler) {
            if schedulers.len() >= MAX_SCHEDULERS {
                schedulers.clear();
            }
            schedulers.insert(scheduler.clone());
        }
    }

    /// Whether the nomination of a pod must be cleared.
    #[must_use]
    pub fn has_stale_nomination(&self, pod: &Identity) -> bool {
        let id = self.pod_ids.get(pod).filter(|_| self.is_serving());
        id.is_some_and(|id| self.nominations.shown.contains(id) && self.is_stale(*id))
    }

    fn is_stale(&self, pod: PodId) -> bool {
        let slot = &self.pods[pod];
        let Some(node) = slot.nominated.as_deref().and_then(|node| self.node(node)) else {
            return false;
        };
        if self.is_under_way(pod) || !self.nominations.schedulers.contains(&slot.scheduler) {
            return false;
        }
        match *self.governing(slot) {
            [] => false,
            [_] if self.nominations.refused.contains(&pod) => true,
            [(policy, group)] => {
                let verdicts = self.verdicts_under(Some(pod), policy, group, &[node]);
                let at = CountedIn { policy, group, unit_index: self.usages[policy].unit_of(node) };
                verdicts.get(Some(node)).is_unresolvable() && !self.is_being_vacated(node, at)
            }
            [_, _, ..] => true,
        }
    }

    /// Whether nodes were kept for a pod, or the pod has remaining victims.
    fn is_under_way(&self, pod: PodId) -> bool {
        let kept = self.nominations.kept.get(&pod);
        kept.is_some_and(|kept| kept.until.is_some() || !kept.victims.is_empty())
    }

    /// Whether a counted pod on a node is terminating. After a change of leader, it may be a victim.
    fn is_being_vacated(&self, node: NodeId, at: CountedIn) -> bool {
        let is_leaving = |pod: &PodId| {
            let slot = &self.pods[*pod];
            slot.is_terminating && slot.allocations.iter().any(|allocation| allocation.at == at)
        };
        self.nodes[node].pods.iter().any(is_leaving)
    }

    /// Frees the capacity for a nomination, because no eviction helps the pod any more.
    pub(super) fn refuse_nomination(&mut self, pod: PodId) {
        if self.nominations.shown.contains(&pod) && !self.is_under_way(pod) {
            self.end_keeping(pod);
            self.nominations.refused.insert(pod);
        }
    }

    /// The capacity that is kept for a pod in a group of a policy, with its turn.
    pub(super) fn kept_in(&self, pod: PodId, of: (PolicyId, GroupId)) -> Option<(CountedIn, Turn)> {
        let kept = self.nominations.kept.get(&pod)?;
        ((kept.at.policy, kept.at.group) == of).then_some((kept.at, kept.turn))
    }

    /// Whether a victim frees capacity for a different pod.
    pub(super) fn is_claimed_by_other(&self, victim: PodId, pod: PodId) -> bool {
        self.nominations.claimed.get(&victim).is_some_and(|by| *by != pod)
    }

    /// Keeps nodes for a pod. In a full unit, these victims free the capacity.
    pub(super) fn keep_for(
        &mut self,
        pod: PodId,
        at: CountedIn,
        victims: Vec<PodId>,
        now: Elapsed,
    ) {
        let until = now + NOMINATED_WITHIN;
        self.nominations.refused.remove(&pod);
        self.begin_keeping(pod, at, victims.into_iter().collect(), Some(until));
        self.nominations.ends.insert((until, pod));
    }

    fn begin_keeping(
        &mut self,
        pod: PodId,
        at: CountedIn,
        victims: BTreeSet<PodId>,
        until: Option<Elapsed>,
    ) {
        let before = self.stop_keeping(pod);
        let number = before.filter(|(known, _)| *known == at).map(|(_, (number, _))| number);
        let number = number.unwrap_or_else(|| {
            self.nominations.next += 1;
            self.nominations.next
        });
        let (turn, is_counted) = ((number, pod), victims.is_empty());
        self.nominations.claimed.extend(victims.iter().map(|victim| (*victim, pod)));
        if is_counted {
            self.usages[at.policy].groups[at.group].keep(at.unit_index, turn);
        }
        self.nominations.kept.insert(pod, KeptPlace { at, turn, until, victims, is_counted });
    }

    /// Removes and returns the kept capacity.
    fn stop_keeping(&mut self, pod: PodId) -> Option<(CountedIn, Turn)> {
        let KeptPlace { at, turn, until, victims, is_counted } =
            self.nominations.kept.remove(&pod)?;
        if let Some(until) = until {
            self.nominations.ends.remove(&(until, pod));
        }
        for victim in &victims {
            self.nominations.claimed.remove(victim);
        }
        if is_counted {
            self.usages[at.policy].groups[at.group].end_keeping(at.unit_index, turn);
        }
        Some((at, turn))
    }

    /// Stops keeping capacity for a pod.
    pub(super) fn end_keeping(&mut self, pod: PodId) {
        if let Some((at, _)) = self.stop_keeping(pod) {
            self.wake_for_room(at.policy, at.group);
        }
    }

    /// Removes the nomination of a pod that was deleted, or needs no nomination any more.
    pub(super) fn drop_nomination(&mut self, pod: PodId) {
        self.end_keeping(pod);
        self.nominations.shown.remove(&pod);
        self.nominations.refused.remove(&pod);
    }

    /// Keeps capacity for a pod that is nominated in the API server, in the current unit of the node.
    pub(super) fn apply_nomination(&mut self, pod: PodId) {
        let slot = &self.pods[pod];
        let Some(name) = slot.nominated.as_ref().filter(|_| self.is_pending(pod)) else {
            self.nominations.shown.remove(&pod);
            self.nominations.refused.remove(&pod);
            // The next nomination may arrive soon.
            let kept = self.nominations.kept.get(&pod);
            let is_awaited = kept.is_some_and(|kept| kept.until.is_some());
            if !is_awaited || !self.is_pending(pod) {
                self.end_keeping(pod);
            }
            return;
        };
        let at = self.node(name).and_then(|node| {
            let [(policy, group)] = *self.governing(slot) else { return None };
            let unit_index = self.usages[policy].unit_of(node);
            let has_cap = self.usages[policy].unit(unit_index)?.max.is_some();
            has_cap.then_some((CountedIn { policy, group, unit_index }, node))
        });
        self.nominations.shown.insert(pod);
        if self.nominations.refused.contains(&pod) {
            return;
        }
        let Some((at, node)) = at else { return self.end_keeping(pod) };
        let known = self.nominations.kept.get(&pod).filter(|kept| kept.at == at);
        let Some(KeptPlace { victims, is_counted, .. }) = known else {
            if self.nominations.kept.contains_key(&pod) {
                self.end_keeping(pod);
            }
            return self.begin_keeping(pod, at, BTreeSet::new(), None);
        };
        // Victims on other nodes stay.
        let there = |victim: &&PodId| self.node_of(&self.pods[**victim]) == Some(node);
        let (victims, was_counted) = (victims.iter().filter(there).copied().collect(), *is_counted);
        self.begin_keeping(pod, at, victims, None);
        if was_counted {
            self.count_in_addition(pod);
        }
    }

    /// Updates the nominations for a node whose unit may have changed, or that was deleted.
    pub(super) fn apply_nominations_for(&mut self, node: NodeId) {
        let Some(name) = self.nodes.get(node).map(|slot| &slot.name) else { return };
        let is_there = |pod: &&PodId| self.pods[**pod].nominated.as_ref() == Some(name);
        let there: Vec<PodId> = self.nominations.shown.iter().filter(is_there).copied().collect();
        for pod in there {
            self.apply_nomination(pod);
        }
    }

    /// Counts the entry of a pod after the victim that it replaces is no longer counted.
    pub(super) fn note_victim_gone(&mut self, victim: PodId) {
        let Some(pod) = self.nominations.claimed.remove(&victim) else { return };
        if let Some(kept) = self.nominations.kept.get_mut(&pod) {
            kept.victims.remove(&victim);
        }
        self.count_in_addition(pod);
    }

    fn count_in_addition(&mut self, pod: PodId) {
        let Some(kept) = self.nominations.kept.get_mut(&pod) else { return };
        if !std::mem::replace(&mut kept.is_counted, true) {
            let KeptPlace { at, turn, .. } = *kept;
            self.usages[at.policy].groups[at.group].keep(at.unit_index, turn);
        }
    }

    /// Releases the capacity kept for pods that were not nominated in time.
    pub(super) fn end_unnominated(&mut self, now: Elapsed) {
        while let Some((until, pod)) = self.nominations.ends.first().copied()
            && until <= now
        {
            // A pod that was nominated for the same node again keeps its victims.
            if self.nominations.shown.contains(&pod) {
                self.nominations.ends.remove(&(until, pod));
                if let Some(kept) = self.nominations.kept.get_mut(&pod) {
                    kept.until = None;
                }
            } else {
                self.end_keeping(pod);
            }
            self.apply_nomination(pod);
        }
    }

    /// The next deadline of an entry.
    pub(super) fn next_unnominated(&self) -> Option<Elapsed> {
        self.nominations.ends.first().map(|(until, _)| *until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Pod;

    #[test]
    fn the_number_of_schedulers_is_limited_and_the_latest_is_always_known() {
        let mut ledger = Ledger::alone();
        for number in 0..3 * MAX_SCHEDULERS {
            let identity = Identity::new("", "Pod", "shop", "web");
            let scheduler: Option<Arc<str>> = Some(format!("scheduler-{number}").into());
            ledger.set_pod(&identity, &Pod { scheduler: scheduler.clone(), ..Pod::default() });
            let pod = ledger.pod_of(&identity, None).unwrap();
            ledger.record_scheduler(pod);
            let listed = &ledger.nominations.schedulers;
            assert!(listed.contains(&scheduler) && listed.len() <= MAX_SCHEDULERS);
            ledger.remove_pod(&identity, None, None);
        }
    }
}
