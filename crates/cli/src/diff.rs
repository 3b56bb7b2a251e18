//! `almanac diff`: the effects of a change of the files on the forecast.

mod change_groups;
mod columns;
mod differing;
mod git;
mod html;
mod jobs;
mod json;
mod markdown;
mod question;
mod render;
mod rows;
mod side;
mod summary;
mod table;
mod text;
mod words;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use almanac_api::kubernetes::KubernetesMinor;
use almanac_calendar::Zone;
use almanac_engine::Identity;
use almanac_forecast::{AssumedValues, Comparison, Forecast, Period};
use clap::{Args, ValueEnum};
use jiff::Timestamp;

use self::question::{Pair, Question};
use self::render::RenderArguments;
use self::side::{Side, Sides};
use crate::argument_error::ArgumentError;
use crate::completion;
use crate::cron_jobs::CronJobArguments;
use crate::destination::{refuse_input, write_to};
use crate::drawing::Drawing;
use crate::forecast::{in_order, is_requested};
use crate::input::InputPlace;
use crate::input_arguments::Conditions;
use crate::outcome::FailOn;
use crate::period::PeriodArguments;
use crate::subject::Subject;
use crate::text_width;
use crate::yaml;

/// Compare the forecasts of two versions
///
/// Lists the values that differ, when, from what to what, and how many pod-hours that is. Versions are files,
/// directories or git revisions. Policies with the same effect do not differ, however they are written. `CronJobs`
/// differ if they start Jobs at other times. Overlays and charts are rendered on request, or as almanac.toml of the
/// old version lists them.
#[derive(Args)]
#[command(mut_arg("period", |it| it.help(
    "Length of the period, such as 36h, 7d or 1y [default: 35d, which has every day of the week equally often, and \
     every day of the month]"
)))]
#[command(after_help = "Examples:
  almanac diff docs/weekend.yaml examples/office-hours/deployment.yaml
  almanac diff --git HEAD examples
  almanac diff --git HEAD examples -o markdown
  almanac diff --git origin/main...HEAD --fail-on-change --zone Europe/Berlin
  almanac diff --git origin/main...HEAD -k overlays/prod --helm charts/shop=values-prod.yaml

Exit codes:
  0    success, and no finding in the new files at or above --fail-on
  1    such findings; with --fail-on-change also a change, or files that cannot be compared
  2    failure: an argument is invalid, or a file or a revision could not be read
  130  interrupted")]
pub(crate) struct DiffArguments {
    /// The old and the new file or directory; with --git, only these files and directories
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    paths: Vec<String>,

    /// Two revisions, as with git: A..B, A...B for the changes of B since it branched from A, or A for the
    /// changes of the working tree since A
    #[arg(long, value_name = "REVISIONS")]
    git: Option<String>,

    /// Show only these targets or policies: NAME, KIND/NAME or KIND/NAMESPACE/NAME
    #[arg(long, value_name = "NAME", add = clap_complete::ArgValueCompleter::new(completion::compared))]
    only: Vec<String>,

    /// Skip files and directories that match, with the syntax of a .gitignore line
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,

    /// The version of Kubernetes that the files are for, such as 1.37 [default: the oldest]
    #[arg(long, value_name = "VERSION")]
    kubernetes_version: Option<KubernetesMinor>,

    #[command(flatten)]
    render: RenderArguments,

    #[command(flatten)]
    cron_jobs: CronJobArguments,

    #[command(flatten)]
    conditions: Conditions,

    #[command(flatten)]
    fail_on: FailOn,

    /// Exit with 1 if anything changes
    #[arg(long)]
    fail_on_change: bool,

    #[command(flatten)]
    period: PeriodArguments,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,

    /// Write to a file, which appears only once it is complete, or to standard output with -
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
    Yaml,
    Markdown,
    Html,
}

/// Five weeks: long enough for every day of a month.
const USUAL_PERIOD: &str = "35d";

pub(crate) fn run(
    arguments: &DiffArguments,
    now: Timestamp,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let threads = in_order::threads();
    let now = arguments.period.present(now);
    let zone = arguments.period.zone()?;
    let only = Subject::parse_all("--only", &arguments.only)?;
    let checked_at = arguments.period.from(now, zone.unwrap_or(Zone::utc()))?;
    let zone_of_jobs = arguments.cron_jobs.zone()?;
    let (both, mut coverage) = sides(arguments)?.read(arguments, zone_of_jobs, checked_at, now)?;
    let [old, new] = &both;
    let zone = zone.unwrap_or_else(|| side::common_zone(old, new));
    let period = arguments.period.period(USUAL_PERIOD, now, zone)?;
    check_names(&only, &both)?;
    let mut jobs = jobs::Pairs::default();
    let pairs = side::pairs(old, new).into_iter().map(|(name, before, after)| {
        jobs.add(name.as_deref(), [before, after], new, &only);
        let (comparison, unclear) = compared(old, before, new, after, period, &only);
        Pair { name, before, after, comparison, unclear }
    });
    let pairs = pairs.collect();
    coverage.incomplete = new.unusable();
    let jobs = jobs.compared(period, threads)?;
    let question = Question { old, new, pairs, period, zone, threads, coverage, jobs };
    arguments.check_out([old, new])?;
    let has_colors = arguments.output == Output::Text;
    let width = text_width::for_output(arguments.out.as_deref());
    let write_report =
        |mut output: &mut dyn Write| write(&question, arguments.output, width, &mut output);
    let may_differ = write_to(arguments.out.as_deref(), has_colors, output, write_report)?;
    let code = side::exit_code(arguments.fail_on, old, new);
    // An incomplete comparison does not pass the gate.
    let may_change = may_differ || !question.is_complete();
    let fails = may_change && arguments.fail_on_change && code == ExitCode::SUCCESS;
    Ok(if fails { ExitCode::FAILURE } else { code })
}

