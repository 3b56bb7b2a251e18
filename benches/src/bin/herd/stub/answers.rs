//! What the stub answers to a request.

use std::convert::Infallible;
use std::sync::Arc;

use futures::StreamExt as _;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use serde_json::{Value, json};

use super::store::{Kind, Store};
use crate::objects::{self, POLICIES, TARGETS};

type Body = http_body_util::combinators::UnsyncBoxBody<Bytes, Infallible>;

pub(super) async fn answer(
    store: Arc<Store>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    Ok(match parts.method {
        Method::GET => read(&store, &path, &query),
        Method::PATCH => patch(&store, &path, &body),
        Method::POST if path.starts_with("/apis/events.k8s.io/") => {
            store.lock().note("POST events".to_owned());
            whole(StatusCode::CREATED, &json!({ "metadata": {} }))
        }
        method => unknown(&store, &format!("{method} {path}")),
    })
}

fn read(store: &Store, path: &str, query: &str) -> Response<Body> {
    let is_watch = query.contains("watch=true");
    let verb = if is_watch { "WATCH" } else { "LIST" };
    if path == TARGETS {
        store.lock().note("GET the kinds of targets".to_owned());
        return whole(StatusCode::OK, &discovery());
    }
    let kind = if path == format!("{POLICIES}/cronfederatedhpas") {
        Some(Kind::Policy)
    } else if path == format!("{TARGETS}/scalablenodegroups") {
        Some(Kind::Target)
    } else if path == format!("{TARGETS}/metricsproducers") {
        None
    } else {
        return unknown(store, &format!("GET {path}"));
    };
    let mut held = store.lock();
    held.note(format!("{verb} {}", path.rsplit('/').next().unwrap_or_default()));
    match (kind, is_watch) {
        (Some(kind), false) => {
            let page = listing(&held, kind, query);
            drop(held);
            whole(StatusCode::OK, &page)
        }
        (None, false) => {
            let metadata = json!({ "resourceVersion": held.version().to_string() });
            whole(StatusCode::OK, &json!({ "metadata": metadata, "items": [] }))
        }
        (Some(kind), true) => {
            let lines = held.watch(kind).map(|line| Ok(Frame::data(Bytes::from(line))));
            Response::new(BodyExt::boxed_unsync(StreamBody::new(lines)))
        }
        (None, true) => {
            let nothing = futures::stream::pending::<Result<Frame<Bytes>, Infallible>>();
            Response::new(BodyExt::boxed_unsync(StreamBody::new(nothing)))
        }
    }
}

/// A page, as many objects as were asked for. The token is the number of the next one.
fn listing(held: &super::store::Held, kind: Kind, query: &str) -> Value {
    let parameter = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).and_then(|(_, value)| value.parse::<usize>().ok())
    };
    let first = parameter("continue").unwrap_or(0);
    let last = parameter("limit").map_or(usize::MAX, |limit| first.saturating_add(limit));
    let last = last.min(held.len(kind));
    let items: Vec<Value> = (first..last).filter_map(|number| held.object(kind, number)).collect();
    let mut metadata = json!({ "resourceVersion": held.version().to_string() });
    if last < held.len(kind) {
        metadata["continue"] = json!(last.to_string());
    }
    json!({ "metadata": metadata, "items": items })
}

fn patch(store: &Store, path: &str, body: &[u8]) -> Response<Body> {
    let mut parts = path.rsplit('/');
    let (subresource, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let number = objects::number(name);
    let change = serde_json::from_slice::<Value>(body).ok();
    let (Some(number), Some(mut change)) = (number, change) else {
        return unknown(store, &format!("PATCH {path}"));
    };
    let kind = match subresource {
        "scale" => Kind::Target,
        "status" => Kind::Policy,
        _ => return unknown(store, &format!("PATCH {path}")),
    };
    let mut held = store.lock();
    held.note(format!("PATCH {subresource}"));
    let Some(version) = held.version_of(kind, number) else {
        return refusal(StatusCode::NOT_FOUND, "there is no such object");
    };
    let expected = change["metadata"]["resourceVersion"].as_str();
    if expected.is_some_and(|expected| expected != version.to_string()) {
        return refusal(StatusCode::CONFLICT, "the object has been modified");
    }
    if kind == Kind::Target {
        let replicas = change["spec"]["replicas"].as_u64().and_then(|it| u32::try_from(it).ok());
        held.scale(number, replicas.unwrap_or_default());
    } else {
        let mut status = change["status"].take();
        if let Some(fields) = status.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        held.record(number, &status);
    }
    let metadata = held.metadata(kind, number).unwrap_or_default();
    drop(held);
    whole(StatusCode::OK, &json!({ "metadata": metadata, "spec": change["spec"] }))
}

fn discovery() -> Value {
    let verbs = ["get", "list", "patch", "update", "watch"];
    let resource = |name: &str, kind: &str| json!({ "name": name, "singularName": "", "namespaced": true, "kind": kind, "verbs": verbs });
    let mut scale = resource("scalablenodegroups/scale", "Scale");
    scale["group"] = json!("autoscaling");
    scale["version"] = json!("v1");
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": TARGETS.trim_start_matches("/apis/"),
        "resources": [resource("scalablenodegroups", "ScalableNodeGroup"), scale],
    })
}

fn unknown(store: &Store, request: &str) -> Response<Body> {
    store.lock().note(format!("not understood: {request}"));
    refusal(StatusCode::NOT_FOUND, "the stub does not have that")
}

fn refusal(code: StatusCode, message: &str) -> Response<Body> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "message": message, "code": code.as_u16(),
    });
    whole(code, &status)
}

fn whole(code: StatusCode, body: &Value) -> Response<Body> {
    let body = Full::new(Bytes::from(body.to_string()));
    let mut response = Response::new(BodyExt::boxed_unsync(body));
    *response.status_mut() = code;
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    response
}
