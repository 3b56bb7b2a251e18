//! The namespaces that a process may be limited to. Within a limit, nothing is read or written that is in another
//! namespace, or in none: each kind has a watch a namespace, which a `Role` in it allows.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use almanac_engine::Identity;
use almanac_shell::following::{Need, Selection};

/// The namespaces that are the business of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Namespaces {
    /// All of them.
    All,
    /// These.
    Only(BTreeSet<Arc<str>>),
}

impl Namespaces {
    /// What has to be watched of a kind: all of it at once, or a namespace at a time.
    pub(crate) fn parts(&self) -> Vec<Part> {
        match self {
            Self::All => vec![Part::Whole],
            Self::Only(names) => names.iter().cloned().map(Part::Namespace).collect(),
        }
    }

    /// Whether what is in this namespace is their business. That of a cluster-scoped object is empty.
    pub(crate) fn include(&self, namespace: &str) -> bool {
        self.limit().is_none_or(|names| names.contains(namespace))
    }

    /// Logs what a limit means.
    pub(crate) fn tell_limit(&self) {
        if let Some(names) = self.limit() {
            tracing::info!(
                namespaces = names.iter().map(|it| &**it).collect::<Vec<_>>().join(","),
                "limited to these namespaces: nothing else is watched or changed, and upstream controllers \
                 of the same kinds are not detected"
            );
        }
    }

    /// The names, if it is limited to some.
    pub(crate) fn limit(&self) -> Option<&BTreeSet<Arc<str>>> {
        match self {
            Self::All => None,
            Self::Only(names) => Some(names),
        }
    }
}

/// What one watch of a kind covers. What is not in its lists is gone only if it covers it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Part {
    /// All namespaces.
    Whole,
    /// One of them.
    Namespace(Arc<str>),
}

impl Part {
    pub(crate) fn covers(&self, object: &Identity) -> bool {
        match self {
            Self::Whole => true,
            Self::Namespace(name) => object.namespace() == &**name,
        }
    }

    /// What to ask an API server for.
    pub(crate) fn selection(&self) -> Selection {
        let namespace = match self {
            Self::Whole => None,
            Self::Namespace(name) => Some(name.to_string()),
        };
        Selection { namespace, ..Selection::default() }
    }

    /// How much a watch of it is needed. One of several namespaces may be yet to come, or gone, and the others are
    /// carried out meanwhile.
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
    fn a_limit_includes_what_it_names_and_nothing_that_is_in_no_namespace() {
        let only = Namespaces::Only(["east", "west"].map(Arc::from).into());
        let included = ["east", "west", "eas", "easter", ""].map(|name| only.include(name));
        assert_eq!(included, [true, true, false, false, false]);
        assert!(["east", ""].into_iter().all(|name| Namespaces::All.include(name)));
    }
}
