//! The common parts of the processes that run in a cluster: connection, logs, writes, metrics and shutdown. The command
//! of a process decides what it reconciles.

use std::cell::Cell;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use almanac_api::checking::why_no_namespace;
use almanac_api::exempt::EXEMPT_NAMESPACES;
use almanac_controllers::namespaces::Namespaces;
use almanac_controllers::runtime::ProcessOptions;
use almanac_shell::budget::WriteLimits;
use almanac_shell::client::{ClientOptions, Connection, connect};
use almanac_shell::clock::Clock;
use almanac_shell::endpoints::{Health, serve};
use almanac_shell::lease::LeaseOptions;
use almanac_shell::log::Format;
use almanac_shell::{log, shutdown};
use anstream::{AutoStream, ColorChoice};
use anyhow::{Context as _, bail, ensure};
use clap::{ArgAction, Args, ValueEnum, ValueHint};
use clap_complete::ArgValueCandidates;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::cluster::ClockArguments;
use crate::completion;

/// The flags that select the cluster of a process.
#[derive(Args)]
pub(crate) struct ConnectionArguments {
    /// The kubeconfig to use [default: $KUBECONFIG, ~/.kube/config, or in-cluster configuration]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    kubeconfig: Option<PathBuf>,

    /// The kubeconfig context to use [default: the current context]
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(completion::contexts))]
    context: Option<String>,
}

/// The flags for leader election.
#[derive(Args)]
pub(crate) struct LeaseArguments {
    /// Use leader election, so that other replicas can stand by; an agent of a single node does not need it
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

    /// The name of the lease [default: almanac; almanac-agent and almanac-extender for these]
    #[arg(long, value_name = "NAME")]
    lease_name: Option<String>,
}

impl LeaseArguments {
    /// The Lease to acquire, with this name if the flag is not set; `None` without leader election.
    fn options(
        &self,
        default_name: &str,
        connection: &Connection,
        identity: &str,
    ) -> Option<LeaseOptions> {
        let namespace = self.lease_namespace.as_ref().unwrap_or(&connection.namespace);
        let name = self.lease_name.as_deref().unwrap_or(default_name);
        self.leader_elect
            .then(|| LeaseOptions::new(namespace.clone(), name.to_owned(), identity.to_owned()))
    }
}

/// The flag that limits a process to namespaces.
#[derive(Args)]
pub(crate) struct NamespaceArguments {
    /// The only namespaces to watch and to work in [default: all namespaces]
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = namespace_name,
        add = ArgValueCandidates::new(completion::namespaces)
    )]
    namespaces: Vec<Arc<str>>,
}

impl NamespaceArguments {
    /// The namespaces to watch.
    pub(crate) fn namespaces(&self) -> Namespaces {
        match &self.namespaces[..] {
            [] => Namespaces::All,
            names => Namespaces::Only(names.iter().cloned().collect()),
        }
    }

    /// Fails if one of the namespaces is exempt, since nothing would be reconciled there.
    pub(crate) fn ensure_reconciled(&self, exempt: &[String]) -> anyhow::Result<()> {
        let is_exempt = |name: &&Arc<str>| exempt.iter().any(|exempt| **exempt == ***name);
        if let Some(name) = self.namespaces.iter().find(is_exempt) {
            bail!(
                "--namespaces: nothing is reconciled in {name}; remove it from --exempt-namespaces"
            );
        }
        Ok(())
    }
}

fn namespace_name(text: &str) -> Result<Arc<str>, String> {
    why_no_namespace(text).map_or_else(|| Ok(text.into()), Err)
}

/// The options that all processes share.
#[derive(Args)]
pub(crate) struct ProcessArguments {
    /// The namespaces in which nothing is reconciled
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_values = EXEMPT_NAMESPACES
    )]
    pub(crate) exempt_namespaces: Vec<String>,

    /// The identity of this process [default: the host name and a random number]
    #[arg(long, value_name = "NAME")]
    identity: Option<String>,

    /// Maximum number of writes in flight [default: 32; 4 for the agent of a single node]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    writes_at_once: Option<u16>,

    /// Maximum sustained number of writes per second [default: unlimited]
    #[arg(long, value_name = "N", value_parser = above_zero)]
    writes_per_second: Option<f64>,

    /// Maximum burst of writes, on top of the sustained rate
    #[arg(long, value_name = "N", default_value_t = 60, requires = "writes_per_second", value_parser = clap::value_parser!(u32).range(1..))]
    write_burst: u32,

    #[command(flatten)]
    pub(crate) serving: ServingArguments,
}

/// The flags for the address, the log and the clock of a process.
#[derive(Args)]
pub(crate) struct ServingArguments {
    /// The address on which to serve metrics and health checks
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080")]
    listen: SocketAddr,

