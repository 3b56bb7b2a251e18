//! The namespaces that a process may be limited to. Within a limit, nothing is read or written in another namespace, or
//! in the cluster scope: each kind has one watch for each namespace, and a `Role` in the namespace allows the watch.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use almanac_engine::Identity;
use almanac_shell::following::{Need, Selection};

/// The namespaces that a process reconciles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Namespaces {
    /// All namespaces.
    All,
    /// The namespaces of this set.
    Only(BTreeSet<Arc<str>>),
}

impl Namespaces {
    /// The watches that a kind needs: one of everything, or one for each namespace.
    pub(crate) fn parts(&self) -> Vec<Part> {
        match self {
            Self::All => vec![Part::Whole],
            Self::Only(names) => names.iter().cloned().map(Part::Namespace).collect(),
        }
    }

    /// Whether this namespace is included. The namespace of a cluster-scoped object is empty.
    pub(crate) fn include(&self, namespace: &str) -> bool {
        self.limit().is_none_or(|names| names.contains(namespace))
    }

    /// Logs the effects of a limit.
    pub(crate) fn log_limit(&self) {
        if let Some(names) = self.limit() {
            tracing::info!(
                namespaces = names.iter().map(|it| &**it).collect::<Vec<_>>().join(","),
                "limited to these namespaces: nothing else is watched or changed, and upstream controllers \
                 of the same kinds are not detected"
            );
        }
    }

    /// The names, if the process is limited to some namespaces.
    pub(crate) fn limit(&self) -> Option<&BTreeSet<Arc<str>>> {
        match self {
            Self::All => None,
            Self::Only(names) => Some(names),
        }
    }
}

/// The scope of one watch of a kind. If a list of the watch lacks an object, the object is deleted only if it is in
/// this scope.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Part {
    /// All namespaces.
    Whole,
    /// One namespace.
    Namespace(Arc<str>),
}

impl Part {
    pub(crate) fn covers(&self, object: &Identity) -> bool {
        match self {
            Self::Whole => true,
            Self::Namespace(name) => object.namespace() == &**name,
        }
    }

    /// The selection to request from an API server.
    pub(crate) fn selection(&self) -> Selection {
        let namespace = match self {
            Self::Whole => None,
            Self::Namespace(name) => Some(name.to_string()),
        };
        Selection { namespace, ..Selection::default() }
    }

    /// Whether a term needs this watch. One of several namespaces might not exist yet, or might be deleted, while the
    /// others are reconciled.
    pub(crate) fn need(&self) -> Need {
        match self {
            Self::Whole => Need::Always,
            Self::Namespace(_) => Need::UnlessRefused,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => formatter.write_str("all namespaces"),
            Self::Namespace(name) => write!(formatter, "the namespace {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_includes_its_namespaces_and_no_cluster_scoped_object() {
        let only = Namespaces::Only(["east", "west"].map(Arc::from).into());
        let included = ["east", "west", "eas", "easter", ""].map(|name| only.include(name));
        assert_eq!(included, [true, true, false, false, false]);
        assert!(["east", ""].into_iter().all(|name| Namespaces::All.include(name)));
    }
}
