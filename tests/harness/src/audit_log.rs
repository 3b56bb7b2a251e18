//! The changes at an API server with their authors, and the reads of one user, from its own audit log. The API
//! server's counters have no user names and include its own housekeeping (roles, leases,
//! priorities); the log distinguishes them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use serde::Deserialize;

use almanac_local::{ControlPlane, Observation, PATIENCE, WRITE_VERBS, await_condition};

/// The prefix of the names of all marker `ConfigMap`s.
const MARK: &str = "almanac-audit-mark-";
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The audit log of one API server. It is deleted with the control plane.
#[derive(Clone, Debug)]
pub struct AuditLog {
    file: PathBuf,
    /// The offset in the file at which this log starts, in bytes.
    begin: usize,
}

/// A request with the response of the API server. Absent parts are empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditedRequest {
    /// The time of the response, as in the log (RFC 3339 with microseconds).
    pub at: String,
    /// The user, such as `system:serviceaccount:harbour:almanac`.
    pub user: String,
    /// The user agent.
    pub user_agent: String,
    /// `create`, `update`, `patch`, `delete` or `deletecollection`, and for users whose reads are
    /// logged `get`, `list` or `watch`. Server-side apply is a `patch`.
    pub verb: String,
    /// The API group; empty is the core group.
    pub group: String,
    /// The resource, such as `deployments`.
    pub resource: String,
    /// The subresource, such as `scale`.
    pub subresource: String,
    /// The namespace.
    pub namespace: String,
    /// The object's name.
    pub name: String,
    /// The path and the query.
    pub uri: String,
    /// The status of the response.
    pub code: u16,
}

impl AuditedRequest {
    /// Whether the request is about a Lease.
    #[must_use]
    pub fn is_for_lease(&self) -> bool {
        self.group == "coordination.k8s.io" && self.resource == "leases"
    }

    /// Whether the request is a write.
    #[must_use]
    pub fn is_write(&self) -> bool {
        WRITE_VERBS.contains(&self.verb.as_str())
    }

    /// Whether the request was a dry run.
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        self.uri.split(['?', '&']).any(|part| part == "dryRun=All")
    }

    fn object_path(&self) -> String {
        let mut what = self.resource.clone();
        for (mark, part) in [('.', &self.group), ('/', &self.subresource)] {
            if !part.is_empty() {
                what.push(mark);
                what.push_str(part);
            }
        }
        what
    }
}

impl fmt::Display for AuditedRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, user, user_agent, verb, namespace, name, code, .. } = self;
        let what = self.object_path();
        write!(formatter, "{at} {user} ({user_agent}) {verb} {what} {namespace}/{name}: {code}")
    }
}

impl AuditLog {
    /// The audit log of a control plane that was started with [`ControlPlaneOptions::audited`].
    ///
    /// [`ControlPlaneOptions::audited`]: crate::ControlPlaneOptions::audited
    pub fn open(plane: &ControlPlane) -> Result<Self> {
        let file =
            plane.audit_log().context("this control plane was started without an audit log")?;
        Ok(Self { file, begin: 0 })
    }

    /// The log without the requests so far. A test on a shared control plane does not read those again.
    pub fn from_here(&self) -> Result<Self> {
        let text = self.text()?;
        Ok(Self { file: self.file.clone(), begin: text.rfind('\n').map_or(0, |end| end + 1) })
    }

    /// All writes with a response before this call, in the order of the log.
    ///
    /// The result of a later call starts with the result of an earlier call; the remaining writes are newer.
    ///
    /// To ensure that the log is complete, this function writes a marker: a `ConfigMap` as a dry run. The result omits
    /// markers. The client needs permission to create a `ConfigMap` in the namespace `default`.
    pub async fn writes(&self, client: &Client) -> Result<Vec<AuditedRequest>> {
        let mut requests = self.requests(client).await?;
        requests.retain(AuditedRequest::is_write);
        Ok(requests)
    }

    /// All writes, and the reads of the user whose reads are logged: see `ControlPlaneOptions::audited_with_reads_of`.
    /// The log contains a watch once the watch has ended.
    pub async fn requests(&self, client: &Client) -> Result<Vec<AuditedRequest>> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{MARK}{}-{number}", std::process::id());
        let metadata = ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() };
        let mark = ConfigMap { metadata, ..ConfigMap::default() };
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
        maps.create(&dry_run, &mark).await.context("failed to mark the audit log")?;
        let mut requests =
            await_condition("the audit log to show its mark", PATIENCE, async || {
                let requests = self.read()?;
                Ok(match requests.iter().position(|request| request.name == name) {
                    Some(mark) => Observation::Holds(requests[..mark].to_vec()),
                    None => Observation::NotYet(format!("{} requests without it", requests.len())),
                })
            })
            .await?;
        requests.retain(|request| !request.name.starts_with(MARK));
        Ok(requests)
    }

    /// The number of each kind by user, one line each, for the message of a test.
    #[must_use]
    pub fn tally(writes: &[AuditedRequest]) -> String {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for write in writes {
            let AuditedRequest { user, user_agent, verb, .. } = write;
            let line = format!("{verb} {} by {user} ({user_agent})", write.object_path());
            *counts.entry(line).or_default() += 1;
        }
        let lines: Vec<_> =
            counts.iter().map(|(line, count)| format!("{count} x {line}\n")).collect();
        lines.concat()
    }

    fn text(&self) -> Result<String> {
        std::fs::read_to_string(&self.file)
            .with_context(|| format!("failed to read {}", self.file.display()))
    }

    fn read(&self) -> Result<Vec<AuditedRequest>> {
        let text = self.text()?;
        let text = text.get(self.begin..).unwrap_or_default();
        // The API server may not have finished the last line yet.
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole
            .map(|line| {
                let event: Event = serde_json::from_str(line)
                    .with_context(|| format!("the audit log has a strange line: {line}"))?;
                Ok(AuditedRequest::from(event))
            })
            .collect()
    }
}

/// The relevant fields of a line of the log.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    stage_timestamp: String,
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    user: User,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: ObjectReference,
    #[serde(default)]
    response_status: ResponseStatus,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectReference {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Default, Deserialize)]
struct ResponseStatus {
    #[serde(default)]
    code: u16,
}

impl From<Event> for AuditedRequest {
    fn from(event: Event) -> Self {
        Self {
            at: event.stage_timestamp,
            user: event.user.username,
            user_agent: event.user_agent,
            verb: event.verb,
            group: event.object_ref.api_group,
            resource: event.object_ref.resource,
            subresource: event.object_ref.subresource,
            namespace: event.object_ref.namespace,
            name: event.object_ref.name,
            uri: event.request_uri,
            code: event.response_status.code,
        }
    }
}
