//! `almanac when`: the meaning of a schedule and its next times. The schedule is typed on the command line, or belongs
//! to policies and `CronJobs`.

mod csv;
mod ics;
mod json;
mod objects;
mod pattern;
pub(crate) mod schedule;
mod text;
mod typed;

use std::io::Write;
use std::process::ExitCode;

use almanac_calendar::Zone;
use anyhow::Context as _;
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;
use jiff::{Span, Timestamp};

use self::schedule::Schedule;
use crate::argument_error::ArgumentError;
use crate::cluster::ClusterArguments;
use crate::completion;
use crate::cron_jobs::CronJobArguments;
use crate::display_zone;
use crate::files::FileArguments;
use crate::input_arguments::{InputArguments, Narrowing};
use crate::outcome::{FailOn, exit_codes};
use crate::period::PeriodArguments;
use crate::subject::Subject;
use crate::text_width;
use crate::yaml;

/// Explain a schedule: its meaning, and its next times
///
/// The schedule is a cron expression, a daily window, or a window between two patterns on the command line. With files,
/// the schedules are those of the policies and cron jobs in them; with only names, those of a cluster. Prints the
/// meaning in a sentence, the next times in the schedule's time zone and in UTC, and the clock changes that affect it.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    group = clap::ArgGroup::new("schedule").conflicts_with_all(OF_OBJECTS),
    mut_arg("zone", |it| it
        .help("The IANA time zone whose wall clock a typed schedule follows, or local for this machine's [default: UTC]")
        .conflicts_with_all(["file", "kustomize", "all_namespaces", "namespace"])),
    mut_arg("period", |it| it.help("Length of the period, such as 7d, 36h or 1y")),
    after_help = concat!("Examples:
  almanac when '30 8 * * 1-5' --zone America/New_York
  almanac when --daily 22:00-06:00 --zone Europe/Berlin --for 7d
  almanac when --start 'weekdays=Fri hours=17' --end 'weekdays=Mon hours=9'
  almanac when examples/office-hours
  almanac when cronjob/backup -n default

", exit_codes!())
)]
pub(crate) struct WhenArguments {
    /// A cron expression of five fields, such as '30 8 * * 1-5'; or objects: NAME, KIND NAME, KIND/NAME or
    /// KIND/NAMESPACE/NAME; or files, as with -f
    #[arg(value_name = "SCHEDULE|NAME|FILE", add = ArgValueCompleter::new(completion::objects_and_paths))]
    words: Vec<String>,

    /// The same as a cron expression without a flag
    #[arg(long, value_name = "EXPRESSION", group = "schedule", allow_hyphen_values = true)]
    cron: Option<String>,

    /// A window that is open every day, such as 22:00-06:00
    #[arg(long, value_name = "FROM-TO", group = "schedule", allow_hyphen_values = true)]
    daily: Option<String>,

    /// The pattern that opens a window, such as 'weekdays=Mon,Tue hours=9'
    ///
    /// The fields are minutes, hours, days, months, weekdays and years, each a comma-separated list of
    /// values. If omitted, minutes and hours are 0, and the others match any value.
    #[arg(long, value_name = "PATTERN", group = "schedule", requires = "end")]
    start: Option<String>,

    /// The pattern that closes the window
    #[arg(long, value_name = "PATTERN", requires = "start", conflicts_with_all = ["cron", "daily"])]
    end: Option<String>,

    #[command(flatten)]
    files: FileArguments,

    #[command(flatten)]
    narrowing: Narrowing,

    #[command(flatten)]
    cluster: ClusterArguments,

    #[command(flatten)]
    cron_jobs: CronJobArguments,

    #[command(flatten)]
    fail_on: FailOn,

    #[command(flatten)]
    period: PeriodArguments,

    /// Maximum number of entries [default: 5, or all in the period]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..),
        allow_negative_numbers = true
    )]
    count: Option<u32>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// The arguments for files and clusters, which do not apply to a typed schedule.
const OF_OBJECTS: [&str; 13] = [
    "file",
    "kustomize",
    "exclude",
    "place",
    "kubernetes_version",
    "all_namespaces",
    "namespace",
    "selector",
    "kubeconfig",
    "context",
    "what_if",
    "cron_job_zone",
    "fail_on",
];

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Text,
    Json,
    Yaml,
    Csv,
    Ics,
}

/// The number of instants if neither a number nor a period is given.
const USUAL_COUNT: usize = 5;

/// The parsed and checked question.
struct Question {
    schedule: Schedule,
    from: Timestamp,
    /// The end of the period, exclusive.
    to: Timestamp,
    count: usize,
    /// The end of the search for clock changes: the period, and at least a year.
    watch_to: Timestamp,
    /// The zone to display next to that of the schedule.
    second_zone: Zone,
}

const WHY_NOTHING: &str = "nothing to explain: type a schedule, such as '30 8 * * 1-5', or one with --daily, or --start \
                           and --end; or name objects or files";

