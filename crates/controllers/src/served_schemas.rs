//! The served schemas of the kinds whose statuses we write. If a schema lacks fields of ours, statuses are written
//! without these fields, and a condition lists them.
//!
//! [`MissingFields`] determines these fields. The schemas come from the API server's `OpenAPI` documents, which every
//! service account may read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use almanac_api::definitions::MissingFields;
use almanac_api::families::Controlled;
use almanac_api::kinds::Kind;
use almanac_api::status::conditions::{ConditionReason, ConditionState, ConditionType, conditions};
use almanac_shell::writer::summarize;
use http::header::{ACCEPT, ETAG, IF_NONE_MATCH};
use http::{HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::cluster::StatusSnapshot;
use crate::families::ComposedStatus;
use crate::list_progress::ListReport;
use crate::status_writer::WriteMethod;

/// A replaced CRD is detected within this time.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// The time limit of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum size of a document that is read. The largest of ours, the document of Karmada's autoscalers, has 120 kB.
const MAX_DOCUMENT: usize = 8 << 20;

/// The fields that the served schemas lack. Clones share their state.
#[derive(Clone, Default, Debug)]
pub(crate) struct ServedSchemas {
    state: Arc<Mutex<BTreeMap<Controlled, ServedSchema>>>,
}

/// The schema of one kind.
#[derive(Default, Debug)]
struct ServedSchema {
    /// The version of the document that was read last.
    etag: Option<HeaderValue>,
    missing: Option<Arc<MissingFields>>,
}

impl ServedSchemas {
    /// The initial state of these kinds, before any schema was read.
    pub(crate) fn for_kinds(controlled: &[Controlled]) -> Self {
        let state = controlled.iter().map(|it| (*it, ServedSchema::default())).collect();
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// The fields that the schema of a kind lacks; `None` if it lacks none.
    pub(crate) fn missing(&self, controlled: impl Into<Controlled>) -> Option<Arc<MissingFields>> {
        self.lock().get(&controlled.into())?.missing.clone()
    }

    /// Checks periodically, and reports when the first check is done. `changed` is called for each kind that lacks
    /// other fields than before.
    pub(crate) async fn watch(
        self,
        client: Client,
        first: ListReport,
        changed: impl Fn(Controlled) + Send,
    ) {
        loop {
            self.check(&client).await.into_iter().for_each(&changed);
            first.complete();
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }

    /// Checks once, and returns the kinds that lack other fields than before. If a schema cannot be read, the earlier
    /// result stays valid.
    pub(crate) async fn check(&self, client: &Client) -> Vec<Controlled> {
        let versions: Vec<(Controlled, Option<HeaderValue>)> =
            self.lock().iter().map(|(kind, served)| (*kind, served.etag.clone())).collect();
        let mut changed = Vec::new();
        for (controlled, etag) in versions {
            let request = read_document(client, controlled.kind(), etag);
            match timeout(REQUEST_TIMEOUT, request).await {
                Ok(Ok(Some((etag, document)))) => {
                    if self.note(controlled, etag, &document) {
                        changed.push(controlled);
                    }
                }
                Ok(Ok(None)) => {}
                Ok(Err(error)) => {
                    tracing::debug!(error, "failed to read the schema of a kind");
                }
                Err(_) => {
                    tracing::debug!("failed to read the schema of a kind: no response in time");
                }
            }
        }
        changed
    }

    /// Records a document; returns whether it lacks other fields than the previous document.
    fn note(&self, controlled: Controlled, etag: Option<HeaderValue>, document: &Value) -> bool {
        let kind = controlled.kind();
        let Some(schema) = schema_in(document, kind) else { return false };
        let missing = MissingFields::find(kind, schema).map(Arc::new);
        let mut state = self.lock();
        let Some(served) = state.get_mut(&controlled) else { return false };
        served.etag = etag;
        if served.missing == missing {
            return false;
        }
        if let Some(missing) = &missing {
            tracing::warn!("{missing}");
        } else {
            tracing::info!("the CRD of {} has all fields now", kind.name());
        }
        served.missing = missing;
        true
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Controlled, ServedSchema>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reduces a status to what the API server will store, and returns the condition about the schema; `None` without a
/// condition. `previous` is the previous status.
pub(crate) fn fit(
    missing: Option<&MissingFields>,
    status: &mut Value,
    previous: &StatusSnapshot,
    generation: Option<i64>,
    now: Timestamp,
) -> Option<ConditionState> {
    let state = match missing {
        Some(missing) => missing.condition_state(),
        // If the conditions were one value before, omitting this condition would not remove it once the conditions are
        // a map. So this condition is applied once more, and omitted after that.
        None if previous.holds(ConditionType::SchemaIncomplete) => ConditionState {
            about: ConditionType::SchemaIncomplete,
            holds: false,
            reason: ConditionReason::FieldsServed,
            message: "the CRD has all fields now".to_owned(),
        },
        None => return None,
    };
    let added = conditions(&previous.conditions(), std::slice::from_ref(&state), generation, now);
    if let Some(all) = status["conditions"].as_array_mut() {
        all.extend(added.iter().map(|it| json!(it)));
    }
    if let Some(missing) = missing {
        missing.remove_from_status(status);
    }
    Some(state)
}

impl ComposedStatus {
    /// Reduces the status to what the API server will store, and adds the condition about the schema.
    pub(crate) fn fitted(
        mut self,
        missing: Option<&MissingFields>,
        previous: &StatusSnapshot,
        generation: Option<i64>,
        now: Timestamp,
    ) -> ComposedStatus {
        let state = fit(missing, &mut self.status, previous, generation, now);
        let Some(state) = state else { return self };
        self.condition_states.push(state);
        self.method = match self.method {
            WriteMethod::ServerSideApply(_) => WriteMethod::ServerSideApply(self.status.clone()),
            // The API server drops missing fields from a patch by itself.
            WriteMethod::MergePatch(patch) => {
                let mut whole: Value = serde_json::from_str(&patch).unwrap_or_default();
                if let Some(conditions) = self.status.get("conditions") {
                    whole["conditions"] = conditions.clone();
                }
                WriteMethod::MergePatch(whole.to_string().into())
            }
        };
        self
    }
}

/// The document of the group and version of a kind; `None` if the document has not changed.
async fn read_document(
    client: &Client,
    kind: Kind,
    etag: Option<HeaderValue>,
) -> Result<Option<(Option<HeaderValue>, Value)>, String> {
    let path = format!("/openapi/v3/apis/{}", kind.api_version());
    let mut request = Request::get(&path).header(ACCEPT, "application/json");
    if let Some(etag) = etag {
        request = request.header(IF_NONE_MATCH, etag);
    }
    let request = request.body(Body::empty()).map_err(|error| error.to_string())?;
    let response = client.send(request).await.map_err(|error| summarize(&error))?;
    match response.status() {
        StatusCode::OK => {}
        StatusCode::NOT_MODIFIED => return Ok(None),
        status => return Err(format!("GET {path}: {status}")),
    }
    let etag = response.headers().get(ETAG).cloned();
    let body = Limited::new(response.into_body(), MAX_DOCUMENT);
    let body = body.collect().await.map_err(|error| error.to_string())?;
    let document = serde_json::from_slice(&body.to_bytes()).map_err(|error| error.to_string())?;
    Ok(Some((etag, document)))
}

/// The schema of a kind in the document of its group and version.
fn schema_in(document: &Value, kind: Kind) -> Option<&Value> {
    let schemas = document["components"]["schemas"].as_object()?;
    schemas.values().find(|schema| {
        let kinds = schema["x-kubernetes-group-version-kind"].as_array();
        kinds.into_iter().flatten().any(|it| {
            it["group"] == kind.group()
                && it["version"] == kind.version()
                && it["kind"] == kind.name()
        })
    })
}

#[cfg(test)]
mod tests;
