//! `almanac forecast`: the exact future values, and the reasons for them.

mod agreeing;
mod assumptions;
mod csv;
mod drawn;
mod highlights;
mod html;
mod ics;
pub(crate) mod in_order;
pub(crate) mod instants;
pub(crate) mod json;
#[cfg(test)]
mod kinds;
mod lanes;
pub(crate) mod progress;
mod question;
mod ruler;
mod story;
mod svg;
mod text;

use std::io::{self, Write};
use std::process::ExitCode;

use almanac_calendar::Zone;
use almanac_engine::{Identity, PolicyName};
use almanac_forecast::{Forecast, Period, Upcoming};
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;
use jiff::Timestamp;

use self::question::{Invocation, PlaceForecast, Question, View};
pub(crate) use self::text::{in_zone, writer_name};
use crate::argument_error::ArgumentError;
use crate::cluster::WatchArguments;
use crate::completion;
use crate::cron_jobs::{self, CronJobArguments, ShownCronJob};
use crate::destination;
use crate::drawing;
use crate::input::{Input, InputPlace};
use crate::input_arguments::{BeginningArguments, InputArguments};
use crate::outcome::{FailOn, exit_codes};
use crate::period::PeriodArguments;
use crate::shell_word;
use crate::subject::Subject;
use crate::text_width;
use crate::watching::{self, Drawn, Form};
use crate::yaml;

/// Show what policies will do, before they do it
///
/// Runs the policies under a virtual clock, with the same decisions that the controllers make. Shows every
/// value over time, and the rule that sets it. Without files, reads a cluster, and writes nothing to it.
/// Directories distinguish the files of several clusters.
#[derive(Args)]
#[command(mut_arg("period", |it| it.help("Length of the period, such as 36h, 7d or 1y [default: 7d]")))]
#[command(after_help = concat!("Examples:
  almanac forecast examples/office-hours
  almanac forecast examples/office-hours deployment/web --from monday --zone America/New_York
  almanac forecast -f examples/office-hours --for 30d -o html --out month.html
  almanac forecast -f examples/office-hours --for 90d -o ics --out policies.ics
  almanac forecast -n default --watch
  kubectl get cronfhpa,deploy -A -o yaml | almanac forecast -f - -o json

", exit_codes!()))]
pub(crate) struct ForecastArguments {
    /// Show only these targets or policies: NAME, KIND NAME, KIND/NAME or KIND/NAMESPACE/NAME; and files, as with -f
    #[arg(value_name = "NAME|FILE", add = ArgValueCompleter::new(completion::objects_and_paths))]
    words: Vec<String>,

    #[command(flatten)]
    input: InputArguments,

    #[command(flatten)]
    beginning: BeginningArguments,

    #[command(flatten)]
    cron_jobs: CronJobArguments,

    #[command(flatten)]
    fail_on: FailOn,

    #[command(flatten)]
    period: PeriodArguments,

    #[command(flatten)]
    watch: WatchArguments,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,

    /// Write to a file, which appears only once it is complete, or to standard output with -
    #[arg(long, value_name = "FILE", conflicts_with = "watch")]
    out: Option<std::path::PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
    Yaml,
    Csv,
    Ics,
    Svg,
    Html,
}

const USUAL_PERIOD: &str = "7d";
const WHY_EMPTY: &str = "nothing to forecast: no usable policy that scales, publishes a number or selects clusters, and \
                         no pods of a ResourcePolicy or of a policy for QoS levels";

pub(crate) fn run(
    arguments: &ForecastArguments,
    now: Timestamp,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    run_on(in_order::threads(), arguments, now, output)
}

/// The input, and the requested part of it.
struct RequestedInput<'a> {
    /// The number of threads.
    threads: usize,
    arguments: &'a ForecastArguments,
    read: InputArguments,
    only: Vec<Subject>,
}

