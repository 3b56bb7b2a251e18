//! The response to a request.

use std::time::Duration;

use http::{HeaderValue, Method, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use serde_json::{Value, json};

use crate::kind::Kind;
use crate::received_request::ReceivedRequest;
use crate::store::{self, Key, Store};
use crate::watching::{self, Watched};

/// The body of a response.
pub type ResponseBody = UnsyncBoxBody<Bytes, Cut>;

/// The connection was cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the connection was cut")
    }
}

impl std::error::Error for Cut {}

/// A rejection, in the form of an API server.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    code: StatusCode,
    message: String,
    reason: &'static str,
    details: Value,
    /// Whether the body is plain text, as for an unknown path.
    is_plain: bool,
}

impl Refusal {
    pub(crate) fn new(code: StatusCode, message: impl Into<String>) -> Self {
        let reason = match code {
            StatusCode::NOT_FOUND => "NotFound",
            StatusCode::CONFLICT => "Conflict",
            StatusCode::FORBIDDEN => "Forbidden",
            StatusCode::GONE => "Expired",
            StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
            _ => "",
        };
        Self { code, message: message.into(), reason, details: json!({}), is_plain: false }
    }

    pub(crate) fn retry_after(mut self, seconds: u32) -> Self {
        self.details["retryAfterSeconds"] = json!(seconds);
        self
    }

    fn about(mut self, kind: &Kind, name: &str) -> Self {
        self.details = json!({ "name": name, "kind": kind.plural });
        if !kind.group().is_empty() {
            self.details["group"] = json!(kind.group());
        }
        self
    }

    fn already_exists(kind: &Kind, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", kind.full_name());
        let refusal = Self::new(StatusCode::CONFLICT, message).about(kind, name);
        Self { reason: "AlreadyExists", ..refusal }
    }

    fn not_found(kind: &Kind, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", kind.full_name());
        Self::new(StatusCode::NOT_FOUND, message).about(kind, name)
    }

    fn of_the_path() -> Self {
        Self { is_plain: true, ..Self::new(StatusCode::NOT_FOUND, "404 page not found\n") }
    }

    pub(crate) fn status(&self) -> Value {
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "code": self.code.as_u16(), "reason": self.reason, "message": self.message,
            "details": self.details,
        })
    }

    pub(crate) fn answer(&self) -> Response<ResponseBody> {
        if self.is_plain {
            let words = Full::new(Bytes::from(self.message.clone()));
            return respond(self.code, words.map_err(|never| match never {}).boxed_unsync());
        }
        whole(self.code, &self.status())
    }
}

fn whole(code: StatusCode, body: &Value) -> Response<ResponseBody> {
    let body = Full::new(Bytes::from(body.to_string()));
    respond(code, body.map_err(|never| match never {}).boxed_unsync())
}

fn respond(code: StatusCode, body: ResponseBody) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// Success, without any further data.
pub(crate) fn silence() -> Response<ResponseBody> {
    let nothing = futures::stream::pending::<Result<Frame<Bytes>, Cut>>();
    respond(StatusCode::OK, StreamBody::new(nothing).boxed_unsync())
}

impl Store {
    pub(crate) fn answer(&mut self, request: &ReceivedRequest) -> Response<ResponseBody> {
        self.try_respond(request).unwrap_or_else(|refusal| refusal.answer())
    }

