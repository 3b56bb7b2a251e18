//! The lanes of a turn: the objects and permits that it must not share with another running turn.

use almanac_engine::PolicyName;

use super::{Reconciler, hash_of};
use crate::work_queue::Lane;

/// The number of lanes of turns with costly decisions. At most one turn in each lane waits for its decision.
const COSTLY_LANES: u64 = 16;

impl Reconciler {
    /// The lanes of a policy: a lane for each object that it may write, one for its family if it depends on other
    /// policies, and one of a few if its decision is costly.
    pub(crate) fn lanes(&self, policy: &PolicyName) -> Vec<Lane> {
        let state = self.cluster.lock();
        let footprint = state.world.footprint(policy);
        let mut lanes: Vec<Lane> =
            footprint.writes.into_iter().map(|(object, _)| Lane::Object(object)).collect();
        lanes.dedup();
        if self.hooks.for_family(policy.family).depends_on_others(&state, &policy.identity) {
            lanes.push(Lane::Decisions(policy.family));
        }
        if state.world.is_costly(policy) {
            lanes.push(Lane::Costly(hash_of(&policy.identity) % COSTLY_LANES));
        }
        lanes
    }
}
