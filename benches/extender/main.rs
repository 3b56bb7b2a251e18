//! Measures a running extender: the duration of its requests at the socket, and the number of pods per second that a
//! stock kube-scheduler places with and without the extender.
//!
//! The program prints figures and does not judge them. It runs the `almanac` in the same target directory:
//!
//! `cargo build --release -p almanac && cargo run --release -p almanac-benches --bin extender -- calls`

mod calls;
mod cluster;
mod connection;
mod rate;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};

/// Benchmarks of the extender
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// The duration of its requests
    Calls(calls::Calls),
    /// The pods that kube-scheduler places per second
    Rate(rate::Rate),
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("failed to start")?;
    runtime.block_on(async {
        match &arguments.benchmark {
            Benchmark::Calls(it) => it.run().await,
            Benchmark::Rate(it) => it.run().await,
        }
    })
}
