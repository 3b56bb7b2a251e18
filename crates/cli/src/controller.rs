//! `almanac controller`: carries out the policies of a cluster.

mod simulated_nodes;

use std::cell::Cell;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use almanac_api::exempt::EXEMPT_NAMESPACES;
use almanac_controllers::controlled::Controlled;
use almanac_controllers::process::{Options, Process, Queries};
use almanac_controllers::scalable_node_group::NodeProviders;
use almanac_engine::Family;
use almanac_shell::budget::WriteLimits;
use almanac_shell::client::{ClientOptions, Connection, connect};
use almanac_shell::clock::Clock;
use almanac_shell::endpoints::{Health, listen, serve};
use almanac_shell::lease::LeaseOptions;
use almanac_shell::log::Format;
use almanac_shell::prometheus::{Prometheus, PrometheusAddress, PrometheusOptions, QueryMetrics};
use almanac_shell::{log, shutdown};
use anstream::{AutoStream, ColorChoice};
use anyhow::{Context as _, ensure};
use clap::{ArgAction, Args, ValueEnum, ValueHint};
use clap_complete::ArgValueCandidates;
use jiff::SignedDuration;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;

use self::simulated_nodes::SimulatedNodes;
use crate::completion;
use crate::outcome::exit_codes_without_findings;

/// Carry out the policies of a cluster
///
/// When several such processes run, one is the leader; the others stand by, ready to take over.
#[derive(Args)]
#[command(after_help = concat!("Examples:
  almanac controller --context staging
  almanac controller --controllers cron-federated-hpa --leader-elect=false --log-format text

", exit_codes_without_findings!()))]
pub(crate) struct ControllerArguments {
    /// The kubeconfig to use [default: $KUBECONFIG, ~/.kube/config, or in-cluster configuration]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    kubeconfig: Option<PathBuf>,

    /// The kubeconfig context to use [default: the current context]
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(completion::contexts))]
    context: Option<String>,

    /// The controllers to run
    #[arg(
        long,
        value_name = "KINDS",
        value_enum,
        value_delimiter = ',',
        default_values = [
            "metrics-producer",
            "cron-federated-hpa",
            "horizontal-autoscaler",
            "scalable-node-group",
        ]
    )]
    controllers: Vec<Kind>,

    /// The kinds to carry out though their upstream controller runs in the cluster
    #[arg(long, value_name = "KINDS", value_enum, value_delimiter = ',')]
    take_over: Vec<Kind>,

    /// The namespaces in which nothing is carried out
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_values = EXEMPT_NAMESPACES
    )]
    exempt_namespaces: Vec<String>,

    /// Use leader election, so that other replicas can stand by
    #[arg(
        long,
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        default_value_t = true,
        default_missing_value = "true"
    )]
    leader_elect: bool,

    /// The namespace of the lease [default: that of the context or the pod]
    #[arg(long, value_name = "NAMESPACE")]
    lease_namespace: Option<String>,

    /// The name of the lease
    #[arg(long, value_name = "NAME", default_value = "almanac")]
    lease_name: String,

    /// The identity of this process in the lease [default: the host name and a random number]
    #[arg(long, value_name = "NAME")]
    identity: Option<String>,

    /// The address on which to serve metrics and health checks
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080")]
    listen: SocketAddr,

    /// Allow policies to change cluster-scoped targets
    #[arg(long)]
    allow_cluster_scoped_targets: bool,

    /// The Prometheus that answers the queries of autoscalers [default: none; only queries over the
    /// numbers of schedules are answered]
    #[arg(long, value_name = "URI", value_hint = ValueHint::Url)]
    prometheus_uri: Option<PrometheusAddress>,

    /// A file with a bearer token for Prometheus
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "prometheus_uri")]
    prometheus_token_file: Option<PathBuf>,

    /// A file with the CA certificates to trust for Prometheus [default: those of the system]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "prometheus_uri")]
    prometheus_ca_file: Option<PathBuf>,

    /// The interval between queries of an autoscaler
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = a_second_or_more)]
    query_period: SignedDuration,

    /// How far, as a fraction, a metric may be from its target without scaling
    #[arg(long, value_name = "FRACTION", default_value_t = 0.0, value_parser = below_one)]
    scaling_tolerance: f64,

    /// Make simulated nodes for groups of type Simulated, on a control plane for trying things out
    #[arg(long)]
    simulated_nodes: bool,

    /// Maximum number of writes in flight
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..))]
    writes_at_once: u16,

    /// Maximum sustained number of writes per second [default: unlimited]
    #[arg(long, value_name = "N", value_parser = above_zero)]
    writes_per_second: Option<f64>,

    /// Maximum burst of writes, on top of the sustained rate
    #[arg(long, value_name = "N", default_value_t = 60, requires = "writes_per_second", value_parser = clap::value_parser!(u32).range(1..))]
    write_burst: u32,

    /// Log format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LogFormat::Json)]
    log_format: LogFormat,

    /// Minimum log level
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: tracing::Level,

    /// Offset of the policies' clock from the machine's
    #[arg(long, value_name = "DURATION", hide = true, allow_hyphen_values = true)]
    clock_offset: Option<SignedDuration>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Kind {
    MetricsProducer,
    CronFederatedHpa,
    HorizontalAutoscaler,
    ScalableNodeGroup,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogFormat {
    Json,
    Text,
}

/// The process mostly waits, and decides for one policy at a time. More threads would only take more
/// memory.
const THREADS: usize = 2;

/// How long responses in flight may take at shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) fn run(
    arguments: &ControllerArguments,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let format = match arguments.log_format {
        LogFormat::Json => Format::Json,
        LogFormat::Text => Format::Text,
    };
    let colours = AutoStream::choice(&io::stderr()) != ColorChoice::Never;
    log::begin(format, arguments.log_level, colours);
    // Nothing else is printed to standard output.
    output.flush()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .context("failed to start the async runtime")?;
    runtime.block_on(carry_out(arguments))?;
    Ok(ExitCode::SUCCESS)
}

