//! `almanac explain`: the reason for a value, and its next change.

pub(crate) mod json;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::ExitCode;
use std::{iter, slice};

use almanac_api::reading::PlacedFinding;
use almanac_calendar::Zone;
use almanac_engine::{Family, Identity, PolicyName, RuleExplanation, Verdict};
use almanac_forecast::{Explainer, Explanation};
use clap::{Args, ValueEnum};
use clap_complete::{ArgValueCandidates, ArgValueCompleter};
use jiff::{SignedDuration, Timestamp};

use crate::argument_error::ArgumentError;
use crate::clock_changes::TouchedRule;
use crate::completion;
use crate::display_zone;
use crate::input::{Input, InputPlace};
use crate::input_arguments::InputArguments;
use crate::moment;
use crate::outcome::{FailOn, exit_codes};
use crate::subject::{Subject, called};
use crate::text_width;
use crate::yaml;

/// Explain a value: the rule that sets it, the rules that lost, and the next change
///
/// With files and without a name, explains everything in them. Without files, reads a cluster, and writes nothing to
/// it.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = concat!("Examples:
  almanac explain examples/office-hours
  almanac explain examples/office-hours deployment/web --at 2026-11-28T12:00 --zone Europe/Berlin
  almanac explain -n default deployment/web

", exit_codes!())
)]
pub(crate) struct ExplainArguments {
    /// A policy or its target: NAME, KIND NAME, KIND/NAME or KIND/NAMESPACE/NAME; and files, as with -f
    #[arg(value_name = "NAME|FILE", add = ArgValueCompleter::new(completion::objects_and_paths))]
    words: Vec<String>,

    #[command(flatten)]
    input: InputArguments,

    #[command(flatten)]
    fail_on: FailOn,

    /// The instant to explain: RFC 3339, a date or time in the zone, or relative to now, such as tomorrow,
    /// monday or +2h [default: now]
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    at: Option<String>,

    /// The time zone to display, or local for this machine's [default: that of `ALMANAC_ZONE` or almanac.toml, else
    /// the policies' zone if they share one, else UTC]
    #[arg(
        long,
        value_name = "ZONE",
        allow_hyphen_values = true,
        add = ArgValueCandidates::new(completion::displayed_zones)
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
    Yaml,
}

/// The message for a name whose object is unusable.
const UNUSABLE: &str = "nothing to explain: the object of this name can't be used as written";
const NO_POLICY: &str = "nothing to explain: no usable policy";

/// An explanation, with the input and the zone of the question.
struct ExplainedTarget<'a> {
    input: &'a Input,
    place: &'a InputPlace,
    zone: Zone,
    explanation: Explanation,
}

impl ExplainedTarget<'_> {
    /// The findings about the policy, each with its position.
    fn findings(&self) -> impl Iterator<Item = &PlacedFinding> {
        self.input.errors_of(self.place, &self.explanation.policy)
    }

    /// The unit of a pod; for a pending pod, the unit that would receive it.
    fn unit(&self) -> Option<&str> {
        let Explanation { policy, target, reasons, .. } = &self.explanation;
        let is_of_pod = policy.family == Family::Units && *target != policy.identity;
        let won = reasons.iter().find(|it| is_of_pod && it.verdict == Verdict::Won)?;
        won.rule.as_deref()
    }

    /// The effects of clock changes on the policy's rules, from a day before until a year after.
    fn clock_changes(&self) -> Vec<TouchedRule> {
        const BEFORE: SignedDuration = SignedDuration::from_hours(24);
        const AFTER: SignedDuration = SignedDuration::from_hours(24 * 366);
        let at = self.explanation.at;
        let from = at.saturating_sub(BEFORE).unwrap_or(Timestamp::MIN);
        let to = at.saturating_add(AFTER).unwrap_or(Timestamp::MAX);
        let policy = iter::once(self.explanation.policy.clone());
        TouchedRule::all(&self.place.world, policy, (from, to))
    }

    /// All assumptions about the explanation. Unreadable objects are notes instead.
    fn assumptions(&self) -> impl Iterator<Item = String> {
        let assumed = self.explanation.assumptions.iter().map(ToString::to_string);
        let family = self.explanation.policy.family;
        let of_place = self.place.assumed.iter().filter(move |(about, _)| *about == family);
        let of_place = of_place.map(|(_, assumed)| assumed);
        assumed.chain(of_place.cloned())
    }
}

