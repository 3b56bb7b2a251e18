//! What a family is given to look at: the objects, its own state, and the answers of other families to the few questions
//! that it may ask.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{FamilyState, PolicyFamily};
use crate::{Identity, Objects};

/// What a family looks at.
pub struct View<'w, F: PolicyFamily> {
    /// The objects.
    pub objects: &'w Objects,
    /// What is its own.
    pub state: &'w FamilyState<F>,
    /// What is there of others.
    pub peers: &'w dyn Peers,
}

// Derived ones would ask it of the family.
impl<F: PolicyFamily> Clone for View<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: PolicyFamily> Copy for View<'_, F> {}

/// What a family changes where a run begins.
pub struct ViewMut<'w, F: PolicyFamily> {
    /// The objects.
    pub objects: &'w mut Objects,
    /// What is its own.
    pub state: &'w mut FamilyState<F>,
}

/// What families may ask of others, named for what is asked and not for who answers.
pub trait Peers {
    /// The policies that can publish a number, in order. One that is exempt publishes none all the same.
    fn publishers<'w>(
        &'w self,
    ) -> Box<dyn Iterator<Item = (&'w Identity, &'w dyn PublishesNumber)> + 'w>;

    /// One of them.
    fn publisher(&self, identity: &Identity) -> Option<(&Identity, &dyn PublishesNumber)>;

    /// For each workload, the highest number of replicas that any policy may set.
    fn replicas_asked_for(&self) -> BTreeMap<Identity, u32>;
}

/// Publishes a number that changes over time.
pub trait PublishesNumber {
    /// The number at an instant.
    fn number_at(&self, at: Timestamp) -> u32;

    /// When it next becomes another one; an earlier instant where that is far away.
    fn next_change(&self, after: Timestamp) -> Option<Timestamp>;
}

/// Nobody else, for who asks nothing of others.
struct Nobody;

impl Peers for Nobody {
    fn publishers<'w>(
        &'w self,
    ) -> Box<dyn Iterator<Item = (&'w Identity, &'w dyn PublishesNumber)> + 'w> {
        Box::new(std::iter::empty())
    }

    fn publisher(&self, _: &Identity) -> Option<(&Identity, &dyn PublishesNumber)> {
        None
    }

    fn replicas_asked_for(&self) -> BTreeMap<Identity, u32> {
        BTreeMap::new()
    }
}

impl<F: PolicyFamily> ViewMut<'_, F> {
    /// The same to look at, for a family that asks nothing of others.
    pub(crate) fn alone(&self) -> View<'_, F> {
        View { objects: self.objects, state: self.state, peers: &Nobody }
    }
}