async fn carry_out(arguments: &ControllerArguments) -> anyhow::Result<()> {
    ensure!(
        !arguments.simulated_nodes || arguments.controllers.contains(&Kind::ScalableNodeGroup),
        "--simulated-nodes needs scalable-node-group among --controllers"
    );
    let end = CancellationToken::new();
    shutdown::on_signal(end.clone()).context("failed to listen for signals")?;
    let chosen = ClientOptions {
        kubeconfig: arguments.kubeconfig.clone(),
        context: arguments.context.clone(),
    };
    let connection = connect(&chosen).await?;
    let read_once = connection.read_once.clone();
    let address = arguments.listen;
    let listener =
        listen(address).await.with_context(|| format!("failed to listen on {address}"))?;
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        server = connection.server,
        listen = %listener.local_addr()?,
        "starting"
    );

    let health = Health::default();
    health.set_waiting_for("the lease");
    let mut registry = Registry::default();
    let queries = queries(arguments, &mut registry)?;
    let options = options(arguments, &connection, queries);
    let process = Process::new(connection.client, options, health.clone(), &mut registry);
    // Metrics and health are served until the lease has been released.
    let served = CancellationToken::new();
    let serving = serve(listener, Arc::new(registry), health, served.clone());
    // All of it is one task: if any part panics, the process ends.
    let is_replaced = Cell::new(false);
    let watching_files = async {
        let file = read_once.replaced().await;
        tracing::warn!(
            file = %file.display(),
            "shutting down for a restart: this file was replaced, and its old contents are still \
             in use"
        );
        is_replaced.set(true);
        end.cancel();
        std::future::pending::<()>().await;
    };
    let carrying_out = async {
        process.run(end.clone()).await;
        served.cancel();
        tokio::time::sleep(DRAIN_TIMEOUT).await;
    };
    // Slow clients are not waited for.
    tokio::select! {
        () = serving => {}
        () = carrying_out => {}
        () = watching_files => {}
    }
    tracing::info!("stopped");
    // A supervisor that restarts only on failure has to restart the process now.
    ensure!(!is_replaced.get(), "shut down for a restart with the replaced certificates");
    Ok(())
}

