//! `almanac explain`: why a value is what it is, and what changes next.

pub(crate) mod json;
mod text;

use std::io::Write;
use std::process::ExitCode;

use almanac_calendar::Zone;
use almanac_engine::Identity;
use almanac_forecast::{Explanation, explain};
use clap::{Args, ValueEnum};
use jiff::Timestamp;

use crate::complaint::Complaint;
use crate::files::{FileArguments, Files};
use crate::moment;
use crate::subject::{Subject, called};

/// Explain one decision: what won, what lost and why, and what changes next
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  almanac explain -f policies/ cronfhpa/shop
  almanac explain -f policies/ deployment/shop --at 2026-11-27T06:00 --zone America/New_York"
)]
pub(crate) struct ExplainArguments {
    /// A policy, or what it changes: NAME, KIND/NAME or KIND/NAMESPACE/NAME
    #[arg(value_name = "NAME")]
    subject: String,

    #[command(flatten)]
    files: FileArguments,

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
    files: &'a Files,
    zone: Zone,
    explanation: Explanation,
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
    let files = arguments.files.load(now)?;
    let zone = zone.or_else(|| files.only_zone()).unwrap_or(Zone::utc());
    let at = match &arguments.at {
        Some(text) => moment::instant("--at", text, zone)?,
        None => now,
    };
    let policy = choose(&arguments.subject, &files, at)?;
    let Some(explanation) = explain(&files.world, policy, at) else {
        let subject = Subject::parse("NAME", &arguments.subject)?;
        return Err(subject.not_found("NAME", &files.world).into());
    };
    let answer = Answer { files: &files, zone, explanation };
    match arguments.output {
        Output::Text => text::write(&answer, output)?,
        Output::Json => json::write(&answer, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The policy that is meant. Of several that write the same target, the one that wrote it last.
fn choose<'a>(text: &str, files: &'a Files, at: Timestamp) -> Result<&'a Identity, Complaint> {
    let subject = Subject::parse("NAME", text)?;
    let world = &files.world;
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
        return Err(Complaint::whole("NAME", text, message));
    }
    let explanation = explain(world, first, at);
    let last = explanation.and_then(|it| {
        let holder = it.values.into_iter().map(|(_, holder)| holder).max_by_key(|it| it.since)?;
        Some(holder.origin.writer.as_ref()?.policy.clone())
    });
    let last = found.iter().find(|policy| last.as_ref() == Some(**policy));
    Ok(last.unwrap_or(first))
}
