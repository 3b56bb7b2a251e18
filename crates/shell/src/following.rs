//! Watches a kind of objects: first the current ones, then every change, for as long as needed.
//!
//! A follower chooses which parts of an object it keeps, so that a process that watches tens of thousands keeps only
//! those that it needs. Objects are not parsed into types here: one malformed object must not hide the others.
//! `reading` leaves out unreadable parts, and `unread` counts and logs them.
//!
//! Silence is not a sign of health. Every request has a timeout, a silent watch is
//! verified, and the time since the last response about a kind is available at any time.

mod deliveries;
mod lines;
mod pages;
mod reading;
mod selection;
mod unread;
mod watch_age;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use futures::StreamExt as _;
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::ApiResource;
use tokio::time::{Instant, timeout, timeout_at};

use crate::backoff::Backoff;

pub use deliveries::{Deliveries, Delivery};
use lines::{is_cut, lines};
use pages::Pages;
use reading::Change;
pub use selection::Selection;
use unread::UnreadObjects;
pub use watch_age::{Need, WatchAge, WatchAges};

/// Receives the objects of a kind.
pub trait Follower: Send {
    /// The version of the next list, which does not contain later changes.
    fn listing_at(&mut self, _version: &str) {}

    /// A list starts: all objects follow.
    fn begin_list(&mut self);

    /// An object exists, or has changed.
    fn upsert(&mut self, object: DynamicObject);

    /// An object was deleted.
    fn delete(&mut self, object: DynamicObject);

    /// The list is complete. Selected objects that were known before and are not in the list were deleted.
    fn list_complete(&mut self);

    /// The kind can currently not be watched; the watch is retried later.
    fn failed(&mut self, why: &WatchFailure);

    /// Whether objects should be delivered again although they have not changed. Called at the end of each watch,
    /// every few minutes.
    fn needs_relist(&self) -> bool {
        false
    }

    /// A watch is healthy, whether or not anything has changed: earlier failures are over.
    fn resumed(&mut self) {}

    /// Versions have gone back, as when etcd was restored from a backup. The objects that follow
    /// count, even those that are older than the known ones.
    fn versions_went_back(&mut self);
}

/// The reason that a kind cannot be watched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchFailure {
    /// Whether the cluster lacks the kind.
    pub is_absent: bool,
    /// Whether the permission is missing.
    pub is_forbidden: bool,
    /// The message of the response.
    pub reason: String,
}

/// A watch that is still open this long after its timeout is dead.
const WATCH_GRACE: Duration = Duration::from_secs(10);

/// The maximum trusted silence of a watch. An API server sends at least a bookmark every
/// minute.
const MAX_SILENCE: Duration = Duration::from_secs(130);

/// The timeout of the first byte of a response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A page of a list takes the API server longer than other responses.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

const INITIAL_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// Watches a kind in all namespaces, until it is dropped. Interruptions are bridged.
pub async fn follow(
    client: Client,
    kind: &ApiResource,
    watch_age: WatchAge,
    follower: &mut impl Follower,
) {
    follow_selected(client, kind, &Selection::default(), watch_age, follower).await;
}

/// Watches some objects of a kind, until it is dropped. Interruptions are bridged.
pub async fn follow_selected(
    client: Client,
    kind: &ApiResource,
    selection: &Selection,
    watch_age: WatchAge,
    follower: &mut impl Follower,
) {
    let api: Api<DynamicObject> = match &selection.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, kind),
        None => Api::all_with(client.clone(), kind),
    };
    let mut following = Following {
        client,
        api,
        kind: &kind.kind,
        selection,
        watch_age,
        newest: 0,
        is_cache_behind: false,
        unread: UnreadObjects::default(),
        follower,
    };
    let mut hasher = DefaultHasher::new();
    (&kind.plural, &selection.namespace, &selection.fields, selection.seed).hash(&mut hasher);
    let seed = hasher.finish();
    let mut pauses = Backoff::new(INITIAL_BACKOFF, MAX_BACKOFF, seed);
    let mut refused = Backoff::new(INITIAL_BACKOFF, selection.forbidden_pause, seed);
    let mut next = Next::List;
    let mut is_withheld = false;
    loop {
        let begun = Instant::now();
        // Lists may succeed while watches fail; lists must not follow each other without a delay.
        let is_watch = matches!(next, Next::WatchFrom(_));
        let step = match next {
            Next::List => following.list().await,
            Next::WatchFrom(version) => following.watch(version).await,
        };
        match step {
            Ok(Next::WatchFrom(version)) => {
                if is_watch {
                    pauses.reset();
                    // A list may be permitted while the watch after it is forbidden.
                    is_withheld = false;
                    refused.reset();
                }
                next = Next::WatchFrom(version);
            }
            Ok(Next::List) => {
                next = Next::List;
                tokio::time::sleep(pauses.next_pause()).await;
            }
            Err(failure) => {
                // A missing permission or a missing kind is reported once: it may be missing on purpose.
                let error = &failure.unseen.reason;
                if is_withheld && failure.is_withheld() {
                    tracing::debug!(kind = kind.kind, error, "still unable to watch");
                } else {
                    tracing::warn!(kind = kind.kind, error, "failed to watch");
                }
                is_withheld = failure.is_withheld();
                let is_forbidden = failure.unseen.is_forbidden;
                following.failed(&failure.unseen);
                next = failure.next;
                if is_watch && begun.elapsed() > MAX_BACKOFF {
                    pauses.reset();
                }
                let pauses = if is_forbidden { &mut refused } else { &mut pauses };
                tokio::time::sleep(pauses.next_pause()).await;
            }
        }
    }
}

