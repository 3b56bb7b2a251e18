//! The parsed question of a forecast, and the parallel drawing of its parts.
//!
//! Parts are computed and drawn on several threads and printed in order, so that the output is
//! the same for any number of threads. Each output decides the drawing of a part.

use std::collections::BTreeSet;
use std::io::{self, Write};

use almanac_calendar::Zone;
use almanac_engine::PolicyName;
use almanac_forecast::{Assumption, Forecast, ForecastFinding, OpenWindows, Overlap, Part, Period};
use jiff::Timestamp;

use super::agreeing::{Drawn, drawn};
use super::in_order::{collected, in_order};
use super::progress::Progress;
use crate::clock_changes::TouchedRule;
use crate::cron_jobs::{self, ShownCronJob};
use crate::input::{Input, InputPlace};

/// The parsed question.
pub(super) struct Question<'a> {
    pub(super) input: &'a Input,
    /// The forecast of each place, in the order of the places.
    pub(super) forecasts: Vec<PlaceForecast<'a>>,
    pub(super) view: View,
    /// The number of threads.
    pub(super) threads: usize,
    pub(super) invocation: Invocation,
}

/// The instant and the command of the question.
pub(super) struct Invocation {
    pub(super) at: Timestamp,
    /// The command as it was typed.
    pub(super) by: String,
}

/// The forecast of one place.
pub(super) struct PlaceForecast<'a> {
    pub(super) place: &'a InputPlace,
    pub(super) forecast: Forecast<'a>,
    /// The requested `CronJobs`.
    pub(super) cron_jobs: Vec<&'a ShownCronJob>,
}

/// The part to draw.
#[derive(Clone, Copy)]
pub(super) struct PartContext<'a> {
    /// The index of the part among the parts of all places.
    pub(super) index: usize,
    pub(super) place: &'a InputPlace,
    /// Whether the part is the first of its place.
    pub(super) is_first: bool,
}

/// Assumptions, each with the index of its place.
pub(super) type Assumptions = BTreeSet<(Assumption, usize)>;

/// The maximum number of pairs of values and pods for which the deciding windows are computed.
const MAX_PAIRS: usize = 1_000_000;

/// The displayed period and zone.
#[derive(Clone, Copy)]
pub(super) struct View {
    pub(super) period: Period,
    pub(super) zone: Zone,
}

/// The minimum number of drawn bytes to pass on.
const ENOUGH: usize = 64 * 1024;

/// The spare capacity of the buffer; most writes are shorter.
const ONE_WRITE: usize = 4 * 1024;

/// The result of a part.
struct PartOutput {
    /// The drawing of the part, or a piece of the drawing.
    drawn: Vec<u8>,
    /// The assumptions of the part; `None` until the drawing is complete.
    assumptions: Option<Vec<(Assumption, usize)>>,
}

/// The writer of a part. It passes the drawn bytes on in large pieces.
pub(super) struct PartWriter<'a> {
    written: Vec<u8>,
    hand: &'a mut dyn FnMut(PartOutput) -> anyhow::Result<()>,
}

