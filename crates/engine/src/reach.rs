//! What could not be fetched before a turn, so that the turn must not rely on it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Identity;

/// Which objects could not be fetched. What is not named here is as the world has it; an object that
/// the world does not have does not exist.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reach {
    unreachable: BTreeMap<Identity, Unreachable>,
}

/// Why nothing is known of an object, though it may be there. In words for a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unreachable {
    /// Something that somebody has to mend stands between us and it: a missing right, a kind that
    /// the cluster does not have.
    Forbidden(Arc<str>),
    /// It may pass: the API server does not answer, say.
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
