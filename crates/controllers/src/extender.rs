//! The extender: answers a kube-scheduler which nodes the pods of a `ResourcePolicy` may use, and binds them.
//!
//! Exactly one replica decides, by one ledger, and is ready once its state is complete. The others forward calls to
//! it, so that each scheduler may run next to any of them. `almanac-engine` decides which nodes a pod may use.

mod binding;
mod calls;
mod deciding;
mod filtering;
mod gauges;
mod metrics;
mod peers;
mod policies;
mod protocol;
mod statuses;
mod term;
mod upkeep;
mod watches;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use almanac_shell::budget::{WriteBudget, WriteLimits};
use almanac_shell::calls::{CallLimits, PassingOn, Tls, serve_calls};
use almanac_shell::clock::Clock;
use almanac_shell::endpoints::Health;
use almanac_shell::event_log::EventMetrics;
use almanac_shell::lease::{Fence, LeaseOptions, Switch};
use almanac_shell::monotonic::Monotonic;
use almanac_shell::process_metrics;
use almanac_shell::writer::WriteMetrics;
use kube::Client;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::calls::{Calls, CallsOfPeers, Others};
use self::gauges::Gauges;
use self::metrics::CallMetrics;
use self::peers::Peers;
use self::term::Term;
use crate::leadership::Leadership;
use crate::terms::Terms;

pub use self::peers::AUDIENCE;

/// The options of an extender.
#[derive(Clone)]
pub struct ExtenderOptions {
    /// The namespaces in which nothing is carried out.
    pub exempt_namespaces: Vec<String>,
    /// The lease to hold during a term; `None` for a process that runs alone. With other replicas, it has addresses.
    pub lease: Option<LeaseOptions>,
    /// The name of this process.
    pub identity: String,
    /// The write limits.
    pub limits: WriteLimits,
    /// The policies' clock.
    pub clock: Clock,
    /// Whether no request to bind of an earlier process can be under way, as the API server has begun since.
    pub has_no_predecessor: bool,
    /// The clock that bindings under way are timed by.
    pub monotonic: Monotonic,
    /// The seed of all jitter.
    pub seed: u64,
}

/// Where an extender answers, and how it finds the others.
pub struct ExtenderEndpoints {
    /// For the calls of a scheduler.
    pub listener: TcpListener,
    /// For calls of other replicas, and where a token for them is: without one, they know each other by certificates.
    pub others: Option<(TcpListener, Option<PathBuf>)>,
    /// Passes calls on to them.
    pub passing_on: PassingOn,
    /// The settings for TLS; `None` for plain HTTP.
    pub tls: Option<Tls>,
}

/// The extender process.
pub struct Extender {
    client: Client,
    options: ExtenderOptions,
    health: Health,
    writes: WriteMetrics,
    events: EventMetrics,
    budget: WriteBudget,
    switch: Switch,
    calls: Arc<Calls>,
    listeners: Listeners,
}

/// Where calls arrive: those of a scheduler, and those of other replicas.
struct Listeners {
    of_scheduler: TcpListener,
    of_peers: Option<TcpListener>,
    tls: Option<Tls>,
}

impl Extender {
    /// An extender that is not running yet. Its metrics are registered.
    #[must_use]
    pub fn new(
        client: Client,
        options: ExtenderOptions,
        endpoints: ExtenderEndpoints,
        health: Health,
        registry: &mut Registry,
    ) -> Extender {
        let (writes, metrics) = (WriteMetrics::default(), CallMetrics::default());
        let events = EventMetrics::default();
        writes.register(registry);
        events.register(registry);
        metrics.register(registry);
        process_metrics::register(registry);
        registry.register_collector(Box::new(health.watch_ages().clone()));
        let budget = WriteBudget::new(options.limits);
        registry.register_collector(Box::new(budget.clone()));
        let switch = Switch::new(options.clock.clone());
        let leading = Leadership::default();
        registry.register_collector(Box::new(Gauges { leading: Leadership::clone(&leading) }));
        let addresses = options.lease.as_ref().and_then(|lease| lease.addresses.clone());
        let ExtenderEndpoints { listener, others, passing_on, tls } = endpoints;
        let (peer_listener, token_file) = others.unzip();
        let others = addresses.zip(token_file).map(|(addresses, token_file)| {
            let peers = token_file.map(|file| Peers::new(client.clone(), file));
            Others { addresses, passing_on, peers }
        });
        let calls = Arc::new(Calls { leading, metrics, others });
        let listeners = Listeners { of_scheduler: listener, of_peers: peer_listener, tls };
        Extender { client, options, health, writes, events, budget, switch, calls, listeners }
    }

    /// Runs until the token is canceled; then finishes work in progress and releases the lease. Calls are forwarded
    /// until then.
    pub async fn run(self, end: CancellationToken) {
        let Extender { client, options, health, writes, events, budget, switch, calls, listeners } =
            self;
        let terms = Terms {
            client: client.clone(),
            lease: options.lease.clone(),
            health: health.clone(),
            switch: switch.clone(),
            seed: options.seed,
        };
        let own_calls = Arc::clone(&calls);
        let leading =
            Leading { client, options, health, writes, events, budget, switch, calls: own_calls };
        let served = CancellationToken::new();
        let over = || drop(calls.leading.end());
        let led = async {
            terms.run(&end, |fence| leading.term(fence, &end), over).await;
            served.cancel();
        };
        tokio::join!(led, listeners.serve(&calls, &served));
    }
}

impl Listeners {
    async fn serve(self, calls: &Arc<Calls>, end: &CancellationToken) {
        let Listeners { of_scheduler, of_peers, tls } = self;
        let limits = CallLimits::default();
        let of_scheduler =
            serve_calls(of_scheduler, tls.clone(), limits, Arc::clone(calls), end.clone());
        let of_peers = async {
            if let Some(listener) = of_peers {
                let peers = Arc::new(CallsOfPeers(Arc::clone(calls)));
                serve_calls(listener, tls, limits, peers, end.clone()).await;
            }
        };
        tokio::join!(of_scheduler, of_peers);
    }
}

/// The parts that all terms share.
struct Leading {
    client: Client,
    options: ExtenderOptions,
    health: Health,
    writes: WriteMetrics,
    events: EventMetrics,
    budget: WriteBudget,
    switch: Switch,
    calls: Arc<Calls>,
}

impl Leading {
    /// Runs a term. If it ends unexpectedly, returns how long it lasted.
    async fn term(&self, fence: Fence, end: &CancellationToken) -> Option<Duration> {
        let begun = Instant::now();
        Term { leading: self, fence }.run(end).await;
        (!end.is_cancelled()).then(|| begun.elapsed())
    }
}
