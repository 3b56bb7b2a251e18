//! A pod, reduced to the data for units, and its deletion cost from its annotations.

use std::sync::Arc;

use jiff::Timestamp;

use super::Resources;
use crate::Labels;

/// The prefix of the number in the owner annotation.
const OWNER: &str = "almanac/";

/// A pod; the key of its entry is its identity.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pod {
    /// The UID of the pod; `None` for a file.
    pub uid: Option<Arc<str>>,
    /// The version of the object, which distinguishes older events from newer ones; `None` for a file.
    pub version: Option<u64>,
    /// The labels of the pod.
    pub labels: Labels,
    /// The name of the pod's node; `None` for a pending pod.
    pub node: Option<Arc<str>>,
    /// Whether its phase is `Succeeded` or `Failed`.
    pub is_finished: bool,
    /// Whether the condition of the pod reports that a scheduler has found no node, for reasons that name policies.
    pub is_refused: bool,
    /// The name of the node for which a scheduler has nominated the pod, after it evicted other pods there.
    pub nominated: Option<Arc<str>>,
    /// The name of the pod's scheduler; `None` for the default one.
    pub scheduler: Option<Arc<str>>,
    /// The scheduling gates of the pod. No scheduler handles a pod with gates.
    pub gates: Box<[Arc<str>]>,
    /// The instant at which the deletion is complete; `None` unless the pod is being deleted.
    pub deleted: Option<Timestamp>,
    /// The creation time.
    pub created: Option<Timestamp>,
    /// The instant of the pod's binding: since then its condition `PodScheduled` is true.
    pub bound: Option<Timestamp>,
    /// The controller of the pod. Pods of one owner may share the entry.
    pub owner: Option<Arc<Owner>>,
    /// The reason that no policy governs the pod, even if a policy selects it.
    pub ungoverned: Option<Ungoverned>,
    /// The total requests of the containers.
    pub requests: Resources,
    /// The deletion cost in the annotations.
    pub cost: DeletionCost,
    /// The name of the policy in the binding annotations.
    pub bound_policy: Option<Arc<str>>,
}

/// The controller of a pod.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Owner {
    /// The API group of the owner (`apps`).
    pub group: Arc<str>,
    /// The kind of the owner (`ReplicaSet`).
    pub kind: Arc<str>,
    /// The name of the owner.
    pub name: Arc<str>,
    /// The UID of the owner; `None` if it is unknown.
    pub uid: Option<Arc<str>>,
}

/// The reason that no policy governs a pod.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ungoverned {
    /// A `DaemonSet` owns the pod.
    DaemonSet,
    /// The pod only mirrors a pod that a node runs by itself.
    Mirror,
    /// The pod is exempt from all policies.
    Exempt,
}

/// The deletion cost of a pod, by its annotations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum DeletionCost {
    /// No annotation sets a cost.
    #[default]
    Unset,
    /// A policy has set this cost.
    Ours(i32),
    /// The user or another field manager has set this cost, or has edited ours; 0 for a value that is not a number.
    Others(i32),
}

impl DeletionCost {
    /// From `controller.kubernetes.io/pod-deletion-cost` and `almanac.dev/deletion-cost-owner`.
    ///
    /// A cost is ours if it equals the cost in the owner annotation. Without a cost, the owner annotation has no
    /// meaning.
    #[must_use]
    pub fn read(cost: Option<&str>, owner: Option<&str>) -> DeletionCost {
        let Some(cost) = cost else { return DeletionCost::Unset };
        let marked = owner.and_then(|owner| owner.strip_prefix(OWNER));
        match cost.parse() {
            Ok(number) if marked == Some(cost) => DeletionCost::Ours(number),
            Ok(number) => DeletionCost::Others(number),
            Err(_) => DeletionCost::Others(0),
        }
    }

    /// The owner annotation for a cost that a policy sets.
    #[must_use]
    pub fn owner_mark(cost: i32) -> String {
        format!("{OWNER}{cost}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_ours_while_the_owner_annotation_names_it() {
        use DeletionCost::{Others, Ours, Unset};
        for (cost, owner, read) in [
            (None, None, Unset),
            (None, Some("almanac/600"), Unset),
            (Some("600"), Some("almanac/600"), Ours(600)),
            (Some("-200"), Some("almanac/-200"), Ours(-200)),
            // Edited by another field manager that did not remove the owner annotation.
            (Some("700"), Some("almanac/600"), Others(700)),
            (Some("600"), None, Others(600)),
            (Some("600"), Some("operator/600"), Others(600)),
            // The controller of the pod reads the value as 0.
            (Some("much"), Some("almanac/much"), Others(0)),
            (Some(""), Some(""), Others(0)),
        ] {
            assert_eq!(DeletionCost::read(cost, owner), read, "{cost:?} {owner:?}");
        }
        for cost in [0, 600, i32::MIN, i32::MAX] {
            let mark = DeletionCost::owner_mark(cost);
            assert_eq!(DeletionCost::read(Some(&cost.to_string()), Some(&mark)), Ours(cost));
        }
    }
}
