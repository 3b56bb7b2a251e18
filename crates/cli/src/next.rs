//! `almanac next`: the next actions of all objects, in order.

mod csv;
mod entry;
mod ics;
mod json;
#[cfg(feature = "cluster")]
pub(crate) mod lines;
mod text;

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::iter;
use std::process::ExitCode;
use std::sync::Arc;

use almanac_calendar::Zone;
use almanac_engine::{Field, Identity, PolicyName};
use almanac_forecast::{Assumption, Event, Period, Sentence, Upcoming};
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;
use jiff::{SignedDuration, Timestamp};

use self::entry::NextEntry;
use crate::argument_error::ArgumentError;
use crate::clock_changes::TouchedRule;
use crate::cluster::WatchArguments;
use crate::completion;
use crate::cron_jobs::{self, CronJobArguments, ShownCronJob};
use crate::input::{Input, InputPlace};
use crate::input_arguments::{BeginningArguments, InputArguments};
use crate::outcome::{FailOn, exit_codes};
use crate::period::PeriodArguments;
use crate::subject::Subject;
use crate::text_width;
use crate::watching::{self, Drawn, Form};
use crate::yaml;

/// List the next firings and window boundaries
///
/// Lists the events of all policies in order, each in the time zone of its policy and in yours. Without files,
/// reads a cluster, and writes nothing to it.
#[derive(Args)]
#[command(mut_arg("period", |it| it.help("Length of the period, such as 36h or 7d [default: a year]")))]
#[command(after_help = concat!("Examples:
  almanac next examples/office-hours
  almanac next examples/office-hours deployment/web --count 3
  almanac next -f examples/office-hours --for 24h -o json
  almanac next -f examples/office-hours --for 90d -o ics > policies.ics
  almanac next -A --watch

", exit_codes!()))]
pub(crate) struct NextArguments {
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

    /// Maximum number of entries [default: 10, or all in the period]
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
    Yaml,
    Csv,
    Ics,
}

const USUAL_COUNT: usize = 10;
const USUAL_PERIOD: &str = "1y";

/// Extends the period to include the last listed event.
const JUST_AFTER: SignedDuration = SignedDuration::from_secs(1);

/// An event in a place, and the number of its pods.
type JoinedEntry<'a> = (&'a InputPlace, NextEntry<'a>, usize);

/// A rule that a clock change affects, and its place.
type PlacedChange<'a> = (&'a InputPlace, TouchedRule);

/// The parsed question.
struct Question<'a> {
    input: &'a Input,
    zone: Zone,
    period: Period,
    count: usize,
    only: &'a [Subject],
}

/// The input, and the requested part of it.
struct RequestedInput<'a> {
    arguments: &'a NextArguments,
    read: InputArguments,
    only: Vec<Subject>,
}

pub(crate) fn run(
    arguments: &NextArguments,
    now: Timestamp,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let (read, names) = arguments.input.naming(&arguments.words)?;
    let only = Subject::parse_all("NAME", &names)?;
    arguments.beginning.check(&read)?;
    let requested = RequestedInput { arguments, read, only };
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
    /// Writes the next actions after an instant, and the notes to standard error unless they are kept. Returns the
    /// instant of the first action, if the command watches, and the exit code.
    fn write(
        &self,
        now: Timestamp,
        notes: Option<&mut Vec<u8>>,
        output: &mut impl Write,
    ) -> anyhow::Result<(Option<Timestamp>, ExitCode)> {
        let NextArguments { period, cron_jobs, beginning, fail_on, .. } = self.arguments;
        let zone = period.zone()?;
        let checked_at = period.from(now, zone.unwrap_or(Zone::utc()))?;
        let zone_of_jobs = Some(cron_jobs.zone()?);
        let mut input = self.read.load("next", checked_at, now, &self.only, zone_of_jobs)?;
        input.note(notes);
        let zone = zone.or_else(|| input.only_zone()).unwrap_or(Zone::utc());
        let count = match self.arguments.count {
            Some(count) => usize::try_from(count).unwrap_or(usize::MAX),
            None if period.has_end() => usize::MAX,
            None => USUAL_COUNT,
        };
        let period = period.period(USUAL_PERIOD, now, zone)?;
        beginning.apply(&mut input, period.from());
        input.check_names_and_jobs(&self.only)?;
        let question = Question { input: &input, zone, period, count, only: &self.only };
        match self.arguments.output {
            Output::Text => text::write(&question, text_width::for_stdout(), output)?,
            Output::Json => json::write(&question, output)?,
            Output::Yaml => yaml::write(output, |yaml| json::write(&question, yaml))?,
            Output::Csv => csv::write(&question, output)?,
            Output::Ics => ics::write(&question, output)?,
        }
        let first = || question.all_events().next().map(|(_, event)| event.at());
        let next = if self.arguments.watch.watch { first() } else { None };
        Ok((next, fail_on.code(&input.findings)))
    }

    /// The form in which `--watch` prints successive outputs.
    fn form(&self) -> Result<Form, ArgumentError> {
        match self.arguments.output {
            Output::Text => Ok(Form::Text),
            Output::Json => Ok(Form::JsonLines),
            Output::Yaml => Ok(Form::Yaml),
            Output::Csv | Output::Ics => Err(watching::has_no_form()),
        }
    }
}