/// The next step of a watch.
enum Next {
    List,
    WatchFrom(String),
}

/// A failure: its reason, and the request after the delay.
struct Failure {
    unseen: WatchFailure,
    next: Next,
}

impl Failure {
    /// Whether a retry is unlikely to help.
    fn is_withheld(&self) -> bool {
        self.unseen.is_forbidden || self.unseen.is_absent
    }

    fn new(reason: impl Into<String>, next: Next) -> Self {
        let reason = reason.into();
        Self { unseen: WatchFailure { is_absent: false, is_forbidden: false, reason }, next }
    }

    fn from_error(error: &kube::Error, next: Next) -> Self {
        let code = match error {
            kube::Error::Api(status) => status.code,
            _ => 0,
        };
        let unseen = WatchFailure {
            is_absent: code == 404,
            is_forbidden: code == 403,
            reason: crate::writer::summarize(error),
        };
        // After a rejection the watch cannot resume: the version may have expired, or may never have
        // existed. A busy or unreachable server may still have the version.
        let next = if matches!(code, 0 | 429 | 503) { next } else { Next::List };
        Self { unseen, next }
    }

    fn no_answer(within: Duration, next: Next) -> Self {
        Self::new(format!("no response within {} s", within.as_secs()), next)
    }
}

/// The watch of a kind.
struct Following<'a, F> {
    client: Client,
    api: Api<DynamicObject>,
    kind: &'a str,
    selection: &'a Selection,
    watch_age: WatchAge,
    /// The newest delivered version.
    newest: u64,
    /// Whether the cache of the API server lacked that version at the last request.
    is_cache_behind: bool,
    unread: UnreadObjects,
    follower: &'a mut F,
}

