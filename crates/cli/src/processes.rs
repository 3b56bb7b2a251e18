//! The commands that run until a signal ends them: the processes of a cluster, and the control plane of `almanac up`.
//!
//! A build without the feature `cluster` has `offline/processes.rs` in place of this module.

mod agent;
mod controller;
mod controllers;
mod extender;
mod process;
mod up;
mod webhook;

use std::io::Write;
use std::process::ExitCode;

use clap::{Command, Subcommand};
use jiff::Timestamp;

/// The allocator. A process that watches ten thousand objects allocates much memory briefly and keeps little. The
/// default allocator keeps 1.5 times as much memory as this allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Subcommand)]
pub(crate) enum ProcessCommand {
    Controller(controller::ControllerArguments),
    Agent(agent::AgentArguments),
    Extender(extender::ExtenderArguments),
    Webhook(webhook::WebhookArguments),
    Up(up::UpArguments),
}

impl ProcessCommand {
    pub(crate) fn run(&self, now: Timestamp, output: &mut impl Write) -> anyhow::Result<ExitCode> {
        match self {
            Self::Controller(arguments) => controller::run(arguments, output),
            Self::Agent(arguments) => agent::run(arguments, output),
            Self::Extender(arguments) => extender::run(arguments, output),
            Self::Webhook(arguments) => webhook::run(arguments, output),
            Self::Up(arguments) => up::run(arguments, now, output),
        }
    }
}

/// Returns the command line unchanged: this build contains all commands.
pub(crate) fn described(command: Command) -> Command {
    command
}
