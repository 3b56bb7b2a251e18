//! `almanac controller`: carries out the policies of a cluster.

use std::cell::Cell;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use almanac_controllers::process::{Options, Process};
use almanac_engine::Family;
use almanac_shell::budget::WriteLimits;
use almanac_shell::client::{ClientOptions, Connection, connect};
use almanac_shell::clock::Clock;
use almanac_shell::endpoints::{Health, listen, serve};
use almanac_shell::lease::LeaseOptions;
use almanac_shell::log::Format;
use almanac_shell::{log, shutdown};
use anstream::{AutoStream, ColorChoice};
use anyhow::{Context as _, ensure};
use clap::{ArgAction, Args, ValueEnum};
use jiff::SignedDuration;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;

/// Carry out the policies of a cluster
///
/// Of several such processes one leads at a time; the others wait, ready to go on.
#[derive(Args)]
#[command(after_help = "Examples:
  almanac controller --context staging
  almanac controller --controllers cron-federated-hpa --leader-elect=false --log-format text")]
pub(crate) struct ControllerArguments {
    /// The kubeconfig to use [default: $KUBECONFIG, ~/.kube/config, or the cluster around this pod]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig to use [default: its current one]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// Which kinds to carry out
    #[arg(
        long,
        value_name = "KINDS",
        value_enum,
        value_delimiter = ',',
        default_values = ["metrics-producer", "cron-federated-hpa"]
    )]
    controllers: Vec<Kind>,

    /// Hold a lease while carrying anything out, so that several processes can stand by
    #[arg(
        long,
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        default_value_t = true,
        default_missing_value = "true"
    )]
    leader_elect: bool,

    /// The namespace of the lease [default: that of the context, or of this pod]
    #[arg(long, value_name = "NAMESPACE")]
    lease_namespace: Option<String>,

    /// The name of the lease
    #[arg(long, value_name = "NAME", default_value = "almanac")]
    lease_name: String,

    /// The name of this process in the lease [default: the host's name, and a number]
    #[arg(long, value_name = "NAME")]
    identity: Option<String>,

    /// Where metrics and health are served
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080")]
    listen: SocketAddr,

    /// Change targets that are in no namespace, too
    #[arg(long)]
    allow_cluster_scoped_targets: bool,

    /// How many writes may be under way at once
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..))]
    writes_at_once: u16,

    /// How many writes may begin in a second, in the long run [default: as many as go]
    #[arg(long, value_name = "N", value_parser = above_zero)]
    writes_per_second: Option<f64>,

    /// How many writes may begin at once after a quiet time
    #[arg(long, value_name = "N", default_value_t = 60, requires = "writes_per_second", value_parser = clap::value_parser!(u32).range(1..))]
    write_burst: u32,

    /// How a line of the log looks
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LogFormat::Json)]
    log_format: LogFormat,

    /// From which level on something is logged
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: tracing::Level,

    /// How far the policies' clock is ahead of the machine's
    #[arg(long, value_name = "DURATION", hide = true, allow_hyphen_values = true)]
    clock_offset: Option<SignedDuration>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    MetricsProducer,
    CronFederatedHpa,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogFormat {
    Json,
    Text,
}

/// Most of the time a process waits; what it decides is decided in turns. More threads would only
/// take more memory.
const THREADS: usize = 2;

/// At the end, answers that are under way have so long.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

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
    // Nothing else is printed.
    output.flush()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .context("failed to start")?;
    runtime.block_on(carry_out(arguments))?;
    Ok(ExitCode::SUCCESS)
}

async fn carry_out(arguments: &ControllerArguments) -> anyhow::Result<()> {
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
    let options = options(arguments, &connection);
    let process = Process::new(connection.client, options, health.clone(), &mut registry);
    // Answers go on until the lease has been let go of.
    let served = CancellationToken::new();
    let serving = serve(listener, Arc::new(registry), health, served.clone());
    // All of it is one task: whatever falls over, the process ends with it.
    let is_replaced = Cell::new(false);
    let watching_files = async {
        let file = read_once.replaced().await;
        tracing::warn!(
            file = %file.display(),
            "ending to be started anew: this file was replaced, and what it said before is in use"
        );
        is_replaced.set(true);
        end.cancel();
        std::future::pending::<()>().await;
    };
    let carrying_out = async {
        process.run(end.clone()).await;
        served.cancel();
        tokio::time::sleep(ANSWERS_WITHIN).await;
    };
    // Whoever is slow to take an answer is not waited for.
    tokio::select! {
        () = serving => {}
        () = carrying_out => {}
        () = watching_files => {}
    }
    tracing::info!("ended");
    // Whoever starts a process again only after a failure has to do so now.
    ensure!(!is_replaced.get(), "ended to be started anew, with the certificates as they are now");
    Ok(())
}

fn options(arguments: &ControllerArguments, connection: &Connection) -> Options {
    let seed = fastrand::u64(..);
    let identity = arguments.identity.clone().unwrap_or_else(|| own_name(seed));
    let lease = arguments.leader_elect.then(|| {
        let namespace = arguments.lease_namespace.clone();
        let namespace = namespace.unwrap_or_else(|| connection.namespace.clone());
        LeaseOptions::new(namespace, arguments.lease_name.clone(), identity.clone())
    });
    let mut families: Vec<Family> =
        arguments.controllers.iter().map(|kind| kind.family()).collect();
    families.sort();
    families.dedup();
    Options {
        families,
        lease,
        identity,
        limits: WriteLimits {
            at_once: usize::from(arguments.writes_at_once),
            per_second: arguments.writes_per_second,
            burst: arguments.write_burst,
        },
        allow_cluster_scoped_targets: arguments.allow_cluster_scoped_targets,
        clock: Clock::system(arguments.clock_offset.unwrap_or_default()),
        seed,
    }
}

impl Kind {
    fn family(self) -> Family {
        match self {
            Self::MetricsProducer => Family::ScheduledCapacity,
            Self::CronFederatedHpa => Family::CronScaling,
        }
    }
}

fn above_zero(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err("write a number above 0, such as 40 or 0.5".to_owned()),
    }
}

/// A pod's host name is the pod's own; the number tells two processes of one host apart.
fn own_name(seed: u64) -> String {
    let host = std::env::var("HOSTNAME").ok();
    let host = host.or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok());
    let host = host.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    format!("{}_{:08x}", host.unwrap_or_else(|| "almanac".to_owned()), seed >> 32)
}