fn queries(arguments: &ControllerArguments, registry: &mut Registry) -> anyhow::Result<Queries> {
    let metrics = QueryMetrics::default();
    metrics.register(registry);
    let prometheus = match arguments.prometheus_uri.clone() {
        Some(address) => {
            let token_file = arguments.prometheus_token_file.clone();
            let ca_file = arguments.prometheus_ca_file.clone();
            Some(Prometheus::new(PrometheusOptions { address, token_file, ca_file }, metrics)?)
        }
        None => None,
    };
    let (period, tolerance) = (arguments.query_period, arguments.scaling_tolerance);
    Ok(Queries { prometheus, period, tolerance })
}

fn options(arguments: &ControllerArguments, connection: &Connection, queries: Queries) -> Options {
    let seed = fastrand::u64(..);
    let identity = arguments.identity.clone().unwrap_or_else(|| own_name(seed));
    let lease = arguments.leader_elect.then(|| {
        let namespace = arguments.lease_namespace.clone();
        let namespace = namespace.unwrap_or_else(|| connection.namespace.clone());
        LeaseOptions::new(namespace, arguments.lease_name.clone(), identity.clone())
    });
    let mut families = Vec::new();
    let mut node_groups = None;
    for kind in &arguments.controllers {
        match kind.controlled() {
            Controlled::Policies(family) => families.push(family),
            Controlled::NodeGroups => node_groups = Some(NodeProviders::new()),
        }
    }
    families.sort();
    families.dedup();
    if let Some(providers) = node_groups.as_mut().filter(|_| arguments.simulated_nodes) {
        let client = connection.client.clone();
        providers.insert(simulated_nodes::TYPE, Arc::new(SimulatedNodes::new(client)));
    }
    Options {
        families,
        node_groups,
        exempt_namespaces: arguments.exempt_namespaces.clone(),
        take_over: arguments.take_over.iter().map(|kind| kind.controlled()).collect(),
        lease,
        identity,
        limits: WriteLimits {
            at_once: usize::from(arguments.writes_at_once),
            per_second: arguments.writes_per_second,
            burst: arguments.write_burst,
        },
        allow_cluster_scoped_targets: arguments.allow_cluster_scoped_targets,
        queries,
        clock: Clock::system(arguments.clock_offset.unwrap_or_default()),
        seed,
    }
}

impl Kind {
    fn controlled(self) -> Controlled {
        match self {
            Self::MetricsProducer => Family::ScheduledCapacity.into(),
            Self::CronFederatedHpa => Family::CronScaling.into(),
            Self::HorizontalAutoscaler => Family::MetricScaling.into(),
            Self::ScalableNodeGroup => Controlled::NodeGroups,
        }
    }
}

fn above_zero(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err("must be a number above 0, such as 40 or 0.5".to_owned()),
    }
}

fn a_second_or_more(text: &str) -> Result<SignedDuration, String> {
    let duration = text.parse::<SignedDuration>().ok();
    let duration = duration.filter(|it| (1..=3600).contains(&it.as_secs()));
    duration.ok_or_else(|| "must be a duration from 1s to 1h, such as 10s or 1m".to_owned())
}

fn below_one(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..1.0).contains(number));
    number.ok_or_else(|| "must be a fraction from 0 to below 1, such as 0.1".to_owned())
}

/// A pod has a host name of its own; the number tells apart two processes on one host.
fn own_name(seed: u64) -> String {
    let host = std::env::var("HOSTNAME").ok();
    let host = host.or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok());
    let host = host.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    format!("{}_{:08x}", host.unwrap_or_else(|| "almanac".to_owned()), seed >> 32)
}
