//! The families of policies, and the name of a policy.

use std::fmt;

use crate::Identity;

/// A family of policies.
///
/// In the order in which policies of the same instant have their turns: a policy that is read precedes its readers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Family {
    /// Schedules that publish a number.
    ScheduledCapacity,
    /// Cron rules that set replicas or bounds.
    CronScaling,
    /// Queries whose samples set replicas.
    MetricScaling,
    /// Daily windows that set the QoS levels of pods.
    QosLevels,
    /// Selections of clusters.
    Placement,
    /// Units of nodes that pods fill in order.
    Units,
}

impl Family {
    /// All families, in their order.
    pub const ALL: [Family; 6] = [
        Family::ScheduledCapacity,
        Family::CronScaling,
        Family::MetricScaling,
        Family::QosLevels,
        Family::Placement,
        Family::Units,
    ];
}

/// The name of a policy: its family and its object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyName {
    /// The family of the policy.
    pub family: Family,
    /// The object of the policy.
    pub identity: Identity,
}

impl PolicyName {
    /// Creates the name of a policy.
    #[must_use]
    pub fn new(family: Family, identity: Identity) -> PolicyName {
        PolicyName { family, identity }
    }
}

impl fmt::Display for PolicyName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.identity.fmt(formatter)
    }
}

impl fmt::Debug for PolicyName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.identity.fmt(formatter)
    }
}
