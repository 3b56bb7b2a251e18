//! The policy states that one term as the leader passes on to the next term of the same process.
//!
//! Normally a status contains the whole policy state. But if the API server could not be written to for so long that
//! the Lease was lost, the last effects are not in any status yet.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use almanac_engine::{PolicyName, Slim};

use crate::cluster::{Cluster, ClusterState, PolicyEntry};

/// The policy states that could not be written to a status before the Lease was lost, by the object's name and UID. The
/// next term of the same process continues from these states.
#[derive(Clone, Default)]
pub(crate) struct UnwrittenStatuses {
    states: Arc<Mutex<BTreeMap<Object, Slim>>>,
}

/// An object by its name and UID.
type Object = (PolicyName, Box<str>);

impl UnwrittenStatuses {
    /// Keeps the unwritten policy states of a term, and those of earlier terms for objects that it has not listed.
    pub(crate) fn keep(&self, cluster: &Cluster) {
        self.hand_over(cluster);
        let state = cluster.lock();
        let ClusterState { world, policies, .. } = &*state;
        let mut states = self.lock();
        for (policy, entry) in policies.iter().filter(|(_, entry)| !entry.is_written) {
            let slim = world.slim_of(policy);
            states.extend(slim.map(|slim| ((policy.clone(), entry.uid.clone()), slim)));
        }
    }

    /// An object with its policy state, from its status or from an earlier term.
    pub(crate) fn join(&self, policy: &PolicyName, uid: &str, slim: Slim) -> Slim {
        let key = (policy.clone(), Box::from(uid));
        let unwritten = self.lock().get(&key).cloned();
        match unwritten {
            Some(unwritten) => slim.with_memory_from(unwritten),
            None => slim,
        }
    }

    /// Removes the policy states of objects that a term has listed. From now on, that term ends with
    /// [`UnwrittenStatuses::keep`].
    pub(crate) fn hand_over(&self, cluster: &Cluster) {
        let state = cluster.lock();
        self.lock().retain(|(policy, _), _| !state.policies.contains_key(policy));
    }

    /// Removes the policy states of deleted objects. All objects for which `is_listed` is true are among these
    /// policies.
    pub(super) fn remove_deleted(
        &self,
        policies: &BTreeMap<PolicyName, PolicyEntry>,
        is_listed: impl Fn(&PolicyName) -> bool,
    ) {
        self.lock().retain(|(policy, _), _| policies.contains_key(policy) || !is_listed(policy));
    }

    /// The number of policy states that are kept.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Object, Slim>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
