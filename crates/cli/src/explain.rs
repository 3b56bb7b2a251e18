//! `almanac explain`: why a value is what it is, and what changes next.

pub(crate) mod json;
mod text;

use std::io::Write;
use std::process::ExitCode;
use std::slice;

use almanac_api::reading::PlacedFinding;
use almanac_calendar::Zone;
use almanac_engine::{PolicyName, RuleExplanation, Verdict};
use almanac_forecast::{Explanation, explain};
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;

use crate::argument_error::ArgumentError;
use crate::completion;
use crate::input::{Input, InputArguments};
use crate::moment;
use crate::subject::{Subject, called};

/// Explain one decision: what won, what lost and why, and what changes next
///
/// Without files, reads from a cluster; nothing is written to it.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  almanac explain -n prod deployment/shop
  almanac explain -f policies/ cronfhpa/shop
  almanac explain -f policies/ deployment/shop --at 2026-11-27T06:00 --zone America/New_York"
)]
pub(crate) struct ExplainArguments {
    /// A policy or its target: NAME, KIND NAME, KIND/NAME or KIND/NAMESPACE/NAME
    #[arg(value_name = "NAME", required = true, num_args = 1..=2)]
    subject: Vec<String>,

    #[command(flatten)]
    input: InputArguments,

    /// The instant to explain: RFC 3339, a date or time in the zone, or relative to now, such as tomorrow,
    /// monday or +2h [default: now]
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    at: Option<String>,

    /// The time zone to display [default: the policies' zone if they share one, else UTC]
    #[arg(
        long,
        value_name = "ZONE",
        allow_hyphen_values = true,
        add = ArgValueCandidates::new(completion::zones)
    )]
    zone: Option<String>,

    /// Output format
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
    input: &'a Input,
    zone: Zone,
    explanation: Explanation,
}

impl Answer<'_> {
    /// What is wrong with the policy, each with its place.
    fn findings(&self) -> impl Iterator<Item = &PlacedFinding> {
        self.input.placed_errors_of(&self.explanation.policy)
    }

    /// Everything that is assumed.
    fn assumptions(&self) -> impl Iterator<Item = String> {
        let assumed = self.explanation.assumptions.iter().map(ToString::to_string);
        assumed.chain(self.input.unseen.iter().cloned())
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
    let subject = subject(&arguments.subject)?;
    let instant = |zone| match &arguments.at {
        Some(text) => moment::instant("--at", text, now, zone),
        None => Ok(now),
    };
    // What is valid is checked for the day that is asked about, in the policies' zone or not.
    let checked_at = instant(zone.unwrap_or(Zone::utc()))?;
    let input = arguments.input.load(checked_at, now, slice::from_ref(&subject))?;
    let zone = zone.or_else(|| input.only_zone()).unwrap_or(Zone::utc());
    let at = instant(zone)?;
    let policy = choose(&subject, &input, at)?;
    let Some(mut explanation) = explain(&input.world, &policy, at) else {
        return Err(subject.not_found("NAME", &input.world).into());
    };
    tell_what_cannot_be_used(&input, &mut explanation);
    let is_broken = input.errors_of(&policy).next().is_some();
    let answer = Answer { input: &input, zone, explanation };
    match arguments.output {
        Output::Text => text::write(&answer, output)?,
        Output::Json => json::write(&answer, output)?,
    }
    Ok(ExitCode::from(u8::from(is_broken)))
}

/// The one object that is explained: of two words the first is its kind, be it known or not.
fn subject(words: &[String]) -> Result<Subject, ArgumentError> {
    let text = words.join("/");
    if words.len() > 1 && words.iter().any(|word| word.contains('/')) {
        let message = "one object is explained at a time; write KIND NAME or KIND/NAME";
        return Err(ArgumentError::whole("NAME", &words.join(" "), message));
    }
    Subject::parse("NAME", &text)
}

/// Puts what is wrong with the policy to the rules it is about.
fn tell_what_cannot_be_used(input: &Input, explanation: &mut Explanation) {
    for finding in input.errors_of(&explanation.policy) {
        let message = finding.to_string();
        let part = finding.field.first_item();
        let position = part.as_ref().and_then(|(_, index)| u32::try_from(*index).ok());
        let known = explanation.reasons.iter_mut().find(|reason| {
            reason.verdict == Verdict::Error && position.is_some() && reason.position == position
        });
        match known {
            Some(reason) => reason.because = format!("{}; {message}", reason.because),
            None => explanation.reasons.push(RuleExplanation {
                rule: part.map(|(list, index)| format!("{list}[{index}]").into()),
                position,
                verdict: Verdict::Error,
                because: message,
                since: None,
                until: None,
            }),
        }
    }
    explanation.reasons.sort_by_key(|reason| reason.position);
}

/// The policy that is meant. Of several that write the same target, the one that wrote it last.
fn choose(subject: &Subject, input: &Input, at: Timestamp) -> Result<PolicyName, ArgumentError> {
    let world = &input.world;
    let mut found = subject.policies(world);
    let Some(first) = found.first().cloned() else {
        return Err(subject.not_found("NAME", world));
    };
    if found.len() == 1 {
        return Ok(first);
    }
    let target = |policy: &PolicyName| {
        world.target_of(policy).map(|reference| reference.target.identity().clone())
    };
    let same_target = target(&first);
    if same_target.is_none() || !found.iter().all(|other| target(other) == same_target) {
        let names: Vec<String> = found.iter().map(|it| called(&it.identity)).collect();
        let message = format!("ambiguous: it may mean {}; say which", names.join(" or "));
        return Err(ArgumentError::whole("NAME", subject.text(), message));
    }
    let explanation = explain(world, &first, at);
    let last = explanation.and_then(|it| {
        let holder = it.values.into_iter().map(|(_, holder)| holder).max_by_key(|it| it.since)?;
        Some(holder.origin.writer.as_ref()?.policy.clone())
    });
    found.retain(|policy| last.as_ref() == Some(policy));
    Ok(found.pop().unwrap_or(first))
}
