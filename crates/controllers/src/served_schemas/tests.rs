//! Reading schemas from an API server, and fitting statuses to them.

use std::convert::Infallible;

use almanac_api::definitions::custom_resources;
use almanac_engine::Family;
use http::Response;

use super::*;

const FAMILY: Family = Family::MetricScaling;
const FAR: Timestamp = Timestamp::UNIX_EPOCH;

/// The response of an API server.
#[derive(Clone)]
struct SchemaServer(Arc<Mutex<(StatusCode, Value)>>);

impl SchemaServer {
    fn with_status(status: StatusCode, document: Value) -> Self {
        Self(Arc::new(Mutex::new((status, document))))
    }

    fn become_these(&self, status: StatusCode, document: Value) {
        *self.0.lock().unwrap() = (status, document);
    }

    /// A client of this API server, which responds with 304 for a document of the same version.
    fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (status, document) = server.0.lock().unwrap().clone();
            let text = document.to_string();
            let etag = HeaderValue::from_str(&format!("\"{}\"", text.len())).unwrap();
            let is_same = request.headers().get(IF_NONE_MATCH) == Some(&etag);
            let status = if is_same { StatusCode::NOT_MODIFIED } else { status };
            let text = if is_same { String::new() } else { text };
            let response = Response::builder().status(status).header(ETAG, etag);
            let response = response.body(Body::from(text.into_bytes())).unwrap();
            async move { Ok::<_, Infallible>(response) }
        });
        Client::new(service, "default")
    }
}

/// The document of autoscalers, without these fields of the status.
fn document(without: &[&str]) -> Value {
    let kind = Kind::HorizontalAutoscaler;
    let all = custom_resources();
    let mut schema = all.iter().find(|it| it.known_kind() == Some(kind)).unwrap().schema();
    let status = schema["properties"]["status"]["properties"].as_object_mut().unwrap();
    for name in without {
        status.remove(*name).unwrap();
    }
    schema["x-kubernetes-group-version-kind"] =
        json!([{"group": kind.group(), "version": kind.version(), "kind": kind.name()}]);
    json!({"components": {"schemas": {"other": {}, "this": schema}}})
}

#[tokio::test]
async fn missing_fields_are_known_until_another_schema_is_served() {
    let server = SchemaServer::with_status(StatusCode::OK, document(&["scaleEvents"]));
    let (client, schemas) = (server.client(), ServedSchemas::for_kinds(&[FAMILY.into()]));
    assert_eq!(schemas.missing(FAMILY), None);
    assert_eq!(schemas.check(&client).await, [FAMILY.into()]);
    let missing = schemas.missing(FAMILY).unwrap().to_string();
    assert!(missing.contains("lacks status.scaleEvents;"), "{missing}");

    // The same document, an error, and a document without the kind change nothing.
    assert_eq!(schemas.check(&client).await, []);
    server.become_these(StatusCode::INTERNAL_SERVER_ERROR, json!("unavailable"));
    assert_eq!(schemas.check(&client).await, []);
    server.become_these(StatusCode::OK, json!({"components": {"schemas": {}}}));
    assert_eq!(schemas.check(&client).await, []);
    assert!(schemas.missing(FAMILY).is_some());

    server.become_these(StatusCode::OK, document(&[]));
    assert_eq!(schemas.check(&client).await, [FAMILY.into()]);
    assert_eq!(schemas.missing(FAMILY), None);
}

#[tokio::test]
async fn a_status_reports_missing_fields_and_then_once_that_none_is_missing() {
    let server = SchemaServer::with_status(StatusCode::OK, document(&["scaleEvents"]));
    let schemas = ServedSchemas::for_kinds(&[FAMILY.into()]);
    schemas.check(&server.client()).await;
    let missing = schemas.missing(FAMILY);
    let composed = || json!({"scaleEvents": [], "desiredReplicas": 2, "conditions": []});

    let (mut status, before) = (composed(), StatusSnapshot::from_status(&Value::Null));
    let state = fit(missing.as_deref(), &mut status, &before, Some(1), FAR).unwrap();
    assert!(state.holds && state.needs_attention(), "{state:?}");
    assert_eq!(status["scaleEvents"], Value::Null);
    assert_eq!(status["conditions"][0]["type"], "SchemaIncomplete");

    let (mut fixed, incomplete) = (composed(), StatusSnapshot::from_status(&status));
    let state = fit(None, &mut fixed, &incomplete, Some(1), FAR).unwrap();
    assert!(!state.holds && !state.needs_attention(), "{state:?}");
    assert_eq!(fixed["conditions"][0]["status"], "False");
    assert_eq!(fixed["scaleEvents"], json!([]));

    let (mut whole, fixed) = (composed(), StatusSnapshot::from_status(&fixed));
    assert_eq!(fit(None, &mut whole, &fixed, Some(1), FAR), None);
    assert_eq!(whole, composed());
}
