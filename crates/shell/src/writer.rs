//! Every write but the lease's own, in one place: behind the fence and within the budget.
//!
//! Every change carries the version of the object that it was based on, and the API server rejects it if the
//! object has changed since. So nothing stale is written, even by a process that was paused between its last
//! check of the lease and the request.
//!
//! If the API server is overloaded, the request is retried a few times; any other failure is returned as it is.
//! Whether to retry is up to the caller.

mod refusal;

use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::Request;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::budget::{Urgency, WriteBudget};
use crate::fence::{Fence, Fenced};

pub use refusal::{Refusal, summarize};

/// The name under which all our writes are recorded in the objects' managed fields.
pub const FIELD_MANAGER: &str = "almanac";

/// How long a response is awaited.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a busy API server is retried, and how long a wait it may ask for.
const MAX_RETRIES: u32 = 3;
const MAX_RETRY_AFTER: Duration = Duration::from_secs(5);

/// Why a write did not happen, or may not have.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// This process no longer leads. Nothing was sent.
    #[error(transparent)]
    Fenced(#[from] Fenced),
    /// The API server rejected it. Nothing was written.
    #[error("{0}")]
    Refused(Refusal),
    /// It is unknown whether it was written.
    #[error("{0}")]
    Unknown(String),
    /// It is no longer wanted. Nothing was sent.
    #[error("the write is no longer wanted")]
    Withdrawn,
}

/// Says whether a write that has waited for the budget is still wanted.
pub type StillWanted<'a> = &'a (dyn Fn() -> bool + Sync);

/// Where an object is: the path of its collection, and its name.
#[derive(Clone, Copy, Debug)]
pub struct ObjectPath<'a> {
    /// Such as `/apis/apps/v1/namespaces/default/deployments`.
    pub collection: &'a str,
    /// The object's name.
    pub name: &'a str,
}

/// The part of an object that is read back after a write.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Written {
    /// Its metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
}

/// Counts of requests sent, by purpose and result.
#[derive(Clone, Debug, Default)]
pub struct WriteMetrics {
    requests: Family<[(&'static str, String); 2], Counter>,
}

impl WriteMetrics {
    /// Registers the metrics.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "almanac_writes",
            "Write requests sent to the API server, by purpose and response code",
            self.requests.clone(),
        );
    }

    fn count(&self, urgency: Urgency, code: &str) {
        let labels = [("purpose", urgency.purpose().to_owned()), ("code", code.to_owned())];
        self.requests.get_or_create(&labels).inc();
    }
}

/// Writes, as long as the fence is open.
#[derive(Clone)]
pub struct Writer {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    fence: Fence,
    budget: WriteBudget,
    metrics: WriteMetrics,
}

impl Writer {
    /// A writer behind this fence.
    #[must_use]
    pub fn new(client: Client, fence: Fence, budget: WriteBudget, metrics: WriteMetrics) -> Self {
        Self { inner: Arc::new(Inner { client, fence, budget, metrics }) }
    }

    /// The fence it writes behind.
    #[must_use]
    pub fn fence(&self) -> &Fence {
        &self.inner.fence
    }

    /// Sets the replicas in an object's scale, if it still has this version, and if the write is
    /// still wanted once the budget admits it.
    pub async fn patch_scale(
        &self,
        place: ObjectPath<'_>,
        version: &str,
        replicas: u32,
        still_wanted: StillWanted<'_>,
    ) -> Result<Written, WriteError> {
        let patch = json!({
            "metadata": { "resourceVersion": version },
            "spec": { "replicas": replicas },
        });
        self.patch((Urgency::Capacity, still_wanted), place, Some("scale"), &patch).await
    }

    /// Sets fields in an object's spec, under the same conditions. Fields that are not named stay.
    pub async fn patch_spec(
        &self,
        place: ObjectPath<'_>,
        version: &str,
        fields: Value,
        still_wanted: StillWanted<'_>,
    ) -> Result<Written, WriteError> {
        let patch = json!({ "metadata": { "resourceVersion": version }, "spec": fields });
        self.patch((Urgency::Capacity, still_wanted), place, None, &patch).await
    }

