//! Sends requests to an API server, and keeps the parts of the responses that Almanac reads.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const JSON: &str = "application/json";
pub(crate) const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// A client that keeps the responses.
pub(crate) struct Recorder {
    client: Client,
    pub(crate) responses: Vec<(String, Value)>,
    /// The newest known version of each object, by path.
    versions: BTreeMap<String, u64>,
}

impl Recorder {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, responses: Vec::new(), versions: BTreeMap::new() }
    }

    /// Sends a request; returns the code and the relevant parts of the body.
    pub(crate) async fn record(&mut self, what: &str, request: Request<Body>) -> Result<Value> {
        let (code, body) = self.send(request).await?;
        let relevant_parts = relevant_parts(&body);
        self.responses.push((what.to_owned(), json!({ "code": code, "body": relevant_parts })));
        Ok(body)
    }

    async fn send(&self, request: Request<Body>) -> Result<(u16, Value)> {
        let response = self.client.send(request).await?;
        let code = response.status().as_u16();
        let body = response.into_body().collect_bytes().await?;
        Ok((code, serde_json::from_slice(&body).unwrap_or_default()))
    }

    pub(crate) async fn get(&mut self, what: &str, path: &str) -> Result<Value> {
        self.record(what, request(Method::GET, path, JSON, &Value::Null)?).await
    }

    pub(crate) async fn post(&mut self, what: &str, path: &str, object: &Value) -> Result<Value> {
        self.record(what, request(Method::POST, path, JSON, object)?).await
    }

    pub(crate) async fn put(&mut self, what: &str, path: &str, object: &Value) -> Result<Value> {
        self.record(what, request(Method::PUT, path, JSON, object)?).await
    }

    pub(crate) async fn patch(&mut self, what: &str, path: &str, change: &Value) -> Result<Value> {
        self.record(what, request(Method::PATCH, path, MERGE, change)?).await
    }

    pub(crate) async fn delete(
        &mut self,
        what: &str,
        path: &str,
        options: &Value,
    ) -> Result<Value> {
        self.record(what, request(Method::DELETE, path, JSON, options)?).await
    }

    /// Watches until the watch ends; returns the relevant parts of each line.
    pub(crate) async fn watch(&mut self, what: &str, path: &str, from: &str) -> Result<()> {
        let path = format!(
            "{path}?watch=true&allowWatchBookmarks=true&timeoutSeconds=6&resourceVersion={from}"
        );
        let response = self.client.send(request(Method::GET, &path, JSON, &Value::Null)?).await?;
        let code = response.status().as_u16();
        let body = response.into_body().collect_bytes().await?;
        let mut lines = Vec::new();
        let mut newest = number(from);
        for line in body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let event: Value = serde_json::from_slice(line)?;
            let (of, object) = (&event["type"], &event["object"]);
            if of == "ERROR" {
                lines.push(json!({ "type": of, "body": relevant_parts(object) }));
                continue;
            }
            let version = number(version(object)?);
            ensure!(version >= newest, "{what}: {version} after {newest}");
            newest = version;
            // The number of bookmarks does not matter.
            let is_bookmark = of == "BOOKMARK";
            if is_bookmark && lines.last().is_some_and(|last: &Value| last["type"] == *of) {
                continue;
            }
            lines.push(match of.as_str() {
                Some("BOOKMARK") => json!({ "type": of, "kind": object["kind"] }),
                _ => json!({ "type": of, "body": relevant_parts(object) }),
            });
        }
        self.responses.push((what.to_owned(), json!({ "code": code, "lines": lines })));
        Ok(())
    }

    /// Whether an object's version has changed since the last call.
    pub(crate) fn note_version(&mut self, what: &str, object: &Value) -> Result<()> {
        let name = object["metadata"]["name"].as_str().context("no name")?.to_owned();
        let now = number(version(object)?);
        let before = self.versions.insert(name, now);
        let relevant_parts = match before {
            None => "the first",
            Some(before) if before == now => "the same",
            Some(before) if before < now => "a later one",
            Some(_) => "an earlier one",
        };
        self.responses.push((format!("{what}: its version"), json!(relevant_parts)));
        Ok(())
    }
}

/// A request with this content type, or for metadata only.
pub(crate) fn request(
    method: Method,
    path: &str,
    form: &str,
    body: &Value,
) -> Result<Request<Body>> {
    let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let (content, accept) = if form == METADATA { (MERGE, METADATA) } else { (form, JSON) };
    let request = Request::builder().method(method).uri(path);
    Ok(request.header(CONTENT_TYPE, content).header(ACCEPT, accept).body(Body::from(bytes))?)
}

/// The version of an object.
pub(crate) fn version(object: &Value) -> Result<&str> {
    object["metadata"]["resourceVersion"].as_str().with_context(|| format!("no version: {object}"))
}

fn number(version: &str) -> u64 {
    version.parse().unwrap_or_default()
}

/// The relevant parts of a response; absent ones are left out.
fn relevant_parts(body: &Value) -> Value {
    let (metadata, details) = (&body["metadata"], &body["details"]);
    let is_list = body["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
    let all = |name: &str, read: fn(&Value) -> Value| {
        let read_all = |items: &Vec<Value>| {
            items.iter().map(read).filter(|it| !it.is_null()).collect::<Vec<_>>()
        };
        json!(body[name].as_array().map(read_all))
    };
    let mut relevant_parts = json!({
        "kind": body["kind"], "apiVersion": body["apiVersion"],
        "name": metadata["name"], "namespace": metadata["namespace"],
        "generation": metadata["generation"].as_u64().filter(|_| body["kind"] == "Deployment"),
        "goes on": is_list.then(|| metadata["continue"].is_string()),
        "has a uid": metadata["uid"].is_string(),
        "data": body["data"], "note": body["note"], "holder": body["spec"]["holderIdentity"],
        "replicas": body["spec"]["replicas"], "is": body["status"]["replicas"],
        "status": body["status"].as_str(), "reason": body["reason"], "code": body["code"],
        "message": body["message"].as_str().map(in_general),
        "of": details["name"], "in": details["group"], "as": details["kind"],
        "items": all("items", relevant_parts), "resources": all("resources", resource),
    });
    if let Some(relevant_parts) = relevant_parts.as_object_mut() {
        relevant_parts.retain(|_, it| !it.is_null());
    }
    relevant_parts
}

/// An entry of discovery.
fn resource(entry: &Value) -> Value {
    let is_ours = entry["name"].as_str().is_some_and(|name| name.starts_with("deployments"));
    let fields = ["name", "kind", "namespaced", "group", "version"];
    if is_ours { json!(fields.map(|field| entry[field].clone())) } else { Value::Null }
}

/// The first sentence of a message, without parts that differ from run to run or depend on the
/// store.
fn in_general(message: &str) -> String {
    let message = message.split(". ").next().unwrap_or_default();
    let (before, after) = message.split_once("StorageError").unwrap_or((message, ""));
    let after = after.split_once("AdditionalErrorMsg: ").map_or(after, |(_, after)| after);
    let is_version = |word: &str| word.bytes().all(|byte| b"0123456789().,".contains(&byte));
    let is_uid = |word: &str| word.len() > 35 && word.contains("-4");
    let words = [before, after].concat();
    let words = words.split(' ').filter(|word| !is_version(word));
    words.map(|word| if is_uid(word) { "UID" } else { word }).collect::<Vec<_>>().join(" ")
}
