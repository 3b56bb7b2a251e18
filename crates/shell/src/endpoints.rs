//! Metrics and health over HTTP: the responses. `listener` accepts and limits the connections.
//!
//! `/metrics` is evaluated at the time of the scrape. `/healthz` fails when the process is stuck and should be
//! restarted; `/readyz` fails while something it needs is missing.

pub(crate) mod listener;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::following::WatchAges;
use crate::monotonic::Monotonic;

const PLAIN_TEXT: &str = "text/plain; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The time without a heartbeat after which a process is stuck.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_mins(1);

/// The health of a process.
#[derive(Clone)]
pub struct Health {
    inner: Arc<HealthInner>,
}

struct HealthInner {
    /// The clock that times heartbeats.
    clock: Monotonic,
    /// The object that the process is still waiting for; `None` when the process is ready.
    awaited: Mutex<Option<String>>,
    /// The last heartbeat, in milliseconds of the monotonic clock; 0 when none is expected.
    alive_at: AtomicU64,
    /// The number of terms that have ended.
    life: AtomicU64,
    /// The ages of the running watches.
    watch_ages: WatchAges,
}

/// Sends heartbeats.
#[derive(Clone)]
pub struct Heartbeat {
    health: Health,
    life: u64,
}

impl Heartbeat {
    /// Sends a heartbeat.
    pub fn beat(&self) {
        let inner = &self.health.inner;
        if inner.life.load(Ordering::SeqCst) == self.life {
            inner.alive_at.store(inner.milliseconds(), Ordering::SeqCst);
        }
    }
}

impl HealthInner {
    /// The current time in milliseconds, but never 0: 0 means that no heartbeat is expected.
    fn milliseconds(&self) -> u64 {
        u64::try_from(self.clock.now().as_millis()).unwrap_or(u64::MAX).max(1)
    }
}

impl Default for Health {
    fn default() -> Self {
        Self::new(Monotonic::system())
    }
}

impl Health {
    /// A process that is not ready yet, with heartbeats timed by this clock.
    #[must_use]
    pub fn new(clock: Monotonic) -> Self {
        let inner = HealthInner {
            clock,
            awaited: Mutex::default(),
            alive_at: AtomicU64::default(),
            life: AtomicU64::default(),
            watch_ages: WatchAges::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Sets the object that this process is waiting for before it can work.
    pub fn set_waiting_for(&self, what: impl Into<String>) {
        self.set(Some(what.into()));
    }

    /// Marks the process as ready.
    pub fn set_ready(&self) {
        self.set(None);
    }

    fn set(&self, awaited: Option<String>) {
        *self.inner.awaited.lock().unwrap_or_else(PoisonError::into_inner) = awaited;
    }

    /// The ages of all watches. While a required one is stale, the process is not ready.
    #[must_use]
    pub fn watch_ages(&self) -> &WatchAges {
        &self.inner.watch_ages
    }

    /// The object that the process is waiting for, if any.
    #[must_use]
    pub fn waiting_for(&self) -> Option<String> {
        let awaited = self.inner.awaited.lock().unwrap_or_else(PoisonError::into_inner).clone();
        awaited.or_else(|| {
            let kind = self.inner.watch_ages.stale()?;
            Some(format!("a watch event of {kind}: the watch has been silent for minutes"))
        })
    }

    /// Creates a heartbeat, which is expected from its first beat on.
    #[must_use]
    pub fn heartbeat(&self) -> Heartbeat {
        Heartbeat { health: self.clone(), life: self.inner.life.load(Ordering::SeqCst) }
    }

    /// Stops expecting heartbeats; a late one from before is ignored.
    pub fn stop_heartbeat(&self) {
        self.inner.life.fetch_add(1, Ordering::SeqCst);
        self.inner.alive_at.store(0, Ordering::SeqCst);
    }

    fn is_stuck(&self) -> bool {
        let at = self.inner.alive_at.load(Ordering::SeqCst);
        let silent_for = self.inner.milliseconds().saturating_sub(at);
        at != 0 && u128::from(silent_for) > HEARTBEAT_TIMEOUT.as_millis()
    }
}

struct EndpointState {
    health: Health,
    registry: Arc<Registry>,
}

/// Serves until the token is canceled; responses in progress are finished.
pub async fn serve(
    listener: TcpListener,
    registry: Arc<Registry>,
    health: Health,
    end: CancellationToken,
) {
    let served = EndpointState { health, registry };
    let answer = move |request: &Request<_>| answer(&served, request);
    listener::serve_within(listener::DEFAULT_LIMITS, listener, answer, end).await;
}

fn answer<Body>(served: &EndpointState, request: &Request<Body>) -> Response<String> {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let mut refusal = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refusal;
    }
    match request.uri().path() {
        "/metrics" => metrics(served),
        "/healthz" => healthz(served),
        "/readyz" => readyz(served),
        _ => plain(StatusCode::NOT_FOUND, "try /metrics, /healthz or /readyz\n"),
    }
}

fn plain(status: StatusCode, text: impl Into<String>) -> Response<String> {
    typed(status, PLAIN_TEXT, text.into())
}

fn typed(status: StatusCode, content_type: &'static str, text: String) -> Response<String> {
    let mut response = Response::new(text);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn metrics(served: &EndpointState) -> Response<String> {
    let mut text = String::new();
    match encode(&mut text, &served.registry) {
        Ok(()) => typed(StatusCode::OK, OPEN_METRICS, text),
        Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, "failed to encode the metrics\n"),
    }
}

fn healthz(served: &EndpointState) -> Response<String> {
    if served.health.is_stuck() {
        plain(StatusCode::INTERNAL_SERVER_ERROR, "stuck\n")
    } else {
        plain(StatusCode::OK, "ok\n")
    }
}

fn readyz(served: &EndpointState) -> Response<String> {
    match served.health.waiting_for() {
        None => plain(StatusCode::OK, "ok\n"),
        Some(what) => plain(StatusCode::SERVICE_UNAVAILABLE, format!("waiting for {what}\n")),
    }
}
