//! The targets of policies: finds, tracks and writes them.
//!
//! The usual target kinds are watched as soon as a policy names one of them, so that decisions have their state. Any
//! other kind with a `scale` subresource is found by discovery and read when a decision needs it, so that no permission
//! to list it is needed.

mod followed;
mod kind;
mod lanes;
mod reading;
mod writing;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use almanac_api::status::TargetProblem;
use almanac_engine::other_writer::ExternalChange;
use almanac_engine::{Autoscaler, Identity, TargetReference};
use almanac_shell::following::{Need, WatchAges};
use almanac_shell::writer::Writer;
use kube::Client;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::cluster::{Cluster, ClusterState};
use crate::namespaces::{Namespaces, Part};
use crate::runtime::{Watch, watch};
use crate::work_queue::WorkQueue;
use followed::Following;
use kind::{DiscoveredKind, Kind};
use lanes::Lanes;

/// The reason that a target's state is unknown.
#[derive(Clone, Debug)]
pub(crate) enum TargetError {
    /// A problem that the user must fix.
    Problem(TargetProblem),
    /// A failure that may pass by itself, such as an API server that does not respond.
    Transient(String),
}

impl TargetError {
    /// Whether the object is known not to exist.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Problem(TargetProblem::NotFound))
    }
}

/// The basis of a decision: the version and the fields of the target at that time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObservedTarget {
    version: Option<Box<str>>,
    numbers: (Option<u32>, Option<Autoscaler>),
    /// Fields that other field managers had changed.
    pub(crate) foreign: Vec<ExternalChange>,
}

impl ObservedTarget {
    /// The known state of a target.
    pub(crate) fn from_state(target: &Identity, state: &ClusterState) -> Self {
        let replicas = state.world.objects.workloads.get(target).and_then(|it| it.replicas);
        Self {
            version: state.targets.get(target).map(|it| it.version.clone()),
            numbers: (replicas, state.world.objects.autoscalers.get(target).copied()),
            foreign: state.targets.foreign(target).to_vec(),
        }
    }
}

/// The time after which a kind that the cluster does not serve, or serves without a scale, is discovered again.
const MISSING_KIND_TTL: Duration = Duration::from_secs(30);

/// The maximum number of kinds in memory, of the existing kinds and of the missing kinds each. Beyond that, each new
/// kind replaces another kind. A replaced kind is discovered again when a policy needs it.
const MAX_KINDS: usize = 1_000;

/// The maximum number of concurrent probes of whether a target may now be changed. A probe occupies a turn, and
/// thousands of targets may be forbidden at a time.
const MAX_CONCURRENT_TRIALS: usize = 4;

/// The targets of all policies.
pub(crate) struct Targets {
    client: Client,
    writer: Writer,
    cluster: Arc<Cluster>,
    turns: Arc<WorkQueue>,
    allow_cluster_scoped: bool,
    kinds: Mutex<Kinds>,
    /// A kind that does not respond delays only its own targets.
    lanes: Lanes,
    /// The permits for probes. A turn never waits for a permit.
    trials: Semaphore,
    /// The namespaces that are watched.
    namespaces: Namespaces,
    /// The ages of the watches.
    watch_ages: WatchAges,
    /// The watch tasks. The tasks end when this value is dropped.
    followers: Mutex<JoinSet<()>>,
    /// Canceled when a watch task stops, which never happens by itself.
    any_stopped: CancellationToken,
}

#[derive(Default)]
struct Kinds {
    /// By group and kind.
    found: BTreeMap<(String, String), Arc<Kind>>,
    /// By group, kind and version, with the instant of discovery.
    missing: BTreeMap<(String, String, String), (TargetError, Instant)>,
}

impl Kinds {
    /// Records a kind that was found. The watched kinds are few, and their watches continue.
    fn note_found(&mut self, name: (String, String), found: &Arc<Kind>) {
        if self.found.len() >= MAX_KINDS {
            let unwatched = self.found.iter().find(|(_, known)| !known.is_followed());
            if let Some(unwatched) = unwatched.map(|(known, _)| known.clone()) {
                self.found.remove(&unwatched);
            }
        }
        self.found.insert(name, Arc::clone(found));
    }

