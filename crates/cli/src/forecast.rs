//! `almanac forecast`: what will happen, exactly, and why.

mod assume;
mod destination;
mod html;
mod json;
mod lanes;
mod progress;
mod ruler;
mod svg;
mod text;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::ExitCode;

use almanac_calendar::Zone;
use almanac_forecast::{Assumption, Forecast, Part, Period};
use clap::{Args, ValueEnum};
use jiff::Timestamp;

use self::destination::Destination;
use self::progress::Progress;
use crate::complaint::Complaint;
use crate::given::{Given, GivenArguments};
use crate::moment;
use crate::subject::Subject;
use crate::wall_clock::civil;

/// Show what will happen, before it does
///
/// Runs the policies in files or, when none are named, those of a cluster under a virtual clock, by
/// the same decisions that the controllers make, and shows every value over time: exactly, with who
/// sets it and why. Nothing is written to the cluster. Ends with 0 when all is well, with 1 when
/// something in the policies is wrong or there is nothing to forecast, and with 2 when it cannot
/// run.
#[derive(Args)]
#[command(after_help = "Examples:
  almanac forecast -n shop
  almanac forecast -f policies/
  almanac forecast -f policies/ --for 30d -o html --out month.html
  almanac forecast -f shop.yaml deployment/shop --from 2026-11-27 --zone America/New_York
  kubectl get cronfhpa,deploy -A -o yaml | almanac forecast -f - -o json")]
pub(crate) struct ForecastArguments {
    /// Only these targets or policies: NAME, KIND/NAME or KIND/NAMESPACE/NAME
    #[arg(value_name = "NAME")]
    only: Vec<String>,

    #[command(flatten)]
    given: GivenArguments,

    /// Where to begin: RFC 3339, or a date or time in the zone [default: now]
    #[arg(long, value_name = "INSTANT")]
    from: Option<String>,

    /// Where to end, written like --from
    #[arg(long, value_name = "INSTANT", conflicts_with = "period")]
    to: Option<String>,

    /// How long a period to show, such as 36h, 7d or 1y [default: 7d]
    #[arg(long = "for", value_name = "PERIOD")]
    period: Option<String>,

    /// Whose wall clock to show [default: the policies' zone if they share one, or else UTC]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,

    /// What holds at the beginning, such as deployment/shop.replicas=3
    #[arg(long, value_name = "NAME.FIELD=NUMBER")]
    assume: Vec<String>,

    /// How to show it
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,

    /// Write it to a file, which is there only once it is complete
    #[arg(long, value_name = "FILE")]
    out: Option<std::path::PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
    Svg,
    Html,
}

const USUAL_PERIOD: &str = "7d";
const WHY_EMPTY: &str = "nothing to forecast: there is no usable CronFederatedHPA, and no usable \
                         MetricsProducer with a schedule";

/// What was asked, read and checked.
struct Question<'a> {
    given: &'a Given,
    forecast: Forecast<'a>,
    /// Whose wall clock is shown.
    zone: Zone,
}

pub(crate) fn run(
    arguments: &ForecastArguments,
    now: Timestamp,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let zone = arguments.zone.as_deref().map(|name| zone("--zone", name)).transpose()?;
    let from = match &arguments.from {
        Some(text) => Some(moment::instant("--from", text, zone.unwrap_or(Zone::utc()))?),
        None => None,
    };
    let only = arguments.only.iter().map(|text| Subject::parse("NAME", text));
    let only: Vec<Subject> = only.collect::<Result<_, _>>()?;
    let given = arguments.given.load(from.unwrap_or(now), &only)?;
    let shown_in = zone.or_else(|| given.only_zone()).unwrap_or(Zone::utc());
    // A civil time means the zone that is shown.
    let from = match &arguments.from {
        Some(text) => moment::instant("--from", text, shown_in)?,
        None => now,
    };
    let period = period(arguments, from, shown_in)?;
    let assumed = assume::read(&arguments.assume, &given.world)?;
    let mut forecast = Forecast::new(&given.world, period, assumed);
    narrow(&mut forecast, &only, &given)?;
    let question = Question { given: &given, forecast, zone: shown_in };
    match &arguments.out {
        None => write(&question, arguments.output, output)?,
        Some(path) => {
            let mut destination = Destination::create(path)?;
            write(&question, arguments.output, &mut destination)?;
            destination.complete()?;
        }
    }
    let told_already = arguments.out.is_none() && arguments.output != Output::Svg;
    if !told_already {
        tell_findings(&question)?;
    }
    Ok(ExitCode::from(u8::from(given.has_findings() || question.is_empty())))
}

fn write(question: &Question<'_>, how: Output, output: &mut impl Write) -> anyhow::Result<()> {
    match how {
        Output::Text => text::write(question, output),
        Output::Json => json::write(question, output),
        Output::Svg => svg::write(question, output),
        Output::Html => html::write(question, output),
    }
}

/// Says on standard error what the output does not say, or says where nobody may look.
fn tell_findings(question: &Question<'_>) -> io::Result<()> {
    let mut standard_error = anstream::stderr().lock();
    if question.is_empty() {
        writeln!(standard_error, "{WHY_EMPTY}")?;
    }
    for unseen in &question.given.unseen {
        writeln!(standard_error, "note: {unseen}")?;
    }
    text::write_findings(question, &mut standard_error)
}

pub(crate) fn zone(argument: &'static str, name: &str) -> Result<Zone, Complaint> {
    Zone::named(name).map_err(|error| Complaint::whole(argument, name, error))
}

fn period(arguments: &ForecastArguments, from: Timestamp, zone: Zone) -> Result<Period, Complaint> {
    if let Some(text) = &arguments.to {
        let to = moment::instant("--to", text, zone)?;
        return Period::new(from, to).ok_or_else(|| {
            let message = format!(
                "the period ends before it begins; write a time after {}",
                civil(zone, from)
            );
            Complaint::whole("--to", text, message)
        });
    }
    let text = arguments.period.as_deref().unwrap_or(USUAL_PERIOD);
    let to = moment::end_of_period("--for", text, from, zone)?;
    let empty = || Complaint::whole("--for", text, "a period must be longer than nothing");
    Period::new(from, to).ok_or_else(empty)
}

fn narrow(
    forecast: &mut Forecast<'_>,
    subjects: &[Subject],
    given: &Given,
) -> Result<(), Complaint> {
    for subject in subjects {
        if subject.policies(&given.world).is_empty() {
            return Err(subject.not_found("NAME", &given.world));
        }
    }
    if !subjects.is_empty() {
        forecast.narrow(|target, writers| {
            let fits = |identity| subjects.iter().any(|subject| subject.fits(identity));
            fits(target) || writers.iter().any(|writer| fits(writer))
        });
    }
    Ok(())
}

impl Question<'_> {
    fn period(&self) -> Period {
        self.forecast.period()
    }

    fn is_empty(&self) -> bool {
        self.forecast.targets().next().is_none()
    }

    /// The parts, and how far we are with them on standard error.
    fn parts(&self) -> impl Iterator<Item = Part> {
        let mut progress = Progress::new(self.forecast.targets().count());
        self.forecast.parts().inspect(move |_| progress.advance())
    }

    /// Everything that is taken for granted, for a person.
    fn assumptions(&self, found: &BTreeSet<Assumption>) -> Vec<String> {
        let found = found.iter().map(ToString::to_string);
        let given = self.given.left_out.iter().chain(&self.given.unseen);
        found.chain(given.cloned()).collect()
    }
}
