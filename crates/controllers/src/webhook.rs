//! The webhook: validates policies for an API server, with the checks and the messages of `validate`.
//!
//! Findings about the object alone need only the object. Findings about conflicts use the watched objects of the
//! cluster. All replicas respond; no replica leads, since the webhook decides nothing about the cluster.

mod admission;
mod handler;
mod metrics;
mod object_index;
mod review;
mod watches;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use almanac_api::families::Controlled;
use almanac_shell::certificates::manager::CertificateManager;
use almanac_shell::clock::Clock;
use almanac_shell::endpoints::Health;
use almanac_shell::process_metrics;
use almanac_shell::server::{ServerLimits, ServingCertificate, Tls, serve_requests};
use jiff::Timestamp;
use kube::Client;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use self::handler::Reviews;
use self::metrics::ReviewMetrics;
use self::object_index::SharedIndex;
use crate::namespaces::Namespaces;
use crate::runtime::RunningTerm;
use crate::server_version::ServerVersion;
use crate::upstream::Upstreams;

/// An API server sends an object and its previous version, of up to three megabytes each. The API server opens a
/// connection for each concurrent change: by default, for two hundred, plus the connections of its administrators.
const LIMITS: ServerLimits = ServerLimits {
    connections: 1024,
    of_one_address: 768,
    body: 8 * 1024 * 1024,
    large_bodies: 32 * 1024 * 1024,
    body_time: Duration::from_secs(10),
    room_time: Duration::from_secs(2),
    // A review changes nothing, and the API server retries.
    keeps_requests: false,
    idle_time: Duration::from_mins(3),
};

/// The options of the checks.
pub struct WebhookOptions {
    /// The namespaces in which objects are checked.
    pub namespaces: Namespaces,
    /// The kinds to check even while their upstream controller runs in the cluster.
    pub take_over: Vec<Controlled>,
    /// The policy clock.
    pub clock: Clock,
}

/// The endpoint of the webhook, and its certificate.
pub struct WebhookEndpoints {
    /// For the requests of an API server.
    pub listener: TcpListener,
    /// The serving certificate.
    pub certificate: Certificate,
}

/// The source of the certificate.
pub enum Certificate {
    /// Files that another product creates.
    Own(Tls),
    /// The webhook creates and renews the certificate.
    Kept(Box<CertificateManager>),
}

/// A webhook process.
pub struct Webhook {
    client: Client,
    endpoints: WebhookEndpoints,
    health: Health,
    reviews: Arc<Reviews>,
}

impl Webhook {
    /// Returns a webhook that is not running yet. Its metrics are registered. Kinds of an upstream controller are not
    /// checked, unless `take_over` names them.
    #[must_use]
    pub fn new(
        client: Client,
        options: WebhookOptions,
        endpoints: WebhookEndpoints,
        health: Health,
        registry: &mut Registry,
    ) -> Webhook {
        let metrics = ReviewMetrics::default();
        metrics.register(registry);
        if matches!(endpoints.certificate, Certificate::Kept(_)) {
            metrics.register_certificate(registry);
        }
        process_metrics::register(registry);
        registry.register_collector(Box::new(health.watch_ages().clone()));
        let WebhookOptions { namespaces, take_over, clock } = options;
        // A limited webhook has no permission to read the namespaces of other controllers.
        let upstreams = match namespaces.limit() {
            Some(_) => Upstreams::default(),
            None => Upstreams::for_families(&Controlled::all().collect::<Vec<_>>(), &take_over),
        };
        let index = SharedIndex::default();
        let reviews = Reviews {
            namespaces,
            index,
            clock,
            upstreams,
            kubernetes: ServerVersion::default(),
            metrics,
            one_at_a_time: Mutex::default(),
        };
        Webhook { client, endpoints, health, reviews: Arc::new(reviews) }
    }

    /// Runs until the token is canceled; requests in progress are finished.
    pub async fn run(self, end: CancellationToken) {
        let Webhook { client, endpoints, health, reviews } = self;
        reviews.namespaces.log_limit();
        let WebhookEndpoints { listener, certificate } = endpoints;
        let (validity, validity_receiver) = watch::channel(None);
        let serving_certificate = ServingCertificate::default();
        let (tls, manager) = match certificate {
            Certificate::Own(tls) => {
                validity.send_replace(Some(Ok(())));
                (tls, None)
            }
            Certificate::Kept(manager) => (Tls::serving(&serving_certificate), Some(manager)),
        };
        let metrics = reviews.metrics.clone();
        // The watches continue until the requests in progress are finished.
        let mut running = RunningTerm::new(&client, &health, &CancellationToken::new());
        watches::start(client, &reviews, &mut running);
        let renewal = async {
            match manager {
                Some(manager) => {
                    let report = |result: Result<Timestamp, &str>| {
                        if let Ok(until) = result {
                            metrics.certificate_expires(until);
                        }
                        validity.send_replace(Some(result.map(|_| ()).map_err(str::to_owned)));
                    };
                    manager.run(&serving_certificate, report).await;
                }
                None => std::future::pending::<()>().await,
            }
        };
        let watching = async {
            if running.is_listed().await
                && running.is_reached(await_certificate(&health, validity_receiver)).await
            {
                health.set_ready();
                tracing::info!("serving admission reviews");
                running.runs_until_end(std::future::pending()).await;
            }
        };
        let serving = serve_requests(listener, Some(tls), LIMITS, reviews, end.clone());
        tokio::select! {
            () = serving => {}
            () = renewal => {}
            () = watching => {}
        }
    }
}

/// The validity of the certificate; `None` before the first check.
type CertificateValidity = watch::Receiver<Option<Result<(), String>>>;

/// Waits for a certificate that clients trust.
async fn await_certificate(health: &Health, mut validity: CertificateValidity) {
    loop {
        let current = validity.borrow_and_update().clone();
        match current {
            Some(Ok(())) => return,
            Some(Err(why)) => health.set_waiting_for(format!("a certificate: {why}")),
            None => health.set_waiting_for("a certificate"),
        }
        if validity.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
