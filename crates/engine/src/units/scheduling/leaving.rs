//! The order in which pods of a workload are deleted when its desired number falls, as in the controllers of
//! Kubernetes.

use std::cmp::Reverse;

use super::SchedulingSimulation;
use super::numbered::is_numbered;
use crate::Identity;
use crate::units::DeletionCost;

impl SchedulingSimulation {
    /// The excess pods of a workload, in the order of deletion: first pods without a node, then those with the lowest
    /// cost, then the newest. Of a `StatefulSet`, the pods with numbers beyond the desired ones are deleted.
    pub(super) fn first_to_go(&mut self, workload: &Identity, wanted: usize) -> Vec<Identity> {
        let Some(members) = self.workloads.get(workload) else { return Vec::new() };
        if is_numbered(workload) {
            return members.beyond(wanted);
        }
        let surplus = members.pods.len().saturating_sub(wanted);
        if surplus == 0 {
            return Vec::new();
        }
        // Ranks the pods over a cap once, and not again for each pod.
        self.ledger.cost_changes();
        let Some(members) = self.workloads.get(workload) else { return Vec::new() };
        let rank = |identity: &Identity| {
            let pod = self.pods.get(identity);
            let is_placed = pod.is_some_and(|pod| pod.node.is_some());
            (is_placed, self.cost_of(identity), Reverse(pod.and_then(|pod| pod.created)))
        };
        let mut ranked: Vec<_> =
            members.pods.iter().map(|it| (rank(it), Reverse(it.clone()))).collect();
        ranked.sort_unstable();
        ranked.into_iter().take(surplus).map(|(_, Reverse(pod))| pod).collect()
    }

    /// The deletion cost of a pod: the one that its policy sets, or that its user has set.
    fn cost_of(&self, identity: &Identity) -> i32 {
        match self.ledger.cost_change(identity) {
            Some(change) => change.cost.unwrap_or(0),
            None => match self.pods.get(identity).map(|pod| pod.cost) {
                Some(DeletionCost::Ours(cost) | DeletionCost::Others(cost)) => cost,
                Some(DeletionCost::Unset) | None => 0,
            },
        }
    }
}
