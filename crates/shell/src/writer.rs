//! Every write except those of the Lease: within the fence and the budget.
//!
//! Every change carries the version of the object that it was based on, and the API server rejects it if the
//! object has changed since. So nothing stale is written, even by a process that was paused between its last
//! check of the lease and the request.
//!
//! If the API server is overloaded, the request is retried a few times; any other failure is returned unchanged. The
//! caller decides whether to retry.

mod refusal;
mod sending;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::Request;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::budget::{Urgency, WriteBudget};
use crate::fence::{Fence, Fenced};

pub(crate) use refusal::deepest;
pub use refusal::{Refusal, summarize};
pub(crate) use sending::METADATA_ONLY;
use sending::{REQUEST_TIMEOUT, as_yaml, metadata_only};

/// The field manager of all writes, as recorded in the managed fields of objects.
pub const FIELD_MANAGER: &str = "almanac";

/// The reason that a write did not happen, or might not have.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// This process no longer leads. No request was sent.
    #[error(transparent)]
    Fenced(#[from] Fenced),
    /// The API server rejected the write. Nothing was written.
    #[error("{0}")]
    Refused(Refusal),
    /// The outcome of the write is unknown.
    #[error("{0}")]
    Unknown(String),
    /// The write is no longer wanted. No request was sent.
    #[error("the write is no longer wanted")]
    Withdrawn,
}

/// Reports whether a write that has waited for the budget is still wanted.
pub type StillWanted<'a> = &'a (dyn Fn() -> bool + Sync);

/// The path of an object: the path of its collection, and its name.
#[derive(Clone, Copy, Debug)]
pub struct ObjectPath<'a> {
    /// The path of the collection, such as `/apis/apps/v1/namespaces/default/deployments`.
    pub collection: &'a str,
    /// The name of the object.
    pub name: &'a str,
}