/// Runs the command on this many threads.
fn run_on(
    threads: usize,
    arguments: &ForecastArguments,
    now: Timestamp,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let (read, names) = arguments.input.naming(&arguments.words)?;
    let only = Subject::parse_all("NAME", &names)?;
    arguments.beginning.check(&read)?;
    let requested = RequestedInput { threads, arguments, read, only };
    if !arguments.watch.watch {
        let (_, code) = requested.write(now, None, output)?;
        return Ok(code);
    }
    let form = requested.form()?;
    watching::check(&requested.read)?;
    let changes =
        requested.read.cluster().changes(requested.read.namespace(&requested.only), now)?;
    watching::watch(changes, form, output, |now| {
        let (mut notes, mut bytes) = (Vec::new(), Vec::new());
        let (next, _) = requested.write(now, Some(&mut notes), &mut bytes)?;
        Ok(Drawn { bytes, notes, next })
    })
}

impl RequestedInput<'_> {
    /// Writes the forecast from an instant on, and its notes to standard error unless the caller keeps them. Returns
    /// the instant of the first event for `--watch`, and the exit code.
    fn write(
        &self,
        now: Timestamp,
        notes: Option<&mut Vec<u8>>,
        output: &mut impl Write,
    ) -> anyhow::Result<(Option<Timestamp>, ExitCode)> {
        let RequestedInput { threads, arguments, read, only } = self;
        let zone = arguments.period.zone()?;
        let checked_at = arguments.period.from(now, zone.unwrap_or(Zone::utc()))?;
        let zone_of_jobs = Some(arguments.cron_jobs.zone()?);
        let mut input = read.load("forecast", checked_at, now, only, zone_of_jobs)?;
        input.note(notes);
        let shown_in = zone.or_else(|| input.only_zone()).unwrap_or(Zone::utc());
        let period = arguments.period.period(USUAL_PERIOD, now, shown_in)?;
        arguments.beginning.apply(&mut input, period.from());
        input.check_names_and_jobs(only)?;
        let mut forecasts = Vec::new();
        for place in &input.places {
            let forecast = Forecast::new(&place.world, period, place.initial.clone());
            let is_named = |job: &&ShownCronJob| {
                only.is_empty() || only.iter().any(|it| it.fits(&job.identity))
            };
            forecasts.push(PlaceForecast {
                place,
                forecast: narrowed(forecast, only, &input, place),
                cron_jobs: place.cron_jobs.iter().filter(is_named).collect(),
            });
        }
        let view = View { period, zone: shown_in };
        let invocation = Invocation { at: now, by: shell_word::command(std::env::args_os()) };
        let question = Question { input: &input, forecasts, view, threads: *threads, invocation };
        arguments.check_out(&input)?;
        let has_colors = arguments.output == Output::Text;
        let width = text_width::for_output(arguments.out.as_deref());
        destination::write_to(arguments.out.as_deref(), has_colors, output, |mut output| {
            write(&question, arguments.output, width, &mut output)
        })?;
        if !arguments.prints_findings() {
            report_findings(&question)?;
        }
        let next = if arguments.watch.watch { first(&question, period) } else { None };
        Ok((next, arguments.fail_on.code(&input.findings)))
    }

    /// The form in which `--watch` prints successive outputs.
    fn form(&self) -> Result<Form, ArgumentError> {
        match self.arguments.output {
            Output::Text => Ok(Form::Text),
            Output::Json => Ok(Form::JsonLines),
            Output::Yaml => Ok(Form::Yaml),
            Output::Csv | Output::Ics | Output::Svg | Output::Html => Err(watching::has_no_form()),
        }
    }
}

impl ForecastArguments {
    /// Rejects a file that was read as the output.
    fn check_out(&self, input: &Input) -> Result<(), ArgumentError> {
        let out = self.out.as_deref();
        let typed = out.map(|it| it.display().to_string()).unwrap_or_default();
        destination::refuse_input("--out", &typed, out, [&input.reading])
    }

    /// Whether the printed output includes the findings.
    fn prints_findings(&self) -> bool {
        let is_printed = self.out.as_ref().is_none_or(|path| path == "-");
        let has_findings = match self.output {
            Output::Text | Output::Json | Output::Yaml | Output::Svg | Output::Html => true,
            Output::Csv | Output::Ics => false,
        };
        is_printed && has_findings
    }
}

/// The instant of the first event of a period.
fn first(question: &Question<'_>, period: Period) -> Option<Timestamp> {
    let of_place = |it: &PlaceForecast<'_>| {
        let mut events = Upcoming::new(it.place.world.clone(), period, &it.place.initial);
        let mut starts = cron_jobs::in_order(it.cron_jobs.iter().copied(), period);
        let event = events.next().map(|event| event.at);
        event.into_iter().chain(starts.next().map(|(_, at)| at)).min()
    };
    question.forecasts.iter().filter_map(of_place).min()
}

