//! What could not be fetched before a turn, so that the turn must not rely on it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Identity;

/// The objects that could not be fetched. All others are as the world has them; an object that is
/// not in the world does not exist.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reach {
    unreachable: BTreeMap<Identity, Unreachable>,
}

/// Why nothing is known of an object, although it may exist. The text is for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unreachable {
    /// Something that has to be fixed: a missing permission, or a kind that the cluster does not
    /// serve.
    Forbidden(Arc<str>),
    /// Something transient, such as an API server that does not respond.
    Unknown(Arc<str>),
}

impl Unreachable {
    /// Why.
    #[must_use]
    pub fn message(&self) -> &Arc<str> {
        match self {
            Self::Forbidden(message) | Self::Unknown(message) => message,
        }
    }
}

impl Reach {
    /// Everything could be fetched.
    #[must_use]
    pub fn everything() -> Reach {
        Reach::default()
    }

    /// Everything but this object.
    #[must_use]
    pub fn without(object: Identity, why: Unreachable) -> Reach {
        Reach { unreachable: BTreeMap::from([(object, why)]) }
    }

    /// Why an object could not be fetched, if it could not.
    #[must_use]
    pub fn lacks(&self, object: &Identity) -> Option<&Unreachable> {
        self.unreachable.get(object)
    }
}
