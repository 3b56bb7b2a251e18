//! The harness outside of tests: `check` lists the real-cluster tests that can run, `build` fetches and builds their
//! programs, and `up` runs a control plane for a whole test run, or for interactive use. `up` runs until standard input
//! ends or a signal arrives.

use std::io::Write as _;
use std::process::ExitCode;

use almanac_harness::{
    Binaries, Component, ControlPlane, ControlPlaneOptions, GoBuild, Needs, Verdict, environment,
    provide_prometheus,
};
use anyhow::Result;
use clap::{Parser, Subcommand};
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::signal::unix::{SignalKind, signal};

/// The control plane of the tests.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print, as JSON on one line a kind, which tests can run here; exit 1 when some cannot.
    Check,
    /// Build the control plane, and fetch Prometheus, if missing.
    Build,
    /// Remove the control planes that were built, and what was prepared for them.
    Clean,
    /// Start a control plane and run it until standard input ends or a signal arrives.
    Up {
        /// Start only etcd and the API server.
        #[arg(long)]
        api_only: bool,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Check => check(),
        Command::Build => build().await,
        Command::Clean => clean(),
        Command::Up { api_only } => up(api_only).await,
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("control-plane: {error:#}");
        ExitCode::FAILURE
    })
}

fn check() -> Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    let mut out = std::io::stdout();
    for needs in Needs::ALL {
        let because = match needs.check() {
            Verdict::CanRun => None,
            Verdict::NotRun(because) => {
                code = ExitCode::FAILURE;
                Some(because)
            }
        };
        let line = json!({
            "prefix": needs.prefix(),
            "needs": needs.to_string(),
            "can_run": because.is_none(),
            "because": because,
        });
        writeln!(out, "{line}")?;
    }
    Ok(code)
}

async fn build() -> Result<ExitCode> {
    tokio::task::spawn_blocking(|| {
        let binaries = Binaries::provide()?;
        writeln!(std::io::stdout(), "{}", binaries.folder().display())?;
        let prometheus = provide_prometheus()?;
        writeln!(std::io::stdout(), "{}", prometheus.display())?;
        anyhow::Ok(ExitCode::SUCCESS)
    })
    .await?
}

fn clean() -> Result<ExitCode> {
    for removed in GoBuild::remove_all()? {
        writeln!(std::io::stdout(), "removed {}", removed.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn up(api_only: bool) -> Result<ExitCode> {
    let options = if api_only || !complete().await? {
        ControlPlaneOptions::api_only()
    } else {
        ControlPlaneOptions::whole()
    };
    let plane = ControlPlane::start(&options).await?;
    let processes: serde_json::Map<String, serde_json::Value> = Component::ALL
        .into_iter()
        .filter_map(|component| Some((component.to_string(), plane.process_id(component)?.into())))
        .collect();
    let ready = json!({
        "folder": plane.folder(),
        "kubeconfig": plane.kubeconfig(),
        "environment": {environment::CONTROL_PLANE: plane.folder()},
        "ready_after_seconds": plane.ready_after().as_secs_f64(),
        "processes": processes,
    });
    writeln!(std::io::stdout(), "{ready}")?;
    await_end().await?;
    Ok(ExitCode::SUCCESS)
}

async fn complete() -> Result<bool> {
    tokio::task::spawn_blocking(|| Ok(Binaries::provide()?.lacking().is_empty())).await?
}

/// The parent process holds the other end of standard input. The kernel closes that end when the parent ends, even if
/// the parent is killed.
async fn await_end() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let input_ends = async {
        let mut stdin = tokio::io::stdin();
        let mut ignored = [0; 256];
        while stdin.read(&mut ignored).await? > 0 {}
        anyhow::Ok(())
    };
    tokio::select! {
        ended = input_ends => ended?,
        _ = terminate.recv() => {}
        interrupted = tokio::signal::ctrl_c() => interrupted?,
    }
    Ok(())
}