    fn try_respond(
        &mut self,
        request: &ReceivedRequest,
    ) -> Result<Response<ResponseBody>, Refusal> {
        if request.plural.is_empty() && request.method == Method::GET {
            return self.discover(request);
        }
        let fits =
            |kind: &Kind| kind.plural == request.plural && kind.api_version == request.api_version;
        let position = self.kinds().iter().position(fits);
        let position = position.ok_or_else(Refusal::of_the_path)?;
        if !self.kinds()[position].has(&request.subresource) {
            return Err(Refusal::of_the_path());
        }
        let (namespace, name) = (request.namespace.clone(), request.name.clone());
        let key = Key { kind: position, namespace, name };
        match request.method {
            Method::GET if request.name.is_empty() && request.is_watch() => {
                Ok(respond(StatusCode::OK, self.answer_watch(&key, request)))
            }
            Method::GET if request.name.is_empty() => self.answer_list(&key, request),
            Method::GET => {
                let object = self.find(&key)?;
                Ok(whole(StatusCode::OK, &requested_form(request, object)))
            }
            Method::POST => self.create(key, request),
            Method::PUT | Method::PATCH => self.change(key, request),
            Method::DELETE => self.answer_delete(&key, request),
            _ => Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "the stub does not do that")),
        }
    }

    fn find(&self, key: &Key) -> Result<&Value, Refusal> {
        let kind = &self.kinds()[key.kind];
        self.object(key).map(AsRef::as_ref).ok_or_else(|| Refusal::not_found(kind, &key.name))
    }

    /// Deletes an object, if the preconditions hold.
    fn answer_delete(
        &mut self,
        key: &Key,
        request: &ReceivedRequest,
    ) -> Result<Response<ResponseBody>, Refusal> {
        let (kind, now) = (self.kinds()[key.kind].clone(), self.find(key)?["metadata"].clone());
        for (name, of) in [("uid", "UID"), ("resourceVersion", "ResourceVersion")] {
            let (wanted, now) = (&request.body["preconditions"][name], &now[name]);
            if !wanted.is_null() && wanted != now {
                let [wanted, now] = [wanted, now].map(|it| it.as_str().unwrap_or_default());
                let message = format!(
                    "Operation cannot be fulfilled on {} \"{}\": the {of} in the precondition \
                     ({wanted}) does not match the {of} in record ({now}). The object might have \
                     been deleted and then recreated",
                    kind.name, key.name
                );
                let refusal = Refusal::new(StatusCode::CONFLICT, message);
                // Only this message names the object by its kind.
                let mut refusal = refusal.about(&kind, &key.name);
                refusal.details["kind"] = json!(kind.name);
                return Err(refusal);
            }
        }
        self.delete(key);
        let mut done = Refusal::new(StatusCode::OK, "").about(&kind, &key.name).status();
        done["status"] = json!("Success");
        for field in ["code", "reason", "message"] {
            done.as_object_mut().map(|fields| fields.remove(field));
        }
        done["details"]["uid"] = now["uid"].clone();
        Ok(whole(StatusCode::OK, &done))
    }

    fn discover(&self, request: &ReceivedRequest) -> Result<Response<ResponseBody>, Refusal> {
        let api_version = &request.api_version;
        let kinds = self.kinds().iter().filter(|kind| kind.api_version == *api_version);
        let resources: Vec<Value> = kinds.flat_map(Kind::discovered).collect();
        if resources.is_empty() {
            return Err(Refusal::of_the_path());
        }
        let list = json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version,
            "resources": resources,
        });
        Ok(whole(StatusCode::OK, &list))
    }

    fn answer_list(
        &mut self,
        key: &Key,
        request: &ReceivedRequest,
    ) -> Result<Response<ResponseBody>, Refusal> {
        let (listed, sent_count) = match request.parameter("continue") {
            None => (self.begin_list(key.kind, &key.namespace), 0),
            Some(token) => self.continue_list(token).ok_or_else(|| {
                let message = "The provided continue parameter is too old to display a consistent \
                               list result";
                Refusal::new(StatusCode::GONE, message)
            })?,
        };
        let limit = request.number("limit").and_then(|limit| usize::try_from(limit).ok());
        let remaining = listed.objects.len() - sent_count;
        let end = sent_count + limit.filter(|limit| *limit > 0).unwrap_or(remaining).min(remaining);
        let mut metadata = json!({ "resourceVersion": listed.version.to_string() });
        if end < listed.objects.len() {
            metadata["continue"] = json!(self.token(key.kind, &listed, end));
        }
        let kind = &self.kinds()[key.kind];
        let items = listed.objects[sent_count..end].iter();
        let items: Vec<Value> = if kind.is_built_in() {
            items.map(|object| without_types(object)).collect()
        } else {
            items.map(|object| Value::clone(object)).collect()
        };
        let list = json!({
            "kind": format!("{}List", kind.name), "apiVersion": kind.api_version,
            "metadata": metadata, "items": items,
        });
        Ok(whole(StatusCode::OK, &list))
    }

    fn answer_watch(&mut self, key: &Key, request: &ReceivedRequest) -> ResponseBody {
        let now = self.version();
        let after = request.number("resourceVersion").unwrap_or(now);
        let Some((known, coming)) = self.watch(after) else {
            return watching::expired_watch(after);
        };
        let allows_bookmarks = request.parameter("allowWatchBookmarks") == Some("true");
        let watched = Watched {
            kind: key.kind,
            described: self.kinds()[key.kind].clone(),
            namespace: key.namespace.clone(),
            after,
            // A request for a future version waits for it, and gets the current version in the
            // message.
            version: after.min(now),
            lasts: Duration::from_secs(request.number("timeoutSeconds").unwrap_or(3600)),
            with_bookmarks: allows_bookmarks && self.has_bookmarks,
        };
        watching::watch(watched, known, coming)
    }

    fn create(
        &mut self,
        mut key: Key,
        request: &ReceivedRequest,
    ) -> Result<Response<ResponseBody>, Refusal> {
        let metadata = &request.body["metadata"];
        key.name = match (metadata["name"].as_str(), metadata["generateName"].as_str()) {
            (Some(name), _) => name.to_owned(),
            (None, Some(prefix)) => format!("{prefix}{}", self.version()),
            (None, None) => {
                let message = "name or generateName is required";
                return Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, message));
            }
        };
        if self.object(&key).is_some() {
            let kind = &self.kinds()[key.kind];
            return Err(Refusal::already_exists(kind, &key.name));
        }
        let mut object = request.body.clone();
        // The status is written separately, unless empty.
        object.as_object_mut().map(|fields| fields.remove("status"));
        Ok(self.written(key, object, request, StatusCode::CREATED))
    }

    /// An update replaces the object; a patch is merged into it.
    fn change(
        &mut self,
        key: Key,
        request: &ReceivedRequest,
    ) -> Result<Response<ResponseBody>, Refusal> {
        let kind = self.kinds()[key.kind].clone();
        // A request with a UID is only for the object with that UID.
        if let Some(uid) = request.body["metadata"]["uid"].as_str().filter(|_| request.is_update())
        {
            let now = self.object(&key).and_then(|it| it["metadata"]["uid"].as_str());
            // An update creates a missing Lease, unless it carries a version.
            let now = now.or_else(|| (kind.name == "Lease").then_some(""));
            if let Some(now) = now.filter(|now| uid != *now) {
                let message = format!(
                    "Operation cannot be fulfilled on {} \"{}\": Precondition failed: UID in \
                     precondition: {uid}, UID in object meta: {now}",
                    kind.full_name(),
                    key.name
                );
                return Err(Refusal::new(StatusCode::CONFLICT, message).about(&kind, &key.name));
            }
        }
        let before = self.find(&key)?.clone();
        let expected = request.body["metadata"]["resourceVersion"].as_str();
        if expected.is_some_and(|expected| before["metadata"]["resourceVersion"] != expected) {
            let message = format!(
                "Operation cannot be fulfilled on {} \"{}\": the object has been modified; please \
                 apply your changes to the latest version and try again",
                kind.full_name(),
                key.name
            );
            return Err(Refusal::new(StatusCode::CONFLICT, message).about(&kind, &key.name));
        }
        let mut after = before.clone();
        match (&*request.subresource, &request.method) {
            ("status", &Method::PUT) => after["status"] = request.body["status"].clone(),
            ("status", _) => {
                if let Some(status) = request.body.get("status") {
                    store::merge(&mut after["status"], status);
                }
            }
            ("scale", _) => {
                if let Some(replicas) = request.body["spec"].get("replicas") {
                    after["spec"]["replicas"] = replicas.clone();
                }
            }
            _ => {
                if request.is_update() {
                    after = request.body.clone();
                } else {
                    store::merge(&mut after, &request.body);
                }
                // The status is a subresource.
                match before.get("status") {
                    Some(status) => after["status"] = status.clone(),
                    None => {
                        after.as_object_mut().map(|fields| fields.remove("status"));
                    }
                }
            }
        }
        Ok(self.written(key, after, request, StatusCode::OK))
    }

    fn written(
        &mut self,
        key: Key,
        object: Value,
        request: &ReceivedRequest,
        code: StatusCode,
    ) -> Response<ResponseBody> {
        if request.is_dry_run() {
            let before = self.object(&key).map(AsRef::as_ref);
            let object = self.completed(&key, object, before, self.version());
            return whole(code, &requested_form(request, &object));
        }
        let object = self.write(key, object);
        whole(code, &requested_form(request, &object))
    }
}

/// An object in the requested form: its scale, its metadata, or all of it.
fn requested_form(request: &ReceivedRequest, object: &Value) -> Value {
    let metadata = &object["metadata"];
    if request.subresource == "scale" {
        let pick = |name: &str| metadata[name].clone();
        return json!({
            "kind": "Scale", "apiVersion": "autoscaling/v1",
            "metadata": {
                "name": pick("name"), "namespace": pick("namespace"), "uid": pick("uid"),
                "resourceVersion": pick("resourceVersion"),
            },
            "spec": { "replicas": object["spec"]["replicas"] },
            "status": { "replicas": object["status"]["replicas"].as_u64().unwrap_or_default() },
        });
    }
    if request.metadata_only {
        return json!({
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        });
    }
    object.clone()
}

/// An object as in a list of a built-in kind.
fn without_types(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, _| name != "kind" && name != "apiVersion");
    }
    object
}
