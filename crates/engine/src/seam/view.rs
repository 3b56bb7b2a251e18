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

#[expect(clippy::expl_impl_clone_on_copy, reason = "a derived one would ask it of the family")]
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
    fn publishers<'w>(&'w self) -> Box<dyn Iterator<Item = Publisher<'w>> + 'w> {
        Box::new(std::iter::empty())
    }

    /// One of them.
    fn publisher(&self, _: &Identity) -> Option<Publisher<'_>> {
        None
    }

    /// For each workload, the highest number of replicas that any policy may set.
    fn replicas_asked_for(&self) -> BTreeMap<Identity, u32> {
        BTreeMap::new()
    }
}

/// A policy that publishes a number.
pub type Publisher<'w> = (&'w Identity, &'w dyn PublishesNumber);

/// Publishes a number that changes over time.
pub trait PublishesNumber {
    /// The number at an instant.
    fn number_at(&self, at: Timestamp) -> u32;

    /// When it next becomes another one; an earlier instant where that is far away.
    fn next_change(&self, after: Timestamp) -> Option<Timestamp>;
}

/// Nobody else, for who asks nothing of others.
struct Nobody;

impl Peers for Nobody {}

impl<'w, F: PolicyFamily> ViewMut<'w, F> {
    /// The same to look at, for a family that asks nothing of others.
    pub(crate) fn alone(self) -> View<'w, F> {
        View { objects: self.objects, state: self.state, peers: &Nobody }
    }
}
