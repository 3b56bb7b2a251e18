//! `almanac validate`: the checks of the webhook, offline.

pub(crate) mod json;
pub(crate) mod text;

use std::io::{self, Write};
use std::process::ExitCode;

use almanac_api::checking::{CheckContext, check_everything};
use almanac_api::finding::Severity;
use almanac_api::reading::files;
use almanac_calendar::Zone;
use clap::{Args, ValueEnum};
use jiff::Timestamp;

use crate::moment;

/// Check policies in files, without a cluster
///
/// Finds what the API server and the admission webhook would reject, and what they would accept with a
/// warning. Objects of other kinds are skipped. Exits with 0 if there are no problems, with 1 on any
/// error or warning, and with 2 if the files could not be found.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  almanac validate -f policies/
  almanac validate -f shop.yaml -f 'teams/*/scaling.yaml' -o json
  kubectl get cronfhpa -A -o yaml | almanac validate -f -"
)]
pub(crate) struct ValidateArguments {
    /// A file, a directory (searched recursively), a glob such as 'teams/*.yaml', or - for standard input
    #[arg(
        short,
        long = "filename",
        value_name = "PATH",
        value_hint = clap::ValueHint::AnyPath,
        required = true
    )]
    file: Vec<String>,

    /// The namespace of objects that have none
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default")]
    namespace: String,

    /// The instant from which checks look ahead: RFC 3339, a date or time in UTC, or relative to now,
    /// such as tomorrow, monday or +2h [default: now]
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    from: Option<String>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Text,
    Json,
}

pub(crate) fn run(
    arguments: &ValidateArguments,
    now: Timestamp,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let now = match &arguments.from {
        Some(text) => moment::instant("--from", text, now, Zone::utc())?,
        None => now,
    };
    let reading = files::read(&arguments.file, io::stdin())?;
    let context = CheckContext::new(&arguments.namespace, now);
    let (_, findings) = check_everything(&reading, context);
    match arguments.output {
        Output::Text => text::write(output, &reading, &findings)?,
        Output::Json => json::write(output, &reading, &findings)?,
    }
    let told = findings.iter().any(|placed| placed.finding.severity() != Severity::Info);
    Ok(ExitCode::from(u8::from(told)))
}
