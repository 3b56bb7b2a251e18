//! Everything that decisions are made over: policies, and the slim form of what they act on.
//!
//! Files and a cluster's caches both fill it, and nothing else knows where an object came from.
//! Which of its parts a decision looks at is each family's `gather`.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::cron_scaling::{self, CronScaling};
use crate::scheduled_capacity::{self, ScheduledCapacity};
use crate::{Action, Autoscaler, Identity, Outcome, Workload};

/// A policy as the world holds it: what it says, and what is remembered of it.
#[derive(Clone, Debug)]
pub struct PolicyObject<Policy, Memory> {
    /// What the object says.
    pub policy: Policy,
    /// When the object was created; `None` for one that is only in a file.
    pub created: Option<Timestamp>,
    /// What its status remembers; `None` when it has no status yet. A status that is there but
    /// cannot be read is an empty memory, not none: it does not make the object new.
    pub memory: Option<Memory>,
}

/// All objects, by their identity.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Policies that publish a number by schedule.
    pub scheduled_capacities:
        BTreeMap<Identity, PolicyObject<ScheduledCapacity, scheduled_capacity::Published>>,
    /// Policies that set replicas or bounds by cron rules.
    pub cron_scalings: BTreeMap<Identity, PolicyObject<CronScaling, cron_scaling::Memory>>,
    /// What has a `scale` subresource.
    pub workloads: BTreeMap<Identity, Workload>,
    /// What has bounds.
    pub autoscalers: BTreeMap<Identity, Autoscaler>,
}

impl World {
    /// Carries out an action as an API server would that never fails.
    pub fn apply(&mut self, action: &Action) -> Outcome {
        match action {
            Action::Publish { schedule, value } => {
                // A published number is the policy's memory; settling the turn stores it.
                present(self.scheduled_capacities.get(schedule), schedule, |object| {
                    let is_so = object.memory.is_some_and(|before| before.value == *value);
                    if is_so { Outcome::Unchanged } else { Outcome::Done }
                })
            }
            Action::SetReplicas { target, replicas } => {
                present(self.workloads.get_mut(target), target, |workload| {
                    replace(&mut workload.replicas, Some(*replicas))
                })
            }
            Action::SetBounds { target, min, max } => {
                present(self.autoscalers.get_mut(target), target, |autoscaler| {
                    let before = *autoscaler;
                    autoscaler.min_replicas = min.or(before.min_replicas);
                    autoscaler.max_replicas = max.or(before.max_replicas);
                    if *autoscaler == before { Outcome::Unchanged } else { Outcome::Done }
                })
            }
        }
    }
}

fn present<T>(found: Option<T>, target: &Identity, then: impl FnOnce(T) -> Outcome) -> Outcome {
    found.map_or_else(|| Outcome::Refused(Arc::from(format!("{target} not found"))), then)
}

fn replace<T: PartialEq>(place: &mut T, value: T) -> Outcome {
    if *place == value {
        return Outcome::Unchanged;
    }
    *place = value;
    Outcome::Done
}
