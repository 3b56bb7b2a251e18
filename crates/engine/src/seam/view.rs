//! The data that a family reads: the objects, its own state, and the few methods of other families that it may call.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{FamilyState, PolicyFamily};
use crate::{Identity, Objects};

/// The data that a family reads.
pub struct View<'w, F: PolicyFamily> {
    /// The objects.
    pub objects: &'w Objects,
    /// The state of the family.
    pub state: &'w FamilyState<F>,
    /// The data of other families.
    pub peers: &'w dyn Peers,
}

#[expect(
    clippy::expl_impl_clone_on_copy,
    reason = "a derived implementation would require `Copy` of the family"
)]
impl<F: PolicyFamily> Clone for View<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: PolicyFamily> Copy for View<'_, F> {}

/// The data that a family changes at the start of a run.
pub struct ViewMut<'w, F: PolicyFamily> {
    /// The objects that all families read.
    pub objects: &'w mut Objects,
    /// The state of the family.
    pub state: &'w mut FamilyState<F>,
}

/// The data of other families, in methods named for the data and not for the family that provides it.
pub trait Peers {
    /// The policies that can publish a number, in order. An exempt policy is included, but publishes no number.
    fn publishers<'w>(&'w self) -> Box<dyn Iterator<Item = Publisher<'w>> + 'w> {
        Box::new(std::iter::empty())
    }

    /// The policy of this name, if it can publish a number.
    fn publisher(&self, _: &Identity) -> Option<Publisher<'_>> {
        None
    }

    /// For each workload, the maximum number of replicas that any policy may set.
    fn max_replicas_by_workload(&self) -> BTreeMap<Identity, u32> {
        BTreeMap::new()
    }
}

/// A policy that can publish a number.
pub type Publisher<'w> = (&'w Identity, &'w dyn PublishesNumber);

/// The published number of a policy over time.
pub trait PublishesNumber {
    /// The number at an instant.
    fn number_at(&self, at: Timestamp) -> u32;

    /// The instant at which the number next changes; an earlier instant if that is far away.
    fn next_change(&self, after: Timestamp) -> Option<Timestamp>;
}

/// An empty set of families, for a family that reads no data of others.
struct NoPeers;

impl Peers for NoPeers {}

impl<'w, F: PolicyFamily> ViewMut<'w, F> {
    /// A view without the data of other families.
    pub(crate) fn alone(self) -> View<'w, F> {
        View { objects: self.objects, state: self.state, peers: &NoPeers }
    }
}
