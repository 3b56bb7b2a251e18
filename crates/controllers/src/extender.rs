//! The extender: responds to a kube-scheduler with the nodes that the pods of a `ResourcePolicy` may use, and binds the
//! pods.
//!
//! Exactly one replica decides, by one ledger, and is ready once its state is complete. The other replicas forward
//! requests to it, so a scheduler can run next to any replica. `almanac-engine` decides which nodes a pod may use.

mod binding;
mod filtering;
mod gauges;
mod handlers;
mod leader;
mod metrics;
mod peers;
mod pod_writer;
mod policies;
mod protocol;
mod statuses;
mod term;
mod watches;

use std::path::PathBuf;
use std::sync::Arc;

use almanac_shell::endpoints::Health;
use almanac_shell::monotonic::Monotonic;
use almanac_shell::server::{Forwarder, ServerLimits, Tls, serve_requests};
use kube::Client;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::gauges::Gauges;
use self::handlers::{OtherReplicas, PeerHandler, SchedulerHandler};
use self::metrics::RequestMetrics;
use self::peers::Peers;
use self::term::Term;
use crate::leadership::Leadership;
use crate::runtime::{ProcessOptions, Runtime};

pub use self::peers::AUDIENCE;

/// The options of an extender.
#[derive(Clone)]
pub struct ExtenderOptions {
    /// The options of every process. With other replicas, the Lease contains addresses.
    pub process: ProcessOptions,
    /// Whether no bind request of an earlier process can be in flight, because the API server has started since.
    pub has_no_predecessor: bool,
    /// The clock for the time limits of bindings.
    pub monotonic: Monotonic,
}

/// The endpoints of an extender, and the means to reach the other replicas.
pub struct ExtenderEndpoints {
    /// For the requests of a scheduler.
    pub listener: TcpListener,
    /// For the requests of other replicas, and the path of the token for such requests. Without a path, replicas
    /// authenticate by certificate.
    pub others: Option<(TcpListener, Option<PathBuf>)>,
    /// Forwards requests to the other replicas.
    pub forwarder: Forwarder,
    /// The settings for TLS; `None` for plain HTTP.
    pub tls: Option<Tls>,
}

/// An extender process.
pub struct Extender {
    process: ExtenderProcess,
    listeners: Listeners,
}

/// The parts that all terms share.
struct ExtenderProcess {
    runtime: Runtime,
    options: ExtenderOptions,
    handler: Arc<SchedulerHandler>,
}

/// The listeners for the requests of a scheduler, and of other replicas.
struct Listeners {
    of_scheduler: TcpListener,
    of_peers: Option<TcpListener>,
    tls: Option<Tls>,
}

impl Extender {
    /// Returns an extender that is not running yet. Its metrics are registered.
    #[must_use]
    pub fn new(
        client: Client,
        options: ExtenderOptions,
        endpoints: ExtenderEndpoints,
        health: Health,
        registry: &mut Registry,
    ) -> Extender {
        let runtime = Runtime::new(client, options.process.clone(), health, registry);
        let (metrics, leading) = (RequestMetrics::default(), Leadership::default());
        metrics.register(registry);
        registry.register_collector(Box::new(Gauges { leading: Leadership::clone(&leading) }));
        let lease = options.process.lease.as_ref();
        let addresses = lease.and_then(|lease| lease.addresses.clone());
        let ExtenderEndpoints { listener, others, forwarder, tls } = endpoints;
        let (peer_listener, token_file) = others.unzip();
        let others = addresses.zip(token_file).map(|(addresses, token_file)| {
            let peers = token_file.map(|file| Peers::new(runtime.client.clone(), file));
            OtherReplicas { addresses, forwarder, peers }
        });
        let handler = Arc::new(SchedulerHandler { leading, metrics, others });
        let listeners = Listeners { of_scheduler: listener, of_peers: peer_listener, tls };
        Extender { process: ExtenderProcess { runtime, options, handler }, listeners }
    }

    /// Runs until the token is canceled; then finishes work in progress and releases the Lease. Requests are forwarded
    /// until then.
    pub async fn run(self, end: CancellationToken) {
        let Extender { process, listeners } = self;
        let end_serving = CancellationToken::new();
        let over = || drop(process.handler.leading.end());
        let term = |fence| Term { process: &process, fence }.run(&end);
        let terms = async {
            process.runtime.run(&end, term, over).await;
            end_serving.cancel();
        };
        tokio::join!(terms, listeners.serve(&process.handler, &end_serving));
    }
}

impl Listeners {
    async fn serve(self, handler: &Arc<SchedulerHandler>, end: &CancellationToken) {
        let Listeners { of_scheduler, of_peers, tls } = self;
        let limits = ServerLimits::default();
        let of_scheduler =
            serve_requests(of_scheduler, tls.clone(), limits, Arc::clone(handler), end.clone());
        let of_peers = async {
            if let Some(listener) = of_peers {
                let peers = Arc::new(PeerHandler(Arc::clone(handler)));
                serve_requests(listener, tls, limits, peers, end.clone()).await;
            }
        };
        tokio::join!(of_scheduler, of_peers);
    }
}
