//! The request of an API server and the response to it: `AdmissionReview` of admission.k8s.io/v1.
//!
//! Fields that no response depends on are skipped, and the others are read leniently: a response that is not a review
//! is treated as a failed webhook for every object.

use almanac_api::finding::Finding;
use k8s_openapi::ByteString;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// An admission review request.
#[derive(Debug, Deserialize)]
pub(super) struct Review {
    pub(super) request: Option<Request>,
}

/// The object under review, and the request's metadata.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    pub(super) uid: String,
    #[serde(default)]
    pub(super) kind: RequestKind,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) namespace: String,
    #[serde(default)]
    pub(super) object: Value,
    #[serde(default)]
    pub(super) old_object: Option<Value>,
}

/// The kind of an object.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RequestKind {
    #[serde(default)]
    pub(super) group: String,
    #[serde(default)]
    pub(super) kind: String,
}

/// An admission review response.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReviewResponse<'a> {
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
    pub(super) response: Response<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct Response<'a> {
    uid: &'a str,
    pub(super) allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(flatten)]
    patch: Option<JsonPatch>,
}

/// The changes to the object.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonPatch {
    patch_type: &'static str,
    patch: ByteString,
}

/// The response to a request, with errors and warnings. Errors have the form of an API server's own errors for an
/// invalid object, which kubectl shows line by line.
pub(super) fn review_response<'a>(
    request: &'a Request,
    errors: &[Finding],
    warnings: Vec<String>,
) -> ReviewResponse<'a> {
    let status = (!errors.is_empty()).then(|| refusal(request, errors));
    // Warnings are sent in a header of the response.
    let warnings = warnings.into_iter().map(|it| it.replace(char::is_control, " ")).collect();
    let allowed = status.is_none();
    wrap(Response { uid: &request.uid, allowed, status, warnings, patch: None })
}

/// The response to a mutating request: operations of RFC 6902.
pub(super) fn mutation_response<'a>(
    request: &'a Request,
    operations: &[Value],
) -> ReviewResponse<'a> {
    let patch = (!operations.is_empty()).then(|| {
        // Operations consist of strings, so serialization cannot fail.
        let patch = serde_json::to_vec(operations).unwrap_or_default();
        JsonPatch { patch_type: "JSONPatch", patch: ByteString(patch) }
    });
    let uid = &request.uid;
    wrap(Response { uid, allowed: true, status: None, warnings: Vec::new(), patch })
}

fn wrap(response: Response<'_>) -> ReviewResponse<'_> {
    ReviewResponse { api_version: "admission.k8s.io/v1", kind: "AdmissionReview", response }
}

fn refusal(request: &Request, errors: &[Finding]) -> Value {
    let causes = errors.iter().map(|finding| {
        json!({
            "reason": "FieldValueInvalid",
            "field": finding.field.to_string(),
            "message": finding.sentence_about_field(),
        })
    });
    let sentences: Vec<String> = errors.iter().map(Finding::sentence).collect();
    json!({
        "code": 422,
        "reason": "Invalid",
        "message": sentences.join("\n"),
        "details": {
            "group": request.kind.group,
            "kind": request.kind.kind,
            "name": request.name,
            "causes": causes.collect::<Vec<Value>>(),
        },
    })
}
