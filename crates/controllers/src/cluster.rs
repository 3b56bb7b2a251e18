//! The cluster state of a controller: the world that decisions are based on, and the bookkeeping for the writes to each
//! object.
//!
//! Watches fill the state, and everything else reads it. The state is one value behind one lock. No task waits while it
//! holds the lock.

mod policy_entry;
mod rivals;
mod target_table;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use almanac_engine::metric_scaling::PatternPool;
use almanac_engine::{Identity, PolicyName, World};

use crate::exemptions;
use crate::horizontal_autoscaler::SlowQueries;
use crate::placement::HubRecords;
use crate::scalable_node_group::KnownNodeGroups;
use crate::server_version::ServerVersion;

pub(crate) use policy_entry::{
    OLDEST_VERSION, PolicyEntry, SpecRevision, StatusSnapshot, is_older,
};
pub(crate) use rivals::name_rivals;
pub(crate) use target_table::{TargetEntry, TargetTable};

/// The cluster state of one term as the leader.
#[derive(Default)]
pub(crate) struct Cluster {
    /// The budget for the patterns of all autoscalers.
    pub(crate) patterns: PatternPool,
    /// The version of the API server.
    pub(crate) kubernetes: ServerVersion,
    state: Mutex<ClusterState>,
}

/// The locked cluster state.
#[derive(Default)]
pub(crate) struct ClusterState {
    /// The basis of decisions.
    pub(crate) world: World,
    /// The bookkeeping for writing the status of each policy.
    pub(crate) policies: BTreeMap<PolicyName, PolicyEntry>,
    /// The bookkeeping for writing each target, and the policies with that target.
    pub(crate) targets: TargetTable,
    /// The bookkeeping for placements and their decisions.
    pub(crate) hub: HubRecords,
    /// The node groups, and the bookkeeping for their statuses.
    pub(crate) node_groups: KnownNodeGroups,
    /// The backoffs of queries that timed out.
    pub(crate) slow_queries: SlowQueries,
}

impl Cluster {
    /// An empty cluster state in front of an API server of this version.
    pub(crate) fn for_version(kubernetes: ServerVersion) -> Self {
        Self { kubernetes, ..Self::default() }
    }

    /// An empty cluster state with this budget for patterns.
    #[cfg(test)]
    pub(crate) fn with_patterns(patterns: PatternPool) -> Self {
        Self { patterns, ..Self::default() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ClusterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClusterState {
    /// Removes a target and all its bookkeeping; returns whether it was known.
    pub(crate) fn remove_target(&mut self, target: &Identity) -> bool {
        let was_known = self.targets.remove(target);
        if was_known {
            self.world.remove(target);
            exemptions::change(&mut self.world, |exempt| exempt.mark(target, false));
        }
        was_known
    }

    /// The target of a policy.
    pub(crate) fn target_of(&self, policy: &PolicyName) -> Option<Identity> {
        let reference = self.world.target_of(policy)?;
        Some(reference.target.identity().clone())
    }

    /// Records the current and the former target of a policy. Returns the rivals whose statuses may change. No watch
    /// reports the deletion of a target that was read on demand, so the target is removed with its last policy.
    pub(crate) fn set_target_of(
        &mut self,
        policy: &PolicyName,
        before: Option<&Identity>,
        now: Option<&Identity>,
    ) -> Vec<PolicyName> {
        let now = now.map(|target| (target, rivals::sets_target(&self.world, policy)));
        let rivals = self.targets.set_target_of(policy, before, now);
        if let Some(before) = before.filter(|it| self.targets.is_left_over(it)) {
            self.remove_target(before);
        }
        rivals
    }

    /// Records whether a policy sets its target, after a change of what is exempt. Returns the rivals whose statuses
    /// may change.
    pub(crate) fn note_exemption(&mut self, policy: &PolicyName) -> Vec<PolicyName> {
        let target = self.target_of(policy);
        self.set_target_of(policy, target.as_ref(), target.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use almanac_fixtures::names;

    use super::*;

    fn entry(listing: u32) -> TargetEntry {
        TargetEntry { version: "1".into(), listing }
    }

    #[test]
    fn a_target_read_on_demand_is_removed_with_its_last_policy() {
        let mut state = ClusterState::default();
        let [one, two] = ["one", "two"].map(names::cron_federated_hpa);
        let [read, listed] = ["read", "listed"].map(names::deployment);
        state.targets.insert(read.clone(), entry(0));
        state.targets.insert(listed.clone(), entry(1));
        for policy in [&one, &two] {
            state.set_target_of(policy, None, Some(&read));
        }
        state.set_target_of(&one, Some(&read), Some(&listed));
        assert!(state.targets.get(&read).is_some(), "another policy has the target");
        state.set_target_of(&two, Some(&read), None);
        state.set_target_of(&one, Some(&listed), None);
        assert!(state.targets.get(&read).is_none() && state.targets.get(&listed).is_some());
    }

    #[test]
    fn a_deleted_target_is_no_longer_exempt() {
        let mut state = ClusterState::default();
        let before = state.world.objects.exempt.clone();
        let target = names::deployment("shop");
        state.targets.insert(target.clone(), entry(1));
        exemptions::change(&mut state.world, |exempt| exempt.mark(&target, true));
        assert!(state.remove_target(&target));
        assert_eq!(state.world.objects.exempt, before);
        assert!(!state.remove_target(&target));
    }
}