impl DiffArguments {
    /// Fails if the output file is an input file.
    fn check_out(&self, sides: [&Side; 2]) -> Result<(), ArgumentError> {
        let out = self.out.as_deref();
        let typed = out.map(|it| it.display().to_string()).unwrap_or_default();
        refuse_input("--out", &typed, out, sides.map(|side| &side.input.reading))
    }
}

/// The sides in the arguments, with their rendered directories.
fn sides(arguments: &DiffArguments) -> anyhow::Result<Sides> {
    let DiffArguments { paths, git, exclude, render, .. } = arguments;
    if let Some(revisions) = git {
        return git::sides(revisions, paths, exclude, render);
    }
    let mut sides = Sides::named(paths)?;
    render.add_to(&mut sides)?;
    Ok(sides)
}

/// Writes the differences; returns whether any value changes or might change.
fn write(
    question: &Question<'_>,
    format: Output,
    width: usize,
    output: &mut impl Write,
) -> anyhow::Result<bool> {
    match format {
        Output::Text => text::write(question, width, output),
        Output::Json => json::write(question, output),
        Output::Yaml => yaml::write(output, |yaml| json::write(question, yaml)),
        Output::Markdown => markdown::write(question, output),
        Output::Html => html::write(question, output),
    }
}

/// The comparison of two places, limited to the requested objects of either side, and the list of unclear objects.
fn compared<'a>(
    old: &Side,
    before: Option<&'a InputPlace>,
    new: &Side,
    after: Option<&'a InputPlace>,
    period: Period,
    only: &[Subject],
) -> (Comparison<'a>, BTreeSet<Identity>) {
    // An assumption applies to both sides, even if only one side has a policy that needs the assumption.
    let assumed: AssumedValues =
        [before, after].into_iter().flatten().flat_map(|it| it.initial.clone()).collect();
    let forecast = |place: &'a InputPlace| Forecast::new(&place.world, period, assumed.clone());
    let mut earlier = before.map(forecast);
    // The whole place, since the requested objects may depend on others.
    let mut later = after.map(|place| forecast(place).taking_over(earlier.as_ref()));
    let sides = [(old, before, earlier.as_ref()), (new, after, later.as_ref())];
    if !only.is_empty() || old.input.is_narrowed() {
        let mut requested: BTreeSet<Identity> = BTreeSet::new();
        for (side, place, forecast) in sides {
            let (Some(place), Some(forecast)) = (place, forecast) else { continue };
            let targets = forecast.targets();
            let targets = targets.filter(|(target, writers)| {
                is_requested(only, (&side.input, place), target, writers)
            });
            requested.extend(targets.map(|(target, _)| target.clone()));
        }
        for forecast in [&mut earlier, &mut later].into_iter().flatten() {
            forecast.narrow(|target, _| requested.contains(target));
        }
    }
    let is_unclear = new.unclear(after, before);
    let both = [&earlier, &later].into_iter().flatten();
    let unclear = both.flat_map(|it| it.connected_with(&is_unclear)).cloned().collect();
    (Comparison::new(earlier, later), unclear)
}

/// Fails if a requested name matches on neither side.
fn check_names(only: &[Subject], [old, new]: &[Side; 2]) -> Result<(), ArgumentError> {
    let is_known = |name: &Subject| {
        [old, new].iter().any(|side| side.input.may_match(name) || side.input.names_job(name))
    };
    let Some(unknown) = only.iter().find(|name| !is_known(name)) else { return Ok(()) };
    // The object may exist in a form that cannot be used.
    old.input.report_errors();
    new.input.report_errors();
    let versions = [("old", &*old.input.places), ("new", &*new.input.places)];
    Err(unknown.not_found_in("--only", &versions))
}

/// Reports the findings, unless the user sees them in the output.
fn write_findings(question: &Question<'_>, output: &mut Drawing<impl Write>) -> io::Result<()> {
    for (side, which) in [(question.old, "old"), (question.new, "new")] {
        for (index, placed) in side.input.findings.iter().enumerate() {
            if index == 0 {
                writeln!(output, "\nFindings in the {which} files, {}:", side.name)?;
            } else {
                writeln!(output)?;
            }
            side.input.write_finding(placed, output)?;
        }
    }
    Ok(())
}
