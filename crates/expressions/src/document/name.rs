//! The predefined names, which need no string of their own in a document, and the lookup of a field by its name.

use super::word::{BITS_OF_TAG, NAME};

/// The predefined names, which occur in nearly all clusters, in order.
pub(super) const NAMES: [&str; 36] = [
    "allocatable",
    "annotations",
    "apiVersion",
    "caBundle",
    "capacity",
    "clusterClaims",
    "conditions",
    "cpu",
    "creationTimestamp",
    "effect",
    "ephemeral-storage",
    "finalizers",
    "generation",
    "hubAcceptsClient",
    "key",
    "kind",
    "kubernetes",
    "labels",
    "lastTransitionTime",
    "leaseDurationSeconds",
    "managedClusterClientConfigs",
    "memory",
    "message",
    "metadata",
    "name",
    "pods",
    "reason",
    "resourceVersion",
    "spec",
    "status",
    "taints",
    "timeAdded",
    "type",
    "uid",
    "value",
    "version",
];

/// The name of a field to look up in documents.
#[derive(Debug)]
pub(crate) struct Name {
    text: Box<str>,
    /// The word of the name, if the name is predefined.
    pub(super) word: Option<u32>,
}

impl Name {
    pub(crate) fn new(text: &str) -> Name {
        Name { text: text.into(), word: word_of_name(text) }
    }
}

impl std::ops::Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

pub(super) fn word_of_name(text: &str) -> Option<u32> {
    let number = NAMES.binary_search(&text).ok()?;
    Some(u32::try_from(number).ok()? << BITS_OF_TAG | NAME)
}
