//! `almanac lint`: all that `validate` finds, and what only shows over time.

use std::io::Write;
use std::process::ExitCode;

use almanac_api::checking::clock_changes;
use almanac_api::reading::PlacedFinding;
use clap::Args;
use jiff::Timestamp;

use crate::findings::{CheckArguments, Checked, Format};
use crate::outcome::{FailOn, exit_codes};

/// Find what is probably not meant in policies, before they are applied
///
/// Finds all that `almanac validate` finds, and runs the policies under a virtual clock to find what only
/// shows over time. Reads files as `almanac validate` does; without arguments, those of the current directory.
#[derive(Args)]
#[command(
    mut_arg("fail_on", |argument| argument.default_value("warning")),
    after_help = concat!("Examples:
  almanac lint
  almanac lint clusters/ --exclude testdata
  almanac lint shop.yaml --from 2026-03-01 -o json
  kubectl get cronfhpa,hpa,deploy -A -o yaml | almanac lint -f -

", exit_codes!())
)]
pub(crate) struct LintArguments {
    #[command(flatten)]
    check: CheckArguments,

    #[command(flatten)]
    fail_on: FailOn,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
}

pub(crate) fn run(
    arguments: &LintArguments,
    now: Timestamp,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let mut checked = arguments.check.check("lint", now)?;
    let found = findings(&checked);
    checked.everything.findings.extend(found);
    let report = checked.report();
    report.write(arguments.output, output)?;
    Ok(arguments.fail_on.code(&report.everything.findings))
}

/// What is found beside what each object says by itself.
fn findings(checked: &Checked) -> Vec<PlacedFinding> {
    clock_changes(&checked.files.reading, &checked.everything, checked.from)
}
