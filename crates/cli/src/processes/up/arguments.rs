//! The arguments of `almanac up`.

use std::ffi::OsStr;
use std::path::PathBuf;

use almanac_calendar::Zone;
use almanac_local::{KubernetesVersion, environment};
use anyhow::Context as _;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Args, Command, ValueHint};
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;

use crate::argument_error::ArgumentError;
use crate::outcome::exit_codes;
use crate::{completion, moment};

/// Run everything on this machine, with a real control plane
///
/// Starts etcd, a Kubernetes API server, its controllers and its scheduler on loopback, simulated nodes, and every
/// controller of Almanac. Prints each change and its reason until Ctrl-C ends all processes; the next start continues
/// from there. The first start builds the control plane with Go, which takes minutes.
#[derive(Args)]
#[command(after_help = concat!("Examples:
  almanac up --demo
  almanac up -f examples/office-hours
  almanac up -f examples/office-hours --ephemeral --at 2026-11-27T06:59 --speed 60
  almanac up --cluster kind-kind

", exit_codes!()))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct UpArguments {
    /// Files and directories with objects to apply, as kubectl applies them
    #[arg(short, long = "filename", value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(super) file: Vec<String>,

    /// Apply a small company that uses all of Almanac, and print its next actions
    #[arg(long)]
    pub(super) demo: bool,

    /// A file that describes the nodes to simulate [default: three nodes in three zones, or those of the demo]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "cluster")]
    pub(super) nodes: Option<PathBuf>,

    /// The directory of the data [default: almanac/up in the user's data directory]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "cluster")]
    data_dir: Option<PathBuf>,

    /// Keep no data
    #[arg(long, conflicts_with_all = ["data_dir", "cluster"])]
    pub(super) ephemeral: bool,

    /// The policy clock at the start: RFC 3339, a date or time in UTC, or relative to now, such as monday or +2h
    /// [default: the present, or the instant at which a moved clock stopped]
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    at: Option<String>,

    /// Speed of the policy clock, in seconds per second
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub(super) speed: u32,

    /// The version of Kubernetes to run, such as 1.36 [default: that of the kept data, else the newest]
    #[arg(
        long,
        value_name = "VERSION",
        value_parser = KubernetesVersionParser,
        conflicts_with_all = ["assets", "cluster"]
    )]
    pub(super) kubernetes_version: Option<KubernetesVersion>,

    /// A directory with etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl [default: the
    /// programs next to this one, or built with Go]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "cluster")]
    pub(super) assets: Option<PathBuf>,

    /// Use the cluster of this kubeconfig context, such as one of kind or minikube; only Almanac runs here
    #[arg(
        long,
        value_name = "CONTEXT",
        conflicts_with = "demo",
        add = ArgValueCandidates::new(completion::contexts)
    )]
    pub(super) cluster: Option<String>,

    /// Apply the custom resource definitions to that cluster without confirmation
    #[arg(long, requires = "cluster")]
    pub(super) yes: bool,

    /// Print only the path of the kubeconfig
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// Parses a version. `--help` and the completion list the possible versions.
#[derive(Clone)]
struct KubernetesVersionParser;

impl TypedValueParser for KubernetesVersionParser {
    type Value = KubernetesVersion;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<KubernetesVersion, clap::Error> {
        let parse =
            |text: &str| text.parse::<KubernetesVersion>().map_err(|error| error.to_string());
        parse.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = KubernetesVersion::ALL.map(|version| PossibleValue::new(version.minor()));
        Some(Box::new(values.into_iter()))
    }
}

impl UpArguments {
    /// The initial instant of the policy clock; `None` without `--at`.
    pub(super) fn at(&self, now: Timestamp) -> Result<Option<Timestamp>, ArgumentError> {
        let at = self.at.as_deref().map(|text| moment::instant("--at", text, now, Zone::utc()));
        at.transpose()
    }

    /// The data directory: the flag, or the default.
    pub(super) fn data_directory(&self) -> anyhow::Result<PathBuf> {
        if let Some(directory) = &self.data_dir {
            return std::path::absolute(directory)
                .context("--data-dir: failed to find the directory");
        }
        Ok(environment::data_folder()?.join("up"))
    }
}