impl<F: Follower> Following<'_, F> {
    /// Delivers all objects.
    async fn list(&mut self) -> Result<Next, Failure> {
        let listed = self.list_pages().await;
        self.unread.warn(self.kind);
        listed
    }

    async fn list_pages(&mut self) -> Result<Next, Failure> {
        let collection = self.api.resource_url().to_owned();
        let known = self.newest.to_string();
        // Versions may also have gone back. Only a list at the latest version shows that.
        let cached_since =
            (self.selection.from_cache && !self.is_cache_behind).then_some(known.as_str());
        let mut pages = Pages::new(self.client.clone(), collection, self.selection, cached_since);
        let mut version = None;
        loop {
            let page = match timeout(LIST_TIMEOUT, pages.fetch_next()).await {
                Ok(Ok(Some(page))) => page,
                Ok(Ok(None)) => break,
                Ok(Err(error)) => {
                    self.is_cache_behind = cached_since.is_some() && is_too_large(&error);
                    return Err(Failure::from_error(&error, Next::List));
                }
                Err(_) => return Err(Failure::no_answer(LIST_TIMEOUT, Next::List)),
            };
            if version.is_none() {
                let listed_version = page.version.clone();
                if listed_version.is_empty() {
                    return Err(Failure::new("the list has no resourceVersion", Next::List));
                }
                if self.has_gone_back(&listed_version) {
                    tracing::warn!(
                        kind = self.kind,
                        "resource versions went backwards, as after a restore from a backup; \
                         relisting"
                    );
                    self.follower.versions_went_back();
                }
                self.newest = number(&listed_version).unwrap_or_default();
                self.follower.listing_at(&listed_version);
                version = Some(listed_version);
                self.follower.begin_list();
            }
            let read = page.for_each(|read| {
                if let Some(object) = self.unread.record(read, &self.watch_age) {
                    self.follower.upsert(object);
                }
            });
            read.map_err(|error| Failure::from_error(&kube::Error::SerdeError(error), Next::List))?;
        }
        self.is_cache_behind = false;
        self.follower.list_complete();
        self.watch_age.mark_fresh();
        Ok(version.map_or(Next::List, Next::WatchFrom))
    }

    /// Delivers the changes after a version, until the watch ends.
    async fn watch(&mut self, mut version: String) -> Result<Next, Failure> {
        let lasting = self.selection.lasting;
        let begun = Instant::now();
        let mut last_line_at = begun;
        let url = self.api.resource_url();
        let mut lines = lines(&self.client, url, self.selection, &version).await?;
        let (mut is_silent, mut was_cut) = (true, false);
        loop {
            let deadline = (begun + lasting + WATCH_GRACE).min(last_line_at + MAX_SILENCE);
            let line = match timeout_at(deadline, lines.next()).await {
                Ok(Some(Ok(line))) => line,
                // A proxy may end a long connection without a close.
                Ok(Some(Err(error))) if is_cut(&error) => {
                    was_cut = true;
                    break;
                }
                Ok(Some(Err(error))) => {
                    let error = kube::Error::ReadEvents(error);
                    return Err(Failure::from_error(&error, Next::WatchFrom(version)));
                }
                Ok(None) => break,
                Err(_) if begun.elapsed() < lasting => {
                    drop(lines);
                    return self.check(version).await;
                }
                Err(_) => return Err(Failure::new("the watch did not end in time", Next::List)),
            };
            last_line_at = Instant::now();
            let change = match reading::change(&line) {
                Ok(Ok(change)) => change,
                Ok(Err(status)) => {
                    let error = kube::Error::Api(status);
                    return Err(Failure::from_error(&error, Next::WatchFrom(version)));
                }
                // The connection ended in the middle of a line.
                Err(error) if error.is_eof() => break,
                // A new watch would deliver the same error again. A list has the current objects.
                Err(error) => {
                    return Err(Failure::from_error(&kube::Error::SerdeError(error), Next::List));
                }
            };
            let (object, is_gone, change_version) = self.taken_in(change);
            if self.has_gone_back(&change_version) {
                return Ok(Next::List);
            }
            self.newest = number(&change_version).unwrap_or(self.newest);
            // If not even the version of an object can be read, its version is unknown.
            if !change_version.is_empty() {
                version = change_version;
            }
            is_silent = false;
            self.watch_age.mark_fresh();
            self.follower.resumed();
            match object {
                Some(object) if is_gone => self.follower.delete(object),
                Some(object) => self.follower.upsert(object),
                None => {}
            }
        }
        self.unread.warn(self.kind);
        // A proxy that cuts a watch before its first event may cut each one.
        let is_suspicious = was_cut && is_silent && begun.elapsed() < lasting / 2;
        if self.follower.needs_relist() || is_suspicious {
            return Ok(Next::List);
        }
        if is_silent {
            return self.check(version).await;
        }
        pause_after(begun).await;
        Ok(Next::WatchFrom(version))
    }

    /// The changed object, whether it was deleted, and the version of the change.
    fn taken_in(&mut self, change: Change) -> (Option<DynamicObject>, bool, String) {
        let (read, is_gone) = match change {
            Change::Present(read) => (read, false),
            Change::Gone(read) => (read, true),
            Change::Bookmark(version) => return (None, false, version),
        };
        let object = self.unread.record(read, &self.watch_age);
        self.unread.warn(self.kind);
        let version = object.as_ref().and_then(|it| it.metadata.resource_version.clone());
        (object, is_gone, version.unwrap_or_default())
    }

    /// Verifies a watch that has delivered nothing, not even a bookmark. Either nothing has happened, or versions
    /// have gone back and the watch waits for a version that is far in the future.
    async fn check(&mut self, version: String) -> Result<Next, Failure> {
        let begun = Instant::now();
        let collection = self.api.resource_url().to_owned();
        let cached_since = self.selection.from_cache.then_some("0");
        let pages = Pages::new(self.client.clone(), collection, self.selection, cached_since);
        let mut pages = pages.with_single_objects();
        match timeout(LIST_TIMEOUT, pages.fetch_next()).await {
            Ok(Ok(page)) => {
                let now = page.map(|page| page.version).unwrap_or_default();
                if self.has_gone_back(&now) {
                    return Ok(Next::List);
                }
                self.watch_age.mark_fresh();
                self.follower.resumed();
                pause_after(begun).await;
                Ok(Next::WatchFrom(version))
            }
            Ok(Err(error)) => Err(Failure::from_error(&error, Next::WatchFrom(version))),
            Err(_) => Err(Failure::no_answer(LIST_TIMEOUT, Next::WatchFrom(version))),
        }
    }

    fn failed(&mut self, unseen: &WatchFailure) {
        if unseen.is_absent {
            // An empty kind is already known to be empty.
            self.watch_age.mark_fresh();
        }
        if unseen.is_forbidden {
            self.watch_age.mark_refused();
        }
        self.follower.failed(unseen);
    }

    /// Whether a version is older than the newest delivered version. Watches deliver versions in order, and lists are
    /// requested at the latest version, or at least at the delivered version. Only the check of a silent watch may
    /// read an outdated cache of another API server, which costs another list.
    fn has_gone_back(&self, version: &str) -> bool {
        number(version).is_some_and(|version| version < self.newest)
    }
}

/// Delays the retry at a server that ends watches immediately.
async fn pause_after(begun: Instant) {
    tokio::time::sleep_until(begun + INITIAL_BACKOFF).await;
}

/// Compares versions as growing numbers. If they are not numbers, no version counts as older.
fn number(version: &str) -> Option<u64> {
    version.parse().ok()
}

/// Whether the cache of the API server has not reached the requested version yet.
fn is_too_large(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 504)
}

#[cfg(test)]
mod tests;
