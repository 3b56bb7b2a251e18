//! What is known of the cluster: the world that decisions are based on, and the bookkeeping that writes
//! to each object need.
//!
//! It is filled by watches and read by everything else. It is one value behind one lock, which is never
//! held while waiting.

mod policy_entry;
mod target_table;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use almanac_engine::metric_scaling::PatternPool;
use almanac_engine::{PolicyName, World};

use crate::horizontal_autoscaler::SlowQueries;
use crate::placement::HubRecords;
use crate::scalable_node_group::KnownNodeGroups;

pub(crate) use policy_entry::{
    OLDEST_VERSION, PolicyEntry, SpecRevision, StatusSnapshot, is_older,
};
pub(crate) use target_table::{TargetEntry, TargetTable};

/// What one term as the leader knows.
#[derive(Default)]
pub(crate) struct Cluster {
    /// The patterns of all autoscalers.
    pub(crate) patterns: PatternPool,
    state: Mutex<ClusterState>,
}

/// The same, while locked.
#[derive(Default)]
pub(crate) struct ClusterState {
    /// What decisions are based on.
    pub(crate) world: World,
    /// The bookkeeping for writing the status of each policy.
    pub(crate) policies: BTreeMap<PolicyName, PolicyEntry>,
    /// The bookkeeping for writing each target, and the policies it belongs to.
    pub(crate) targets: TargetTable,
    /// The bookkeeping for placements and their decisions.
    pub(crate) hub: HubRecords,
    /// The groups of nodes.
    pub(crate) node_groups: KnownNodeGroups,
    /// The pauses of queries that timed out.
    pub(crate) slow_queries: SlowQueries,
}

impl Cluster {
    /// One with another budget for patterns.
    #[cfg(test)]
    pub(crate) fn with_patterns(patterns: PatternPool) -> Self {
        Self { patterns, ..Self::default() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ClusterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
