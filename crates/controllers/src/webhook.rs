//! The webhook: answers an API server whether a policy may be applied, with the checks and the words of `validate`.
//!
//! What is wrong with the object alone is known from the object; what is wrong with it beside others is found over what
//! is watched of the cluster. All replicas answer; none of them leads, since none decides anything.

mod admission;
mod answering;
mod known;
mod metrics;
mod review;
mod watches;

use std::sync::Arc;
use std::time::Duration;

use almanac_shell::calls::{CallLimits, Shown, Tls, serve_calls};
use almanac_shell::certificates::keeping::Keeping;
use almanac_shell::clock::Clock;
use almanac_shell::endpoints::Health;
use almanac_shell::process_metrics;
use kube::Client;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::answering::Reviews;
use self::known::Shared;
use self::metrics::ReviewMetrics;
use self::watches::{Awaited, begin};
use crate::list_progress::ListProgress;

/// An API server sends an object and the one before it, of up to three megabytes each, and keeps few connections.
const LIMITS: CallLimits = CallLimits {
    connections: 64,
    of_one_address: 48,
    body: 8 * 1024 * 1024,
    body_time: Duration::from_secs(10),
    idle_time: Duration::from_mins(3),
};

/// Where the webhook answers, and who it says it is.
pub struct WebhookEndpoints {
    /// For the calls of an API server.
    pub listener: TcpListener,
    /// Its certificate.
    pub certificate: Certificate,
}

/// Where the certificate comes from.
pub enum Certificate {
    /// From files, which another product makes.
    Own(Tls),
    /// It is made and renewed here.
    Kept(Box<Keeping>),
}

/// The webhook process.
pub struct Webhook {
    client: Client,
    clock: Clock,
    endpoints: WebhookEndpoints,
    health: Health,
    reviews: Arc<Reviews>,
}

impl Webhook {
    /// A webhook that is not running yet. Its metrics are registered.
    #[must_use]
    pub fn new(
        client: Client,
        clock: Clock,
        endpoints: WebhookEndpoints,
        health: Health,
        registry: &mut Registry,
    ) -> Webhook {
        let metrics = ReviewMetrics::default();
        metrics.register(registry);
        process_metrics::register(registry);
        registry.register_collector(Box::new(health.watch_ages().clone()));
        let reviews = Reviews { known: Shared::default(), clock: clock.clone(), metrics };
        Webhook { client, clock, endpoints, health, reviews: Arc::new(reviews) }
    }

    /// Runs until the token is cancelled; calls in progress are finished.
    pub async fn run(self, end: CancellationToken) {
        let Webhook { client, clock, endpoints, health, reviews } = self;
        let WebhookEndpoints { listener, certificate } = endpoints;
        let (is_shown, shown_at_all) = watch::channel(None);
        let shown = Shown::default();
        let (tls, keeping) = match certificate {
            Certificate::Own(tls) => {
                is_shown.send_replace(Some(Ok(())));
                (tls, None)
            }
            Certificate::Kept(keeping) => (Tls::showing(&shown), Some(keeping)),
        };
        let mut following = JoinSet::new();
        let awaited = begin(&client, &reviews.known, health.watch_ages(), &clock, &mut following);
        let kept = async {
            match keeping {
                Some(keeping) => {
                    let tell = |told: Result<(), &str>| {
                        is_shown.send_replace(Some(told.map_err(str::to_owned)));
                    };
                    keeping.keep(&shown, tell).await;
                }
                None => std::future::pending::<()>().await,
            }
        };
        let becoming_ready = async {
            become_ready(&health, awaited, shown_at_all).await;
            std::future::pending::<()>().await;
        };
        let serving = serve_calls(listener, Some(tls), LIMITS, reviews, end.clone());
        tokio::select! {
            () = serving => {}
            () = kept => {}
            () = becoming_ready => {}
            Some(stopped) = following.join_next() => {
                tracing::error!(?stopped, "watching has stopped unexpectedly");
            }
        }
    }
}

/// Whether the certificate is in order; `None` before the first look.
type IsShown = watch::Receiver<Option<Result<(), String>>>;

/// Waits until everything is known that an answer depends on, then until there is a certificate that callers trust.
async fn become_ready(health: &Health, awaited: Vec<Awaited>, mut is_shown: IsShown) {
    for Awaited { what, mut progress } in awaited {
        loop {
            let now = progress.borrow_and_update().clone();
            if now.is_settled() {
                break;
            }
            match &now {
                ListProgress::Failing(failure) => {
                    health.set_waiting_for(format!("{what} to be listed: {}", failure.reason));
                }
                _ => health.set_waiting_for(format!("{what} to be listed")),
            }
            if progress.changed().await.is_err() {
                return;
            }
        }
    }
    loop {
        let told = is_shown.borrow_and_update().clone();
        match told {
            Some(Ok(())) => break,
            Some(Err(why)) => health.set_waiting_for(format!("a certificate: {why}")),
            None => health.set_waiting_for("a certificate"),
        }
        if is_shown.changed().await.is_err() {
            return;
        }
    }
    health.set_ready();
    tracing::info!("answering");
}
