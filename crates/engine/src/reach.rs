//! The scope of a turn: the objects that could not be fetched, so that the turn must not rely on them, and the
//! objects that it covers if these are not all.

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

/// The reason that an object is unknown, although it might exist. The text is for users.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unreachable {
    /// A cause that must be fixed: a missing permission, or a kind that the cluster does not serve.
    Forbidden(Arc<str>),
    /// Something transient, such as an API server that does not respond.
    Unknown(Arc<str>),
}

impl Unreachable {
    /// The reason.
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

    /// The reason that an object could not be fetched, if it could not.
    #[must_use]
    pub fn lacks(&self, object: &Identity) -> Option<&Unreachable> {
        self.unreachable.get(object)
    }
}
