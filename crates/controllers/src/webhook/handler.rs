//! Responds to the requests of an API server.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use almanac_api::checking::CheckContext;
use almanac_api::families::{Controlled, Descriptor};
use almanac_api::kinds::Kind;
use almanac_api::objects::dates_of_taints;
use almanac_shell::clock::Clock;
use almanac_shell::server::{Handler, ServerRequest, ServerResponse};
use http::StatusCode;
use serde_json::{Value, json};

use super::admission::{ProposedObject, Verdict, decide};
use super::metrics::{Outcome, ReviewMetrics};
use super::object_index::SharedIndex;
use super::review::{Request, Review, ReviewResponse, mutation_response, review_response};
use crate::namespaces::Namespaces;
use crate::server_version::ServerVersion;
use crate::upstream::Upstreams;

/// The path of validating requests.
const VALIDATE: &str = "/validate";
/// The path of mutating requests.
const MUTATE: &str = "/mutate";

/// Responds to reviews.
pub(super) struct Reviews {
    pub(super) namespaces: Namespaces,
    pub(super) index: SharedIndex,
    pub(super) clock: Clock,
    pub(super) upstreams: Upstreams,
    pub(super) kubernetes: ServerVersion,
    pub(super) metrics: ReviewMetrics,
    /// Held while an autoscaler is checked.
    pub(super) one_at_a_time: Mutex<()>,
}

impl Handler for Reviews {
    async fn handle(&self, request: ServerRequest) -> ServerResponse {
        let is_to_be_completed = match &*request.path {
            VALIDATE => false,
            MUTATE => true,
            _ => return ServerResponse::refusal(StatusCode::NOT_FOUND, "try /validate or /mutate"),
        };
        let started = Instant::now();
        let review: Result<Review, _> = serde_json::from_slice(&request.body);
        let why = match review {
            Ok(Review { request: Some(request) }) => {
                // A large object takes a while, and must not delay the other reviews.
                let response = tokio::task::block_in_place(|| {
                    if is_to_be_completed { self.complete(&request) } else { self.review(request) }
                });
                self.metrics.timed(started.elapsed());
                return response;
            }
            Ok(Review { request: None }) => {
                "failed to read an AdmissionReview: request is missing".to_owned()
            }
            Err(error) => format!("failed to read an AdmissionReview: {error}"),
        };
        self.metrics.count(Outcome::Malformed);
        ServerResponse::refusal(StatusCode::BAD_REQUEST, &why)
    }
}

impl Reviews {
    fn review(&self, mut request: Request) -> ServerResponse {
        let verdict = self.verdict(&mut request);
        let is_refused = !verdict.errors.is_empty();
        let outcome = match (is_refused, verdict.warnings.is_empty()) {
            (true, _) => Outcome::Refused,
            (false, false) => Outcome::Warned,
            (false, true) => Outcome::Allowed,
        };
        self.metrics.count(outcome);
        if is_refused {
            tracing::info!(
                kind = request.kind.kind,
                namespace = request.namespace,
                name = request.name,
                error = %verdict.errors[0],
                "refused an object"
            );
        }
        as_json(&review_response(&request, &verdict.errors, verdict.warnings))
    }

    /// Adds the defaults that the API of a hub sets in the objects of its clusters.
    fn complete(&self, request: &Request) -> ServerResponse {
        let dates = if self.kind_to_check(request) == Some(Kind::ManagedCluster) {
            dates_of_taints(&request.object, request.old_object.as_ref(), self.clock.now())
        } else {
            Vec::new()
        };
        let added = |(index, date)| {
            let path = format!("/spec/taints/{index}/timeAdded");
            json!({"op": "add", "path": path, "value": date})
        };
        let patch: Vec<Value> = dates.into_iter().map(added).collect();
        self.metrics.count(Outcome::Allowed);
        as_json(&mutation_response(request, &patch))
    }

    /// The kind of an object, if this webhook checks it.
    fn kind_to_check(&self, request: &Request) -> Option<Kind> {
        // A limited webhook has no index of other namespaces, and cluster-scoped objects have no namespace.
        let is_covered = self.namespaces.include(&request.namespace)
            && !self.index.read().is_marked(&request.namespace);
        let kind = Kind::find(&request.kind.group, &request.kind.kind).filter(|_| is_covered)?;
        // The upstream controller may accept objects that Almanac rejects.
        let upstream = Controlled::for_kind(kind).and_then(|it| self.upstreams.running(it));
        upstream.is_none().then_some(kind)
    }

    fn verdict(&self, request: &mut Request) -> Verdict {
        let nothing = Verdict { errors: Vec::new(), warnings: Vec::new() };
        let Some(kind) = self.kind_to_check(request) else { return nothing };
        // Of all `ConfigMaps`, only those with the names of the agent's are checked. A DELETE has no object.
        if let Some(name) = request.object["metadata"]["name"].as_str() {
            // The request may lack a generated name; the object contains the name.
            request.name = name.to_owned();
        }
        if !kind.is_of_interest(&request.name) || request.object.is_null() {
            return nothing;
        }
        let context = CheckContext {
            clock: self.clock.setting(),
            kubernetes: self.kubernetes.for_checks(),
            ..CheckContext::new(&request.namespace, self.clock.now())
        };
        let object = std::mem::take(&mut request.object);
        let proposed = ProposedObject {
            kind,
            namespace: &request.namespace,
            object,
            before: request.old_object.as_ref().filter(|it| !it.is_null()),
        };
        // The patterns of an object may be large, and concurrent requests would compile them at the same time.
        let has_queries = Descriptor::for_kind(kind).is_some_and(|it| it.has_queries);
        let _alone =
            has_queries.then(|| self.one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner));
        decide(&self.index, proposed, context)
    }
}

fn as_json(response: &ReviewResponse<'_>) -> ServerResponse {
    // A review consists of strings, so serialization cannot fail.
    ServerResponse::json(serde_json::to_vec(response).unwrap_or_default())
}
