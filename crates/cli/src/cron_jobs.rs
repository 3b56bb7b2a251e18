//! `CronJobs` in addition to policies: their Job starts, and the assumptions about them. Almanac does not reconcile
//! them, and the effects of their Jobs are unknown.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use almanac_api::reading::{CronJob, Source, Starts};
use almanac_calendar::{ClockEffect, Firings, Zone};
use almanac_engine::Identity;
use almanac_forecast::{Period, Sentence};
use clap::Args;
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;

use crate::argument_error::ArgumentError;
use crate::completion;

/// The time zone of most clusters.
const USUAL_ZONE: &str = "UTC";

/// Facts about `CronJobs` that files and clusters lack.
#[derive(Args)]
pub(crate) struct CronJobArguments {
    /// The time zone of the kube-controller-manager, which a cron job without a timeZone follows
    #[arg(
        long,
        value_name = "ZONE",
        default_value = USUAL_ZONE,
        allow_hyphen_values = true,
        add = ArgValueCandidates::new(completion::zones)
    )]
    cron_job_zone: String,
}

impl CronJobArguments {
    /// Whether the zone is the default.
    pub(crate) fn is_usual(&self) -> bool {
        self.cron_job_zone == USUAL_ZONE
    }

    pub(crate) fn zone(&self) -> Result<Zone, ArgumentError> {
        crate::period::zone("--cron-job-zone", &self.cron_job_zone)
    }
}

/// A `CronJob` of a place.
pub(crate) struct ShownCronJob {
    pub(crate) identity: Identity,
    pub(crate) job: CronJob,
    /// The location; `None` if the name is unique in the place. The namespace may be defined elsewhere, so several
    /// `CronJobs` of one name are not the same object.
    pub(crate) written_at: Option<WrittenAt>,
}

/// The location of a `CronJob`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WrittenAt {
    /// The file, with its name in findings.
    pub(crate) file: Box<str>,
    /// The line of the schedule; `None` if the file contains no other `CronJob` of this name.
    pub(crate) line: Option<usize>,
}

impl fmt::Display for WrittenAt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.file)?;
        self.line.map_or(Ok(()), |line| write!(formatter, ":{line}"))
    }
}

/// The name of a `CronJob`, with its location unless the name is unique.
pub(crate) fn called(identity: &Identity, written_at: Option<&WrittenAt>) -> String {
    written_at.map_or_else(|| identity.to_string(), |at| format!("{identity} ({at})"))
}

/// Distinguishes `CronJobs` of one name by their locations. The jobs must be in the order of their names.
pub(crate) fn add_locations(jobs: &mut [ShownCronJob], sources: &[Source]) {
    let file = |job: &ShownCronJob| sources.get(job.job.source).map_or("", Source::name).to_owned();
    for of_name in jobs.chunk_by_mut(|one, other| one.identity == other.identity) {
        if of_name.len() < 2 {
            continue;
        }
        let files: Vec<String> = of_name.iter().map(file).collect();
        for (job, own) in of_name.iter_mut().zip(&files) {
            let is_alone = files.iter().filter(|file| *file == own).count() == 1;
            let line = || {
                let source = sources.get(job.job.source)?;
                Some(source.position(job.job.schedule_at.start).line)
            };
            let line = if is_alone { None } else { line() };
            job.written_at = Some(WrittenAt { file: own.as_str().into(), line });
        }
    }
}

/// The verb for a `CronJob`, the same in every output.
pub(crate) const STARTS: &str = "starts";

/// The message for a schedule whose date does not exist.
const NEVER: &str = "starts nothing by itself: its schedule has a date that does not exist";

impl ShownCronJob {
    /// The instants of the Job starts; `None` if the schedule determines none.
    fn firings(&self) -> Option<&Firings> {
        match &self.job.starts {
            Starts::At(firings) => Some(firings),
            Starts::Every(_) | Starts::Never | Starts::Unusable => None,
        }
    }

    /// The Job starts in a period, in order; none for a suspended `CronJob` or for unknown starts.
    pub(crate) fn starts(&self, period: Period) -> impl Iterator<Item = Timestamp> {
        let firings = self.firings().filter(|_| !self.job.is_suspended());
        firings.into_iter().flat_map(move |it| it.between(period.from(), period.to()))
    }

