//! `almanac validate`: the checks of the webhook, offline.

use std::io::Write;
use std::process::ExitCode;

use almanac_api::checking::clock_changes;
use clap::Args;
use jiff::Timestamp;

use crate::findings::{CheckArguments, Format};
use crate::outcome::{FailOn, exit_codes};

/// Check policies in files, without a cluster
///
/// Finds what the API server and the admission webhook would reject, and what they would accept with a
/// warning. In directories, hidden and ignored files are skipped, and so is whatever is neither a policy nor
/// an autoscaler nor a target of one; a file that is named has to be a Kubernetes object. Without arguments,
/// checks the current directory.
#[derive(Args)]
#[command(after_help = concat!("Examples:
  almanac validate
  almanac validate clusters/ --exclude testdata --fail-on warning
  almanac validate shop.yaml 'teams/*/scaling.yaml' -o json
  almanac validate -k overlays/prod
  kubectl get cronfhpa -A -o yaml | almanac validate -f -

", exit_codes!()))]
pub(crate) struct ValidateArguments {
    #[command(flatten)]
    check: CheckArguments,

    #[command(flatten)]
    fail_on: FailOn,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
}

pub(crate) fn run(
    arguments: &ValidateArguments,
    now: Timestamp,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let mut checked = arguments.check.check("validate", now)?;
    let met = clock_changes(&checked.files.reading, &checked.everything, checked.from, 1);
    checked.everything.findings.extend(met);
    let report = checked.report();
    report.write(arguments.output, arguments.fail_on, output)?;
    Ok(arguments.fail_on.code(&report.everything.findings))
}
