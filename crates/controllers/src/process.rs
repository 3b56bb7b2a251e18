//! The controller process: what survives its terms. `runtime` runs one term after another.

use almanac_api::families::Controlled;
use almanac_engine::Family;
use almanac_shell::endpoints::Health;
use kube::Client;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;

use crate::families::{Families, ScrapeInputs};
pub use crate::horizontal_autoscaler::Queries;
use crate::leadership::Leadership;
use crate::namespaces::Namespaces;
use crate::not_ready::NotReady;
use crate::policies::UnwrittenStatuses;
use crate::runtime::{ProcessOptions, Runtime};
use crate::scalable_node_group::{NodeGroupMetrics, NodeProviders};
use crate::served_schemas::ServedSchemas;
use crate::server_version::ServerVersion;
use crate::term::Term;
use crate::upstream::{LeftAlone, Upstreams};

/// The options of a controller process.
#[derive(Clone)]
pub struct Options {
    /// The families of policies.
    pub families: Vec<Family>,
    /// The providers of nodes, by the type of group; `None` if node groups are not reconciled at all.
    pub node_groups: Option<NodeProviders>,
    /// The kinds to reconcile even while their upstream controllers run in the cluster.
    pub take_over: Vec<Controlled>,
    /// The namespaces that are reconciled.
    pub namespaces: Namespaces,
    /// The options of every process.
    pub process: ProcessOptions,
    /// Whether cluster-scoped targets may be changed.
    pub allow_cluster_scoped_targets: bool,
    /// The queries of autoscalers.
    pub queries: Queries,
}

/// A controller process.
pub struct Process {
    pub(crate) runtime: Runtime,
    pub(crate) options: Options,
    pub(crate) node_group_metrics: NodeGroupMetrics,
    pub(crate) families: Families,
    pub(crate) leading: Leadership,
    pub(crate) unwritten: UnwrittenStatuses,
    pub(crate) upstreams: Upstreams,
    pub(crate) schemas: ServedSchemas,
    pub(crate) kubernetes: ServerVersion,
}

impl Process {
    /// Returns a process that is not running yet. Its metrics are registered.
    #[must_use]
    pub fn new(
        client: Client,
        options: Options,
        health: Health,
        registry: &mut Registry,
    ) -> Process {
        let runtime = Runtime::new(client, options.process.clone(), health, registry);
        let leading = Leadership::default();
        registry.register_collector(Box::new(leading.clone()));
        registry.register_collector(Box::new(NotReady::new(leading.clone())));
        registry.register_collector(Box::new(runtime.switch.clone()));
        let (families, node_group_metrics) = (Families::default(), NodeGroupMetrics::default());
        node_group_metrics.register(registry, &leading);
        let mut controlled: Vec<Controlled> =
            options.families.iter().copied().map(Controlled::from).collect();
        controlled.extend(options.node_groups.as_ref().map(|_| Controlled::NodeGroups));
        // A process that is limited to some namespaces has no permission to read Leases in other namespaces.
        let is_limited = options.namespaces.limit().is_some();
        let taken_over = if is_limited { &controlled } else { &options.take_over };
        let upstreams = Upstreams::for_families(&controlled, taken_over);
        let schemas = ServedSchemas::for_kinds(&controlled);
        let left_alone = LeftAlone::new(&controlled, upstreams.clone(), leading.clone());
        registry.register_collector(Box::new(left_alone));
        let scraped = ScrapeInputs {
            leading: leading.clone(),
            clock: options.process.clock.clone(),
            switch: runtime.switch.clone(),
            upstreams: upstreams.clone(),
        };
        families.register(registry, &scraped);
        Process {
            runtime,
            options,
            node_group_metrics,
            families,
            leading,
            unwritten: UnwrittenStatuses::default(),
            upstreams,
            schemas,
            kubernetes: ServerVersion::default(),
        }
    }

    /// Runs until the token is canceled; then finishes work in progress and releases the Lease.
    pub async fn run(self, end: CancellationToken) {
        self.options.namespaces.log_limit();
        // The next term continues from the unwritten policy states of this term.
        let over = || {
            if let Some(cluster) = self.leading.end() {
                self.unwritten.keep(&cluster);
            }
        };
        let term = |fence| Term { process: &self, fence }.run(&end);
        self.runtime.run(&end, term, over).await;
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use almanac_shell::budget::WriteLimits;
    use almanac_shell::clock::Clock;
    use http::{Request, Response};
    use kube::client::Body;
    use tokio::time::Instant;
    use tower::service_fn;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn failing_terms_restart_with_growing_delays() {
        let started = Instant::now();
        let starts: Arc<Mutex<Vec<Duration>>> = Arc::default();
        let noted = Arc::clone(&starts);
        let service = service_fn(move |request: Request<Body>| {
            // The first request of a term.
            if request.uri().path() == "/version" {
                noted.lock().expect("lock is not poisoned").push(started.elapsed());
            }
            async { panic!("the task panics on this response") as PanickingResponse }
        });
        let options = Options {
            families: vec![Family::CronScaling],
            node_groups: None,
            take_over: Vec::new(),
            namespaces: Namespaces::All,
            process: ProcessOptions {
                exempt_namespaces: Vec::new(),
                lease: None,
                identity: "us".to_owned(),
                limits: WriteLimits::default(),
                clock: Clock::from_fn(|| jiff::Timestamp::UNIX_EPOCH),
                seed: 1,
            },
            allow_cluster_scoped_targets: false,
            queries: Queries::default(),
        };
        let client = Client::new(service, "default");
        let process = Process::new(client, options, Health::default(), &mut Registry::default());
        let hour = Duration::from_hours(1);
        let _over = tokio::time::timeout(hour, process.run(CancellationToken::new())).await;
        let starts = starts.lock().expect("lock is not poisoned");
        let soon = starts.iter().filter(|at| **at < Duration::from_secs(10)).count();
        assert!(soon >= 3, "one failure restarts quickly: {starts:?}");
        assert!((60..150).contains(&starts.len()), "{} terms in an hour", starts.len());
    }

    /// A response that never arrives.
    type PanickingResponse = Result<Response<Body>, Infallible>;
}