fn write(
    question: &Question<'_>,
    format: Output,
    width: usize,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    match format {
        Output::Text => text::write(question, width, output),
        Output::Json => json::write(question, output),
        Output::Yaml => yaml::write(output, |yaml| json::write(question, yaml)),
        Output::Csv => csv::write(question, output),
        Output::Ics => ics::write(question, output),
        Output::Svg => svg::write(question, output),
        Output::Html => html::write(question, output),
    }
}

/// Reports on standard error the findings that the output lacks or hides.
fn report_findings(question: &Question<'_>) -> io::Result<()> {
    let mut standard_error = drawing::standard_error();
    if question.is_empty() {
        writeln!(standard_error, "{WHY_EMPTY}")?;
    }
    text::write_findings(question, &mut standard_error)
}

/// The index of the same element. An absent element is added as `new`.
fn position_in<T>(
    all: &mut Vec<T>,
    is_same: impl Fn(&T) -> bool,
    new: impl FnOnce() -> T,
) -> usize {
    all.iter().position(is_same).unwrap_or_else(|| {
        all.push(new());
        all.len() - 1
    })
}

/// Narrows the forecast by name, or by the labels of policies.
fn narrowed<'a>(
    mut forecast: Forecast<'a>,
    subjects: &[Subject],
    input: &Input,
    place: &InputPlace,
) -> Forecast<'a> {
    if !subjects.is_empty() || input.is_narrowed() {
        forecast.narrow(|target, writers| is_requested(subjects, (input, place), target, writers));
    }
    forecast
}

/// Whether the selector matches one of the policies that set a target. If names are given, they must match this
/// policy or its target.
pub(crate) fn is_requested(
    subjects: &[Subject],
    (input, place): (&Input, &InputPlace),
    target: &Identity,
    writers: &[PolicyName],
) -> bool {
    let fits = |identity| subjects.iter().any(|subject| subject.fits(identity));
    let is_named =
        subjects.is_empty() || fits(target) || writers.iter().any(|writer| fits(&writer.identity));
    is_named && writers.iter().any(|writer| input.is_selected(place, writer))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::fs;

    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct ForecastCommand {
        #[command(flatten)]
        arguments: ForecastArguments,
    }

    /// Policies with few and with many values.
    fn policies() -> String {
        let mut all = String::new();
        for number in 0..23 {
            let minute = number * 7 % 59;
            let hours = ["*", "8-17", "6"][number % 3];
            let replicas = number + 2;
            write!(
                all,
                "apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {{name: hours-{number}}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: shop-{number}}}
  rules:
  - {{name: more, schedule: \"{minute} {hours} * * *\", targetReplicas: {replicas}}}
  - {{name: less, schedule: \"59 {hours} * * *\", targetReplicas: 1}}
---
apiVersion: autoscaling.karpenter.sh/v1alpha1
kind: MetricsProducer
metadata: {{name: nodes-{number}}}
spec:
  schedule:
    defaultReplicas: 1
    behaviors:
    - {{replicas: 5, start: {{hours: 9, minutes: {minute}}}, end: {{hours: 17}}}}
---
"
            )
            .unwrap();
        }
        all
    }

    #[test]
    fn the_output_does_not_depend_on_the_number_of_threads() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("policies.yaml");
        fs::write(&file, policies()).unwrap();
        for output in ["text", "json", "yaml", "csv", "ics", "svg", "html"] {
            let line = ["forecast", "--from", "2026-03-02", "--for", "20d", "-o", output, "-f"];
            let line = line.map(str::to_owned).into_iter().chain([file.display().to_string()]);
            let arguments = ForecastCommand::parse_from(line).arguments;
            let printed = |threads| {
                let mut printed = Vec::new();
                run_on(threads, &arguments, Timestamp::UNIX_EPOCH, &mut printed).unwrap();
                printed
            };
            let alone = printed(1);
            assert!(alone.len() > 20_000, "{} bytes of {output}", alone.len());
            for threads in [2, 3, 7] {
                assert!(printed(threads) == alone, "{output} on {threads} threads");
            }
        }
    }
}
