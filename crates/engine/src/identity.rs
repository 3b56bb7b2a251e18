//! What names an object in the world: its group, kind, namespace and name.
//!
//! The version is left out: two versions of a kind are one object. Which version to speak to the
//! API server with is the shell's affair.

use std::fmt;
use std::sync::Arc;

/// The name of one object, whatever version it was written in.
///
/// Ordered by group, kind, namespace and name, so that maps keyed by it read well when printed.
/// Cloning is cheap: the texts are shared.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    group: Arc<str>,
    kind: Arc<str>,
    namespace: Arc<str>,
    name: Arc<str>,
}

impl Identity {
    /// Names an object. The core group is `""`, and so is the namespace of a cluster-scoped object.
    #[must_use]
    pub fn new(
        group: impl Into<Arc<str>>,
        kind: impl Into<Arc<str>>,
        namespace: impl Into<Arc<str>>,
        name: impl Into<Arc<str>>,
    ) -> Self {
        Self {
            group: group.into(),
            kind: kind.into(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The API group, `""` for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The kind, as written in manifests (`Deployment`).
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The namespace, `""` for cluster-scoped objects.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The object's own name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// `Deployment.apps default/shop`: unambiguous, and the way kubectl names kinds.
impl fmt::Display for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.kind)?;
        if !self.group.is_empty() {
            write!(formatter, ".{}", self.group)?;
        }
        if self.namespace.is_empty() {
            write!(formatter, " {}", self.name)
        } else {
            write!(formatter, " {}/{}", self.namespace, self.name)
        }
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_ordered_by_group_then_kind_then_namespace_then_name() {
        let written_in_order = [
            Identity::new("", "Pod", "a", "a"),
            Identity::new("apps", "Deployment", "a", "b"),
            Identity::new("apps", "Deployment", "b", "a"),
            Identity::new("apps", "StatefulSet", "a", "a"),
        ];
        assert!(written_in_order.is_sorted());
    }

    #[test]
    fn an_identity_is_printed_with_kind_group_namespace_and_name() {
        assert_eq!(
            Identity::new("apps", "Deployment", "default", "shop").to_string(),
            "Deployment.apps default/shop"
        );
        assert_eq!(Identity::new("", "Node", "", "n1").to_string(), "Node n1");
    }
}