pub(crate) fn run(
    arguments: &WhenArguments,
    now: Timestamp,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let expression = typed::expression(arguments)?;
    let second_zone = display_zone::chosen(None)?.unwrap_or(Zone::utc());
    if !arguments.words.is_empty() && expression.is_none() || arguments.are_objects_named() {
        return run_on_objects(arguments, second_zone, now, output);
    }
    let zone = arguments.period.zone_here()?.unwrap_or(Zone::utc());
    let schedule = Schedule::check(arguments, expression, zone)?.context(WHY_NOTHING)?;
    let question = question(arguments, schedule, second_zone, now)?;
    let printed = match arguments.output {
        Output::Text => {
            text::write(&question, text_width::for_stdout(), output).map_err(anyhow::Error::new)
        }
        Output::Json => json::write(&question, output),
        Output::Yaml => yaml::write(output, |yaml| json::write(&question, yaml)),
        Output::Csv => csv::write(&question, output),
        Output::Ics => ics::write(&question, output),
    };
    printed.and_then(|()| Ok(output.flush()?)).context("failed to print the schedule")?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the command for the schedules of objects.
fn run_on_objects(
    arguments: &WhenArguments,
    second_zone: Zone,
    now: Timestamp,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let from = arguments.period.from(now, Zone::utc())?;
    let WhenArguments { files, narrowing, cluster, .. } = arguments;
    let input = InputArguments::from_source(files.clone(), narrowing.clone(), cluster.clone());
    let (input, names) = input.naming(&arguments.words)?;
    let only = Subject::parse_all("NAME", &names)?;
    let zone_of_jobs = Some(arguments.cron_jobs.zone()?);
    let input = input.load("when", from, now, &only, zone_of_jobs)?;
    input.report_notes();
    input.check_names_and_jobs(&only)?;
    let question = |schedule| question(arguments, schedule, second_zone, now);
    let schedules = objects::schedules(&input, &only, question)?;
    let printed = match arguments.output {
        Output::Text => text::write_all(&input, &schedules, text_width::for_stdout(), output)
            .map_err(anyhow::Error::new),
        Output::Json => json::write_all(&input, &schedules, output),
        Output::Yaml => yaml::write(output, |yaml| json::write_all(&input, &schedules, yaml)),
        Output::Csv => csv::write_all(&schedules, output),
        Output::Ics => ics::write_all(&schedules, output),
    };
    printed.and_then(|()| Ok(output.flush()?)).context("failed to print the schedule")?;
    Ok(arguments.fail_on.code(&input.findings))
}

impl WhenArguments {
    /// Whether flags select objects.
    fn are_objects_named(&self) -> bool {
        let is_narrowed = self.narrowing.namespace.is_some() || self.cluster.all_namespaces;
        self.files.are_given() || is_narrowed
    }

    /// The given flags for files and clusters; `None` without such flags.
    fn flags_of_objects(&self) -> Option<&'static str> {
        let WhenArguments { files, narrowing, cluster, cron_jobs, fail_on, .. } = self;
        let is_narrowed = narrowing.namespace.is_some() || narrowing.selector.is_some();
        let given = [
            (files.are_given(), "-f and -k"),
            (files.about_files().is_some(), "--exclude, --place and --kubernetes-version"),
            (is_narrowed, "-n and -l"),
            (cluster.is_named(), "--kubeconfig, --context, --what-if and -A"),
            (!cron_jobs.is_usual(), "--cron-job-zone"),
            (!fail_on.is_usual(), "--fail-on"),
        ];
        given.into_iter().find_map(|(is_given, flags)| is_given.then_some(flags))
    }

    /// Whether a schedule is typed with a flag.
    fn has_flag_of_schedule(&self) -> bool {
        self.cron.is_some() || self.daily.is_some() || self.start.is_some()
    }
}

/// The question about a schedule: instants are read in its own zone.
fn question(
    arguments: &WhenArguments,
    schedule: Schedule,
    second_zone: Zone,
    now: Timestamp,
) -> Result<Question, ArgumentError> {
    let zone = schedule.zone();
    let from = arguments.period.from(now, zone)?;
    let end = arguments.period.end(from, now, zone)?;
    let count = match (arguments.count, end) {
        (Some(count), _) => usize::try_from(count).unwrap_or(usize::MAX),
        (None, Some(_)) => usize::MAX,
        (None, None) => USUAL_COUNT,
    };
    let to = end.unwrap_or(Timestamp::MAX);
    let in_a_year = zone
        .civil(from)
        .checked_add(Span::new().years(1))
        .ok()
        .and_then(|civil| zone.resolve(civil))
        .unwrap_or(Timestamp::MAX);
    let watch_to = in_a_year.max(end.unwrap_or(Timestamp::MIN));
    let (count, watch_to) = if schedule.is_off { (0, from) } else { (count, watch_to) };
    Ok(Question { schedule, from, to, count, watch_to, second_zone })
}
