//! What policies change: finds it, tracks its state, and writes it.
//!
//! The usual target kinds are watched as soon as a policy names one of them, so that their state is at
//! hand for decisions. Any other kind with a `scale` subresource is found by discovery and read when a
//! decision needs it, so that no permission to list it is needed.

mod followed;
mod kind;
mod lanes;
mod reading;
mod writing;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use almanac_api::status::TargetProblem;
use almanac_engine::{Autoscaler, Identity, TargetReference};
use almanac_shell::following::{WatchAges, follow};
use almanac_shell::writer::Writer;
use kube::Client;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::cluster::{Cluster, ClusterState};
use crate::work_queue::WorkQueue;
use followed::Following;
use kind::{Kind, Resolved};
use lanes::Lanes;

/// Why a target's state is not known.
#[derive(Clone, Debug)]
pub(crate) enum TargetError {
    /// Something the user has to mend.
    Problem(TargetProblem),
    /// Something that may pass: an API server that does not answer, say.
    Transient(String),
}

impl TargetError {
    /// Whether it is known that there is no such object.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Problem(TargetProblem::NotFound))
    }
}

/// What a decision was made over: the version and the numbers of the target then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObservedTarget {
    version: Option<Box<str>>,
    numbers: (Option<u32>, Option<Autoscaler>),
}

impl ObservedTarget {
    /// A target as it is known now.
    pub(crate) fn of(target: &Identity, state: &ClusterState) -> Self {
        let replicas = state.world.workloads.get(target).and_then(|it| it.replicas);
        Self {
            version: state.targets.get(target).map(|it| it.version.clone()),
            numbers: (replicas, state.world.autoscalers.get(target).copied()),
        }
    }
}

/// A kind that the cluster does not have, or not with a scale, is looked for again after so long.
const MISSING_KIND_TTL: Duration = Duration::from_secs(30);

/// How many targets may be tried at once whether they may be changed by now. A trial has a turn that
/// firings want, and thousands of targets may be forbidden at a time.
const MAX_CONCURRENT_TRIALS: usize = 4;

/// The targets of all policies.
pub(crate) struct Targets {
    client: Client,
    writer: Writer,
    cluster: Arc<Cluster>,
    turns: Arc<WorkQueue>,
    allow_cluster_scoped: bool,
    kinds: Mutex<Kinds>,
    /// A kind that does not answer holds up nobody but its own.
    lanes: Lanes,
    /// How many targets may be tried at a time. It is not waited for.
    trials: Semaphore,
    /// Tells how old the view of a followed kind is.
    watch_ages: WatchAges,
    /// Whoever follows a kind. They end with this.
    followers: Mutex<JoinSet<()>>,
    /// Ends when one of them does, which none does by itself.
    fell_over: CancellationToken,
}

#[derive(Default)]
struct Kinds {
    /// By group and kind.
    found: BTreeMap<(String, String), Arc<Kind>>,
    /// By group, kind and version; with the instant they were asked for.
    missing: BTreeMap<(String, String, String), (TargetError, Instant)>,
}

impl Targets {
    pub(crate) fn new(
        client: Client,
        writer: Writer,
        cluster: Arc<Cluster>,
        turns: Arc<WorkQueue>,
        allow_cluster_scoped: bool,
    ) -> Self {
        Self {
            client,
            writer,
            cluster,
            turns,
            allow_cluster_scoped,
            kinds: Mutex::default(),
            lanes: Lanes::new(),
            trials: Semaphore::new(MAX_CONCURRENT_TRIALS),
            watch_ages: WatchAges::default(),
            followers: Mutex::new(JoinSet::new()),
            fell_over: CancellationToken::new(),
        }
    }

    /// The same, with the views of what is followed among these.
    pub(crate) fn with_watch_ages(self, watch_ages: WatchAges) -> Self {
        Self { watch_ages, ..self }
    }

    /// Waits until somebody who follows a kind has fallen over. What is known of the kind is not so any
    /// more then, and nobody would tell.
    pub(crate) async fn follower_stopped(&self) {
        self.fell_over.cancelled().await;
    }

    /// Sees to it that the world has a target's state as it is now, as far as that can be known. Of
    /// followed kinds it has; others are asked for, and so is one of which nothing was told yet, unless it
    /// was missing before.
    pub(crate) async fn fetch(
        &self,
        reference: &TargetReference,
        was_missing: bool,
    ) -> Result<(), TargetError> {
        let kind = self.kind_of(reference).await?;
        let target = &reference.target;
        if kind.is_cluster_scoped && !self.allow_cluster_scoped {
            return Err(TargetError::Problem(TargetProblem::ClusterScoped));
        }
        if let Some(following) = &kind.following
            && self.is_whole(following, target.identity()).await?
        {
            let missing = Err(TargetError::Problem(TargetProblem::NotFound));
            return match self.is_known(target.identity()) {
                true => Ok(()),
                false if was_missing => missing,
                false => match self.ask(&kind, target).await {
                    // What was asked for is of no account if it was told of meanwhile.
                    Err(_) if self.is_known(target.identity()) => Ok(()),
                    // Whoever may follow the kind need not have the right to ask.
                    Err(TargetError::Problem(_)) => missing,
                    asked => asked,
                },
            };
        }
        self.ask(&kind, target).await
    }

