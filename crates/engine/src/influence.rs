//! When a policy is decided again because another one of its family has written: placements that rank by `Balance`, and
//! policies of units that share nodes. A controller and a forecast decide at the same instants.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::{Family, PolicyName, World};

/// Which policies write, and how often in a row.
#[derive(Clone, Debug, Default)]
pub struct Influences {
    writes: BTreeMap<PolicyName, Writes>,
}

/// Writes in a row.
#[derive(Clone, Copy, Debug)]
struct Writes {
    count: u32,
    last: Timestamp,
}

/// Policies can influence each other without end, so a policy is decided at once a limited number of times.
struct Limit {
    /// How many writes in a row follow others at once.
    at_once: u32,
    /// A row of writes ends after a longer pause.
    longest_pause: SignedDuration,
    /// How long after its last write a policy is decided that has reached the limit; `None` for at its own next turn.
    interval: Option<SignedDuration>,
}

impl Limit {
    fn of(family: Family) -> Limit {
        match family {
            Family::Placement => Limit {
                at_once: 20,
                longest_pause: SignedDuration::from_mins(10),
                interval: Some(SignedDuration::from_mins(5)),
            },
            Family::ScheduledCapacity
            | Family::CronScaling
            | Family::MetricScaling
            | Family::QosLevels
            | Family::Units => {
                Limit { at_once: 4, longest_pause: SignedDuration::ZERO, interval: None }
            }
        }
    }
}

impl Influences {
    /// Notes that a policy has written; the policies that are decided again because of it, and when.
    pub fn after_write(
        &mut self,
        world: &World,
        policy: &PolicyName,
        at: Timestamp,
    ) -> Vec<(PolicyName, Timestamp)> {
        let due = self.due(world, policy, at);
        if !due.is_empty() {
            let count = self.in_a_row(policy, at).map_or(0, |it| it.count);
            let written = Writes { count: count.saturating_add(1), last: at };
            self.writes.insert(policy.clone(), written);
        }
        due
    }

    /// The policies that are decided again because what a policy has written has changed, and when.
    #[must_use]
    pub fn due(
        &self,
        world: &World,
        policy: &PolicyName,
        at: Timestamp,
    ) -> Vec<(PolicyName, Timestamp)> {
        let limit = Limit::of(policy.family);
        let due = |other: PolicyName| match self.in_a_row(&other, at) {
            Some(it) if it.count >= limit.at_once => {
                let due = it.last.saturating_add(limit.interval?).ok()?;
                Some((other, due.max(at)))
            }
            _ => Some((other, at)),
        };
        world.influenced_by(policy).filter_map(due).collect()
    }

    /// The writes of a policy, unless the last one is too long ago.
    fn in_a_row(&self, policy: &PolicyName, at: Timestamp) -> Option<&Writes> {
        let longest = Limit::of(policy.family).longest_pause;
        self.writes.get(policy).filter(|it| at.duration_since(it.last).abs() <= longest)
    }

    /// Forgets a policy that is gone.
    pub fn forget(&mut self, policy: &PolicyName) {
        self.writes.remove(policy);
    }
}
