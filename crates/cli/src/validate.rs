//! `almanac validate`: the checks of the webhook, offline.

use std::io::Write;
use std::process::ExitCode;

use almanac_api::checking::clock_changes;
use clap::Args;
use jiff::Timestamp;

use crate::findings::{CheckArguments, IgnoreArguments, OutputArguments, Report};
use crate::outcome::{FailOn, exit_codes};

/// Check policies in files as the webhook does
///
/// Reports what the API server and the validating webhook would reject, and what they would accept with a
/// warning. In directories, skips hidden and ignored files, and objects other than policies, autoscalers and their
/// targets; a file on the command line must be a Kubernetes object. Without arguments, checks the current directory.
#[derive(Args)]
#[command(after_help = concat!("Examples:
  almanac validate examples
  almanac validate examples --exclude placements --fail-on warning
  almanac validate 'examples/*/deployment.yaml' -o json
  almanac validate examples --ignore clock-change
  almanac validate -k docs/gitops-repository/overlays/prod
  kubectl get cronfhpa -A -o yaml | almanac validate -f -

", exit_codes!()))]
pub(crate) struct ValidateArguments {
    #[command(flatten)]
    check: CheckArguments,

    #[command(flatten)]
    ignore: IgnoreArguments,

    #[command(flatten)]
    fail_on: FailOn,

    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(
    arguments: &ValidateArguments,
    now: Timestamp,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    arguments.output.check()?;
    let mut checked = arguments.check.check("validate", now)?;
    arguments.output.check_inputs(&checked.files.reading)?;
    let changes = clock_changes(&checked.files.reading, &checked.everything, checked.from, 1);
    checked.everything.findings.extend(changes);
    checked.narrow();
    let ignored = arguments.ignore.apply(&mut checked)?;
    let report = Report { ignored, ..checked.report() };
    arguments.output.write(&report, arguments.fail_on, output)?;
    Ok(arguments.fail_on.code(&report.everything.findings))
}
