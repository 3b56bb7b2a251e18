//! What can be carried out: the policies of each family, and groups of nodes, which are no policies.

use almanac_engine::Family;

use super::{Kind, Role};

/// The objects that one controller carries out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Controlled {
    /// The policies of a family.
    Policies(Family),
    /// Groups of nodes.
    NodeGroups,
}

impl Controlled {
    /// All that can be carried out, in this process or another.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let policies = Family::ALL.into_iter().map(Self::Policies);
        policies.chain([Self::NodeGroups]).collect()
    }

    /// The kind of the objects.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Policies(family) => Kind::of_family(family),
            Self::NodeGroups => Kind::ScalableNodeGroup,
        }
    }

    /// Of which of them a kind is: its objects are carried out, or are read to do so. `None` for Kubernetes' own kinds.
    #[must_use]
    pub fn of_kind(kind: Kind) -> Option<Controlled> {
        match (kind.role(), kind) {
            (Role::Policy(family), _) => Some(family.into()),
            (Role::Hub, _) => Some(Family::Placement.into()),
            (Role::Bounds, Kind::FederatedHPA) => Some(Family::CronScaling.into()),
            (Role::Workload { .. }, Kind::ScalableNodeGroup) => Some(Self::NodeGroups),
            (Role::Bounds | Role::Workload { .. }, _) => None,
        }
    }

    /// What they are called on the command line.
    #[must_use]
    pub fn flag_value(self) -> &'static str {
        match self {
            Self::Policies(Family::ScheduledCapacity) => "metrics-producer",
            Self::Policies(Family::CronScaling) => "cron-federated-hpa",
            Self::Policies(Family::MetricScaling) => "horizontal-autoscaler",
            Self::Policies(Family::QosLevels) => "qos-levels",
            Self::Policies(Family::Placement) => "placement",
            Self::Policies(Family::Units) => "resource-policy",
            Self::NodeGroups => "scalable-node-group",
        }
    }
}

impl From<Family> for Controlled {
    fn from(family: Family) -> Self {
        Self::Policies(family)
    }
}
