//! Following a kind of policies: what is taken in of an object, and who is woken by it.
//!
//! What an object says is taken in by its family; here is what all families share: which version of
//! an object is known, what was remembered of it, and that it is gone when it is gone.

mod unrecorded;

use std::sync::Arc;

use almanac_engine::Identity;
use almanac_shell::following::{Follower, Unseen};
use kube::api::DynamicObject;
use tokio::sync::watch;

use crate::cluster::{Cluster, Held, Known, is_older};
use crate::turns::Turns;

pub(crate) use unrecorded::Unrecorded;

/// A family of policies, as far as following its objects goes.
pub(crate) trait Family: Send + Sync + 'static {
    /// The name in the world of an object of this kind.
    fn identity(&self, namespace: &str, name: &str) -> Identity;

    /// Takes in what an object says. `held` is new, or what was held of the same object before.
    fn take_in(&self, known: &mut Known, policy: &Identity, object: DynamicObject, held: Held);

    /// Takes an object out of the world.
    fn take_out(&self, known: &mut Known, policy: &Identity);
}

/// Fills the world with the policies of a kind.
pub(crate) struct PolicyFollower<F> {
    family: Arc<F>,
    cluster: Arc<Cluster>,
    turns: Arc<Turns>,
    records: Arc<Turns>,
    listing: u32,
    listed: watch::Sender<Listed>,
}

/// How far the first listing of a kind has come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Listed {
    /// It is under way.
    NotYet,
    /// It does not succeed at present.
    Failing(Unseen),
    /// All objects have been told.
    Whole,
}

impl Listed {
    /// Whether there is nothing to wait for. A kind that the cluster does not have may come later;
    /// nobody waits for it.
    pub(crate) fn is_settled(&self) -> bool {
        match self {
            Self::NotYet => false,
            Self::Failing(unseen) => unseen.is_absent,
            Self::Whole => true,
        }
    }
}

impl<F: Family> PolicyFollower<F> {
    pub(crate) fn new(
        family: Arc<F>,
        cluster: Arc<Cluster>,
        turns: Arc<Turns>,
        records: Arc<Turns>,
    ) -> (Self, watch::Receiver<Listed>) {
        let (listed, whole) = watch::channel(Listed::NotYet);
        (Self { family, cluster, turns, records, listing: 0, listed }, whole)
    }

    fn identity(&self, object: &DynamicObject) -> Identity {
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        self.family.identity(namespace, object.metadata.name.as_deref().unwrap_or_default())
    }

    fn remove(&self, known: &mut Known, policy: &Identity) {
        if known.policies.remove(policy).is_some() {
            self.family.take_out(known, policy);
            self.turns.forget(policy);
            self.records.forget(policy);
        }
    }
}

impl<F: Family> Follower for PolicyFollower<F> {
    fn begin(&mut self) {
        self.listing = self.listing.wrapping_add(1).max(1);
    }

    fn present(&mut self, object: DynamicObject) {
        let policy = self.identity(&object);
        let mut known = self.cluster.lock();
        let told = Held::of(&object, self.listing);
        // What is being deleted does nothing any more, however long that takes.
        if object.metadata.deletion_timestamp.is_some() {
            self.remove(&mut known, &policy);
            return;
        }
        if known.policies.get(&policy).is_some_and(|held| held.uid != told.uid) {
            self.remove(&mut known, &policy);
        }
        let Some(held) = known.policies.get_mut(&policy) else {
            self.family.take_in(&mut known, &policy, object, told);
            self.turns.wake(&policy);
            return;
        };
        held.listing = self.listing;
        if is_older(&told.version, &held.version) {
            return;
        }
        held.version = told.version;
        if !held.recorded.is(&object.data["status"]) {
            held.recorded = told.recorded;
            self.records.wake(&policy);
        }
        if held.generation != told.generation {
            held.generation = told.generation;
            // What is wrong with a target is looked at anew: it may be another one.
            held.note_problem(None, false);
            if let Some(held) = known.policies.remove(&policy) {
                self.family.take_in(&mut known, &policy, object, held);
            }
            self.turns.wake(&policy);
        }
    }

    fn gone(&mut self, object: DynamicObject) {
        let policy = self.identity(&object);
        self.remove(&mut self.cluster.lock(), &policy);
    }

    fn complete(&mut self) {
        let mut known = self.cluster.lock();
        let is_ours = self.family.identity("", "");
        let gone: Vec<Identity> = known
            .policies
            .iter()
            .filter(|(policy, held)| {
                policy.kind() == is_ours.kind() && held.listing != self.listing
            })
            .map(|(policy, _)| policy.clone())
            .collect();
        for policy in gone {
            self.remove(&mut known, &policy);
        }
        self.listed.send_replace(Listed::Whole);
    }

    fn failed(&mut self, why: &Unseen) {
        // Only the first listing is waited for.
        self.listed.send_if_modified(|listed| {
            let is_first = *listed != Listed::Whole;
            if is_first {
                *listed = Listed::Failing(why.clone());
            }
            is_first
        });
    }
}

#[cfg(test)]
mod tests;
