//! Metrics and health over HTTP.
//!
//! `/metrics` is evaluated when it is asked for. `/healthz` fails when the process is stuck and should
//! be started anew; `/readyz` while it has not everything it needs.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::following::Views;
use crate::monotonic;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Whoever has not given a sign of life for so long is stuck.
const STUCK_AFTER: Duration = Duration::from_mins(1);

/// How a process is.
#[derive(Clone, Default)]
pub struct Health {
    inner: Arc<HealthInner>,
}

#[derive(Default)]
struct HealthInner {
    /// What is still waited for; nothing when all is there.
    awaited: Mutex<Option<String>>,
    /// When the last sign of life was given, in milliseconds of the monotonic clock; 0 when there
    /// need not be one.
    alive_at: AtomicU64,
    /// How often all was over.
    life: AtomicU64,
    /// What is followed now.
    views: Views,
}

/// Gives signs of life.
#[derive(Clone)]
pub struct Heart {
    health: Health,
    life: u64,
}

impl Heart {
    /// Gives a sign of life.
    pub fn beat(&self) {
        let inner = &self.health.inner;
        if inner.life.load(Ordering::SeqCst) == self.life {
            inner.alive_at.store(milliseconds(), Ordering::SeqCst);
        }
    }
}

impl Health {
    /// Says what is still waited for before this process can do its work.
    pub fn await_what(&self, what: impl Into<String>) {
        self.set(Some(what.into()));
    }

    /// Says that everything is there.
    pub fn is_ready(&self) {
        self.set(None);
    }

    fn set(&self, awaited: Option<String>) {
        *self.inner.awaited.lock().unwrap_or_else(PoisonError::into_inner) = awaited;
    }

    /// The views of what is followed. While one of a kind that is needed is too old, the process is not
    /// ready.
    #[must_use]
    pub fn views(&self) -> &Views {
        &self.inner.views
    }

    /// Says what is waited for, if anything is.
    fn awaited(&self) -> Option<String> {
        let awaited = self.inner.awaited.lock().unwrap_or_else(PoisonError::into_inner).clone();
        awaited.or_else(|| {
            let kind = self.inner.views.too_old()?;
            Some(format!("news of {kind}: nothing was heard of them for minutes"))
        })
    }

    /// A heart, whose beats are expected from the first one on.
    #[must_use]
    pub fn heart(&self) -> Heart {
        Heart { health: self.clone(), life: self.inner.life.load(Ordering::SeqCst) }
    }

    /// Says that no beat is to be expected any more; a late one of a heart from before is ignored.
    pub fn rest(&self) {
        self.inner.life.fetch_add(1, Ordering::SeqCst);
        self.inner.alive_at.store(0, Ordering::SeqCst);
    }

    fn is_stuck(&self) -> bool {
        let at = self.inner.alive_at.load(Ordering::SeqCst);
        at != 0 && u128::from(milliseconds().saturating_sub(at)) > STUCK_AFTER.as_millis()
    }
}

fn milliseconds() -> u64 {
    u64::try_from(monotonic::now().as_millis()).unwrap_or(u64::MAX).max(1)
}

#[derive(Clone)]
struct Served {
    health: Health,
    registry: Arc<Registry>,
}

/// Takes the address. Fails when somebody else has it.
pub async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Serves until the token ends.
pub async fn serve(
    listener: TcpListener,
    registry: Arc<Registry>,
    health: Health,
    end: CancellationToken,
) -> std::io::Result<()> {
    let routes = Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .with_state(Served { health, registry });
    axum::serve(listener, routes).with_graceful_shutdown(end.cancelled_owned()).await
}

async fn metrics(State(served): State<Served>) -> impl IntoResponse {
    let mut text = String::new();
    if encode(&mut text, &served.registry).is_err() {
        let plain = [(header::CONTENT_TYPE, "text/plain")];
        let failed = "failed to write the metrics\n".to_owned();
        return (StatusCode::INTERNAL_SERVER_ERROR, plain, failed);
    }
    (StatusCode::OK, [(header::CONTENT_TYPE, OPEN_METRICS)], text)
}

async fn healthz(State(served): State<Served>) -> (StatusCode, &'static str) {
    if served.health.is_stuck() {
        (StatusCode::INTERNAL_SERVER_ERROR, "stuck\n")
    } else {
        (StatusCode::OK, "ok\n")
    }
}

async fn readyz(State(served): State<Served>) -> (StatusCode, String) {
    match served.health.awaited() {
        None => (StatusCode::OK, "ok\n".to_owned()),
        Some(what) => (StatusCode::SERVICE_UNAVAILABLE, format!("waiting for {what}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_process_whose_view_is_too_old_is_not_ready_until_there_is_news() {
        let health = Health::default();
        health.is_ready();
        let view = health.views().begin("cronfederatedhpas", true);
        assert_eq!(health.awaited(), None);
        tokio::time::sleep(Duration::from_secs(181)).await;
        let awaited = health.awaited().expect("it is not ready");
        assert!(awaited.starts_with("news of cronfederatedhpas"), "{awaited}");
        view.is_new();
        assert_eq!(health.awaited(), None);
    }
}
