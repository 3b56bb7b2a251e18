//! Instant queries to a Prometheus through its HTTP API, each of which must yield one finite number.
//!
//! Any other response is a [`QueryProblem`] with the next step. Time, response size and the number of queries in flight are
//! limited, also for each namespace, so that a slow or hostile server cannot exhaust the process. Redirects are not
//! followed: they would send the token elsewhere.
//!
//! The caller decides when to query, keeps to one query for an autoscaler at a time, and handles problems.

mod access;
mod address;
mod metrics;
mod problem;
mod query_permits;
mod response;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use form_urlencoded::Serializer;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Request};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use kube::client::Body;
use tokio::time::{Instant, timeout};
use tracing::instrument::WithSubscriber as _;
use tracing::subscriber::NoSubscriber;

use access::Access;
pub use access::PrometheusError;
pub use address::{PrometheusAddress, PrometheusAddressError};
pub use metrics::QueryMetrics;
pub use problem::QueryProblem;
pub use query_permits::QueryPermit;
use query_permits::QueryPermits;
use response::PrometheusResponse;

/// The time in which Prometheus must evaluate a query. Prometheus itself reports a timeout. That explains more than
/// a missing response.
const EVALUATION_SECONDS: u64 = 5;

/// The timeout of a complete response.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(8);

/// The queries in flight at a time. Prometheus evaluates 20 at a time by default, for all its clients.
const MAX_QUERIES: usize = 16;

/// The maximum number of queries in flight for one namespace. Other namespaces use the rest, even while its queries
/// hang.
const MAX_QUERIES_OF_A_NAMESPACE: usize = 12;

/// The maximum size of a response. One sample takes less than a kilobyte; thousands of series up to this size get a
/// message.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// A longer query is sent in the body of the request, because proxies limit the length of an address. Shorter queries
/// are not, because some proxies require more permissions for a POST.
const MAX_QUERY_IN_ADDRESS: usize = 2048;

/// The address of a Prometheus, with authentication and TLS.
#[derive(Clone, Debug)]
pub struct PrometheusOptions {
    /// The address of the Prometheus.
    pub address: PrometheusAddress,
    /// A file with a bearer token. The file may be replaced at any time.
    pub token_file: Option<PathBuf>,
    /// A file with the CA certificates to trust, instead of those of the system. The file may be replaced at any time.
    pub ca_file: Option<PathBuf>,
}

/// Sends queries. Copies share their limits.
#[derive(Clone)]
pub struct Prometheus {
    inner: Arc<Inner>,
}

struct Inner {
    access: Access,
    permits: QueryPermits,
    metrics: QueryMetrics,
}

impl Prometheus {
    /// Reads the files, without sending a request. Must be called within a runtime.
    pub fn new(options: PrometheusOptions, metrics: QueryMetrics) -> Result<Self, PrometheusError> {
        let access = Access::open(options)?;
        let permits = QueryPermits::new(MAX_QUERIES, MAX_QUERIES_OF_A_NAMESPACE);
        Ok(Self { inner: Arc::new(Inner { access, permits, metrics }) })
    }

    /// Waits for a permit to send a query on behalf of a namespace.
    pub async fn permit(&self, namespace: &str) -> QueryPermit {
        self.inner.permits.acquire(namespace).await
    }

    /// Sends a query, and returns its single number.
    pub async fn query(&self, _: &QueryPermit, promql: &str) -> Result<f64, QueryProblem> {
        let sent_at = Instant::now();
        let result = self.send(promql).await;
        self.inner.metrics.count(&result, sent_at.elapsed());
        result
    }

    async fn send(&self, promql: &str) -> Result<f64, QueryProblem> {
        let client = self.inner.access.client();
        let request = request(promql).map_err(|error| problem::unreachable(&error))?;
        let exchange = async {
            let response = client.send(request).await;
            let (head, body) = response.map_err(|error| problem::unreachable(&error))?.into_parts();
            let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await;
            let body = body.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
                Some(_) => QueryProblem::TooLarge,
                None => QueryProblem::CutOff,
            })?;
            Ok(PrometheusResponse {
                status: head.status,
                headers: head.headers,
                body: body.to_bytes(),
            })
        };
        // The client would log each failure as an error of its own. The caller gets the failure, and logs it once.
        let exchange = timeout(ANSWER_TIMEOUT, exchange).with_subscriber(NoSubscriber::default());
        let answer = exchange.await.map_err(|_| {
            let seconds = ANSWER_TIMEOUT.as_secs();
            QueryProblem::TimedOut { seconds }
        })??;
        answer.read(self.inner.access.has_token())
    }
}

fn request(promql: &str) -> http::Result<Request<Body>> {
    let path = "/api/v1/query";
    let limit = format!("{EVALUATION_SECONDS}s");
    let mut parameters = Serializer::new(String::new());
    parameters.append_pair("query", promql).append_pair("timeout", &limit);
    let parameters = parameters.finish();
    let json = HeaderValue::from_static("application/json");
    if parameters.len() <= MAX_QUERY_IN_ADDRESS {
        let uri = format!("{path}?{parameters}");
        return Request::get(uri).header(ACCEPT, json).body(Body::empty());
    }
    let form = HeaderValue::from_static("application/x-www-form-urlencoded");
    let request = Request::post(path).header(ACCEPT, json).header(CONTENT_TYPE, form);
    request.body(Body::from(parameters.into_bytes()))
}
