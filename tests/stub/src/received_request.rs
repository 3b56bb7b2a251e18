//! A request, parsed as an API server does.

use http::Method;
use http::header::ACCEPT;
use http::request::Parts;
use serde_json::Value;
use tokio::time::Instant;

/// A request as received.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    /// The instant of arrival, by the runtime's clock.
    pub at: Instant,
    /// The HTTP method.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The query string.
    pub query: String,
    /// The body; null if the body is empty or not JSON.
    pub body: Value,
    /// The group and the version of the path: `apps/v1`.
    pub(crate) api_version: String,
    /// The plural resource name in the path: `deployments`.
    pub plural: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The subresource in the path; empty for the object itself.
    pub subresource: String,
    pub(crate) metadata_only: bool,
}

impl ReceivedRequest {
    pub(crate) fn new(parts: &Parts, body: &[u8]) -> Self {
        let path = parts.uri.path();
        let mut segments = path.split('/').filter(|it| !it.is_empty()).map(str::to_owned);
        let group = match segments.next().as_deref() {
            Some("apis") => segments.next().map(|group| group + "/").unwrap_or_default(),
            _ => String::new(),
        };
        let api_version = group + &segments.next().unwrap_or_default();
        let mut rest: Vec<String> = segments.collect();
        let namespace = if rest.len() > 2 && rest[0] == "namespaces" {
            rest.drain(..2).nth(1).unwrap_or_default()
        } else {
            String::new()
        };
        let mut rest = rest.into_iter();
        let [plural, name, subresource] = [(); 3].map(|()| rest.next().unwrap_or_default());
        let accepted = parts.headers.get(ACCEPT).and_then(|it| it.to_str().ok());
        Self {
            at: Instant::now(),
            method: parts.method.clone(),
            path: path.to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            body: serde_json::from_slice(body).unwrap_or_default(),
            metadata_only: accepted.is_some_and(|it| it.contains("PartialObjectMetadata")),
            api_version,
            plural,
            namespace,
            name,
            subresource,
        }
    }

    /// Whether the request is a watch.
    #[must_use]
    pub fn is_watch(&self) -> bool {
        self.parameter("watch") == Some("true")
    }

    /// Whether the request is a write.
    #[must_use]
    pub fn is_write(&self) -> bool {
        self.method != Method::GET && !self.is_dry_run()
    }

    /// Whether the request is an update: such a request replaces a whole object.
    pub(crate) fn is_update(&self) -> bool {
        self.method == Method::PUT
    }

    /// Whether the request is a dry run.
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        self.parameter("dryRun") == Some("All")
    }

    /// A parameter of the query, unchanged.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// A parameter of the query as a number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.parameter(name)?.parse().ok()
    }
}
