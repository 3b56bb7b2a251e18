//! A herd: many cron rules, each with a target of its own, due in the same minute, or many pods whose level one
//! boundary changes. Measures the time, memory, requests and CPU time that `almanac controller` or `almanac agent`
//! needs for them.
//!
//! The program prints figures and does not judge them; it fails if a policy was not applied. It runs the `almanac` in
//! the same target directory:
//!
//! `cargo build --profile dist -p almanac && cargo run --release -p almanac-benches --bin herd -- cluster`

mod cluster;
mod cluster_objects;
mod controller;
mod exposition;
mod figures;
mod memory;
mod objects;
mod pods;
mod processes;
mod stub;
mod stubbed;

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use clap::{Parser, Subcommand};

/// Many cron rules due in the same minute
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    against: Against,

    /// The distribution binary to measure [default: the `almanac` next to this program]
    #[arg(long, value_name = "FILE", global = true)]
    almanac: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Against {
    /// Against a real etcd and API server
    Cluster(cluster::Cluster),
    /// Against a server that responds immediately
    Stub(stubbed::Stubbed),
    /// Pods whose level a boundary changes, against a real etcd and API server
    Pods(pods::Pods),
    /// The memory of armed rules, against a server that responds immediately
    Memory(memory::Memory),
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("failed to start")?;
    runtime.block_on(async {
        match &arguments.against {
            Against::Cluster(it) => it.run(&program(arguments.almanac.as_ref())?).await,
            Against::Stub(it) => it.run(&program(arguments.almanac.as_ref())?).await,
            Against::Pods(it) => it.run(&program(arguments.almanac.as_ref())?).await,
            Against::Memory(it) => it.run(&program(arguments.almanac.as_ref())?).await,
        }
    })
}

fn program(chosen: Option<&PathBuf>) -> Result<PathBuf> {
    let program = match chosen {
        Some(program) => program.clone(),
        None => std::env::current_exe()?.with_file_name("almanac"),
    };
    let program = std::path::absolute(&program)?;
    ensure!(
        program.is_file(),
        "{} is missing: build it with `cargo build --profile dist -p almanac`",
        program.display()
    );
    Ok(program)
}