pub(crate) fn run(
    arguments: &ExplainArguments,
    now: Timestamp,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let zone = display_zone::chosen(arguments.zone.as_deref())?;
    let (read, names) = arguments.input.naming(&arguments.words)?;
    let subject = subject(&names, read.are_files())?;
    let instant = |zone| match &arguments.at {
        Some(text) => moment::instant("--at", text, now, zone),
        None => Ok(now),
    };
    // Validity is checked as of the requested day.
    let checked_at = instant(zone.unwrap_or(Zone::utc()))?;
    let input = read.load("explain", checked_at, now, slice::from_ref(&subject), None)?;
    input.report_notes();
    let is_named = !names.is_empty() || !read.are_files();
    if is_named {
        input.check_names(slice::from_ref(&subject))?;
    }
    let zone = zone.or_else(|| input.only_zone()).unwrap_or(Zone::utc());
    let at = instant(zone)?;
    let mut answers = Vec::new();
    for place in &input.places {
        let mut explainer = Explainer::new(&place.world);
        for (target, policy) in choose(&subject, &input, place, at, &mut explainer)? {
            let explanation = explainer.explain_object(&policy, &target, at, &place.initial);
            let Some(mut explanation) = explanation else { continue };
            add_findings(&input, place, &mut explanation);
            answers.push(ExplainedTarget { input: &input, place, zone, explanation });
        }
    }
    match arguments.output {
        Output::Text => {
            let why_empty = if is_named { UNUSABLE } else { NO_POLICY };
            text::write(&input, &answers, why_empty, text_width::for_stdout(), output)?;
        }
        Output::Json => json::write(&input, at, &answers, output)?,
        Output::Yaml => yaml::write(output, |yaml| json::write(&input, at, &answers, yaml))?,
    }
    Ok(arguments.fail_on.code(&input.findings))
}

/// The object to explain: the first of two words is its kind, known or not. Without a word, everything in the files.
fn subject(words: &[String], are_files: bool) -> Result<Subject, ArgumentError> {
    let text = if words.is_empty() && are_files { "*".to_owned() } else { words.join("/") };
    if words.len() > 2 || words.len() > 1 && words.iter().any(|word| word.contains('/')) {
        let message = "one object is explained at a time; write KIND NAME or KIND/NAME";
        return Err(ArgumentError::whole("NAME", &words.join(" "), message));
    }
    Subject::parse("NAME", &text)
}

/// Adds the findings about the policy to the affected rules.
fn add_findings(input: &Input, place: &InputPlace, explanation: &mut Explanation) {
    for PlacedFinding { finding, .. } in input.errors_of(place, &explanation.policy) {
        let message = finding.to_string();
        let part = finding.field.first_item();
        let position = part.as_ref().and_then(|(_, index)| u32::try_from(*index).ok());
        let known = explanation.reasons.iter_mut().find(|reason| {
            reason.verdict == Verdict::Error && position.is_some() && reason.position == position
        });
        match known {
            Some(reason) => reason.message = format!("{}; {message}", reason.message),
            None => explanation.reasons.push(RuleExplanation {
                rule: part.map(|(list, index)| format!("{list}[{index}]").into()),
                position,
                verdict: Verdict::Error,
                message,
                since: None,
                until: None,
                scored: None,
                answered: None,
            }),
        }
    }
    explanation.reasons.sort_by_key(|reason| reason.position);
}

/// The matching policies of a place, one for each target. If several policies write the same target, the last writer.
/// Only a pattern can match several targets.
fn choose(
    subject: &Subject,
    input: &Input,
    place: &InputPlace,
    at: Timestamp,
    explainer: &mut Explainer<'_>,
) -> Result<Vec<(Identity, PolicyName)>, ArgumentError> {
    // The level and the unit of a pod are explained separately.
    let mut by_target: BTreeMap<(Identity, bool), Vec<PolicyName>> = BTreeMap::new();
    for policy in input.policies(place, subject) {
        let named: Vec<Identity> = subject.objects(&place.world, &policy).collect();
        if !named.is_empty() {
            for object in named {
                let is_of_units = policy.family == Family::Units;
                by_target.entry((object, is_of_units)).or_default().push(policy.clone());
            }
            continue;
        }
        let target = place.target_of(&policy).unwrap_or(policy.identity.clone());
        by_target.entry((target, false)).or_default().push(policy);
    }
    let targets: BTreeSet<&Identity> = by_target.keys().map(|(target, _)| target).collect();
    if targets.len() > 1 && !subject.is_pattern() {
        // The target of a policy for several objects is one of these.
        let matches = by_target.iter().flat_map(|((target, _), policies)| {
            let is_of_several = |it: &PolicyName| place.target_of(it).is_none();
            let name = move |it: &PolicyName| {
                called(if is_of_several(it) { target } else { &it.identity })
            };
            policies.iter().map(name)
        });
        let mut names: Vec<String> = matches.collect();
        if names.len() > 9 {
            names.truncate(8);
            names.push("others".to_owned());
        }
        let message = format!("ambiguous: may mean {}; name one of them", names.join(" or "));
        return Err(ArgumentError::whole("NAME", subject.text(), message));
    }
    let chosen = by_target.into_iter().filter_map(|((target, _), policies)| {
        Some((target, last_writer(explainer, policies, at)?))
    });
    Ok(chosen.collect())
}

fn last_writer(
    explainer: &mut Explainer<'_>,
    policies: Vec<PolicyName>,
    at: Timestamp,
) -> Option<PolicyName> {
    let first = policies.first().cloned()?;
    if policies.len() == 1 {
        return Some(first);
    }
    let last = explainer.explain(&first, at).and_then(|it| {
        let write = it.values.into_iter().map(|(_, write)| write).max_by_key(|it| it.since)?;
        Some(write.origin.writer.as_ref()?.policy.clone())
    });
    Some(policies.into_iter().find(|policy| last.as_ref() == Some(policy)).unwrap_or(first))
}