/// The part of an object that is read back after a write.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct WriteResponse {
    /// The metadata of the object.
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

    fn count(&self, urgency: Urgency, code: String) {
        let labels = [("purpose", urgency.purpose().to_owned()), ("code", code)];
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

    /// The fence of the writer.
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
    ) -> Result<WriteResponse, WriteError> {
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
    ) -> Result<WriteResponse, WriteError> {
        let patch = json!({ "metadata": { "resourceVersion": version }, "spec": fields });
        self.patch((Urgency::Capacity, still_wanted), place, None, &patch).await
    }

    /// Creates an object, if the write is still wanted once the budget admits it.
    pub async fn create(
        &self,
        collection: &str,
        object: &Value,
        still_wanted: StillWanted<'_>,
    ) -> Result<WriteResponse, WriteError> {
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
    ) -> Result<WriteResponse, WriteError> {
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
    ) -> Result<WriteResponse, WriteError> {
        let patch = json!({ "metadata": { "resourceVersion": version }, "status": fields });
        self.patch((Urgency::Capacity, still_wanted), place, Some("status"), &patch).await
    }

    /// Sets annotations of an object, under the same conditions. An annotation without a value is removed; annotations
    /// that are not named stay.
    pub async fn patch_annotations(
        &self,
        place: ObjectPath<'_>,
        version: &str,
        annotations: &[(&str, Option<&str>)],
        still_wanted: StillWanted<'_>,
    ) -> Result<WriteResponse, WriteError> {
        let annotations: BTreeMap<_, _> = annotations.iter().copied().collect();
        let fields = Map::from_iter([("annotations".to_owned(), json!(annotations))]);
        self.patch_metadata(place, version, fields, still_wanted).await
    }

    /// Checks whether an object or its scale may be changed, by a dry run of an empty patch. The dry run is not a
    /// write, and does not count as a write.
    pub async fn dry_run_patch(
        &self,
        place: ObjectPath<'_>,
        of_scale: bool,
    ) -> Result<(), WriteError> {
        let Inner { client, fence, budget, .. } = &*self.inner;
        let parameters = PatchParams { dry_run: true, ..patch_params() };
        let (nothing, request) = (Patch::Merge(json!({})), Request::new(place.collection));
        let request = if of_scale {
            request.patch_subresource("scale", place.name, &parameters, &nothing)
        } else {
            request.patch_metadata(place.name, &parameters, &nothing)
        };
        let request = request.map_err(|error| WriteError::unbuilt(&error))?;
        let _permit = budget.permit(Urgency::Status).await;
        let remaining = fence.check()?;
        match timeout(remaining.min(REQUEST_TIMEOUT), client.request::<WriteResponse>(request))
            .await
        {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(kube::Error::Api(status))) => {
                Err(WriteError::from_only_attempt(Refusal::from(*status)))
            }
            Ok(Err(error)) => Err(WriteError::Unknown(summarize(&error))),
            Err(_) => Err(WriteError::Unknown("no response in time".to_owned())),
        }
    }

    /// Replaces an object's status, if the object still has this version. The status is a merge patch: a field to
    /// remove must be null in it. This costs the API server less than applying. The status is JSON as text, because
    /// it may be long, and may need to wait.
    pub async fn patch_status(
        &self,
        place: ObjectPath<'_>,
        version: &str,
        status: &str,
    ) -> Result<WriteResponse, WriteError> {
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

    /// Binds a pod to a node. `binding` makes the body immediately before the request; `None` if the write is no longer
    /// wanted. `time` is the timeout of the request, here and at the API server. The request is never repeated, and the
    /// budget does not limit it: the caller waits, and limits the number of bindings.
    pub async fn bind(
        &self,
        pod: ObjectPath<'_>,
        time: Duration,
        binding: impl FnOnce() -> Option<Value>,
    ) -> Result<(), WriteError> {
        let remaining = self.inner.fence.check()?;
        let Some(binding) = binding() else { return Err(WriteError::Withdrawn) };
        let ObjectPath { collection, name } = pod;
        let seconds = time.as_secs();
        let path =
            format!("{collection}/{name}/binding?fieldManager={FIELD_MANAGER}&timeout={seconds}s");
        let request = http::Request::post(path)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(binding.to_string().into_bytes());
        let request = request.map_err(|error| WriteError::unbuilt(&error))?;
        let bound =
            self.exchange::<IgnoredAny>(Urgency::Capacity, request, remaining.min(time), time);
        bound.await.map(|_| ()).map_err(|error| match error {
            WriteError::Refused(refusal) => WriteError::from_only_attempt(refusal),
            other => other,
        })
    }

    /// Applies the part of this field manager in an object's status, if the object still has this version. Fields that
    /// it applied before and now omits are removed; fields of other field managers stay. `kind` is the
    /// `apiVersion` and the kind of the object.
    pub async fn apply_status(
        &self,
        place: ObjectPath<'_>,
        kind: (&str, &str),
        version: &str,
        status: &Value,
    ) -> Result<WriteResponse, WriteError> {
        let (api_version, kind) = kind;
        let object = json!({
            "apiVersion": api_version,
            "kind": kind,
            "metadata": { "name": place.name, "resourceVersion": version },
            "status": status,
        });
        // With force, because Almanac owns the kind and these fields of its status.
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
    ) -> Result<WriteResponse, WriteError> {
        let (body, parameters) = (object.to_string().into_bytes(), post_params());
        let request = || Request::new(collection).create(&parameters, body.clone());
        self.send(urgency, still_wanted, request).await
    }

    async fn patch(
        &self,
        (urgency, still_wanted): (Urgency, StillWanted<'_>),
        place: ObjectPath<'_>,
        subresource: Option<&str>,
        patch: &(impl Serialize + Debug),
    ) -> Result<WriteResponse, WriteError> {
        let (parameters, patch) = (patch_params(), Patch::Merge(patch));
        self.send(urgency, still_wanted, || {
            let request = Request::new(place.collection);
            let Some(subresource) = subresource else {
                return request.patch_metadata(place.name, &parameters, &patch);
            };
            let request =
                request.patch_subresource(subresource, place.name, &parameters, &patch)?;
            // Of the object itself, only the metadata is needed.
            Ok(if subresource == "status" { metadata_only(request) } else { request })
        })
        .await
    }
}

/// Statuses and Events are always written.
fn always() -> bool {
    true
}

/// The parameters of a patch.
pub(crate) fn patch_params() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

/// The parameters of other writes.
pub(crate) fn post_params() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

#[cfg(test)]
mod tests;