    /// Records why a kind was not found, and removes expired results.
    fn note_missing(&mut self, name: (String, String, String), unknown: TargetError) {
        self.missing
            .retain(|known, (_, since)| *known != name && since.elapsed() < MISSING_KIND_TTL);
        if self.missing.len() >= MAX_KINDS {
            let oldest = self.missing.iter().min_by_key(|(_, (_, since))| *since);
            if let Some(oldest) = oldest.map(|(known, _)| known.clone()) {
                self.missing.remove(&oldest);
            }
        }
        self.missing.insert(name, (unknown, Instant::now()));
    }
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
            namespaces: Namespaces::All,
            watch_ages: WatchAges::default(),
            followers: Mutex::new(JoinSet::new()),
            any_stopped: CancellationToken::new(),
        }
    }

    /// Counts the ages of its watches among these.
    pub(crate) fn with_watch_ages(self, watch_ages: WatchAges) -> Self {
        Self { watch_ages, ..self }
    }

    /// Limits the watches to these namespaces.
    pub(crate) fn within(self, namespaces: Namespaces) -> Self {
        Self { namespaces, ..self }
    }

    /// Waits until a watch task has stopped. From then on, the state of its kind goes stale without notice.
    pub(crate) async fn follower_stopped(&self) {
        self.any_stopped.cancelled().await;
    }

    /// Updates the world with the current state of a target, as far as possible. Watched kinds are current. Targets of
    /// other kinds are read, as is a target of a watched kind that has not been delivered yet, unless it was missing
    /// before.
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
        if let Some(following) = kind.following(target.identity())
            && self.is_whole(following, target.identity()).await?
        {
            let missing = Err(TargetError::Problem(TargetProblem::NotFound));
            return match self.is_known(target.identity()) {
                true => Ok(()),
                false if was_missing => missing,
                false => match self.read(&kind, target).await {
                    // The response does not matter if the watch has delivered the target in the meantime.
                    Err(_) if self.is_known(target.identity()) => Ok(()),
                    // Permission to watch the kind does not imply permission to get it.
                    Err(TargetError::Problem(_)) => missing,
                    result => result,
                },
            };
        }
        self.read(&kind, target).await
    }

    fn is_known(&self, target: &Identity) -> bool {
        self.cluster.lock().targets.get(target).is_some()
    }

    /// Whether all objects of a watched kind are known. Waits for the first list as for a response.
    async fn is_whole(
        &self,
        following: &Following,
        target: &Identity,
    ) -> Result<bool, TargetError> {
        if !following.is_listing() {
            return Ok(following.is_whole_now());
        }
        let lanes = self.lanes.for_target(target);
        let permit = lanes.read().await?;
        let is_whole = following.is_whole().await;
        permit.note(!following.is_listing());
        Ok(is_whole)
    }

    /// Whether a watch delivers the changes of a target, so that it need not be read again.
    pub(crate) fn is_followed(&self, target: &Identity) -> bool {
        let kind = self.cached_kind(target);
        kind.is_some_and(|kind| kind.following(target).is_some_and(Following::is_whole_now))
    }

    fn cached_kind(&self, target: &Identity) -> Option<Arc<Kind>> {
        let name = (target.group().to_owned(), target.kind().to_owned());
        self.kinds().found.get(&name).map(Arc::clone)
    }

    /// Removes a kind that is read on demand. A watched one stays: its watch continues.
    fn remove_kind(&self, target: &Identity) {
        let name = (target.group().to_owned(), target.kind().to_owned());
        let mut kinds = self.kinds();
        if kinds.found.get(&name).is_some_and(|kind| !kind.is_followed()) {
            kinds.found.remove(&name);
        }
    }

    fn kinds(&self) -> MutexGuard<'_, Kinds> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cached result of discovery, if the kind was discovered at that instant or later.
    fn cached_result(
        &self,
        target: &Identity,
        api_version: &str,
        wanted_at: Instant,
    ) -> Option<Result<Arc<Kind>, TargetError>> {
        if let Some(kind) = self.cached_kind(target) {
            return Some(Ok(kind));
        }
        let kinds = self.kinds();
        let (unknown, since) = kinds.missing.get(&kind_key(target, api_version))?;
        let is_enough = match unknown {
            TargetError::Problem(_) => since.elapsed() < MISSING_KIND_TTL,
            TargetError::Transient(_) => *since >= wanted_at,
        };
        is_enough.then(|| Err(unknown.clone()))
    }

    async fn kind_of(&self, reference: &TargetReference) -> Result<Arc<Kind>, TargetError> {
        let (identity, api_version) = (reference.target.identity(), &*reference.api_version);
        let wanted_at = Instant::now();
        if let Some(cached) = self.cached_result(identity, api_version, wanted_at) {
            return cached;
        }
        let lanes = self.lanes.for_target(identity);
        let permit = lanes.discover().await?;
        // An earlier caller may already have received the response.
        if let Some(cached) = self.cached_result(identity, api_version, wanted_at) {
            return cached;
        }
        let resolved = kind::resolve(&self.client, reference, &permit).await;
        match resolved {
            Ok(resolved) => {
                let kind = Arc::new(self.start(resolved));
                let name = (identity.group().to_owned(), identity.kind().to_owned());
                self.kinds().note_found(name, &kind);
                Ok(kind)
            }
            Err(unknown) => {
                self.kinds().note_missing(kind_key(identity, api_version), unknown.clone());
                Err(unknown)
            }
        }
    }

    /// Starts watching the kind, if it is one of the usual ones.
    fn start(&self, resolved: DiscoveredKind) -> Kind {
        let Some(kind) = followed::kind_of(&resolved) else {
            return Kind::new(resolved, Vec::new());
        };
        let follow = |part: Part| {
            let (cluster, turns) = (Arc::clone(&self.cluster), Arc::clone(&self.turns));
            let selection = part.selection();
            let (following, follower) = followed::follower(kind, part, cluster, turns);
            let watched = Watch { selection, ..Watch::new(resolved.resource.clone(), Need::Never) };
            let watching = watch(&self.client, &self.watch_ages, watched, follower);
            let mut followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
            let is_over = self.any_stopped.clone().drop_guard();
            followers.spawn(async move {
                let _is_over = is_over;
                watching.await;
            });
            following
        };
        let followings = self.namespaces.parts().into_iter().map(follow).collect();
        Kind::new(resolved, followings)
    }
}

fn kind_key(target: &Identity, api_version: &str) -> (String, String, String) {
    (target.group().to_owned(), target.kind().to_owned(), api_version.to_owned())
}

#[cfg(test)]
mod tests;
