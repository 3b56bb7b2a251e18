//! `almanac version`: the version of the program and of its time zone database.

use std::io::Write;
use std::process::ExitCode;
use std::sync::LazyLock;

use almanac_calendar::tzdata_version;
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::cluster::BUILD;
use crate::outcome::exit_codes_without_findings;
use crate::yaml;

/// The versions on which the meaning of a schedule depends, and the kind of build.
pub(crate) static VERSION: LazyLock<String> =
    LazyLock::new(|| format!("{} (tzdata {}{BUILD})", env!("CARGO_PKG_VERSION"), tzdata_version()));

/// Print the version
///
/// Prints the versions of the program and of its time zone database, and the commit if the build recorded it.
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
    /// Whether this build reads clusters, or files only.
    reads_clusters: bool,
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
        reads_clusters: BUILD.is_empty(),
    };
    match arguments.output {
        Output::Text => {
            writeln!(output, "almanac {}", *VERSION)?;
            if let Some(commit) = COMMIT {
                writeln!(output, "commit {commit}")?;
            }
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
