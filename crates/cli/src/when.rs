//! `almanac when`: what a schedule typed on the command line means, and when it happens next.

mod json;
mod pattern;
pub(crate) mod schedule;
mod text;

use std::io::Write;
use std::process::ExitCode;

use almanac_calendar::Zone;
use anyhow::Context as _;
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCandidates;
use jiff::{Span, Timestamp};

use self::schedule::Schedule;
use crate::argument_error::ArgumentError;
use crate::completion;
use crate::moment;
use crate::outcome::exit_codes_without_findings;

/// Explain what a schedule means and when it happens next
///
/// The schedule is a cron expression, a daily window, or a window between two patterns. Prints its
/// meaning in a sentence, its next times in its own zone and in UTC, and the clock changes that affect
/// it.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    group = clap::ArgGroup::new("schedule").required(true),
    after_help = concat!("Examples:
  almanac when --cron '30 8 * * 1-5' --zone America/New_York
  almanac when --daily 22:00-06:00 --zone Europe/Berlin --for 7d
  almanac when --start 'weekdays=Fri hours=17' --end 'weekdays=Mon hours=9'

", exit_codes_without_findings!())
)]
pub(crate) struct WhenArguments {
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

    /// The IANA time zone whose wall clock the schedule follows
    #[arg(
        long,
        value_name = "ZONE",
        default_value = "UTC",
        allow_hyphen_values = true,
        add = ArgValueCandidates::new(completion::zones)
    )]
    zone: String,

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

pub(crate) fn run(
    arguments: &WhenArguments,
    now: Timestamp,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let question = check(arguments, now)?;
    let printed = match arguments.output {
        Output::Text => text::write(&question, output),
        Output::Json => json::write(&question, output),
    };
    printed.and_then(|()| output.flush()).context("failed to print the answer")?;
    Ok(ExitCode::SUCCESS)
}

fn check(arguments: &WhenArguments, now: Timestamp) -> Result<Question, ArgumentError> {
    let zone = Zone::named(&arguments.zone)
        .map_err(|error| ArgumentError::whole("--zone", &arguments.zone, error))?;
    let schedule = Schedule::check(arguments, zone)?;
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
    Ok(Question { schedule, from, to, count, watch_to })
}
