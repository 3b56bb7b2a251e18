//! The kinds of targets that are followed: what is kept of their objects.

use std::sync::Arc;
use std::time::Duration;

use almanac_api::kinds::Kind;
use almanac_api::slim;
use almanac_engine::Identity;
use almanac_shell::following::{Follower, Unseen};
use kube::api::DynamicObject;
use tokio::sync::watch;

use super::kind::Resolved;
use crate::cluster::{Cluster, Found, is_older};
use crate::turns::Turns;

/// The kind that discovery has found, if it is one of those that are followed. Others are asked for, so
/// that no right to list them is needed.
pub(super) fn kind_of(resolved: &Resolved) -> Option<Kind> {
    let resource = &resolved.resource;
    let kind = Kind::of(&resource.group, &resource.kind)?;
    let is_followed = match kind {
        Kind::Deployment
        | Kind::StatefulSet
        | Kind::ScalableNodeGroup
        | Kind::HorizontalPodAutoscaler
        | Kind::FederatedHPA => true,
        Kind::ReplicaSet
        | Kind::ReplicationController
        | Kind::MetricsProducer
        | Kind::HorizontalAutoscaler
        | Kind::CronFederatedHPA => false,
    };
    is_followed.then_some(kind)
}

/// How far the following of a kind has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Not all objects have been told yet.
    Beginning,
    /// All objects are known, and changes are told.
    Whole,
    /// It does not work at present.
    Failing,
}

/// Tells how far the following of a kind has come.
#[derive(Clone)]
pub(super) struct Following {
    stage: watch::Receiver<Stage>,
}

/// To wait longer than that for a first listing would hold up others.
const BEGINS_WITHIN: Duration = Duration::from_secs(10);

impl Following {
    /// Whether all objects are known; waits while the first listing is under way.
    pub(super) async fn is_whole(&self) -> bool {
        let mut stage = self.stage.clone();
        let begun = stage.wait_for(|stage| *stage != Stage::Beginning);
        match tokio::time::timeout(BEGINS_WITHIN, begun).await {
            Ok(Ok(stage)) => *stage == Stage::Whole,
            _ => false,
        }
    }

    /// Whether the first listing is under way.
    pub(super) fn is_beginning(&self) -> bool {
        *self.stage.borrow() == Stage::Beginning
    }

    /// Whether all objects are known, without waiting.
    pub(super) fn is_whole_now(&self) -> bool {
        *self.stage.borrow() == Stage::Whole
    }
}

/// Fills the world with the objects of a kind, and wakes the policies whose targets come or go.
pub(super) struct TargetFollower {
    kind: Kind,
    listing: u32,
    /// Whether the last listing was told to its end.
    is_whole: bool,
    cluster: Arc<Cluster>,
    turns: Arc<Turns>,
    stage: watch::Sender<Stage>,
}

pub(super) fn follower(
    kind: Kind,
    cluster: Arc<Cluster>,
    turns: Arc<Turns>,
) -> (Following, TargetFollower) {
    let (sender, receiver) = watch::channel(Stage::Beginning);
    let follower =
        TargetFollower { kind, listing: 0, is_whole: false, cluster, turns, stage: sender };
    (Following { stage: receiver }, follower)
}

impl TargetFollower {
    fn identity(&self, object: &DynamicObject) -> Identity {
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let name = object.metadata.name.as_deref().unwrap_or_default();
        self.kind.identity(namespace, name)
    }

    fn remove(&self, target: &Identity) {
        let mut known = self.cluster.lock();
        if known.targets.remove(target) {
            known.world.release(target);
            for policy in known.targets.aimed_at(target) {
                self.turns.wake(policy);
            }
        }
    }
}

impl Follower for TargetFollower {
    fn begin(&mut self) {
        self.is_whole = false;
        self.listing = self.listing.wrapping_add(1).max(1);
    }

    fn present(&mut self, object: DynamicObject) {
        let target = self.identity(&object);
        let version = object.metadata.resource_version.unwrap_or_default();
        let mut known = self.cluster.lock();
        if let Some(found) = known.targets.get(&target)
            && is_older(&version, &found.version)
        {
            // We have written since, and know better. It is there, all the same.
            let found = Found { listing: self.listing, ..found.clone() };
            known.targets.insert(target, found);
            return;
        }
        if let Some(slim) = slim::of_data(self.kind, &object.data) {
            known.world.hold(target.clone(), slim);
        }
        let found = Found { version: version.into(), listing: self.listing };
        if known.targets.insert(target.clone(), found) {
            for policy in known.targets.aimed_at(&target) {
                self.turns.wake(policy);
            }
        }
    }

    fn gone(&mut self, object: DynamicObject) {
        self.remove(&self.identity(&object));
    }

    fn complete(&mut self) {
        let gone = self.cluster.lock().targets.told_before(self.kind, self.listing);
        for target in gone {
            self.remove(&target);
        }
        self.is_whole = true;
        self.stage.send_replace(Stage::Whole);
    }

    fn goes_on(&mut self) {
        if self.is_whole && *self.stage.borrow() == Stage::Failing {
            self.stage.send_replace(Stage::Whole);
        }
    }

    fn failed(&mut self, _: &Unseen) {
        // What was told may not be so any more. Until the next news, whoever needs a target asks.
        self.stage.send_replace(Stage::Failing);
    }

    fn went_back(&mut self) {
        self.cluster.lock().targets.forget_versions(self.kind);
    }
}

#[cfg(test)]
mod tests {
    use almanac_shell::clock::Clock;
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn a_kind_whose_watch_goes_on_is_whole_again_though_nothing_has_changed() {
        let turns = Arc::new(Turns::new(Clock::of(|| Timestamp::UNIX_EPOCH)));
        let (following, mut follower) = follower(Kind::Deployment, Arc::default(), turns);
        let unseen = Unseen { is_absent: false, reason: "cut".to_owned() };
        follower.failed(&unseen);
        follower.goes_on();
        assert!(!following.is_whole_now(), "it was never whole");
        follower.begin();
        follower.complete();
        follower.failed(&unseen);
        assert!(!following.is_whole_now());
        follower.goes_on();
        assert!(following.is_whole_now());
    }
}