    /// Log format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LogFormat::Json)]
    log_format: LogFormat,

    /// Minimum log level
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: tracing::Level,

    #[command(flatten)]
    clock: ClockArguments,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogFormat {
    Json,
    Text,
}

impl ProcessArguments {
    /// The options of the process, with defaults for the name of the Lease and the number of writes in flight.
    pub(crate) fn options(
        &self,
        (lease, default_name): (&LeaseArguments, &str),
        default_max_writes: u16,
        connection: &Connection,
    ) -> ProcessOptions {
        let seed = fastrand::u64(..);
        let identity = self.identity.clone().unwrap_or_else(|| own_name(seed));
        ProcessOptions {
            exempt_namespaces: self.exempt_namespaces.clone(),
            lease: lease.options(default_name, connection, &identity),
            identity,
            limits: WriteLimits {
                at_once: usize::from(self.writes_at_once.unwrap_or(default_max_writes)),
                per_second: self.writes_per_second,
                burst: self.write_burst,
            },
            clock: self.serving.clock(),
            seed,
        }
    }
}

impl ServingArguments {
    /// The policy clock.
    pub(crate) fn clock(&self) -> Clock {
        Clock::system(self.clock.setting())
    }
}

/// The time limit for responses in flight at shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs a process until a signal ends it. `start` creates the process after the connection is established, and returns
/// a future that ends after the token is canceled. The process reads `files` once, so a replaced file
/// requires a restart.
pub(crate) fn run<Run: Future<Output = ()>>(
    (connection, process): (&ConnectionArguments, &ServingArguments),
    files: Vec<PathBuf>,
    threads: usize,
    output: &mut impl Write,
    start: impl FnOnce(&Connection, Health, &mut Registry, CancellationToken) -> anyhow::Result<Run>,
) -> anyhow::Result<ExitCode> {
    let format = match process.log_format {
        LogFormat::Json => Format::Json,
        LogFormat::Text => Format::Text,
    };
    let has_colors = AutoStream::choice(&io::stderr()) != ColorChoice::Never;
    log::begin(format, process.log_level, has_colors);
    // This is all output on standard output.
    output.flush()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .context("failed to start the async runtime")?;
    runtime.block_on(run_process(connection, process, files, start))?;
    Ok(ExitCode::SUCCESS)
}

async fn run_process<Run: Future<Output = ()>>(
    connection: &ConnectionArguments,
    process: &ServingArguments,
    files: Vec<PathBuf>,
    start: impl FnOnce(&Connection, Health, &mut Registry, CancellationToken) -> anyhow::Result<Run>,
) -> anyhow::Result<()> {
    let end = CancellationToken::new();
    shutdown::on_signal(end.clone()).context("failed to listen for signals")?;
    let options = ClientOptions {
        kubeconfig: connection.kubeconfig.clone(),
        context: connection.context.clone(),
    };
    let connection = connect(&options)?;
    let read_once = connection.read_once.clone().and(files);
    let address = process.listen;
    let listener = TcpListener::bind(address).await.with_context(|| cannot_listen(address))?;
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        server = connection.server,
        listen = %listener.local_addr()?,
        "starting"
    );

    let health = Health::default();
    health.set_waiting_for("the process to start");
    let mut registry = Registry::default();
    let process = start(&connection, health.clone(), &mut registry, end.clone())?;
    // Metrics and health are served until the lease has been released.
    let end_serving = CancellationToken::new();
    let serving = serve(listener, Arc::new(registry), health, end_serving.clone());
    // All parts run in one task: if any panics, the process ends.
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
    let reconciling = async {
        process.await;
        end_serving.cancel();
        tokio::time::sleep(DRAIN_TIMEOUT).await;
    };
    // Slow clients do not delay the shutdown.
    tokio::select! {
        () = serving => {}
        () = reconciling => {}
        () = watching_files => {}
    }
    tracing::info!("stopped");
    // A supervisor that restarts only on failure must restart the process now.
    ensure!(!is_replaced.get(), "shut down for a restart with the replaced certificates");
    Ok(())
}

/// Listens on an address, within a runtime.
pub(super) fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let bound = std::net::TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        TcpListener::from_std(listener)
    });
    bound.with_context(|| cannot_listen(address))
}

fn cannot_listen(address: SocketAddr) -> String {
    format!("failed to listen on {address}")
}

fn above_zero(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err("must be a number above 0, such as 40 or 0.5".to_owned()),
    }
}

/// The default identity: each pod has a unique host name, and the number distinguishes processes on the same host.
fn own_name(seed: u64) -> String {
    let host = std::env::var("HOSTNAME").ok();
    let host = host.or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok());
    let host = host.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    format!("{}_{:08x}", host.unwrap_or_else(|| "almanac".to_owned()), seed >> 32)
}
