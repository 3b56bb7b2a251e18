//! The fields of objects that policies set.

use std::fmt;

use crate::Target;

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
    /// The pods of a policy that no unit has free capacity for.
    PendingPods,
}

impl Field {
    /// All fields, in their order.
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

    /// The name of the field in manifests and in JSON.
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
    pub fn for_target(target: &Target) -> &'static [Field] {
        match target {
            Target::Workload(_) => &[Field::Replicas],
            Target::Autoscaler(_) => &[Field::MinReplicas, Field::MaxReplicas],
        }
    }

    /// Whether the field counts running or desired pods, so that its numbers add up over time.
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
