//! `almanac agent`: reconciles the policies for QoS levels, on one node or on all nodes.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use almanac_api::objects::CONFIG_NAMESPACE;
use almanac_controllers::agent::{Agent, AgentOptions, Nodes};
use almanac_shell::client::Connection;
use anyhow::ensure;
use clap::Args;
use jiff::SignedDuration;
use prometheus_client::registry::Registry;

use super::process::{
    self, ConnectionArguments, LeaseArguments, NamespaceArguments, ProcessArguments,
};
use crate::level_format::LevelFormat;
use crate::outcome::exit_codes_without_findings;

/// Run the QoS agent for one node or the whole cluster
///
/// With the name of a node, it reconciles the pods of that node, and needs no Lease: run one on every node. With `*`,
/// one elected replica reconciles the pods of all nodes.
#[derive(Args)]
#[command(after_help = concat!("Examples:
  almanac agent --node-name \"$NODE_NAME\"
  almanac agent --node-name '*' --qos-level-format name

", exit_codes_without_findings!()))]
pub(crate) struct AgentArguments {
    #[command(flatten)]
    connection: ConnectionArguments,

    /// The node whose pods are changed, or * for all pods
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    node_name: String,

    /// The namespace of the configuration of Volcano's agent, which has the policies
    #[arg(long, value_name = "NAMESPACE", default_value = CONFIG_NAMESPACE)]
    config_namespace: String,

    /// The format of levels: a number, as in the design, or the name that Volcano's agent reads
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LevelFormat::Number)]
    qos_level_format: LevelFormat,

    /// Spread the writes of all nodes after a boundary over this duration
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = up_to_ten_minutes)]
    spread: SignedDuration,

    #[command(flatten)]
    namespaces: NamespaceArguments,

    #[command(flatten)]
    lease: LeaseArguments,

    #[command(flatten)]
    process: ProcessArguments,
}

/// An agent mostly waits, and must be small because it runs on every node.
const THREADS: usize = 1;

pub(crate) fn run(arguments: &AgentArguments, output: &mut impl Write) -> anyhow::Result<ExitCode> {
    let namespace = &arguments.config_namespace;
    ensure!(
        !arguments.process.exempt_namespaces.contains(namespace),
        "--config-namespace: nothing is reconciled in {namespace}, so its policies are not reconciled; remove it from \
         --exempt-namespaces"
    );
    arguments.namespaces.ensure_reconciled(&arguments.process.exempt_namespaces)?;
    let start = |connection: &Connection, health, registry: &mut Registry, end| {
        let options = options(arguments, connection);
        let agent = Agent::new(connection.client.clone(), options, health, registry);
        Ok(agent.run(end))
    };
    let serving = (&arguments.connection, &arguments.process.serving);
    process::run(serving, Vec::new(), THREADS, output, start)
}

fn options(arguments: &AgentArguments, connection: &Connection) -> AgentOptions {
    let nodes = match &*arguments.node_name {
        "*" => Nodes::All,
        name => Nodes::One(name.into()),
    };
    // Thousands of agents with one node each may write in the same seconds.
    let max_writes = if nodes == Nodes::All { 32 } else { 4 };
    let lease = (&arguments.lease, "almanac-agent");
    let mut process = arguments.process.options(lease, max_writes, connection);
    if nodes != Nodes::All {
        process.lease = None;
    }
    AgentOptions {
        nodes,
        config_namespace: arguments.config_namespace.clone(),
        level_format: arguments.qos_level_format.into(),
        namespaces: arguments.namespaces.namespaces(),
        process,
        spread: Duration::try_from(arguments.spread).unwrap_or_default(),
    }
}

fn up_to_ten_minutes(text: &str) -> Result<SignedDuration, String> {
    let duration = text.parse::<SignedDuration>().ok();
    let duration = duration.filter(|it| !it.is_negative() && it.as_secs() <= 600);
    duration.ok_or_else(|| "must be a duration from 0s to 10m, such as 3s or 500ms".to_owned())
}
