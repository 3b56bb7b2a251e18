//! `CronJobs` beside policies: when they start Jobs, and what is taken for granted of them. Nothing here carries them
//! out, and what their Jobs do is not known.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use almanac_api::reading::{CronJob, Starts};
use almanac_calendar::{ClockEffect, Zone};
use almanac_engine::Identity;
use almanac_forecast::Period;
use clap::Args;
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;

use crate::argument_error::ArgumentError;
use crate::completion;

/// What files and clusters don't say of `CronJobs`.
#[derive(Args)]
pub(crate) struct CronJobArguments {
    /// The time zone of the kube-controller-manager, which a cron job without a timeZone follows
    #[arg(
        long,
        value_name = "ZONE",
        default_value = "UTC",
        allow_hyphen_values = true,
        add = ArgValueCandidates::new(completion::zones)
    )]
    cron_job_zone: String,
}

impl CronJobArguments {
    pub(crate) fn zone(&self) -> Result<Zone, ArgumentError> {
        crate::period::zone("--cron-job-zone", &self.cron_job_zone)
    }
}

/// A `CronJob` of a place.
pub(crate) struct ShownCronJob {
    pub(crate) identity: Identity,
    pub(crate) job: CronJob,
}

/// What a `CronJob` does, as every output calls it.
pub(crate) const STARTS: &str = "starts";

impl ShownCronJob {
    /// When it starts Jobs in a period, in order; never if it is suspended or nobody knows.
    pub(crate) fn starts(&self, period: Period) -> impl Iterator<Item = Timestamp> {
        let firings = match &self.job.starts {
            Starts::At(firings) if !self.job.is_suspended() => Some(firings),
            Starts::At(_) | Starts::Every(_) | Starts::Unusable => None,
        };
        firings.into_iter().flat_map(move |it| it.between(period.from(), period.to()))
    }

    /// What clock changes in `[from, to)` do to it: nothing, if it comes in every hour alike.
    pub(crate) fn clock_effects(
        &self,
        from: Timestamp,
        to: Timestamp,
    ) -> impl Iterator<Item = ClockEffect> {
        let firings = match &self.job.starts {
            Starts::At(firings) if !self.job.is_suspended() && !self.job.is_hourly => Some(firings),
            Starts::At(_) | Starts::Every(_) | Starts::Unusable => None,
        };
        firings.into_iter().flat_map(move |it| it.clock_effects(from, to))
    }

    /// The zone in which it is shown.
    pub(crate) fn zone(&self) -> Zone {
        match &self.job.starts {
            Starts::At(firings) => firings.zone(),
            Starts::Every(_) | Starts::Unusable => Zone::utc(),
        }
    }

    /// What its schedule means; nothing if that is not known.
    pub(crate) fn meaning(&self) -> String {
        match &self.job.starts {
            Starts::At(firings) => {
                let assumed = if self.job.names_zone { "" } else { ", assumed" };
                format!("{} ({}{assumed})", firings.cron().describe(), firings.zone())
            }
            Starts::Every(_) | Starts::Unusable => String::new(),
        }
    }

    /// Why there is no start of it to be shown.
    pub(crate) fn why_nothing(&self) -> String {
        match &self.job.starts {
            _ if self.job.is_suspended() => "is suspended".to_owned(),
            Starts::At(_) => "starts nothing in this period".to_owned(),
            Starts::Every(every) => format!("starts {every:?}, from when on is not known"),
            Starts::Unusable => "can't be used as it is written".to_owned(),
        }
    }

    /// Its name and what its schedule means.
    pub(crate) fn described(&self) -> String {
        format!("{} {}", self.identity, self.meaning()).trim_end().to_owned()
    }

    /// What is taken for granted of it, or not known, in sentences that begin with its name.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let CronJob { starts, names_zone, may_skip, .. } = &self.job;
        let told = match starts {
            _ if self.job.is_suspended() => {
                [Some("is suspended, so it starts nothing".to_owned()), None]
            }
            Starts::Unusable => {
                [Some("is left out: it can't be used as it is written".to_owned()), None]
            }
            Starts::Every(every) => {
                let why = "in intervals since its last start, which is not known: it is left out";
                [Some(format!("starts {every:?}, {why}")), None]
            }
            Starts::At(_) => {
                let zone = format!(
                    "names no timeZone, so it follows that of the kube-controller-manager, taken as {}",
                    self.zone()
                );
                let skip = "may leave out a start while a Job runs, by its concurrencyPolicy";
                [(!names_zone).then_some(zone), may_skip.then(|| skip.to_owned())]
            }
        };
        told.into_iter().flatten()
    }
}

/// What is taken for granted of these.
pub(crate) fn notes<'a>(
    jobs: impl Iterator<Item = &'a ShownCronJob>,
) -> impl Iterator<Item = String> {
    jobs.flat_map(|job| job.notes().map(|note| format!("{} {note}", job.identity)))
}

/// The starts of many `CronJobs` in a period, in order of time; of several at one instant, in their order.
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
