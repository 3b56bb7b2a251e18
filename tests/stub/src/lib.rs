//! A stub of the Kubernetes API, in the process of the test: no sockets, so that it runs under a
//! paused clock.
//!
//! The stub keeps objects and their versions and responds as an API server does. It has discovery, lists in pages,
//! watches with bookmarks, gets, creates, updates, and merge patches with preconditions. It also has the `status` and
//! `scale` subresources and dry runs. A test can let any request fail, and the stub records all requests.
//!
//! The stub does not validate, default, admit, authorize or collect garbage, and does not track the owner of a field:
//! an apply is a merge patch. Tests of these features need a real API server.

mod fault;
mod kind;
mod received_request;
mod responses;
mod store;
mod watching;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Body;
use kube::Client;
use serde_json::Value;

pub use fault::Fault;
pub use kind::Kind;
pub use received_request::ReceivedRequest;
pub use responses::{Cut, ResponseBody};
pub use store::Backup;

use fault::Effect;
use store::Store;

/// The delay of a response that a concurrent change overtakes.
const OVERTAKEN_DELAY: Duration = Duration::from_millis(100);

/// A stub of an API server. Clones share the same state.
#[derive(Clone, Default)]
pub struct Stub {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    store: Store,
    faults: Vec<Fault>,
    requests: Vec<Arc<ReceivedRequest>>,
}

impl Stub {
    /// An API server without objects that serves `ConfigMap`s, Deployments, Events and Leases.
    #[must_use]
    pub fn new() -> Self {
        let stub = Self::default();
        stub.serve(Kind::new("v1", "ConfigMap", "configmaps"));
        stub.serve(Kind::new("apps/v1", "Deployment", "deployments").with_scale());
        stub.serve(Kind::new("coordination.k8s.io/v1", "Lease", "leases"));
        stub.serve(Kind::new("events.k8s.io/v1", "Event", "events"));
        stub
    }

    /// A client for the stub. Must be called within a runtime.
    #[must_use]
    pub fn client(&self) -> Client {
        let stub = self.clone();
        let service = tower::service_fn(move |request| {
            let stub = stub.clone();
            async move { stub.answer(request).await }
        });
        Client::new(service, "default")
    }

    /// Responds to a request, from a client in this process or from a socket.
    pub async fn answer<B: Body>(
        &self,
        request: Request<B>,
    ) -> Result<Response<ResponseBody>, Cut> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(|_| Cut)?.to_bytes();
        let request = Arc::new(ReceivedRequest::new(&parts, &body));
        let effect = {
            let mut state = self.lock();
            state.requests.push(Arc::clone(&request));
            state.faults.iter_mut().find_map(|fault| fault.strikes(&request))
        };
        match effect {
            None => {}
            Some(Effect::Respond(refusal)) => return Ok(refusal.answer()),
            Some(Effect::LoseResponse) => {
                let _lost = self.lock().store.answer(&request);
                return Err(Cut);
            }
            Some(Effect::Refuse) => return Err(Cut),
            Some(Effect::Hang) => std::future::pending().await,
            Some(Effect::Silence) => return Ok(responses::silence()),
            Some(Effect::ConcurrentChange(act)) => act(self),
            Some(Effect::Overtake(act)) => {
                let answer = self.lock().store.answer(&request);
                act(self);
                tokio::time::sleep(OVERTAKEN_DELAY).await;
                return Ok(answer);
            }
            Some(Effect::Admit(change)) => {
                let mut admitted = (*request).clone();
                change(&mut admitted.body);
                return Ok(self.lock().store.answer(&admitted));
            }
        }
        Ok(self.lock().store.answer(&request))
    }

    /// Serves this kind from now on.
    pub fn serve(&self, kind: Kind) {
        self.lock().store.serve(kind);
    }

    /// Serves a kind only in another version of its group from now on.
    pub fn serve_in_version(&self, plural: &str, api_version: &str) {
        self.lock().store.serve_in_version(plural, api_version);
    }

    /// Creates an object, or replaces the whole object, as another field manager.
    ///
    /// # Panics
    /// If its kind is not served.
    pub fn put(&self, object: Value) {
        self.lock().store.put(object);
    }

    /// Changes an object by a merge patch, as another field manager.
    ///
    /// # Panics
    /// If the object does not exist.
    #[expect(clippy::expect_used, reason = "a test that changes a missing object is wrong itself")]
    pub fn change(&self, plural: &str, namespace: &str, name: &str, patch: &Value) {
        let mut state = self.lock();
        let key = state.store.key(plural, namespace, name);
        let mut object = Value::clone(state.store.object(&key).expect("the object exists"));
        store::merge(&mut object, patch);
        state.store.write(key, object);
    }

    /// Deletes an object, if it exists, as another field manager.
    pub fn delete(&self, plural: &str, namespace: &str, name: &str) {
        let mut state = self.lock();
        let key = state.store.key(plural, namespace, name);
        state.store.delete(&key);
    }

    /// The current object; `None` if it does not exist.
    #[must_use]
    pub fn object(&self, plural: &str, namespace: &str, name: &str) -> Option<Value> {
        let state = self.lock();
        let key = state.store.key(plural, namespace, name);
        state.store.object(&key).map(|object| Value::clone(object))
    }

    /// Injects a fault. Earlier faults strike first.
    pub fn inject(&self, fault: Fault) {
        self.lock().faults.push(fault);
    }

    /// Removes all faults. Hanging requests keep hanging.
    pub fn clear_faults(&self) {
        self.lock().faults.clear();
    }

    /// Compacts the history: watches from an earlier version, and lists that started before, get the response 410 Gone.
    pub fn compact(&self) {
        self.lock().store.compact();
    }

    /// Ends all watches, like an API server that is shut down.
    pub fn end_watches(&self) {
        self.lock().store.end_watches();
    }

    /// Watches that start from now on send nothing while nothing changes.
    pub fn disable_bookmarks(&self) {
        self.lock().store.has_bookmarks = false;
    }

    /// A backup of the current state.
    #[must_use]
    pub fn back_up(&self) -> Backup {
        self.lock().store.back_up()
    }

    /// Restores a backup, with its objects and versions. All watches end.
    pub fn restore(&self, backup: &Backup) {
        self.lock().store.restore(backup);
    }

    /// All requests so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Arc<ReceivedRequest>> {
        self.lock().requests.clone()
    }

    /// The requests that match.
    #[must_use]
    pub fn requests_where(
        &self,
        fits: impl Fn(&ReceivedRequest) -> bool,
    ) -> Vec<Arc<ReceivedRequest>> {
        self.lock().requests.iter().filter(|request| fits(request)).cloned().collect()
    }

    /// Clears the recorded requests.
    pub fn clear_requests(&self) {
        self.lock().requests.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Stub {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Stub").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
