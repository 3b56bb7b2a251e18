//! The fields of objects that policies set.

use std::fmt;

use crate::{Identity, Target, Value, World};
use crate::{placement, qos_levels};

/// A field of a target.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Field {
    /// The replicas of a workload.
    Replicas,
    /// The lower bound of an autoscaler.
    MinReplicas,
    /// The upper bound of an autoscaler.
    MaxReplicas,
    /// The number a schedule publishes.
    Value,
    /// The QoS level of a pod.
    QosLevel,
    /// The clusters that a placement selects.
    Clusters,
    /// The pods in each unit of a policy.
    UnitPods,
    /// The pods of a policy for which there is no room.
    PendingPods,
}

impl Field {
    /// All of them, in their order.
    pub const ALL: [Field; 8] = [
        Field::Replicas,
        Field::MinReplicas,
        Field::MaxReplicas,
        Field::Value,
        Field::QosLevel,
        Field::Clusters,
        Field::UnitPods,
        Field::PendingPods,
    ];

    /// As it is written in manifests and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Field::Replicas => "replicas",
            Field::MinReplicas => "minReplicas",
            Field::MaxReplicas => "maxReplicas",
            Field::Value => "value",
            Field::QosLevel => "qosLevel",
            Field::Clusters => "clusters",
            Field::UnitPods => "unitPods",
            Field::PendingPods => "pendingPods",
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

    /// The value of this field of an object in the world; `None` when it is unknown.
    #[must_use]
    pub fn read(self, world: &World, object: &Identity) -> Option<Value> {
        let number = match self {
            Field::Replicas | Field::MinReplicas | Field::MaxReplicas => {
                world.objects.number(object, self)
            }
            Field::Value => {
                world.scheduled_capacity.policies.get(object)?.memory.map(|it| it.value)
            }
            Field::QosLevel => {
                return Some(qos_levels::value_of(
                    world.objects.pods.get(object)?.level().cloned(),
                ));
            }
            Field::Clusters => {
                return placement::selected(&world.placement.extra.decisions, object);
            }
            Field::UnitPods => {
                return Some(world.units.policies.get(object)?.memory.as_ref()?.unit_pods.clone());
            }
            Field::PendingPods => {
                let policy = world.units.policies.get(object)?;
                return Some(policy.memory.as_ref()?.pending_pods.clone());
            }
        };
        number.map(Value::Number)
    }

    /// The value of this field of an object while no policy sets it: what a policy has set stays, but a level is the one of
    /// the pod's user again. `None` when it is unknown, or when there is none without a policy.
    #[must_use]
    pub fn without_policy(self, world: &World, object: &Identity) -> Option<Value> {
        match self {
            Field::Replicas | Field::MinReplicas | Field::MaxReplicas => self.read(world, object),
            Field::QosLevel => {
                let level = world.objects.pods.get(object)?.annotations().level_of_user();
                Some(qos_levels::value_of(level))
            }
            Field::Value | Field::Clusters | Field::UnitPods | Field::PendingPods => None,
        }
    }

    /// Whether its numbers are pods that run, or that are to, so that they add up over time.
    #[must_use]
    pub fn counts_pods(self) -> bool {
        match self {
            Field::UnitPods | Field::PendingPods => true,
            Field::Replicas
            | Field::MinReplicas
            | Field::MaxReplicas
            | Field::Value
            | Field::QosLevel
            | Field::Clusters => false,
        }
    }

    /// Whether the initial value of the field can be assumed in a forecast.
    #[must_use]
    pub fn can_be_assumed(self) -> bool {
        match self {
            Field::Replicas | Field::MinReplicas | Field::MaxReplicas => true,
            Field::Value
            | Field::QosLevel
            | Field::Clusters
            | Field::UnitPods
            | Field::PendingPods => false,
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}
