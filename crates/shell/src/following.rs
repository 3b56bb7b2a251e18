//! Watches a kind of objects: all of them as they are, then every change, for as long as needed.
//!
//! What a follower keeps of an object is up to it, so that a process that watches tens of thousands keeps only
//! what it needs. Objects are not parsed into types here: one malformed object must not hide the others.
//!
//! Silence is never taken as a sign of health. Every request has a timeout, a watch that stays silent is
//! verified, and the age of the view of a kind can be queried at any time.

mod pages;
mod watch_age;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use futures::StreamExt as _;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, WatchEvent, WatchParams};
use kube::core::ApiResource;
use tokio::time::{Instant, timeout, timeout_at};

use crate::backoff::Backoff;

use pages::Pages;
pub use watch_age::{WatchAge, WatchAges};

/// Who is told of a kind's objects.
pub trait Follower: Send {
    /// All objects are about to be told anew.
    fn begin_list(&mut self);

    /// An object is there, or has changed.
    fn upsert(&mut self, object: DynamicObject);

    /// An object is gone.
    fn delete(&mut self, object: DynamicObject);

    /// All objects have been told. Those that were known before and have not been told are gone.
    fn list_complete(&mut self);

    /// The kind cannot be seen at present; it is asked for again after a while.
    fn failed(&mut self, why: &WatchFailure);

    /// A watch is in order, whether anything has changed or not: whatever has failed before works again.
    fn resumed(&mut self) {}

    /// Versions have gone back, as when the API server's data were restored from a backup. What is
    /// about to be told is so, even where it is older than what is known.
    fn versions_went_back(&mut self);
}

/// Why a kind cannot be seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchFailure {
    /// Whether the cluster does not have the kind.
    pub is_absent: bool,
    /// What was answered.
    pub reason: String,
}

/// A watch is begun anew after so many seconds, so that one that has died is noticed by then.
const WATCH_SECONDS: u32 = 60;

/// One that has not ended by then will not, nor tell anything.
const WATCH_DEADLINE: Duration = Duration::from_secs(70);

/// The first of an answer that takes longer is not waited for.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A page of a listing takes the API server more than other answers do.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

const INITIAL_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// Follows a kind in all namespaces, until it is dropped. Interruptions are bridged.
pub async fn follow(
    client: Client,
    kind: &ApiResource,
    watch_age: WatchAge,
    follower: &mut impl Follower,
) {
    let api = Api::<DynamicObject>::all_with(client.clone(), kind);
    let mut following = Following { client, api, kind: &kind.kind, watch_age, newest: 0, follower };
    let mut hasher = DefaultHasher::new();
    kind.plural.hash(&mut hasher);
    let mut pauses = Backoff::new(INITIAL_BACKOFF, MAX_BACKOFF, hasher.finish());
    let mut next = Next::List;
    loop {
        let begun = Instant::now();
        // Lists may be answered while watches are not; they are not to come one after the other.
        let is_watch = matches!(next, Next::WatchFrom(_));
        let step = match next {
            Next::List => following.list().await,
            Next::WatchFrom(version) => following.watch(version).await,
        };
        match step {
            Ok(Next::WatchFrom(version)) => {
                if is_watch {
                    pauses.reset();
                }
                next = Next::WatchFrom(version);
            }
            Ok(Next::List) => {
                next = Next::List;
                tokio::time::sleep(pauses.next_pause()).await;
            }
            Err(failure) => {
                tracing::warn!(kind = kind.kind, error = failure.unseen.reason, "failed to watch");
                following.failed(&failure.unseen);
                next = failure.next;
                if is_watch && begun.elapsed() > MAX_BACKOFF {
                    pauses.reset();
                }
                tokio::time::sleep(pauses.next_pause()).await;
            }
        }
    }
}

/// What is to be done next.
enum Next {
    List,
    WatchFrom(String),
}

/// Why it failed, and how to go on after a pause.
struct Failure {
    unseen: WatchFailure,
    next: Next,
}

impl Failure {
    fn new(reason: impl Into<String>, next: Next) -> Self {
        Self { unseen: WatchFailure { is_absent: false, reason: reason.into() }, next }
    }

    fn of(error: &kube::Error, next: Next) -> Self {
        let code = match error {
            kube::Error::Api(status) => status.code,
            _ => 0,
        };
        let unseen =
            WatchFailure { is_absent: code == 404, reason: crate::writer::summarize(error) };
        // Whoever is refused cannot go on from where it was: the version may be no longer there, or never
        // have been. Who is only too busy, or not there, may well know it.
        let next = if matches!(code, 0 | 429 | 503) { next } else { Next::List };
        Self { unseen, next }
    }

    fn no_answer(within: Duration, next: Next) -> Self {
        Self::new(format!("no answer within {} s", within.as_secs()), next)
    }
}

/// The following of a kind.
struct Following<'a, F> {
    client: Client,
    api: Api<DynamicObject>,
    kind: &'a str,
    watch_age: WatchAge,
    /// The newest version that was told.
    newest: u64,
    follower: &'a mut F,
}

