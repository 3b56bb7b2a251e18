//! `almanac lint`: the findings of `validate`, and findings that only appear over time.

mod fitting;
mod fixing;
mod over_time;

use std::io::Write;
use std::process::ExitCode;

use almanac_api::checking::{clock_changes, cron_jobs_over_time};
use almanac_api::reading::PlacedFinding;
use clap::Args;
use jiff::Timestamp;

use crate::cron_jobs::CronJobArguments;
use crate::findings::{CheckArguments, Checked, IgnoreArguments, LINT, OutputArguments, Report};
use crate::outcome::{FailOn, exit_codes};

/// The maximum number of successive rounds of fixes.
const MAX_FIX_ROUNDS: usize = 8;

/// Find likely mistakes
///
/// Reports the findings of `almanac validate`, and runs the policies under a virtual clock for those that only
/// show over time, such as a rule that never fires. Without arguments, reads the current directory.
#[derive(Args)]
#[command(
    mut_arg("fail_on", |argument| argument.default_value("warning")),
    after_help = concat!("Examples:
  almanac lint examples/office-hours
  almanac lint examples --exclude placements
  almanac lint docs/two-mornings.yaml --ignore cut-short,clock-change
  almanac lint examples/office-hours --from 2027-03-01 -o json
  almanac lint examples/office-hours --fix
  almanac lint examples/office-hours -o text -o sarif=almanac.sarif
  kubectl get cronfhpa,hpa,deploy -A -o yaml | almanac lint -f -

", exit_codes!())
)]
pub(crate) struct LintArguments {
    #[command(flatten)]
    check: CheckArguments,

    #[command(flatten)]
    ignore: IgnoreArguments,

    #[command(flatten)]
    cron_jobs: CronJobArguments,

    /// Apply fixes with one possible meaning, such as a mistyped field; report the rest
    #[arg(long)]
    fix: bool,

    #[command(flatten)]
    fail_on: FailOn,

    #[command(flatten)]
    output: OutputArguments,
}

/// The years for which clock changes are reported.
const YEARS: i32 = 2;

pub(crate) fn run(
    arguments: &LintArguments,
    now: Timestamp,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    arguments.output.check()?;
    if arguments.fix {
        arguments.check.refuse_standard_input("--fix")?;
    }
    let (mut checked, mut ignored) = check(arguments, now)?;
    arguments.output.check_inputs(&checked.files.reading)?;
    let mut fixed = Vec::new();
    if arguments.fix {
        // A fix may reveal further findings that can be fixed.
        for _ in 0..MAX_FIX_ROUNDS {
            let done = fixing::fix(&checked)?;
            if done.is_empty() {
                break;
            }
            fixed.extend(done);
            (checked, ignored) = check(arguments, now)?;
        }
    }
    let report = Report { ignored, fixed, ..checked.report() };
    arguments.output.write(&report, arguments.fail_on, output)?;
    Ok(arguments.fail_on.code(&report.everything.findings))
}

/// All findings to report, and the number of ignored ones.
fn check(arguments: &LintArguments, now: Timestamp) -> anyhow::Result<(Checked, usize)> {
    let mut checked = arguments.check.check(LINT, now)?;
    let zone = arguments.cron_jobs.zone()?;
    checked.files.reading.cron_jobs.iter_mut().for_each(|job| job.assume_zone(zone));
    let over_time = findings(&mut checked)?;
    checked.everything.findings.extend(over_time);
    checked.narrow();
    let ignored = arguments.ignore.apply(&mut checked)?;
    Ok((checked, ignored))
}

/// The findings that depend on several objects or on time.
fn findings(checked: &mut Checked) -> anyhow::Result<Vec<PlacedFinding>> {
    let reading = &checked.files.reading;
    let mut all = clock_changes(reading, &checked.everything, checked.from, YEARS);
    all.extend(cron_jobs_over_time(reading, &checked.everything, checked.from));
    all.extend(over_time::findings(checked)?);
    Ok(all)
}
