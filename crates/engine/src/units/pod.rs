//! A pod as units count it, and its deletion cost from its annotations.

use std::sync::Arc;

use jiff::Timestamp;

use super::Resources;
use crate::Labels;

/// The prefix of the number in the mark of an owner.
const OWNER: &str = "almanac/";

/// A pod. Its identity is its key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pod {
    /// Its UID; `None` when it comes from a file.
    pub uid: Option<Arc<str>>,
    /// The version of the object, which distinguishes older events from newer ones; `None` when it comes from a file.
    pub version: Option<u64>,
    /// Its labels.
    pub labels: Labels,
    /// The name of its node; `None` before it has one.
    pub node: Option<Arc<str>>,
    /// Whether its phase is `Succeeded` or `Failed`.
    pub is_finished: bool,
    /// Whether its condition reports that a scheduler has found no node for it, for reasons that name policies.
    pub is_refused: bool,
    /// The name of the node that a scheduler has nominated it for, after it evicted others there.
    pub nominated: Option<Arc<str>>,
    /// The name of the scheduler that it is for; `None` for the one that is there by default.
    pub scheduler: Option<Arc<str>>,
    /// Its scheduling gates. No scheduler looks for a node as long as it has any.
    pub gates: Box<[Arc<str>]>,
    /// The instant at which it is gone, if it is being deleted.
    pub deleted: Option<Timestamp>,
    /// The instant at which it was created.
    pub created: Option<Timestamp>,
    /// The instant at which it was bound to its node: since then its condition `PodScheduled` is true.
    pub bound: Option<Timestamp>,
    /// Its controller. Pods of one owner may share it.
    pub owner: Option<Arc<Owner>>,
    /// The reason that no policy governs it, even if one selects it.
    pub ungoverned: Option<Ungoverned>,
    /// The total requests of its containers.
    pub requests: Resources,
    /// Its deletion cost, by its annotations.
    pub cost: DeletionCost,
    /// The name of the policy in its binding annotations.
    pub bound_policy: Option<Arc<str>>,
}

/// The controller of a pod.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Owner {
    /// Its group (`apps`).
    pub group: Arc<str>,
    /// Its kind (`ReplicaSet`).
    pub kind: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Its UID, if that is known.
    pub uid: Option<Arc<str>>,
}

/// The reason that no policy governs a pod.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ungoverned {
    /// A `DaemonSet` owns it.
    DaemonSet,
    /// The pod only mirrors what a node runs by itself.
    Mirror,
    /// The pod is exempt from all policies.
    Exempt,
}

/// The deletion cost of a pod, by its annotations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum DeletionCost {
    /// Nothing.
    #[default]
    Unset,
    /// A policy has set this cost.
    Ours(i32),
    /// The user or another field manager has set this one, or has edited ours; 0 if it is not a number.
    Others(i32),
}

impl DeletionCost {
    /// From `controller.kubernetes.io/pod-deletion-cost` and `almanac.dev/deletion-cost-owner`.
    ///
    /// A cost is ours as long as it is the one that the mark names. Without a cost, a remaining mark has no meaning.
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

    /// The mark for a cost that a policy sets.
    #[must_use]
    pub fn owner_mark(cost: i32) -> String {
        format!("{OWNER}{cost}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_ours_as_long_as_it_is_the_one_that_its_mark_names() {
        use DeletionCost::{Others, Ours, Unset};
        for (cost, owner, read) in [
            (None, None, Unset),
            (None, Some("almanac/600"), Unset),
            (Some("600"), Some("almanac/600"), Ours(600)),
            (Some("-200"), Some("almanac/-200"), Ours(-200)),
            // Edited by another field manager that did not remove the mark.
            (Some("700"), Some("almanac/600"), Others(700)),
            (Some("600"), None, Others(600)),
            (Some("600"), Some("operator/600"), Others(600)),
            // Its controller reads it as 0.
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