impl<F: Follower> Following<'_, F> {
    /// Tells all objects.
    async fn list(&mut self) -> Result<Next, Failure> {
        let mut pages = Pages::new(self.client.clone(), self.api.resource_url().to_owned());
        let mut version = None;
        loop {
            let page = match timeout(LIST_TIMEOUT, pages.fetch_next()).await {
                Ok(Ok(Some(page))) => page,
                Ok(Ok(None)) => break,
                Ok(Err(error)) => return Err(Failure::of(&error, Next::List)),
                Err(_) => return Err(Failure::no_answer(LIST_TIMEOUT, Next::List)),
            };
            if version.is_none() {
                let told = page.version.clone();
                if told.is_empty() {
                    return Err(Failure::new("the list has no resourceVersion", Next::List));
                }
                if self.has_gone_back(&told) {
                    tracing::warn!(
                        kind = self.kind,
                        "resource versions went backwards, as after a restore from a backup; \
                         relisting"
                    );
                    self.follower.versions_went_back();
                }
                self.newest = number(&told).unwrap_or_default();
                version = Some(told);
                self.follower.begin_list();
            }
            page.for_each(|object| self.follower.upsert(object))
                .map_err(|error| Failure::of(&kube::Error::SerdeError(error), Next::List))?;
        }
        self.follower.list_complete();
        self.watch_age.mark_fresh();
        Ok(version.map_or(Next::List, Next::WatchFrom))
    }

    /// Tells what changes after a version, for as long as a watch lasts.
    async fn watch(&mut self, mut version: String) -> Result<Next, Failure> {
        let parameters = WatchParams::default().timeout(WATCH_SECONDS);
        let begun = Instant::now();
        let changes = match timeout(REQUEST_TIMEOUT, self.api.watch(&parameters, &version)).await {
            Ok(Ok(changes)) => changes,
            Ok(Err(error)) => return Err(Failure::of(&error, Next::WatchFrom(version))),
            // What cannot be watched can perhaps be listed.
            Err(_) => return Err(Failure::no_answer(REQUEST_TIMEOUT, Next::List)),
        };
        let mut changes = changes.boxed();
        let mut is_silent = true;
        loop {
            let change = match timeout_at(begun + WATCH_DEADLINE, changes.next()).await {
                Ok(Some(Ok(WatchEvent::Error(status)))) => {
                    let error = kube::Error::Api(status);
                    return Err(Failure::of(&error, Next::WatchFrom(version)));
                }
                Ok(Some(Ok(change))) => change,
                Ok(Some(Err(error))) => {
                    return Err(Failure::of(&error, Next::WatchFrom(version)));
                }
                Ok(None) => break,
                Err(_) => return Err(Failure::new("the watch did not end in time", Next::List)),
            };
            let told = version_of(&change);
            if self.has_gone_back(&told) {
                return Ok(Next::List);
            }
            self.newest = number(&told).unwrap_or(self.newest);
            version = told;
            is_silent = false;
            self.watch_age.mark_fresh();
            self.follower.resumed();
            match change {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    self.follower.upsert(object);
                }
                WatchEvent::Deleted(object) => self.follower.delete(object),
                WatchEvent::Bookmark(_) | WatchEvent::Error(_) => {}
            }
        }
        if is_silent {
            return self.check(version).await;
        }
        pause_after(begun).await;
        Ok(Next::WatchFrom(version))
    }

    /// A watch has told nothing, not even how far it was. Either nothing has happened, or it waits for
    /// versions that are not to come for long, because they have gone back.
    async fn check(&mut self, version: String) -> Result<Next, Failure> {
        let begun = Instant::now();
        let parameters = ListParams::default().limit(1);
        match timeout(LIST_TIMEOUT, self.api.list(&parameters)).await {
            Ok(Ok(page)) => {
                let now = page.metadata.resource_version.unwrap_or_default();
                if self.has_gone_back(&now) {
                    return Ok(Next::List);
                }
                self.watch_age.mark_fresh();
                self.follower.resumed();
                pause_after(begun).await;
                Ok(Next::WatchFrom(version))
            }
            Ok(Err(error)) => Err(Failure::of(&error, Next::WatchFrom(version))),
            Err(_) => Err(Failure::no_answer(LIST_TIMEOUT, Next::WatchFrom(version))),
        }
    }

    fn failed(&mut self, unseen: &WatchFailure) {
        if unseen.is_absent {
            // That there is none is known, and has just been told.
            self.watch_age.mark_fresh();
        }
        self.follower.failed(unseen);
    }

    /// Whether a version is older than what was told before. A list is asked for as it is now, and a watch
    /// tells versions in their order; so a cache that lags behind never tells one.
    fn has_gone_back(&self, version: &str) -> bool {
        number(version).is_some_and(|version| version < self.newest)
    }
}

/// Whoever ends watches at once is not asked without a pause.
async fn pause_after(begun: Instant) {
    tokio::time::sleep_until(begun + INITIAL_BACKOFF).await;
}

fn version_of(change: &WatchEvent<DynamicObject>) -> String {
    match change {
        WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) => {
            object.metadata.resource_version.clone().unwrap_or_default()
        }
        WatchEvent::Bookmark(bookmark) => bookmark.metadata.resource_version.clone(),
        WatchEvent::Error(_) => String::new(),
    }
}

/// Versions are numbers that grow. If they ever are not, none is taken for older than another.
fn number(version: &str) -> Option<u64> {
    version.parse().ok()
}

#[cfg(test)]
mod tests;
