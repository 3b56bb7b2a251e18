//! `almanac controller`: reconciles the policies of a cluster.

mod simulated_nodes;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use almanac_api::families::Controlled;
use almanac_controllers::namespaces::Namespaces;
use almanac_controllers::process::{Options, Process, Queries};
use almanac_controllers::scalable_node_group::NodeProviders;
use almanac_shell::client::Connection;
use almanac_shell::prometheus::{Prometheus, PrometheusAddress, PrometheusOptions, QueryMetrics};
use anyhow::{bail, ensure};
use clap::{Args, ValueHint};
use jiff::SignedDuration;
use prometheus_client::registry::Registry;

use self::simulated_nodes::SimulatedNodes;
use super::controllers::Controller;
use super::process::{
    self, ConnectionArguments, LeaseArguments, NamespaceArguments, ProcessArguments,
};
use crate::outcome::exit_codes_without_findings;

/// Run the controllers
///
/// Reconciles the policies of a cluster. Of several replicas, one is the leader; the others stand by, and one of
/// them takes over when the leader ends.
#[derive(Args)]
#[command(after_help = concat!("Examples:
  almanac controller --leader-elect=false --log-format text
  almanac controller --context staging --controllers cron-federated-hpa

", exit_codes_without_findings!()))]
pub(crate) struct ControllerArguments {
    #[command(flatten)]
    connection: ConnectionArguments,

    /// The controllers to run
    #[arg(
        long,
        value_name = "KINDS",
        value_enum,
        value_delimiter = ',',
        default_values = Controller::by_default()
    )]
    controllers: Vec<Controller>,

    /// The kinds to reconcile although their upstream controller runs in the cluster
    #[arg(long, value_name = "KINDS", value_enum, value_delimiter = ',')]
    take_over: Vec<Controller>,

    #[command(flatten)]
    namespaces: NamespaceArguments,

    #[command(flatten)]
    lease: LeaseArguments,

    /// Allow policies to change cluster-scoped targets
    #[arg(long)]
    allow_cluster_scoped_targets: bool,

    /// The Prometheus for the queries of autoscalers [default: none; only queries over the numbers of schedules
    /// have a result]
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

    /// The fraction by which a metric may differ from its target without scaling
    #[arg(long, value_name = "FRACTION", default_value_t = 0.0, value_parser = below_one)]
    scaling_tolerance: f64,

    /// Create simulated nodes for groups of type Simulated, on a control plane for tests
    #[arg(long)]
    simulated_nodes: bool,

    #[command(flatten)]
    process: ProcessArguments,
}

/// The process mostly waits, and reconciles one policy at a time. More threads would only use more memory.
const THREADS: usize = 2;

/// The default limit on concurrent writes.
const MAX_WRITES: u16 = 32;

pub(crate) fn run(
    arguments: &ControllerArguments,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    ensure!(
        !arguments.simulated_nodes
            || arguments.controllers.contains(&Controller(Controlled::NodeGroups)),
        "--simulated-nodes needs scalable-node-group among --controllers"
    );
    ensure_limited(arguments)?;
    let start = |connection: &Connection, health, registry: &mut Registry, end| {
        let queries = queries(arguments, registry)?;
        let options = options(arguments, connection, queries);
        let process = Process::new(connection.client.clone(), options, health, registry);
        Ok(process.run(end))
    };
    let serving = (&arguments.connection, &arguments.process.serving);
    process::run(serving, Vec::new(), THREADS, output, start)
}

/// Fails if the process is limited to some namespaces, but needs a cluster-scoped object.
fn ensure_limited(arguments: &ControllerArguments) -> anyhow::Result<()> {
    if arguments.namespaces.namespaces() == Namespaces::All {
        return Ok(());
    }
    for Controller(controlled) in &arguments.controllers {
        if let Some(why) = controlled.why_cluster_wide() {
            bail!("--namespaces: {why}; remove {} from --controllers", controlled.flag());
        }
    }
    ensure!(
        !arguments.allow_cluster_scoped_targets,
        "--namespaces: cluster-scoped targets have no namespace; remove --allow-cluster-scoped-targets"
    );
    ensure!(
        !arguments.simulated_nodes,
        "--namespaces: nodes have no namespace; remove --simulated-nodes"
    );
    arguments.namespaces.ensure_reconciled(&arguments.process.exempt_namespaces)
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
    let mut families = Vec::new();
    let mut node_groups = None;
    for kind in &arguments.controllers {
        match kind.0 {
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
    let lease = (&arguments.lease, "almanac");
    Options {
        families,
        node_groups,
        namespaces: arguments.namespaces.namespaces(),
        take_over: arguments.take_over.iter().map(|kind| kind.0).collect(),
        process: arguments.process.options(lease, MAX_WRITES, connection),
        allow_cluster_scoped_targets: arguments.allow_cluster_scoped_targets,
        queries,
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
