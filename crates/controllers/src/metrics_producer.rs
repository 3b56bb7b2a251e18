//! `MetricsProducer`: a schedule that publishes a number.
//!
//! | step | where |
//! |---|---|
//! | fetch | `fetch`: the schedule from its object |
//! | gather, decide, settle | `almanac-engine` |
//! | apply | nothing to do: a number is evaluated when it is asked for, by `published` |
//! | status | `status` |

mod fetch;
mod published;
mod status;

use std::sync::Arc;

use almanac_engine::{Identity, Outcome, scheduled_capacity};
use almanac_shell::clock::Clock;
use jiff::Timestamp;

use crate::cluster::Cluster;
use crate::turns::Turns;

pub(crate) use fetch::MetricsProducers;
pub(crate) use published::PublishedNumbers;

/// Keeps the statuses of schedules as their numbers change.
pub(crate) struct MetricsProducerController {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) records: Arc<Turns>,
    pub(crate) clock: Clock,
}

impl MetricsProducerController {
    /// Takes the turn of one object. When it wants its next one.
    pub(crate) fn take_turn(&self, policy: &Identity) -> Option<Timestamp> {
        let next = self.settle(policy);
        self.records.wake(policy);
        next
    }

    fn settle(&self, policy: &Identity) -> Option<Timestamp> {
        let now = self.clock.now();
        let mut known = self.cluster.lock();
        let input = scheduled_capacity::gather(&known.world, policy)?;
        let decision = scheduled_capacity::decide(&input, now);
        let outcomes: Vec<Outcome> = decision.actions.iter().map(|_| Outcome::Done).collect();
        let object = known.world.scheduled_capacities.get_mut(policy)?;
        object.memory = scheduled_capacity::settle(object.memory, decision.memory, &outcomes);
        decision.wake_at
    }
}