impl Question<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.count() == 0 && !self.has_cron_jobs()
    }

    pub(super) fn has_cron_jobs(&self) -> bool {
        self.forecasts.iter().any(|it| !it.cron_jobs.is_empty())
    }

    /// The Job starts of `CronJobs`, place by place, each in order of time.
    pub(super) fn occurrences(
        &self,
    ) -> impl Iterator<Item = (&InputPlace, &ShownCronJob, Timestamp)> {
        self.forecasts.iter().flat_map(|PlaceForecast { place, cron_jobs, .. }| {
            let starts = cron_jobs::in_order(cron_jobs.iter().copied(), self.view.period);
            starts.map(move |(job, at)| (*place, job, at))
        })
    }

    /// The number of parts.
    fn count(&self) -> usize {
        self.forecasts.iter().map(|it| it.forecast.len()).sum()
    }

    /// The forecast of a part, the index of its place, and the index of the part in the forecast.
    fn find(&self, index: usize) -> Option<(&PlaceForecast<'_>, usize, usize)> {
        let mut before = 0;
        for (number, of_place) in self.forecasts.iter().enumerate() {
            let count = of_place.forecast.len();
            if index < before + count {
                return Some((of_place, number, index - before));
            }
            before += count;
        }
        None
    }

    /// The likely mistakes in a part.
    pub(super) fn findings(&self, context: PartContext<'_>) -> Vec<ForecastFinding> {
        self.find(context.index)
            .map_or_else(Vec::new, |(of_place, _, own)| of_place.forecast.findings(own))
    }

    /// The drawings of a part.
    pub(super) fn drawn<'p>(&self, context: PartContext<'_>, part: &'p Part) -> Vec<Drawn<'p>> {
        drawn(&context.place.world, &part.series, self.overlaps(context, part))
    }

    /// Finds the overridden windows and firings of a series, by the index of the series in the part.
    pub(super) fn overlaps<'p>(
        &'p self,
        context: PartContext<'_>,
        part: &'p Part,
    ) -> impl Fn(usize) -> Vec<Overlap> + 'p {
        let windows = self.find(context.index).map(|(it, _, own)| it.forecast.open_windows(own));
        let windows = windows.filter(|it| !it.is_empty() && has_few_pairs(context.place, part));
        move |position| {
            let series = part.series.get(position);
            let of_target =
                |windows: &OpenWindows<'_>| series.map(|it| windows.for_target(&it.target));
            let mut all = windows.as_ref().and_then(of_target).unwrap_or_default();
            all.extend(part.meetings.get(&position).into_iter().flatten().cloned());
            all.sort_by_key(|it| (it.from, it.to));
            all
        }
    }

    /// Draws every part with its index, and writes the parts one after the other. Returns the assumptions of all
    /// parts.
    pub(super) fn write_parts(
        &self,
        draw: impl Fn(PartContext<'_>, &Part, &mut PartWriter<'_>) -> anyhow::Result<()> + Sync,
        output: &mut impl Write,
    ) -> anyhow::Result<Assumptions> {
        let mut progress = Progress::new("forecasting", self.count());
        let mut assumptions = Assumptions::new();
        let find_and_draw = |index, hand: &mut dyn FnMut(PartOutput) -> anyhow::Result<()>| {
            let Some((PlaceForecast { place, forecast, .. }, number, own)) = self.find(index)
            else {
                return Ok(());
            };
            let part = forecast.part(own);
            let mut part_writer =
                PartWriter { written: Vec::with_capacity(ENOUGH + ONE_WRITE), hand };
            draw(PartContext { index, place, is_first: own == 0 }, &part, &mut part_writer)?;
            let drawn = part_writer.written;
            let assumed = part.assumptions.into_iter().map(|it| (it, number)).collect();
            hand(PartOutput { drawn, assumptions: Some(assumed) })
        };
        in_order(self.count(), self.threads, find_and_draw, |found| {
            output.write_all(&found.drawn)?;
            if let Some(found) = found.assumptions {
                assumptions.extend(found);
                progress.advance();
            }
            Ok(())
        })?;
        Ok(assumptions)
    }

    /// Computes a value for each part with the index of its place, without drawing.
    pub(super) fn map_parts<T: Send>(
        &self,
        doing: &'static str,
        find: impl Fn(usize, PartContext<'_>, &Part) -> T + Sync,
    ) -> anyhow::Result<Vec<T>> {
        let of_part = |index| {
            let (PlaceForecast { place, forecast, .. }, number, own) = self.find(index)?;
            let context = PartContext { index, place, is_first: own == 0 };
            Some(find(number, context, &forecast.part(own)))
        };
        let all = collected(doing, self.count(), self.threads, of_part)?;
        Ok(all.into_iter().flatten().collect())
    }

    /// The effects of clock changes on the rules of the drawn policies and on `CronJobs`, in order of time.
    pub(super) fn clock_changes(&self) -> Vec<(&InputPlace, TouchedRule)> {
        let period = (self.view.period.from(), self.view.period.to());
        let mut all: Vec<_> = self
            .forecasts
            .iter()
            .flat_map(|PlaceForecast { place, forecast, cron_jobs }| {
                let policies: BTreeSet<PolicyName> =
                    forecast.targets().flat_map(|(_, policies)| policies.iter().cloned()).collect();
                let touched = TouchedRule::all(&place.world, policies.into_iter(), period);
                let of_jobs = TouchedRule::for_jobs(cron_jobs.iter().copied(), period);
                touched.into_iter().chain(of_jobs).map(|touched| (*place, touched))
            })
            .collect();
        all.sort_by_key(|(_, touched)| touched.at());
        all
    }

    /// The prefix `in clusters/prod: `; empty for an assumption of all places.
    pub(super) fn in_places(&self, places: &[usize]) -> String {
        let is_everywhere = places.len() == self.forecasts.len();
        let names = places.iter().filter_map(|it| self.forecasts.get(*it)?.place.name.as_deref());
        let names: Vec<&str> = names.collect();
        if is_everywhere || names.is_empty() {
            String::new()
        } else {
            format!("in {}: ", names.join(", "))
        }
    }
}

/// Whether it is affordable to compute the deciding window of every object: for each value, this visits all pods that
/// follow policies for QoS levels.
pub(super) fn has_few_pairs(place: &InputPlace, part: &Part) -> bool {
    part.series.len().saturating_mul(place.world.objects.pods.len()) <= MAX_PAIRS
}

impl PartWriter<'_> {
    fn hand_over(&mut self, empty: Vec<u8>) -> io::Result<()> {
        let bytes = std::mem::replace(&mut self.written, empty);
        // Most errors are failed writes, and the caller needs the error kind.
        let of_writing =
            |error: anyhow::Error| error.downcast::<io::Error>().unwrap_or_else(io::Error::other);
        (self.hand)(PartOutput { drawn: bytes, assumptions: None }).map_err(of_writing)
    }
}

impl Write for PartWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written.extend_from_slice(bytes);
        if self.written.len() >= ENOUGH {
            // The next buffer is likely to fill up, too.
            self.hand_over(Vec::with_capacity(ENOUGH + ONE_WRITE))?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.written.is_empty() { Ok(()) } else { self.hand_over(Vec::new()) }
    }
}
