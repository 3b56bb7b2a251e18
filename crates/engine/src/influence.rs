//! The decisions of policies after a policy of their family has written: placements that rank by `Balance`, and
//! policies of units that share nodes. A controller and a forecast decide at the same instants.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::{PolicyName, World};

/// The policies that write, and the number of their consecutive writes.
#[derive(Clone, Debug, Default)]
pub struct Influences {
    writes: BTreeMap<PolicyName, Writes>,
}

/// Consecutive writes of a policy.
#[derive(Clone, Copy, Debug)]
struct Writes {
    count: u32,
    last: Timestamp,
}

impl Influences {
    /// Records that a policy has written. Returns the policies that must decide again because of the write, each with
    /// the instant.
    pub fn after_write(
        &mut self,
        world: &World,
        policy: &PolicyName,
        at: Timestamp,
    ) -> Vec<(PolicyName, Timestamp)> {
        let due = self.due(world, policy, at);
        if !due.is_empty() {
            let count = self.in_a_row(policy, at).map_or(0, |it| it.count);
            let writes = Writes { count: count.saturating_add(1), last: at };
            self.writes.insert(policy.clone(), writes);
        }
        due
    }

    /// The policies that must decide again because a written value has changed, each with the instant.
    #[must_use]
    pub fn due(
        &self,
        world: &World,
        policy: &PolicyName,
        at: Timestamp,
    ) -> Vec<(PolicyName, Timestamp)> {
        let limit = policy.family.influence();
        let due = |other: PolicyName| match self.in_a_row(&other, at) {
            Some(it) if it.count >= limit.at_once => {
                let due_at = it.last.saturating_add(limit.interval?).ok()?;
                Some((other, due_at.max(at)))
            }
            _ => Some((other, at)),
        };
        world.influenced_by(policy).filter_map(due).collect()
    }

    /// The consecutive writes of a policy; `None` if the last one is too long ago.
    fn in_a_row(&self, policy: &PolicyName, at: Timestamp) -> Option<&Writes> {
        let longest = policy.family.influence().max_delay;
        self.writes.get(policy).filter(|it| at.duration_since(it.last).abs() <= longest)
    }

    /// Removes a deleted policy.
    pub fn remove(&mut self, policy: &PolicyName) {
        self.writes.remove(policy);
    }
}
