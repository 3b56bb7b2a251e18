//! What of an object changes over time.

use std::fmt;

use almanac_engine::cron_scaling::Target;
use almanac_engine::{Identity, World};

/// A field of a target that policies set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Field {
    /// The replicas of a workload.
    Replicas,
    /// The lower bound of an autoscaler.
    MinReplicas,
    /// The upper bound of an autoscaler.
    MaxReplicas,
    /// The number a schedule publishes.
    Value,
}

impl Field {
    /// All of them, in their order.
    pub const ALL: [Field; 4] =
        [Field::Replicas, Field::MinReplicas, Field::MaxReplicas, Field::Value];

    /// As it is written in manifests and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Field::Replicas => "replicas",
            Field::MinReplicas => "minReplicas",
            Field::MaxReplicas => "maxReplicas",
            Field::Value => "value",
        }
    }

    /// The fields that a policy with this target can set.
    #[must_use]
    pub fn of_target(target: &Target) -> &'static [Field] {
        match target {
            Target::Workload(_) => &[Field::Replicas],
            Target::Autoscaler(_) => &[Field::MinReplicas, Field::MaxReplicas],
        }
    }

    /// What the world has for this field of a target now; `None` when nobody has said.
    #[must_use]
    pub fn read(self, world: &World, target: &Identity) -> Option<u32> {
        let autoscaler = || world.autoscalers.get(target);
        match self {
            Field::Replicas => world.workloads.get(target)?.replicas,
            Field::MinReplicas => autoscaler()?.min_replicas,
            Field::MaxReplicas => autoscaler()?.max_replicas,
            Field::Value => {
                world.scheduled_capacities.get(target)?.memory.map(|published| published.value)
            }
        }
    }

    /// Says what a field of a target is. Published numbers follow from their schedules and cannot
    /// be said.
    pub(crate) fn write(self, world: &mut World, target: &Identity, value: u32) {
        match self {
            Field::Replicas => {
                if let Some(workload) = world.workloads.get_mut(target) {
                    workload.replicas = Some(value);
                }
            }
            Field::MinReplicas | Field::MaxReplicas => {
                let Some(autoscaler) = world.autoscalers.get_mut(target) else { return };
                let bound = match self {
                    Field::MinReplicas => &mut autoscaler.min_replicas,
                    _ => &mut autoscaler.max_replicas,
                };
                *bound = Some(value);
            }
            Field::Value => {}
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}
