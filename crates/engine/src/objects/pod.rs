//! The QoS level and its annotations on a pod, and the level of the user that follows from them.
//!
//! There is no other state: a new process has as much of it as one that has run for a year.

use std::sync::Arc;

use crate::Labels;

/// A pod, or the template of the pods of a workload that has none in sight.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pod {
    /// Its labels.
    pub labels: Labels,
    /// The name of its node; `None` before it has one.
    pub node: Option<Arc<str>>,
    /// Its QoS annotations; `None` when it has none, as for most pods.
    pub annotations: Option<Box<QosAnnotations>>,
    /// The reason that its level is not changed; `None` if the level may be changed.
    pub left_alone: Option<LeftAlone>,
    /// Whether it represents all pods of a workload.
    pub is_template: bool,
}

/// The reason that a pod keeps its current level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LeftAlone {
    /// The pod has finished.
    Finished,
    /// The pod is being deleted.
    Terminating,
    /// The pod only mirrors what a node runs by itself; the kubelet rejects changes.
    Mirror,
}

/// The annotations of a pod that are about its level.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct QosAnnotations {
    /// `volcano.sh/qos-level`: its level now.
    pub level: Option<Arc<str>>,
    /// `volcano.sh/original-qos-level`: the level its user wants, while a policy sets another one. Empty for
    /// none.
    pub original: Option<Arc<str>>,
    /// `almanac.dev/qos-policy`: the policy that sets it.
    pub policy: Option<Arc<str>>,
    /// `almanac.dev/qos-applied`: what the policy has set. Empty for none.
    pub applied: Option<Arc<str>>,
}

impl Pod {
    /// The annotations of the pod.
    #[must_use]
    pub fn annotations(&self) -> QosAnnotations {
        self.annotations.as_deref().cloned().unwrap_or_default()
    }

    /// Its level.
    #[must_use]
    pub fn level(&self) -> Option<&Arc<str>> {
        self.annotations.as_ref()?.level.as_ref()
    }

    /// Whether a policy has changed it, or something looks as if one had.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.annotations.as_ref().is_some_and(|it| it.are_marks())
    }

    /// Whether the annotations that only a policy adds are the same as those of another pod.
    #[must_use]
    pub fn has_same_marks(&self, other: &Pod) -> bool {
        let marks = |pod: &Pod| {
            let QosAnnotations { original, policy, applied, .. } = pod.annotations();
            (original, policy, applied)
        };
        marks(self) == marks(other)
    }

    /// Replaces its annotations; whether any of them is another one than before.
    pub fn annotate(&mut self, annotations: &QosAnnotations) -> bool {
        let is_new = self.annotations() != *annotations;
        let is_nothing = *annotations == QosAnnotations::default();
        self.annotations = (!is_nothing).then(|| Box::new(annotations.clone()));
        is_new
    }
}

impl QosAnnotations {
    /// Whether any of them is one that only a policy adds.
    #[must_use]
    pub fn are_marks(&self) -> bool {
        self.original.is_some() || self.policy.is_some() || self.applied.is_some()
    }

    /// The level that the user of the pod wrote last; `None` for none.
    ///
    /// A level that differs from the applied one is from the user, as is a deleted one. A level that a user sets to
    /// exactly the value of a policy is taken as ours: the two cannot be distinguished.
    #[must_use]
    pub fn level_of_user(&self) -> Option<Arc<str>> {
        let level = self.level.clone().filter(|it| !it.is_empty());
        let original = self.original.clone().filter(|it| !it.is_empty());
        let is_edited = |applied: &Arc<str>| **applied != *level.as_deref().unwrap_or_default();
        match (&self.applied, &self.original) {
            (Some(applied), _) if is_edited(applied) => level,
            (Some(_), _) | (None, Some(_)) => original,
            (None, None) => level,
        }
    }

    /// The pod as its user wants it.
    #[must_use]
    pub(crate) fn restored(&self) -> QosAnnotations {
        QosAnnotations { level: self.level_of_user(), ..QosAnnotations::default() }
    }

    /// The pod while a policy sets its level.
    #[must_use]
    pub(crate) fn under(&self, policy: &Arc<str>, level: Option<Arc<str>>) -> QosAnnotations {
        let or_empty = |text: Option<Arc<str>>| Some(text.unwrap_or_default());
        QosAnnotations {
            original: or_empty(self.level_of_user()),
            policy: Some(Arc::clone(policy)),
            applied: or_empty(level.clone()),
            level,
        }
    }
}

/// A node, as far as policies choose by it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Node {
    /// Its labels.
    pub labels: Labels,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations(
        level: Option<&str>,
        original: Option<&str>,
        applied: Option<&str>,
    ) -> QosAnnotations {
        let [level, original, applied] = [level, original, applied].map(|it| it.map(Arc::from));
        QosAnnotations { level, original, policy: None, applied }
    }

    #[test]
    fn the_original_of_the_user_is_distinguished_from_our_value() {
        for (level, original, applied, user) in [
            (None, None, None, None),
            (Some("1"), None, None, Some("1")),
            (Some("-1"), Some("1"), Some("-1"), Some("1")),
            (Some("-1"), Some(""), Some("-1"), None),
            // The user has edited or deleted the level since.
            (Some("2"), Some("1"), Some("-1"), Some("2")),
            (None, Some("1"), Some("-1"), None),
            // A level that is written by having none.
            (None, Some("1"), Some(""), Some("1")),
            (Some("LS"), Some("1"), Some(""), Some("LS")),
            // The annotations of a policy were deleted, or added by another field manager.
            (Some("-1"), Some("1"), None, Some("1")),
            (Some("-1"), None, Some("-1"), None),
            (Some("2"), None, Some("-1"), Some("2")),
            (Some(""), None, None, None),
            (Some("rubbish"), Some(" "), Some("rubbish"), Some(" ")),
        ] {
            let level_of_user = annotations(level, original, applied).level_of_user();
            assert_eq!(level_of_user.as_deref(), user, "{level:?} {original:?} {applied:?}");
        }
    }

    #[test]
    fn a_pod_without_annotations_takes_no_memory_for_them() {
        assert!(size_of::<Pod>() <= 48, "{}", size_of::<Pod>());
        let mut pod = Pod::default();
        assert!(pod.annotate(&annotations(Some("1"), None, None)) && pod.annotations.is_some());
        assert!(pod.annotate(&QosAnnotations::default()) && pod.annotations.is_none());
        assert!(!pod.annotate(&QosAnnotations::default()));
    }
}
