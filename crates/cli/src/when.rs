//! `almanac when`: what a schedule means, and when it happens next: one that is typed on the command line, or those of
//! policies and `CronJobs`.

mod json;
mod objects;
mod pattern;
pub(crate) mod schedule;
mod text;

use std::io::Write;
use std::process::ExitCode;

use almanac_calendar::Zone;
use anyhow::Context as _;
use clap::{Args, ValueEnum};
use clap_complete::{ArgValueCandidates, ArgValueCompleter};
use jiff::{Span, Timestamp};

use self::schedule::Schedule;
use crate::argument_error::ArgumentError;
use crate::cluster::ClusterArguments;
use crate::completion;
use crate::cron_jobs::CronJobArguments;
use crate::files::FileArguments;
use crate::input::{InputArguments, Narrowing};
use crate::moment;
use crate::outcome::{FailOn, exit_codes};
use crate::subject::Subject;
use crate::text_width;

/// Explain a schedule: its meaning, and its next times
///
/// The schedule is a cron expression, a daily window, or a window between two patterns on the command line. With -f,
/// the schedules are those of the policies and cron jobs in files; without either, those of a cluster. Prints the
/// meaning in a sentence, the next times in the schedule's time zone and in UTC, and the clock changes that affect it.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    group = clap::ArgGroup::new("schedule")
        .conflicts_with_all(["only", "file", "kustomize", "all_namespaces", "namespace"]),
    after_help = concat!("Examples:
  almanac when --cron '30 8 * * 1-5' --zone America/New_York
  almanac when --daily 22:00-06:00 --zone Europe/Berlin --for 7d
  almanac when --start 'weekdays=Fri hours=17' --end 'weekdays=Mon hours=9'
  almanac when -f examples/office-hours
  almanac when cronjob/backup -n default

", exit_codes!())
)]
pub(crate) struct WhenArguments {
    /// Explain the schedules of these objects: NAME, KIND NAME, KIND/NAME or KIND/NAMESPACE/NAME
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(completion::objects))]
    only: Vec<String>,

    /// A cron expression of five fields, such as '30 8 * * 1-5'
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

    /// The IANA time zone whose wall clock a typed schedule follows [default: UTC]
    #[arg(
        long,
        value_name = "ZONE",
        allow_hyphen_values = true,
        conflicts_with_all = ["only", "file", "kustomize", "all_namespaces", "namespace"],
        add = ArgValueCandidates::new(completion::zones)
    )]
    zone: Option<String>,

    /// Start of the period: RFC 3339, a date or time in the zone, or relative to now, such as tomorrow,
    /// monday or +2h [default: now]
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    from: Option<String>,

    /// Length of the period, such as 7d, 36h or 1y
    #[arg(long = "for", value_name = "PERIOD", allow_hyphen_values = true)]
    period: Option<String>,

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

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Text,
    Json,
}

/// How many instants are listed when neither a number nor a period is given.
const USUAL_COUNT: usize = 5;

/// What was asked, read and checked.
struct Question {
    schedule: Schedule,
    from: Timestamp,
    /// No instant at or after this one is listed.
    to: Timestamp,
    count: usize,
    /// Clock changes are looked for until then: in the period, and for a year at least.
    watch_to: Timestamp,
}

const WHY_NOTHING: &str = "nothing to explain: type a schedule with --cron, --daily, or --start and --end; or name \
                           objects, or files with -f";

pub(crate) fn run(
    arguments: &WhenArguments,
    now: Timestamp,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    if arguments.are_objects_named() {
        return run_on_objects(arguments, now, output);
    }
    let name = arguments.zone.as_deref().unwrap_or("UTC");
    let zone = Zone::named(name).map_err(|error| ArgumentError::whole("--zone", name, error))?;
    let schedule = Schedule::check(arguments, zone)?.context(WHY_NOTHING)?;
    let question = ask(arguments, schedule, now)?;
    let printed = match arguments.output {
        Output::Text => text::write(&question, text_width::of_stdout(), output),
        Output::Json => json::write(&question, output),
    };
    printed.and_then(|()| output.flush()).context("failed to print the answer")?;
    Ok(ExitCode::SUCCESS)
}

/// The same for the schedules of objects.
fn run_on_objects(
    arguments: &WhenArguments,
    now: Timestamp,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let from = match &arguments.from {
        Some(text) => moment::instant("--from", text, now, Zone::utc())?,
        None => now,
    };
    let WhenArguments { files, narrowing, cluster, .. } = arguments;
    let only = Subject::parse_all("NAME", &arguments.only)?;
    let zone_of_jobs = Some(arguments.cron_jobs.zone()?);
    let input = InputArguments::of(files.clone(), narrowing.clone(), cluster.clone());
    let input = input.load("when", from, now, &only, zone_of_jobs)?;
    input.check_names_and_jobs(&only)?;
    input.tell_unseen();
    let schedules = objects::schedules(&input, &only, |schedule| ask(arguments, schedule, now))?;
    let printed = match arguments.output {
        Output::Text => text::write_all(&input, &schedules, text_width::of_stdout(), output),
        Output::Json => json::write_all(&input, &schedules, output),
    };
    printed.and_then(|()| output.flush()).context("failed to print the answer")?;
    Ok(arguments.fail_on.code(&input.findings))
}

impl WhenArguments {
    fn are_objects_named(&self) -> bool {
        let is_narrowed = self.narrowing.namespace.is_some() || self.cluster.all_namespaces;
        self.files.are_given() || !self.only.is_empty() || is_narrowed
    }
}

/// What is asked of a schedule: instants are meant in its own zone.
fn ask(
    arguments: &WhenArguments,
    schedule: Schedule,
    now: Timestamp,
) -> Result<Question, ArgumentError> {
    let zone = schedule.zone();
    let from = match &arguments.from {
        Some(text) => moment::instant("--from", text, now, zone)?,
        None => now,
    };
    let end = match &arguments.period {
        Some(text) => Some(moment::end_of_period("--for", text, from, zone)?),
        None => None,
    };
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
    if schedule.is_off {
        return Ok(Question { schedule, from, to, count: 0, watch_to: from });
    }
    Ok(Question { schedule, from, to, count, watch_to })
}
