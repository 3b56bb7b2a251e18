//! The demand of the pods of workloads, and their shared bounds by quotas and nodes. The reader of the objects
//! determines the workloads and bounds. A forecast determines when a demand exceeds a bound.

use std::fmt;

use crate::{Autoscaler, Identity, Labels};

/// A bounded resource that pods use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Resource {
    /// The CPU requests.
    RequestsCpu,
    /// The memory requests.
    RequestsMemory,
    /// The CPU limits.
    LimitsCpu,
    /// The memory limits.
    LimitsMemory,
    /// The number of pods.
    Pods,
}

/// An amount of each resource, in the order of [`Resource::ALL`]: thousandths of a CPU, bytes, and pods. An unknown
/// amount is 0, so that sums are lower bounds.
pub type Amounts = [u64; Resource::ALL.len()];

/// A workload and the demand of each of its pods.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Consumer {
    /// The workload.
    pub workload: Identity,
    /// The replicas as written; `None` when they are unknown.
    pub replicas: Option<u32>,
    /// The autoscaler of the workload, with its bounds as written.
    pub autoscaler: Option<(Identity, Autoscaler)>,
    /// The demand of one pod.
    pub of_pod: Amounts,
}

/// The bound on the consumers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Bounding {
    /// A `ResourceQuota`, by its name and its namespace.
    Quota(Identity),
    /// All nodes with these labels together.
    Nodes {
        /// The number of nodes.
        count: usize,
        /// The node selector of the pods; empty for all pods on all nodes.
        selector: Labels,
    },
    /// Each node with these labels: no single node is large enough for a pod of the only consumer.
    EachNode {
        /// The number of nodes.
        count: usize,
        /// The node selector of the pods.
        selector: Labels,
    },
}

/// The maximum of one resource that the consumers may use together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bound {
    /// The resource.
    pub resource: Resource,
    /// The maximum amount.
    pub most: u64,
    /// The key of the resource in a quota (`requests.cpu`).
    pub key: Box<str>,
    /// The file and line of the key in a quota.
    pub location: Box<str>,
}

/// The amounts that consumers may use together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allowance {
    /// The bound on the consumers.
    pub by: Bounding,
    /// The bounds, one for each bounded resource.
    pub bounds: Vec<Bound>,
    /// The consumers, by index in [`Demand::consumers`].
    pub consumers: Vec<usize>,
}

/// The consumers of one cluster, and their bounds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Demand {
    /// The workloads, each with its demand.
    pub consumers: Vec<Consumer>,
    /// The allowances. Those of one group share consumers: the consumers of a namespace, or of all nodes.
    pub groups: Vec<Vec<Allowance>>,
}

impl Resource {
    /// All resources, in their order.
    pub const ALL: [Resource; 5] = [
        Resource::RequestsCpu,
        Resource::RequestsMemory,
        Resource::LimitsCpu,
        Resource::LimitsMemory,
        Resource::Pods,
    ];

    /// The index of the resource in [`Amounts`].
    #[must_use]
    pub fn index(self) -> usize {
        match self {
            Resource::RequestsCpu => 0,
            Resource::RequestsMemory => 1,
            Resource::LimitsCpu => 2,
            Resource::LimitsMemory => 3,
            Resource::Pods => 4,
        }
    }

    /// The resource that a key of `hard` in a `ResourceQuota` bounds.
    #[must_use]
    pub fn from_quota_key(key: &str) -> Option<Resource> {
        match key {
            "cpu" | "requests.cpu" => Some(Resource::RequestsCpu),
            "memory" | "requests.memory" => Some(Resource::RequestsMemory),
            "limits.cpu" => Some(Resource::LimitsCpu),
            "limits.memory" => Some(Resource::LimitsMemory),
            "pods" | "count/pods" => Some(Resource::Pods),
            _ => None,
        }
    }

    /// Formats an amount of the resource as a quantity.
    #[must_use]
    pub fn quantity(self, amount: u128) -> Quantified {
        Quantified { resource: self, amount }
    }
}

/// An amount of a resource, displayed as a quantity: `12`, `500m`, `64Gi`, `100M`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quantified {
    resource: Resource,
    amount: u128,
}

const MEBIBYTE: u128 = 1 << 20;

/// The suffixes of quantities with their numbers of bytes. Smaller units only lengthen the quantity.
const SUFFIXES: [(&str, u128); 9] = [
    ("Pi", 1 << 50),
    ("Ti", 1 << 40),
    ("Gi", 1 << 30),
    ("Mi", MEBIBYTE),
    ("P", 1_000_000_000_000_000),
    ("T", 1_000_000_000_000),
    ("G", 1_000_000_000),
    ("M", 1_000_000),
    ("", 1),
];

/// An amount in bytes that no suffix represents in a few digits is rounded up to mebibytes.
impl fmt::Display for Quantified {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = self.amount;
        match self.resource {
            Resource::Pods => write!(formatter, "{amount}"),
            Resource::RequestsCpu | Resource::LimitsCpu if amount.is_multiple_of(1000) => {
                write!(formatter, "{}", amount / 1000)
            }
            Resource::RequestsCpu | Resource::LimitsCpu => write!(formatter, "{amount}m"),
            Resource::RequestsMemory | Resource::LimitsMemory => {
                let exact = SUFFIXES.iter().filter(|(_, unit)| amount.is_multiple_of(*unit));
                let exact = exact.map(|(suffix, unit)| format!("{}{suffix}", amount / unit));
                match exact.min_by_key(String::len).filter(|text| text.len() <= MAX_EXACT_LENGTH) {
                    Some(text) => formatter.write_str(&text),
                    None => write!(formatter, "{}Mi", amount.div_ceil(MEBIBYTE)),
                }
            }
        }
    }
}

/// The maximum length of an exact quantity of bytes.
const MAX_EXACT_LENGTH: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_of_a_resource_is_its_position() {
        for (index, resource) in Resource::ALL.into_iter().enumerate() {
            assert_eq!(resource.index(), index);
        }
    }

    #[test]
    fn an_amount_is_rendered_as_a_short_quantity() {
        for (resource, amount, shown) in [
            (Resource::Pods, 42, "42"),
            (Resource::RequestsCpu, 12_000, "12"),
            (Resource::LimitsCpu, 12_500, "12500m"),
            (Resource::RequestsMemory, 0, "0"),
            (Resource::RequestsMemory, 64 << 30, "64Gi"),
            (Resource::RequestsMemory, 1536 << 20, "1536Mi"),
            (Resource::LimitsMemory, 4_200_000_000, "4200M"),
            (Resource::LimitsMemory, 1000, "1000"),
            (Resource::RequestsMemory, (64 << 30) + 100_000_000, "65632Mi"),
            (Resource::RequestsMemory, 123_456_789, "118Mi"),
        ] {
            assert_eq!(resource.quantity(amount).to_string(), shown);
        }
    }

    #[test]
    fn a_quota_bounds_what_its_keys_name() {
        for (key, resource) in [
            ("cpu", Some(Resource::RequestsCpu)),
            ("requests.memory", Some(Resource::RequestsMemory)),
            ("limits.cpu", Some(Resource::LimitsCpu)),
            ("count/pods", Some(Resource::Pods)),
            ("count/deployments.apps", None),
            ("requests.storage", None),
        ] {
            assert_eq!(Resource::from_quota_key(key), resource, "{key}");
        }
    }
}