    fn is_known(&self, target: &Identity) -> bool {
        self.cluster.lock().targets.get(target).is_some()
    }

    /// Whether all objects of a followed kind are known. The first listing is waited for, as an answer
    /// is.
    async fn is_whole(
        &self,
        following: &Following,
        target: &Identity,
    ) -> Result<bool, TargetError> {
        if !following.is_beginning() {
            return Ok(following.is_whole_now());
        }
        let lanes = self.lanes.of(target);
        let slot = lanes.read().await?;
        let is_whole = following.is_whole().await;
        slot.note(!following.is_beginning());
        Ok(is_whole)
    }

    /// Whether changes of a target are told, so that nobody has to ask again.
    pub(crate) fn is_followed(&self, target: &Identity) -> bool {
        let kind = self.found(target);
        kind.is_some_and(|kind| kind.following.as_ref().is_some_and(Following::is_whole_now))
    }

    fn found(&self, target: &Identity) -> Option<Arc<Kind>> {
        let name = (target.group().to_owned(), target.kind().to_owned());
        self.kinds().found.get(&name).map(Arc::clone)
    }

    /// A kind that is asked for is not known any more. One that is followed stays: its watch goes on.
    fn forget_kind(&self, target: &Identity) {
        let name = (target.group().to_owned(), target.kind().to_owned());
        let mut kinds = self.kinds();
        if kinds.found.get(&name).is_some_and(|kind| kind.following.is_none()) {
            kinds.found.remove(&name);
        }
    }

    fn kinds(&self) -> MutexGuard<'_, Kinds> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of a kind without asking, if that is enough for somebody who wants to know it
    /// since then.
    fn known(
        &self,
        target: &Identity,
        api_version: &str,
        wanted_at: Instant,
    ) -> Option<Result<Arc<Kind>, TargetError>> {
        if let Some(kind) = self.found(target) {
            return Some(Ok(kind));
        }
        let kinds = self.kinds();
        let (unknown, since) = kinds.missing.get(&written(target, api_version))?;
        let is_enough = match unknown {
            TargetError::Problem(_) => since.elapsed() < MISSING_KIND_TTL,
            TargetError::Transient(_) => *since >= wanted_at,
        };
        is_enough.then(|| Err(unknown.clone()))
    }

    async fn kind_of(&self, reference: &TargetReference) -> Result<Arc<Kind>, TargetError> {
        let (identity, api_version) = (reference.target.identity(), &*reference.api_version);
        let wanted_at = Instant::now();
        if let Some(known) = self.known(identity, api_version, wanted_at) {
            return known;
        }
        let lanes = self.lanes.of(identity);
        let slot = lanes.discover().await?;
        // Whoever asked before may have had the answer.
        if let Some(known) = self.known(identity, api_version, wanted_at) {
            return known;
        }
        let resolved = kind::resolve(&self.client, reference, &slot).await;
        match resolved {
            Ok(resolved) => {
                let kind = Arc::new(self.begin(resolved));
                let name = (identity.group().to_owned(), identity.kind().to_owned());
                self.kinds().found.insert(name, Arc::clone(&kind));
                Ok(kind)
            }
            Err(unknown) => {
                let asked = (unknown.clone(), Instant::now());
                self.kinds().missing.insert(written(identity, api_version), asked);
                Err(unknown)
            }
        }
    }

    /// Begins to follow the kind, if it is one of the usual ones.
    fn begin(&self, resolved: Resolved) -> Kind {
        let following = followed::kind_of(&resolved).map(|kind| {
            let (cluster, turns) = (Arc::clone(&self.cluster), Arc::clone(&self.turns));
            let (following, follower) = followed::follower(kind, cluster, turns);
            let client = self.client.clone();
            let resource = resolved.resource.clone();
            let watch_age = self.watch_ages.begin(&resource.plural, false);
            let mut followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
            let is_over = self.fell_over.clone().drop_guard();
            followers.spawn(async move {
                let (mut follower, _is_over) = (follower, is_over);
                follow(client, &resource, watch_age, &mut follower).await;
            });
            following
        });
        Kind::new(resolved, following)
    }
}

fn written(target: &Identity, api_version: &str) -> (String, String, String) {
    (target.group().to_owned(), target.kind().to_owned(), api_version.to_owned())
}

#[cfg(test)]
mod tests;
