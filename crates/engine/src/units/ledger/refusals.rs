//! The reasons that a binding is not reserved, or must not be posted any more, as messages for users.

use std::fmt;
use std::sync::Arc;

use super::Ledger;
use crate::units::slots::ShapeId;
use crate::{Identity, counted, few};

/// The reason that a binding cannot be reserved, or must not be posted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReserveError {
    /// This ledger does not lead, or is not complete yet.
    NotServing,
    /// The pod was deleted, or a new pod has its name.
    UnknownPod,
    /// The node was deleted.
    UnknownNode,
    /// The pod has finished, or is being deleted.
    NotPending,
    /// The pod is on this node already.
    AlreadyBound {
        /// The node.
        node: Arc<str>,
    },
    /// A binding of the pod to this node is not settled yet.
    UnderWay {
        /// The node.
        node: Arc<str>,
    },
    /// The reservation no longer exists: the pod has changed since, or the binding took too long.
    Withdrawn,
    /// Several policies select the pod.
    Conflict(Box<[Identity]>),
    /// The node is in no unit, and the policy requires one.
    Outside {
        /// The policy.
        policy: Identity,
    },
    /// The unit accepts no more pods of the group.
    Full {
        /// The policy.
        policy: Identity,
        /// The name of the unit.
        unit: Arc<str>,
        /// The number of other pods that are counted in the unit.
        used: u32,
        /// The number of other pods for which the unit keeps capacity, because they evict others.
        kept: u32,
        /// The cap of the unit.
        max: u32,
    },
}

impl Ledger {
    /// The policies that select pods with the same labels.
    pub(super) fn selecting_names(&self, shape: ShapeId) -> Box<[Identity]> {
        let governing = self.shapes[shape].governing.iter();
        governing.map(|(policy, _)| self.usages[*policy].identity.clone()).collect()
    }
}

/// `namespace/name`, as messages name a policy.
pub(super) fn short(policy: &Identity) -> String {
    format!("{}/{}", policy.namespace(), policy.name())
}

/// The reason that nothing is decided for a pod that several policies select.
pub(super) fn conflict_message(policies: &[Identity]) -> String {
    let names = few(policies.iter().map(short));
    format!("{} ResourcePolicies select the pod ({names}), and only one may", policies.len())
}

/// `1 pod`, `7 pods`, `7 of 10 pods`, or `0 of 1 pod`.
pub(in crate::units) fn count_of_pods(used: u32, max: Option<u32>) -> String {
    match (used, max) {
        (_, Some(max)) => format!("{used} of {}", counted(max, "pod")),
        (_, None) => counted(used, "pod"),
    }
}

/// `, and 2 places are kept for pods that evict others`; empty without kept capacity.
pub(super) fn kept_places(kept: u32) -> String {
    match kept {
        0 => String::new(),
        1 => ", and 1 place is kept for a pod that evicts others".to_owned(),
        _ => format!(", and {kept} places are kept for pods that evict others"),
    }
}

impl fmt::Display for ReserveError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotServing => formatter.write_str("this replica does not decide at the moment"),
            Self::UnknownPod => {
                formatter.write_str("the pod was deleted, or another pod has its name")
            }
            Self::UnknownNode => formatter.write_str("the node does not exist"),
            Self::NotPending => formatter.write_str("the pod has finished or is being deleted"),
            Self::AlreadyBound { node } => write!(formatter, "the pod is on node {node} already"),
            Self::UnderWay { node } => write!(
                formatter,
                "a bind of the pod to node {node} is under way, and its result is still unknown"
            ),
            Self::Withdrawn => formatter.write_str(
                "the pod has changed since its reservation, or the reservation has expired",
            ),
            Self::Conflict(policies) => formatter.write_str(&conflict_message(policies)),
            Self::Outside { policy } => write!(
                formatter,
                "the node is in no unit of ResourcePolicy {}, whose strategy is required",
                short(policy)
            ),
            Self::Full { policy, unit, used, kept, max } => write!(
                formatter,
                "unit \"{unit}\" of ResourcePolicy {} is full: {}{}",
                short(policy),
                count_of_pods(*used, Some(*max)),
                kept_places(*kept)
            ),
        }
    }
}

impl std::error::Error for ReserveError {}
