//! Following a kind of objects: all of them as they are, then every change, for as long as wanted.
//!
//! What a follower keeps of an object is its own affair, so that a process that follows tens of
//! thousands keeps only what it needs. Nothing is read into types here: an object that is oddly
//! shaped must not keep the others from being seen.

use futures::StreamExt as _;
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::ApiResource;
use kube::runtime::{WatchStreamExt as _, watcher};

/// Who is told of a kind's objects.
pub trait Follower: Send {
    /// All objects are about to be told anew.
    fn begin(&mut self);

    /// An object is there, or has changed.
    fn present(&mut self, object: DynamicObject);

    /// An object is gone.
    fn gone(&mut self, object: DynamicObject);

    /// All objects have been told. Those that were known before and have not been told are gone.
    fn complete(&mut self);

    /// The kind cannot be seen at present; it is asked for again after a while.
    fn failed(&mut self, why: &Unseen);
}

/// Why a kind cannot be seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unseen {
    /// Whether the cluster does not have the kind.
    pub is_absent: bool,
    /// What was answered.
    pub reason: String,
}

/// A watch is begun anew after so many seconds, so that one that has died is noticed by then.
const WATCH_SECONDS: u32 = 60;

/// How many objects are asked for at a time. More would take more memory at the start than is
/// needed at any time afterwards.
const PAGE: u32 = 250;

/// Follows a kind in all namespaces, until it is dropped. Interruptions are bridged.
pub async fn follow(client: Client, kind: &ApiResource, follower: &mut impl Follower) {
    let api = Api::<DynamicObject>::all_with(client, kind);
    let config = watcher::Config::default().page_size(PAGE).timeout(WATCH_SECONDS);
    let mut changes = watcher(api, config).default_backoff().boxed();
    while let Some(change) = changes.next().await {
        match change {
            Ok(watcher::Event::Init) => follower.begin(),
            Ok(watcher::Event::InitApply(object) | watcher::Event::Apply(object)) => {
                follower.present(object);
            }
            Ok(watcher::Event::Delete(object)) => follower.gone(object),
            Ok(watcher::Event::InitDone) => follower.complete(),
            Err(error) => {
                let unseen = unseen(&error);
                tracing::warn!(kind = kind.kind, error = unseen.reason, "failed to watch");
                follower.failed(&unseen);
            }
        }
    }
}

fn unseen(error: &watcher::Error) -> Unseen {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => {
            let is_absent = matches!(error, kube::Error::Api(status) if status.code == 404);
            Unseen { is_absent, reason: crate::writer::in_short(error) }
        }
        watcher::Error::WatchError(status) => {
            Unseen { is_absent: false, reason: status.message.clone() }
        }
        other @ watcher::Error::NoResourceVersion => {
            Unseen { is_absent: false, reason: other.to_string() }
        }
    }
}
