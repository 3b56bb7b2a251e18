//! Following a kind of policies: what is taken in of an object, and who is woken by it.
//!
//! What an object says is found out by the one way from an object to its slim form; here is which
//! edition of an object is known, what was remembered of it, and that it is gone when it is gone.

mod unrecorded;

use std::sync::Arc;

use almanac_api::checking::{Setting, check_json};
use almanac_api::kinds::Kind;
use almanac_engine::{Family, PolicyName};
use almanac_shell::clock::Clock;
use almanac_shell::following::{Follower, Unseen};
use kube::api::DynamicObject;
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::cluster::{Cluster, Held, Known, is_older};
use crate::turns::Turns;

pub(crate) use unrecorded::Unrecorded;

/// Fills the world with the policies of a family.
pub(crate) struct PolicyFollower {
    family: Family,
    kind: Kind,
    clock: Clock,
    unrecorded: Unrecorded,
    cluster: Arc<Cluster>,
    turns: Arc<Turns>,
    records: Arc<Turns>,
    listing: u32,
    listed: watch::Sender<Listed>,
}

/// Who is woken by what is told.
#[derive(Clone)]
pub(crate) struct Woken {
    /// Whoever has a turn to take.
    pub(crate) turns: Arc<Turns>,
    /// Whoever has something to record.
    pub(crate) records: Arc<Turns>,
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

impl PolicyFollower {
    pub(crate) fn new(
        family: Family,
        clock: Clock,
        unrecorded: Unrecorded,
        cluster: Arc<Cluster>,
        woken: Woken,
    ) -> (Self, watch::Receiver<Listed>) {
        let (listed, whole) = watch::channel(Listed::NotYet);
        let kind = Kind::of_family(family);
        let Woken { turns, records } = woken;
        let listing = 0;
        let follower =
            Self { family, kind, clock, unrecorded, cluster, turns, records, listing, listed };
        (follower, whole)
    }

    fn name(&self, object: &DynamicObject) -> PolicyName {
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let name = object.metadata.name.as_deref().unwrap_or_default();
        PolicyName::new(self.family, self.kind.identity(namespace, name))
    }

    /// Takes in what an object says. `held` is new, or what was held of the same object before.
    fn take_in(
        &self,
        known: &mut Known,
        policy: PolicyName,
        object: DynamicObject,
        mut held: Held,
        is_new: bool,
    ) {
        let setting = Setting {
            namespace: policy.identity.namespace(),
            now: self.clock.now(),
            clock_offset: self.clock.ahead(),
        };
        let checked = check_json(self.kind, as_json(object), setting);
        held.keep_what_matters(checked.findings);
        let target = |known: &Known| {
            let reference = known.world.target_of(&policy);
            reference.map(|reference| reference.target.identity().clone())
        };
        let before = target(known);
        if let Some(slim) = checked.slim {
            let slim = if is_new { self.unrecorded.join(&policy, &held.uid, slim) } else { slim };
            known.world.hold(policy.identity.clone(), slim);
        }
        let now = target(known);
        known.targets.aim(&policy, before.as_ref(), now.as_ref());
        // Until it is compared with the status, it may be more than that tells.
        held.is_recorded = false;
        known.policies.insert(policy, held);
    }

    fn remove(&self, known: &mut Known, policy: &PolicyName) {
        if known.policies.remove(policy).is_some() {
            let target = known.world.target_of(policy);
            let target = target.as_ref().map(|reference| reference.target.identity());
            known.targets.aim(policy, target, None);
            known.world.release_policy(policy);
            self.turns.forget(policy);
            self.records.forget(policy);
        }
    }
}

/// An object as JSON, as far as it says anything: what others have noted about it is left out.
fn as_json(object: DynamicObject) -> Value {
    let DynamicObject { mut metadata, data, .. } = object;
    (metadata.managed_fields, metadata.annotations, metadata.labels) = (None, None, None);
    let mut fields = match data {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    // Metadata are plain data; they can always be told as JSON.
    fields.insert("metadata".to_owned(), serde_json::to_value(metadata).unwrap_or_default());
    Value::Object(fields)
}

impl Follower for PolicyFollower {
    fn begin(&mut self) {
        self.listing = self.listing.wrapping_add(1).max(1);
    }

    fn present(&mut self, object: DynamicObject) {
        let policy = self.name(&object);
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
            self.take_in(&mut known, policy.clone(), object, told, true);
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
        if held.edition != told.edition {
            held.edition = told.edition;
            // What is wrong with a target is looked at anew: it may be another one.
            held.note_problem(None, false);
            if let Some(held) = known.policies.remove(&policy) {
                self.take_in(&mut known, policy.clone(), object, held, false);
            }
            self.turns.wake(&policy);
        }
    }

    fn gone(&mut self, object: DynamicObject) {
        let policy = self.name(&object);
        self.remove(&mut self.cluster.lock(), &policy);
    }

    fn complete(&mut self) {
        let mut known = self.cluster.lock();
        let is_gone = |(policy, held): &(&PolicyName, &Held)| {
            policy.family == self.family && held.listing != self.listing
        };
        let gone: Vec<PolicyName> =
            known.policies.iter().filter(is_gone).map(|(policy, _)| policy.clone()).collect();
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

    fn went_back(&mut self) {
        let mut known = self.cluster.lock();
        let of_family = known.policies.iter_mut().filter(|(it, _)| it.family == self.family);
        of_family.for_each(|(_, held)| held.forget_versions());
    }
}

#[cfg(test)]
mod tests;
