//! The reasons for the level of a pod, and their messages.

use std::sync::Arc;

use super::{QosLevels, QosPolicy};
use crate::Reason;

/// The reason that a policy sets the level of a pod, or does not. `entry` is the entry of `nodesConfig` that contains
/// the list; `None` for the list of all nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The policy is the first open one.
    Open {
        /// The entry of the list.
        entry: Option<u32>,
    },
    /// No open policy selects the pod.
    NothingOpen {
        /// The entry of the list.
        entry: Option<u32>,
    },
    /// The window of the policy is closed.
    Closed {
        /// The entry of the list.
        entry: Option<u32>,
    },
    /// The policy is disabled.
    Disabled {
        /// The entry of the list.
        entry: Option<u32>,
    },
    /// The policy does not select the pod.
    NotSelected {
        /// The entry of the list.
        entry: Option<u32>,
    },
    /// The policy is open, but a different policy precedes it in the list.
    ListedAfter {
        /// The entry of the list.
        entry: Option<u32>,
        /// The position of the preceding policy.
        than: u32,
    },
    /// The list cannot be used.
    UnusableList,
    /// The list depends on the node, and the node is unknown.
    UnknownNode,
}

impl Cause {
    fn entry(self) -> Option<u32> {
        match self {
            Cause::Open { entry }
            | Cause::NothingOpen { entry }
            | Cause::Closed { entry }
            | Cause::Disabled { entry }
            | Cause::NotSelected { entry }
            | Cause::ListedAfter { entry, .. } => entry,
            Cause::UnusableList | Cause::UnknownNode => None,
        }
    }
}

/// A reason as a line for users.
#[must_use]
pub fn render(levels: &QosLevels, reason: &Reason<Cause>) -> String {
    let list = list(levels, reason.cause.entry());
    let policy = policy(list, reason.rule);
    let window = policy.map_or_else(String::new, |it| it.windows.describe());
    let selector = policy.map_or_else(String::new, |it| it.selector.to_string());
    match reason.cause {
        Cause::Open { .. } => format!("{window}: open"),
        Cause::NothingOpen { .. } if list.is_empty() => {
            "there are no policies, so the pod has its own level".to_owned()
        }
        Cause::NothingOpen { .. } => {
            "no policy for the pod is open, so it has its own level".to_owned()
        }
        Cause::Closed { .. } => format!("{window}: closed"),
        Cause::Disabled { .. } => "disabled".to_owned(),
        Cause::NotSelected { .. } => format!("the policy selects other pods: {selector}"),
        Cause::ListedAfter { than, .. } => {
            let than = self::policy(list, Some(than)).map_or("another one", |it| &*it.name);
            format!("{window}: open, but {than} is listed before it")
        }
        Cause::UnusableList => {
            "the list of policies cannot be used, so the pod is unchanged".to_owned()
        }
        Cause::UnknownNode => {
            "the labels of the node are unknown, so the pod is unchanged".to_owned()
        }
    }
}

fn list(levels: &QosLevels, entry: Option<u32>) -> &[QosPolicy] {
    levels.lists().find(|(known, _)| *known == entry).map_or(&[], |(_, list)| list)
}

fn policy(list: &[QosPolicy], rule: Option<u32>) -> Option<&QosPolicy> {
    list.get(usize::try_from(rule?).ok()?)
}

/// The name of the policy that a reason concerns.
pub(super) fn policy_name(levels: &QosLevels, reason: &Reason<Cause>) -> Option<Arc<str>> {
    let list = list(levels, reason.cause.entry());
    policy(list, reason.rule).map(|policy| Arc::clone(&policy.name))
}
