//! How far a turn reaches: what could not be fetched before it, so that it must not rely on it, and what it is
//! about where that is not everything.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Identity;

/// The objects that could not be fetched. All others are as the world has them; an object that is
/// not in the world does not exist.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reach {
    unreachable: BTreeMap<Identity, Unreachable>,
    only: Option<Identity>,
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
        Reach { unreachable: BTreeMap::from([(object, why)]), only: None }
    }

    /// Of all the objects that the policy sets something of, only this one.
    #[must_use]
    pub fn only(object: Identity) -> Reach {
        Reach { unreachable: BTreeMap::new(), only: Some(object) }
    }

    /// The only object that the turn is about; `None` when it is about all that the policy sets something of.
    #[must_use]
    pub fn only_object(&self) -> Option<&Identity> {
        self.only.as_ref()
    }

    /// Why an object could not be fetched, if it could not.
    #[must_use]
    pub fn lacks(&self, object: &Identity) -> Option<&Unreachable> {
        self.unreachable.get(object)
    }
}
