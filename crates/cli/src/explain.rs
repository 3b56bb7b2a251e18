//! `almanac explain`: why a value is what it is, and what changes next.

pub(crate) mod json;
mod text;

use std::io::Write;
use std::process::ExitCode;
use std::slice;

use almanac_calendar::Zone;
use almanac_engine::Identity;
use almanac_forecast::{Explanation, explain};
use clap::{Args, ValueEnum};
use jiff::Timestamp;

use crate::complaint::Complaint;
use crate::given::{Given, GivenArguments};
use crate::moment;
use crate::subject::{Subject, called};

/// Explain one decision: what won, what lost and why, and what changes next
///
/// Without files, a cluster is asked; nothing is written to it.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  almanac explain -n prod deployment/shop
  almanac explain -f policies/ cronfhpa/shop
  almanac explain -f policies/ deployment/shop --at 2026-11-27T06:00 --zone America/New_York"
)]
pub(crate) struct ExplainArguments {
    /// A policy, or what it changes: NAME, KIND/NAME or KIND/NAMESPACE/NAME
    #[arg(value_name = "NAME")]
    subject: String,

    #[command(flatten)]
    given: GivenArguments,

    /// The instant: RFC 3339, or a date or time in the zone [default: now]
    #[arg(long, value_name = "INSTANT")]
    at: Option<String>,

    /// Whose wall clock to show [default: the policies' zone if they share one, or else UTC]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,

    /// How to print it
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Text,
    Json,
}

/// What was asked, and the answer.
struct Answer<'a> {
    given: &'a Given,
    zone: Zone,
    explanation: Explanation,
}

impl Answer<'_> {
    /// Everything that is taken for granted.
    fn assumptions(&self) -> impl Iterator<Item = String> {
        let assumed = self.explanation.assumptions.iter().map(ToString::to_string);
        assumed.chain(self.given.unseen.iter().cloned())
    }
}

pub(crate) fn run(
    arguments: &ExplainArguments,
    now: Timestamp,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let zone = match &arguments.zone {
        Some(name) => Some(crate::forecast::zone("--zone", name)?),
        None => None,
    };
    let subject = Subject::parse("NAME", &arguments.subject)?;
    let given = arguments.given.load(now, slice::from_ref(&subject))?;
    let zone = zone.or_else(|| given.only_zone()).unwrap_or(Zone::utc());
    let at = match &arguments.at {
        Some(text) => moment::instant("--at", text, zone)?,
        None => now,
    };
    let policy = choose(&subject, &given, at)?;
    let Some(explanation) = explain(&given.world, policy, at) else {
        return Err(subject.not_found("NAME", &given.world).into());
    };
    let answer = Answer { given: &given, zone, explanation };
    match arguments.output {
        Output::Text => text::write(&answer, output)?,
        Output::Json => json::write(&answer, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The policy that is meant. Of several that write the same target, the one that wrote it last.
fn choose<'a>(
    subject: &Subject,
    given: &'a Given,
    at: Timestamp,
) -> Result<&'a Identity, Complaint> {
    let world = &given.world;
    let found = subject.policies(world);
    let (first, others) = found.split_first().ok_or_else(|| subject.not_found("NAME", world))?;
    if others.is_empty() {
        return Ok(first);
    }
    let target = |policy: &&Identity| {
        let scaling = world.cron_scalings.get(*policy);
        scaling.map(|object| object.policy.target.identity().clone())
    };
    let same_target =
        target(first).filter(|it| others.iter().all(|other| target(other).as_ref() == Some(it)));
    if same_target.is_none() {
        let names: Vec<String> = found.iter().map(|it| called(it)).collect();
        let message = format!("it may mean {}; write which", names.join(" or "));
        return Err(Complaint::whole("NAME", subject.text(), message));
    }
    let explanation = explain(world, first, at);
    let last = explanation.and_then(|it| {
        let holder = it.values.into_iter().map(|(_, holder)| holder).max_by_key(|it| it.since)?;
        Some(holder.origin.writer.as_ref()?.policy.clone())
    });
    let last = found.iter().find(|policy| last.as_ref() == Some(**policy));
    Ok(last.unwrap_or(first))
}
