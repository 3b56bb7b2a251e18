//! `almanac version`: the version of the program and of its time zone database.

use std::io::Write;
use std::process::ExitCode;
use std::sync::LazyLock;

use almanac_api::kubernetes::KubernetesMinor;
use almanac_calendar::tzdata_version;
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::cluster::BUILD;
use crate::outcome::exit_codes_without_findings;
use crate::yaml;

/// The versions that affect the meaning of a schedule, and the kind of build.
pub(crate) static VERSION: LazyLock<String> =
    LazyLock::new(|| format!("{} (tzdata {}{BUILD})", env!("CARGO_PKG_VERSION"), tzdata_version()));

/// Print the version
///
/// Prints the versions of the program and of its time zone database, and the commit if the build recorded it. Also
/// prints the versions of Kubernetes that this release was tested on, and the oldest ones that it starts on.
#[derive(Args)]
#[command(after_help = concat!("Examples:
  almanac version
  almanac version -o json

", exit_codes_without_findings!()))]
pub(crate) struct VersionArguments {
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Text,
    Json,
    Yaml,
}

/// The documented contract `almanac/version/v1`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    schema: &'static str,
    version: &'static str,
    tzdata: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'static str>,
    kubernetes: KubernetesReport,
    /// Whether this build reads clusters, or files only.
    reads_clusters: bool,
}

/// The versions of Kubernetes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KubernetesReport {
    tested: [String; 3],
    /// The oldest version that the controllers start on, untested.
    oldest: String,
    /// The oldest version that the agent starts on, untested.
    oldest_of_agent: String,
}

/// The commit, from the environment of the build.
const COMMIT: Option<&str> = option_env!("ALMANAC_COMMIT");

pub(crate) fn run(
    arguments: &VersionArguments,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let report = Report {
        schema: "almanac/version/v1",
        version: env!("CARGO_PKG_VERSION"),
        tzdata: tzdata_version(),
        commit: COMMIT,
        kubernetes: KubernetesReport {
            tested: KubernetesMinor::TESTED.map(|version| version.to_string()),
            oldest: KubernetesMinor::OLDEST.to_string(),
            oldest_of_agent: KubernetesMinor::OLDEST_OF_AGENT.to_string(),
        },
        reads_clusters: BUILD.is_empty(),
    };
    match arguments.output {
        Output::Text => {
            writeln!(output, "almanac {}", *VERSION)?;
            if let Some(commit) = COMMIT {
                writeln!(output, "commit {commit}")?;
            }
            let KubernetesReport { tested, oldest, oldest_of_agent } = &report.kubernetes;
            let tested = tested.join(", ");
            writeln!(
                output,
                "Kubernetes {tested}; untested: {oldest} and newer, the agent {oldest_of_agent} and newer"
            )?;
        }
        Output::Json => report.write(output)?,
        Output::Yaml => yaml::write(output, |yaml| report.write(yaml))?,
    }
    Ok(ExitCode::SUCCESS)
}

impl Report {
    fn write(&self, output: &mut impl Write) -> anyhow::Result<()> {
        serde_json::to_writer_pretty(&mut *output, self)?;
        writeln!(output)?;
        Ok(())
    }
}