impl Question<'_> {
    /// The requested events of all places, computed lazily, in order of time.
    fn events(&self) -> impl Iterator<Item = (&InputPlace, NextEntry<'_>)> {
        self.all_events().take(self.count)
    }

    /// The requested events, with equal events of several pods at one instant merged into the first event and the
    /// number of pods. Other events of that instant may be in between.
    fn joined_events(&self) -> impl Iterator<Item = JoinedEntry<'_>> {
        let mut events = self.all_events().peekable();
        let mut of_instant = VecDeque::new();
        let joined_events = iter::from_fn(move || {
            if of_instant.is_empty() {
                let first = events.next()?;
                let at = first.1.at();
                let further = iter::from_fn(|| events.next_if(|(_, event)| event.at() == at));
                of_instant = joined(iter::once(first).chain(further));
            }
            of_instant.pop_front()
        });
        joined_events.take(self.count)
    }

    fn all_events(&self) -> impl Iterator<Item = (&InputPlace, NextEntry<'_>)> {
        let mut upcoming: Vec<_> = self
            .input
            .places
            .iter()
            .map(|place| {
                let world = place.world.clone();
                let upcoming = Upcoming::new(world, self.period, &place.initial);
                let events = upcoming.filter(|event| self.is_requested(place, event));
                let mut events = events.map(NextEntry::Event).peekable();
                let starts = cron_jobs::in_order(self.cron_jobs(place), self.period);
                let mut starts = starts.map(|(job, at)| NextEntry::Start(job, at)).peekable();
                let both = iter::from_fn(move || match (events.peek(), starts.peek()) {
                    (Some(event), Some(start)) if start.at() < event.at() => starts.next(),
                    (None, _) => starts.next(),
                    (Some(_), _) => events.next(),
                });
                (place, both.peekable())
            })
            .collect();
        iter::from_fn(move || {
            let next = upcoming.iter_mut().filter_map(|(place, events)| {
                let at = events.peek()?.at();
                Some((at, *place, events))
            });
            // Actions at one instant are in the order of their places.
            let (_, place, events) = next.min_by_key(|(at, ..)| *at)?;
            Some((place, events.next()?))
        })
    }

    fn is_requested(&self, place: &InputPlace, event: &Event) -> bool {
        self.is_policy_requested(place, &event.policy, &event.target)
    }

    /// The requested `CronJobs` of a place.
    fn cron_jobs<'a>(&'a self, place: &'a InputPlace) -> impl Iterator<Item = &'a ShownCronJob> {
        let is_named = |job: &&ShownCronJob| {
            self.only.is_empty() || self.only.iter().any(|it| it.fits(&job.identity))
        };
        place.cron_jobs.iter().filter(is_named)
    }

    /// The assumptions, each with its place, as lines. `lines` renders the sentences of a place.
    fn assumptions<Lines: IntoIterator<Item = String>>(
        &self,
        lines: impl Fn(Vec<Sentence>) -> Lines,
    ) -> Vec<String> {
        let of_place = |place: &InputPlace| {
            let prefix = place.name.as_ref().map_or(String::new(), |name| format!("in {name}: "));
            let lines =
                lines(self.assumed(place)).into_iter().map(move |it| format!("{prefix}{it}"));
            lines.collect::<Vec<_>>()
        };
        self.input.places.iter().flat_map(of_place).collect()
    }

    /// The assumptions about all policies, and about the requested placements and `CronJobs`.
    fn assumed(&self, place: &InputPlace) -> Vec<Sentence> {
        let world = &place.world;
        let is_unknown = |policy: &PolicyName| {
            world.why_unknown(&policy.identity, Field::Clusters).is_some()
                && self.is_policy_requested(place, policy, &policy.identity)
        };
        let unknown = world.policies().filter(is_unknown).flat_map(|it| world.presumptions(&it));
        let unknown = unknown.map(|it| Assumption::Presumed(it).sentence());
        let begins = place.begins.iter().map(|it| (None, it.clone()));
        begins.chain(unknown).chain(cron_jobs::notes(self.cron_jobs(place))).collect()
    }

    fn is_policy_requested(
        &self,
        place: &InputPlace,
        policy: &PolicyName,
        target: &Identity,
    ) -> bool {
        let fits = |it: &Subject| it.fits(&policy.identity) || it.fits(target);
        let is_named = self.only.is_empty() || self.only.iter().any(fits);
        is_named && self.input.is_selected(place, policy)
    }

    /// The effects of clock changes on the requested rules: up to the last event if the list is full, else up to the
    /// end of the period.
    fn clock_changes(&self, listed: usize, last: Option<Timestamp>) -> Vec<PlacedChange<'_>> {
        let is_cut = listed >= self.count;
        let end = last.filter(|_| is_cut).map(|at| at.saturating_add(JUST_AFTER));
        let to = end.map_or(self.period.to(), |end| end.unwrap_or(Timestamp::MAX));
        let of_place = |place: &'_ InputPlace| {
            let world = &place.world;
            let policies = world.policies().filter(|policy| {
                let reference = world.target_of(policy);
                let target = reference.as_ref().map_or(&policy.identity, |it| it.target.identity());
                self.is_policy_requested(place, policy, target)
            });
            let period = (self.period.from(), to);
            let of_jobs = TouchedRule::for_jobs(self.cron_jobs(place), period);
            TouchedRule::all(world, policies, period).into_iter().chain(of_jobs)
        };
        let places = self.input.places.iter();
        let mut all: Vec<PlacedChange<'_>> =
            places.flat_map(|place| of_place(place).map(move |touched| (place, touched))).collect();
        all.sort_by_key(|(_, touched)| touched.at());
        all
    }
}

/// The events of an instant. Events that differ only in their pod are merged at the index of the first event.
fn joined<'a>(
    events: impl Iterator<Item = (&'a InputPlace, NextEntry<'a>)>,
) -> VecDeque<JoinedEntry<'a>> {
    let mut all: VecDeque<JoinedEntry<'a>> = VecDeque::new();
    let mut of_pods: BTreeMap<Option<Arc<str>>, Vec<usize>> = BTreeMap::new();
    for (place, entry) in events {
        if let NextEntry::Event(event) = &entry
            && place.world.objects.pods.get(&event.target).is_some_and(|pod| !pod.is_template)
        {
            let of_rule = of_pods.entry(event.rule.clone()).or_default();
            let is_same = |index: &&usize| {
                let (other, first, _) = &all[**index];
                let target = event.target.clone();
                let NextEntry::Event(first) = first else { return false };
                std::ptr::eq(*other, place) && Event { target, ..first.clone() } == *event
            };
            if let Some(known) = of_rule.iter().find(is_same).copied() {
                all[known].2 += 1;
                continue;
            }
            of_rule.push(all.len());
        }
        all.push_back((place, entry, 1));
    }
    all
}
