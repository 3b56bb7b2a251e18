//! The scope of a turn: the objects that could not be fetched, so that the turn must not rely on them, and the objects
//! that the turn covers if it does not cover all.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Identity;

/// The objects that could not be fetched. All other objects are as in the world, and an object that is absent from the
/// world does not exist.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reach {
    unreachable: BTreeMap<Identity, Unreachable>,
    only: Option<Identity>,
}

/// The reason that an object is unknown, although it might exist. The message is for users.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unreachable {
    /// A cause that the user must fix: a missing permission, or a kind that the cluster does not serve.
    Forbidden(Arc<str>),
    /// A transient cause, such as an API server that does not respond.
    Unknown(Arc<str>),
}

impl Unreachable {
    /// The message for users.
    #[must_use]
    pub fn message(&self) -> &Arc<str> {
        match self {
            Self::Forbidden(message) | Self::Unknown(message) => message,
        }
    }
}

impl Reach {
    /// Every object could be fetched.
    #[must_use]
    pub fn everything() -> Reach {
        Reach::default()
    }

    /// Every object except this one could be fetched.
    #[must_use]
    pub fn without(object: Identity, why: Unreachable) -> Reach {
        Reach { unreachable: BTreeMap::from([(object, why)]), only: None }
    }

    /// Covers only this object of a policy that sets fields of several objects.
    #[must_use]
    pub fn only(object: Identity) -> Reach {
        Reach { unreachable: BTreeMap::new(), only: Some(object) }
    }

    /// The only object that the turn covers; `None` if it covers all objects of the policy.
    #[must_use]
    pub fn only_object(&self) -> Option<&Identity> {
        self.only.as_ref()
    }

    /// The reason that an object could not be fetched; `None` if it could.
    #[must_use]
    pub fn lacks(&self, object: &Identity) -> Option<&Unreachable> {
        self.unreachable.get(object)
    }
}