    /// The effects of clock changes in `[from, to)` on this `CronJob`; none if it fires at the same minutes of every
    /// hour.
    pub(crate) fn clock_effects(
        &self,
        from: Timestamp,
        to: Timestamp,
    ) -> impl Iterator<Item = ClockEffect> {
        let firings = self.firings().filter(|_| !self.job.is_suspended() && !self.job.is_hourly);
        firings.into_iter().flat_map(move |it| it.clock_effects(from, to))
    }

    /// The time zone for display.
    pub(crate) fn zone(&self) -> Zone {
        self.firings().map_or(Zone::utc(), Firings::zone)
    }

    /// The meaning of the schedule; empty if unknown.
    pub(crate) fn meaning(&self) -> String {
        let Some(firings) = self.firings() else { return String::new() };
        let assumed = if self.job.names_zone { "" } else { ", assumed" };
        format!("{} ({}{assumed})", firings.cron().describe(), firings.zone())
    }

    /// The reason for the lack of starts.
    pub(crate) fn why_nothing(&self) -> String {
        match &self.job.starts {
            _ if self.job.is_suspended() => "is suspended".to_owned(),
            Starts::At(_) => "starts nothing in this period".to_owned(),
            Starts::Every(every) => format!("starts {every:?}, at unknown instants"),
            Starts::Never => NEVER.to_owned(),
            Starts::Unusable => "can't be used as it is written".to_owned(),
        }
    }

    /// The name in output.
    pub(crate) fn name(&self) -> String {
        called(&self.identity, self.written_at.as_ref())
    }

    /// The location; empty if the name is unique.
    pub(crate) fn location(&self) -> String {
        self.written_at.as_ref().map_or(String::new(), ToString::to_string)
    }

    /// The name and the meaning of the schedule.
    pub(crate) fn described(&self) -> String {
        format!("{} {}", self.name(), self.meaning()).trim_end().to_owned()
    }

    /// The assumptions and the unknowns, as sentences to print after the name.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let CronJob { starts, names_zone, may_skip, .. } = &self.job;
        let notes = match starts {
            _ if self.job.is_suspended() => {
                [Some("is suspended, so it starts nothing".to_owned()), None]
            }
            Starts::Unusable => {
                [Some("is left out: it can't be used as it is written".to_owned()), None]
            }
            Starts::Never => [Some(NEVER.to_owned()), None],
            Starts::Every(every) => {
                let why = "in intervals since its last start, which is unknown; it is left out";
                [Some(format!("starts {every:?}, {why}")), None]
            }
            Starts::At(_) => {
                let zone = format!(
                    "names no timeZone, so it follows that of the kube-controller-manager, taken as {}",
                    self.zone()
                );
                let skip = "may skip a start while a Job runs, because of its concurrencyPolicy";
                [(!names_zone).then_some(zone), may_skip.then(|| skip.to_owned())]
            }
        };
        notes.into_iter().flatten()
    }
}

/// The assumptions about several `CronJobs`, each as a sentence with the name.
pub(crate) fn notes<'a>(
    jobs: impl Iterator<Item = &'a ShownCronJob>,
) -> impl Iterator<Item = Sentence> {
    jobs.flat_map(|job| {
        job.notes().map(move |note| (Some(job.name()), format!("{} {note}", job.name())))
    })
}

/// The starts of many `CronJobs` in a period, in order of time. Starts at one instant are in the order of the
/// `CronJobs`.
pub(crate) fn in_order<'a>(
    jobs: impl Iterator<Item = &'a ShownCronJob>,
    period: Period,
) -> impl Iterator<Item = (&'a ShownCronJob, Timestamp)> {
    let mut all: Vec<_> = jobs.map(|job| (job, job.starts(period))).collect();
    let next = |(position, (_, starts)): (usize, &mut (_, _))| next_of(starts, position);
    let mut first: BinaryHeap<Reverse<(Timestamp, usize)>> =
        all.iter_mut().enumerate().filter_map(next).collect();
    std::iter::from_fn(move || {
        let Reverse((at, position)) = first.pop()?;
        let (job, starts) = all.get_mut(position)?;
        first.extend(next_of(starts, position));
        Some((*job, at))
    })
}

fn next_of(
    starts: &mut impl Iterator<Item = Timestamp>,
    position: usize,
) -> Option<Reverse<(Timestamp, usize)>> {
    starts.next().map(|at| Reverse((at, position)))
}