    /// Creates an object, if the write is still wanted once the budget admits it.
    pub async fn create(
        &self,
        collection: &str,
        object: &Value,
        still_wanted: StillWanted<'_>,
    ) -> Result<Written, WriteError> {
        self.post((Urgency::Capacity, still_wanted), collection, object).await
    }

    /// Deletes an object, if it is the one with this UID and still has this version, and if the write is still
    /// wanted once the budget admits it.
    pub async fn delete(
        &self,
        place: ObjectPath<'_>,
        (uid, version): (&str, &str),
        still_wanted: StillWanted<'_>,
    ) -> Result<(), WriteError> {
        let only =
            Preconditions { uid: Some(uid.to_owned()), resource_version: Some(version.to_owned()) };
        let parameters = DeleteParams::background().preconditions(only);
        self.send::<IgnoredAny>(Urgency::Capacity, still_wanted, || {
            Request::new(place.collection).delete(place.name, &parameters)
        })
        .await
        .map(|_| ())
    }

    /// Sets fields of an object's metadata, if it still has this version, and if the write is still wanted once the
    /// budget admits it. Fields that are not named stay; a list is replaced.
    pub async fn patch_metadata(
        &self,
        place: ObjectPath<'_>,
        version: &str,
        mut fields: Map<String, Value>,
        still_wanted: StillWanted<'_>,
    ) -> Result<Written, WriteError> {
        fields.insert("resourceVersion".to_owned(), json!(version));
        let patch = json!({ "metadata": fields });
        self.patch((Urgency::Capacity, still_wanted), place, None, &patch).await
    }

    /// Sets fields in the status of an object whose status is what a policy decides, and not a report about it,
    /// under the same conditions.
    pub async fn patch_decided_status(
        &self,
        place: ObjectPath<'_>,
        version: &str,
        fields: Value,
        still_wanted: StillWanted<'_>,
    ) -> Result<Written, WriteError> {
        let patch = json!({ "metadata": { "resourceVersion": version }, "status": fields });
        self.patch((Urgency::Capacity, still_wanted), place, Some("status"), &patch).await
    }

    /// Sets annotations of an object, under the same conditions. One without a text is removed; those that are
    /// not named stay.
    pub async fn patch_annotations(
        &self,
        place: ObjectPath<'_>,
        version: &str,
        annotations: &[(&str, Option<&str>)],
        still_wanted: StillWanted<'_>,
    ) -> Result<Written, WriteError> {
        let annotations: BTreeMap<_, _> = annotations.iter().copied().collect();
        let fields = Map::from_iter([("annotations".to_owned(), json!(annotations))]);
        self.patch_metadata(place, version, fields, still_wanted).await
    }

