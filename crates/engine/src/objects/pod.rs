//! The QoS level and its annotations on a pod, and the original level that follows from them.
//!
//! The annotations are the only state, so a new process decides like one that has run for a year.

use std::sync::Arc;

use crate::Labels;

/// A pod, or the template of the pods of a workload without known pods.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pod {
    /// The labels of the pod.
    pub labels: Labels,
    /// The name of its node; `None` for a pending pod.
    pub node: Option<Arc<str>>,
    /// The QoS annotations; `None` without any, as for most pods.
    pub annotations: Option<Box<QosAnnotations>>,
    /// The reason that the level is not changed; `None` if the level may be changed.
    pub left_alone: Option<LeftAlone>,
    /// Whether the entry represents all pods of a workload.
    pub is_template: bool,
}

/// The reason that a pod keeps its current level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LeftAlone {
    /// The pod has finished.
    Finished,
    /// The pod is being deleted.
    Terminating,
    /// The pod only mirrors a pod that a node runs by itself; the kubelet rejects changes.
    Mirror,
}

/// The annotations about the level of a pod.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct QosAnnotations {
    /// `volcano.sh/qos-level`: the current level.
    pub level: Option<Arc<str>>,
    /// `volcano.sh/original-qos-level`: the level that the user requested, while a policy sets a different one. Empty
    /// if the user set none.
    pub original: Option<Arc<str>>,
    /// `almanac.dev/qos-policy`: the policy that sets the level.
    pub policy: Option<Arc<str>>,
    /// `almanac.dev/qos-applied`: the level that the policy has set. Empty if it has removed the level.
    pub applied: Option<Arc<str>>,
}

impl Pod {
    /// The annotations of the pod.
    #[must_use]
    pub fn annotations(&self) -> QosAnnotations {
        self.annotations.as_deref().cloned().unwrap_or_default()
    }

    /// The current level.
    #[must_use]
    pub fn level(&self) -> Option<&Arc<str>> {
        self.annotations.as_ref()?.level.as_ref()
    }

    /// Whether the pod has an annotation that only a policy adds.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.annotations.as_ref().is_some_and(|it| it.are_marks())
    }

    /// Whether the annotations that only a policy adds equal those of a second pod.
    #[must_use]
    pub fn has_same_marks(&self, other: &Pod) -> bool {
        let marks = |pod: &Pod| {
            let QosAnnotations { original, policy, applied, .. } = pod.annotations();
            (original, policy, applied)
        };
        marks(self) == marks(other)
    }

    /// Replaces the annotations; returns whether any of them has changed.
    pub fn annotate(&mut self, annotations: &QosAnnotations) -> bool {
        let is_new = self.annotations() != *annotations;
        let is_nothing = *annotations == QosAnnotations::default();
        self.annotations = (!is_nothing).then(|| Box::new(annotations.clone()));
        is_new
    }
}

impl QosAnnotations {
    /// Whether any annotation is one that only a policy adds.
    #[must_use]
    pub fn are_marks(&self) -> bool {
        self.original.is_some() || self.policy.is_some() || self.applied.is_some()
    }

    /// The level that the user of the pod wrote last; `None` for no level.
    ///
    /// A level that differs from the applied one comes from the user, and so does a deleted level. If a user sets a
    /// level to exactly the value of a policy, it counts as the policy's level: the two cannot be distinguished.
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

    /// The annotations that restore the user's level.
    #[must_use]
    pub(crate) fn restored(&self) -> QosAnnotations {
        QosAnnotations { level: self.level_of_user(), ..QosAnnotations::default() }
    }

    /// The annotations while a policy sets the level.
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

/// A node, reduced to the data by which policies select it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Node {
    /// The labels of the node.
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
            // The user has edited or deleted the level since then.
            (Some("2"), Some("1"), Some("-1"), Some("2")),
            (None, Some("1"), Some("-1"), None),
            // A level that is represented by the absence of the annotation.
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