    /// Asks whether an object or its scale may be changed, with an empty patch as a dry run. It is not
    /// a write, and is not counted as one.
    pub async fn dry_run_patch(
        &self,
        place: ObjectPath<'_>,
        of_scale: bool,
    ) -> Result<(), WriteError> {
        let Inner { client, fence, budget, .. } = &*self.inner;
        let parameters = PatchParams {
            dry_run: true,
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let (nothing, request) = (Patch::Merge(json!({})), Request::new(place.collection));
        let request = if of_scale {
            request.patch_subresource("scale", place.name, &parameters, &nothing)
        } else {
            request.patch_metadata(place.name, &parameters, &nothing)
        };
        let request = request.map_err(|error| {
            WriteError::Refused(Refusal::unsent(format!("failed to build a request: {error}")))
        })?;
        let _permit = budget.permit(Urgency::Status).await;
        let left = fence.check()?;
        let asked = client.request::<Written>(request);
        match tokio::time::timeout(left.min(REQUEST_TIMEOUT), asked).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(kube::Error::Api(status))) => {
                let refusal = Refusal::from(*status);
                let is_known = refusal.retry_after_hint().is_none();
                Err(if is_known && !refusal.may_have_been_applied() {
                    WriteError::Refused(refusal)
                } else {
                    WriteError::Unknown(refusal.to_string())
                })
            }
            Ok(Err(error)) => Err(WriteError::Unknown(summarize(&error))),
            Err(_) => Err(WriteError::Unknown("no response in time".to_owned())),
        }
    }

    /// Replaces an object's status, if the object still has this version. The status is a merge
    /// patch: what is to go has to be null in it. This costs the API server less than applying. The
    /// status is JSON as text, because it may be long and have to wait.
    pub async fn patch_status(
        &self,
        place: ObjectPath<'_>,
        version: &str,
        status: &str,
    ) -> Result<Written, WriteError> {
        let ObjectPath { collection, name } = place;
        let path = format!("{collection}/{name}/status?fieldManager={FIELD_MANAGER}");
        let metadata = json!({ "resourceVersion": version });
        let body = format!(r#"{{"metadata":{metadata},"status":{status}}}"#);
        let request = || {
            let request = http::Request::patch(&path)
                .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
                .body(body.clone().into_bytes());
            request.map(metadata_only).map_err(kube::core::request::Error::BuildRequest)
        };
        self.send(Urgency::Status, &always, request).await
    }

    /// Binds a pod to a node. What is sent is made once nothing has to be waited for any more; `None` if it is no
    /// longer wanted. It takes at most so long, on both sides: the API server is told. It is never tried again, and not
    /// limited by the budget: whoever asks for it waits, and limits how many there are.
    pub async fn bind(
        &self,
        pod: ObjectPath<'_>,
        time: Duration,
        binding: impl FnOnce() -> Option<Value>,
    ) -> Result<(), WriteError> {
        let Inner { client, fence, metrics, .. } = &*self.inner;
        let left = fence.check()?;
        let Some(binding) = binding() else { return Err(WriteError::Withdrawn) };
        let ObjectPath { collection, name } = pod;
        let seconds = time.as_secs();
        let path =
            format!("{collection}/{name}/binding?fieldManager={FIELD_MANAGER}&timeout={seconds}s");
        let request = http::Request::post(path)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(binding.to_string().into_bytes());
        let request = request.map_err(|error| {
            WriteError::Refused(Refusal::unsent(format!("failed to build a request: {error}")))
        })?;
        let asked = client.request::<IgnoredAny>(request);
        let error = match tokio::time::timeout(left.min(time), asked).await {
            Ok(Ok(_)) => {
                metrics.count(Urgency::Capacity, "201");
                return Ok(());
            }
            Ok(Err(error)) => error,
            Err(_) => {
                metrics.count(Urgency::Capacity, "timeout");
                return Err(WriteError::Unknown(format!("no response within {seconds} s")));
            }
        };
        let kube::Error::Api(status) = error else {
            metrics.count(Urgency::Capacity, "lost");
            return Err(WriteError::Unknown(summarize(&error)));
        };
        let refusal = Refusal::from(*status);
        metrics.count(Urgency::Capacity, &refusal.metric_label());
        // Somebody in between may have said that there are too many requests.
        if refusal.retry_after_hint().is_some() || refusal.may_have_been_applied() {
            return Err(WriteError::Unknown(refusal.to_string()));
        }
        Err(WriteError::Refused(refusal))
    }

    /// Applies our part of an object's status, if the object still has this version. What we
    /// applied before and omit now is removed; what others have added stays. `kind` is its
    /// `apiVersion` and its kind.
    pub async fn apply_status(
        &self,
        place: ObjectPath<'_>,
        kind: (&str, &str),
        version: &str,
        status: &Value,
    ) -> Result<Written, WriteError> {
        let (api_version, kind) = kind;
        let object = json!({
            "apiVersion": api_version,
            "kind": kind,
            "metadata": { "name": place.name, "resourceVersion": version },
            "status": status,
        });
        // With force, because the kind is ours, and so are these fields of its status.
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        let patch = Patch::Apply(&object);
        self.send(Urgency::Status, &always, || {
            let request = Request::new(place.collection);
            let request = request.patch_subresource("status", place.name, &parameters, &patch)?;
            Ok(metadata_only(request.map(as_yaml)))
        })
        .await
    }

    /// Creates an Event.
    pub async fn create_event(&self, collection: &str, object: &Value) -> Result<(), WriteError> {
        self.post((Urgency::Event, &always), collection, object).await.map(|_| ())
    }

    /// Patches an Event. Fields that are not named stay.
    pub async fn patch_event(
        &self,
        place: ObjectPath<'_>,
        patch: &Value,
    ) -> Result<(), WriteError> {
        self.patch((Urgency::Event, &always), place, None, patch).await.map(|_| ())
    }

    async fn post(
        &self,
        (urgency, still_wanted): (Urgency, StillWanted<'_>),
        collection: &str,
        object: &Value,
    ) -> Result<Written, WriteError> {
        let body = object.to_string().into_bytes();
        let parameters =
            PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let request = || Request::new(collection).create(&parameters, body.clone());
        self.send(urgency, still_wanted, request).await
    }

    async fn patch(
        &self,
        (urgency, still_wanted): (Urgency, StillWanted<'_>),
        place: ObjectPath<'_>,
        subresource: Option<&str>,
        patch: &(impl Serialize + Debug),
    ) -> Result<Written, WriteError> {
        let parameters =
            PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let patch = Patch::Merge(patch);
        self.send(urgency, still_wanted, || {
            let request = Request::new(place.collection);
            match subresource {
                // Only the metadata of the object is needed, so only that is requested.
                Some("status") => {
                    let request =
                        request.patch_subresource("status", place.name, &parameters, &patch)?;
                    Ok(metadata_only(request))
                }
                Some(subresource) => {
                    request.patch_subresource(subresource, place.name, &parameters, &patch)
                }
                None => request.patch_metadata(place.name, &parameters, &patch),
            }
        })
        .await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        urgency: Urgency,
        still_wanted: StillWanted<'_>,
        request: impl Fn() -> Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<T, WriteError> {
        let Inner { client, fence, budget, metrics } = &*self.inner;
        let mut asked = 0;
        loop {
            let permit = budget.permit(urgency).await;
            let request = request().map_err(|error| {
                WriteError::Refused(Refusal::unsent(format!("failed to build a request: {error}")))
            })?;
            if !still_wanted() {
                return Err(WriteError::Withdrawn);
            }
            // Immediately before the request: after any wait, the lease may be lost.
            let left = fence.check()?;
            let code = if request.method() == http::Method::POST { "201" } else { "200" };
            let answer =
                tokio::time::timeout(left.min(REQUEST_TIMEOUT), client.request::<T>(request)).await;
            drop(permit);
            let error = match answer {
                Ok(Ok(written)) => {
                    metrics.count(urgency, code);
                    return Ok(written);
                }
                Ok(Err(error)) => error,
                Err(_) => {
                    metrics.count(urgency, "timeout");
                    let seconds = left.min(REQUEST_TIMEOUT).as_secs();
                    return Err(WriteError::Unknown(format!("no response within {seconds} s")));
                }
            };
            let kube::Error::Api(status) = error else {
                metrics.count(urgency, "lost");
                return Err(WriteError::Unknown(summarize(&error)));
            };
            let refusal = Refusal::from(*status);
            metrics.count(urgency, &refusal.metric_label());
            match refusal.retry_after_hint() {
                Some(pause) if asked < MAX_RETRIES => {
                    asked += 1;
                    tokio::time::sleep(pause.min(MAX_RETRY_AFTER)).await;
                }
                _ if refusal.may_have_been_applied() => {
                    return Err(WriteError::Unknown(refusal.to_string()));
                }
                _ => return Err(WriteError::Refused(refusal)),
            }
        }
    }
}

/// Statuses and Events are wanted whatever happens meanwhile.
fn always() -> bool {
    true
}

/// JSON of which every character is allowed in YAML, which an API server takes what is applied for: what is not can only
/// be in a string, and is escaped there.
fn as_yaml(json: Vec<u8>) -> Vec<u8> {
    let is_plain = |byte: &u8| byte.is_ascii() && *byte != 0x7f;
    if json.iter().all(is_plain) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len());
    for letter in String::from_utf8_lossy(&json).chars() {
        match letter {
            '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
            }
            _ => escaped.push(letter),
        }
    }
    escaped.into_bytes()
}

/// Has the API server leave out everything of the object it answers with but its metadata.
fn metadata_only(mut request: http::Request<Vec<u8>>) -> http::Request<Vec<u8>> {
    request.headers_mut().insert(http::header::ACCEPT, METADATA_ONLY);
    request
}

const METADATA_ONLY: http::HeaderValue =
    http::HeaderValue::from_static("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");

#[cfg(test)]
mod tests;
