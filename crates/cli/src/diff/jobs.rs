//! Differences between the `CronJobs` of both sides: the start times of Jobs, and the first instant that differs.
//!
//! The comparison covers the instants, not the spelling: the schedule, its time zone, and whether it is suspended. The
//! effects of their Jobs are unknown. Starts are counted one after the other, so memory does not grow with the period.

use std::collections::BTreeMap;

use almanac_api::reading::Starts;
use almanac_engine::{Identity, counted};
use almanac_forecast::{Period, Presence};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::side::Side;
use super::words::presence;
use crate::cron_jobs::{STARTS, ShownCronJob};
use crate::forecast::in_order::in_order;
use crate::input::InputPlace;
use crate::subject::Subject;
use crate::wall_clock::civil;

/// The `CronJobs` of all places.
pub(super) struct Jobs {
    /// The number of compared `CronJobs`.
    pub(super) compared: usize,
    /// The number of `CronJobs` that are not compared, because an object on the new side cannot be used.
    pub(super) unclear: usize,
    pub(super) changes: Vec<JobChange>,
}

/// The `CronJobs` to compare.
#[derive(Default)]
pub(super) struct Pairs<'a> {
    all: Vec<Pair<'a>>,
    unclear: usize,
}

/// A `CronJob` that exists on both sides, or on a single side.
struct Pair<'a> {
    /// The name of its place; `None` if each side is a single place.
    name: Option<String>,
    place: &'a InputPlace,
    both: JobSides<'a>,
}

type JobSides<'a> = [Option<&'a ShownCronJob>; 2];

/// The numbers of starts on both sides in a period, and their first difference.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct StartComparison {
    starts: [usize; 2],
    /// The first instant at which only one side starts a Job.
    differs: Option<Timestamp>,
}

/// A change to the instants at which a `CronJob` starts Jobs.
pub(super) struct JobChange {
    title: String,
    target: Value,
    place: Option<String>,
    before: Option<Schedule>,
    after: Option<Schedule>,
    /// The first instant at which only one side starts a Job, as a civil time and as an instant.
    differs: Option<(String, Timestamp)>,
}

/// The Job starts of one side.
struct Schedule {
    text: String,
    starts: usize,
    is_suspended: bool,
}

impl<'a> Pairs<'a> {
    /// Adds the requested `CronJobs` of two places.
    pub(super) fn add(
        &mut self,
        name: Option<&str>,
        [before, after]: [Option<&'a InputPlace>; 2],
        new: &Side,
        only: &[Subject],
    ) {
        let mut all: BTreeMap<(&Identity, usize), JobSides<'a>> = BTreeMap::new();
        for (side, place) in [before, after].into_iter().enumerate() {
            let jobs = place.map_or(&[] as &[ShownCronJob], |it| it.cron_jobs.as_slice());
            let mut index_of_name = 0;
            for (index, job) in jobs.iter().enumerate() {
                let is_another = index > 0 && jobs[index - 1].identity == job.identity;
                index_of_name = if is_another { index_of_name + 1 } else { 0 };
                if only.is_empty() || only.iter().any(|it| it.fits(&job.identity)) {
                    all.entry((&job.identity, index_of_name)).or_default()[side] = Some(job);
                }
            }
        }
        for both in all.into_values() {
            let [_, other] = both;
            let is_unclear = match other {
                Some(job) => job.job.starts == Starts::Unusable,
                None => new.may_miss_objects(),
            };
            let place = other.and(after).or(before);
            match place.filter(|_| !is_unclear) {
                Some(place) => self.all.push(Pair { name: name.map(str::to_owned), place, both }),
                None => self.unclear += 1,
            }
        }
    }

    /// Compares all pairs in a period; equal pairs of schedules are compared once.
    pub(super) fn compared(self, period: Period, threads: usize) -> anyhow::Result<Jobs> {
        let mut distinct: Vec<JobSides<'_>> = Vec::new();
        let mut pair_results = Vec::new();
        for Pair { both, .. } in &self.all {
            let is_known = |it: &JobSides<'_>| {
                it.iter().zip(both).all(|(one, other)| has_same_starts(*one, *other))
            };
            let position = distinct.iter().position(is_known);
            pair_results.push(position.unwrap_or(distinct.len()));
            if position.is_none() {
                distinct.push(*both);
            }
        }
        let mut results = Vec::new();
        let compare =
            |index: usize, report: &mut dyn FnMut(StartComparison) -> anyhow::Result<()>| {
                report(distinct.get(index).map_or_else(StartComparison::default, |it| {
                    StartComparison::for_sides(*it, period)
                }))
            };
        in_order(distinct.len(), threads, compare, |result| {
            results.push(result);
            Ok(())
        })?;
        let (compared, unclear) = (self.all.len(), self.unclear);
        let pair_results = pair_results.into_iter().filter_map(|index| results.get(index).copied());
        let all = self.all.into_iter().zip(pair_results);
        let differing = all.filter(|(pair, result)| !is_same(pair.both, *result));
        let changes = differing.filter_map(|(pair, result)| JobChange::from_pair(pair, result));
        Ok(Jobs { compared, unclear, changes: changes.collect() })
    }
}

impl StartComparison {
    /// Compares the starts of both sides in order of time.
    fn for_sides(both: JobSides<'_>, period: Period) -> StartComparison {
        let [one, other] = both.map(|job| job.into_iter().flat_map(move |it| it.starts(period)));
        // Equal starts are counted once.
        if has_same_starts(both[0], both[1]) {
            let count = one.count();
            return StartComparison { starts: [count, count], differs: None };
        }
        StartComparison::from_starts(one, other)
    }

    fn from_starts(
        mut one: impl Iterator<Item = Timestamp>,
        mut other: impl Iterator<Item = Timestamp>,
    ) -> StartComparison {
        let mut common = 0;
        loop {
            let next = [one.next(), other.next()];
            if next[0] == next[1] && next[0].is_some() {
                common += 1;
                continue;
            }
            let [of_one, of_other] = next.map(|it| usize::from(it.is_some()));
            let starts = [common + of_one + one.count(), common + of_other + other.count()];
            return StartComparison { starts, differs: next.into_iter().flatten().min() };
        }
    }
}

impl Jobs {
    /// The number of changes with this presence.
    fn count(&self, presence: Presence) -> usize {
        self.changes.iter().filter(|it| it.presence() == presence).count()
    }

    /// The parts of a summary: `1 of 2 CronJobs changes`, `1 CronJob is new`.
    pub(super) fn parts(&self) -> Vec<String> {
        let [changed, added, removed] =
            [Presence::Both, Presence::Added, Presence::Removed].map(|it| self.count(it));
        let common = self.compared - added - removed;
        let is = |count: usize| if count == 1 { "is" } else { "are" };
        let mut parts = Vec::new();
        if changed > 0 {
            let verb = if changed == 1 { "changes" } else { "change" };
            parts.push(format!("{changed} of {} {verb}", counted(common, "CronJob")));
        }
        if added > 0 {
            parts.push(format!("{} {} new", counted(added, "CronJob"), is(added)));
        }
        if removed > 0 {
            parts.push(format!("{} {} removed", counted(removed, "CronJob"), is(removed)));
        }
        parts
    }
}

/// Whether two `CronJobs` have the same schedule, or neither exists.
fn has_same_starts(one: Option<&ShownCronJob>, other: Option<&ShownCronJob>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => {
            let are_suspended = [one, other].map(|it| it.job.is_suspended());
            are_suspended == [true, true]
                || (are_suspended == [false, false] && one.job.starts == other.job.starts)
        }
        (None, None) => true,
        _ => false,
    }
}

/// Whether the `CronJob` exists on both sides, and starts Jobs at the same instants of the period.
fn is_same([before, after]: JobSides<'_>, compared: StartComparison) -> bool {
    // The instants of an interval are unknown.
    let are_known = |it: &ShownCronJob| {
        it.job.is_suspended() || matches!(it.job.starts, Starts::At(_) | Starts::Never)
    };
    let (Some(one), Some(other)) = (before, after) else { return false };
    has_same_starts(before, after)
        || (are_known(one) && are_known(other) && compared.differs.is_none())
}

impl JobChange {
    fn from_pair(pair: Pair<'_>, compared: StartComparison) -> Option<JobChange> {
        let Pair { name: place, place: input, both: [before, after] } = pair;
        let job = after.or(before)?;
        let name = job.name();
        let [of_old, of_new] = compared.starts;
        Some(JobChange {
            title: match &place {
                Some(place) => format!("{place}: {name}"),
                None => name,
            },
            target: input.job_reference(job),
            place,
            before: before.map(|it| Schedule::for_job(it, of_old)),
            after: after.map(|it| Schedule::for_job(it, of_new)),
            differs: compared.differs.map(|at| (civil(job.zone(), at), at)),
        })
    }

    /// The name of the `CronJob`, with its place.
    pub(super) fn title(&self) -> &str {
        &self.title
    }

    fn presence(&self) -> Presence {
        match (&self.before, &self.after) {
            (None, _) => Presence::Added,
            (Some(_), None) => Presence::Removed,
            (Some(_), Some(_)) => Presence::Both,
        }
    }

    /// One sentence, without the name.
    pub(super) fn sentence(&self) -> String {
        let mut parts = match (&self.before, &self.after) {
            (Some(before), Some(after)) => vec![
                format!("starts Jobs {} → {}", before.text, after.text),
                format!("{} → {} in the period", before.starts, counted(after.starts, "start")),
            ],
            (None, Some(after)) => vec![
                format!("newly starts Jobs {}", after.text),
                format!("{} in the period", counted(after.starts, "start")),
            ],
            (Some(before), None) => vec![
                format!("no longer starts Jobs; it was {}", before.text),
                format!("{} fewer in the period", counted(before.starts, "start")),
            ],
            (None, None) => Vec::new(),
        };
        parts.push(self.when());
        parts.join("; ")
    }

    fn when(&self) -> String {
        match &self.differs {
            Some((at, _)) => format!("from {at} on"),
            None => "no difference in the period".to_owned(),
        }
    }

    /// The row in the table of changes.
    pub(super) fn row(&self) -> [String; 8] {
        let text = |schedule: &Option<Schedule>| {
            schedule.as_ref().map_or_else(|| "not set".to_owned(), |it| it.text.clone())
        };
        let (before, after) = (text(&self.before), text(&self.after));
        let (title, starts) = (self.title.clone(), STARTS.to_owned());
        let [hours, peak, set_by] = <[String; 3]>::default();
        [title, starts, self.when(), before, after, hours, peak, set_by]
    }

    /// The change for a program.
    pub(super) fn to_json(&self) -> Value {
        let presence = presence(self.presence());
        let mut json = json!({ "target": self.target, "what": STARTS, "presence": presence });
        if let Some(place) = &self.place {
            json["place"] = json!(place);
        }
        if let Some((_, at)) = &self.differs {
            json["from"] = json!(at);
        }
        for (name, schedule) in [("before", &self.before), ("after", &self.after)] {
            if let Some(Schedule { text, starts, is_suspended }) = schedule {
                json[name] =
                    json!({ "meaning": text, "starts": starts, "suspended": is_suspended });
            }
        }
        json
    }
}

impl Schedule {
    fn for_job(job: &ShownCronJob, starts: usize) -> Schedule {
        let (meaning, is_suspended) = (job.meaning(), job.job.is_suspended());
        let text = match (meaning.is_empty(), is_suspended) {
            (true, _) => job.why_nothing(),
            (false, true) => format!("{meaning}, suspended"),
            (false, false) => meaning,
        };
        Schedule { text, starts, is_suspended }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_the_first_start_on_only_one_side() {
        let at =
            |seconds: &'static [i64]| seconds.iter().map(|it| Timestamp::from_second(*it).unwrap());
        let compared = |one: &'static [i64], other: &'static [i64]| {
            let StartComparison { starts, differs } =
                StartComparison::from_starts(at(one), at(other));
            (starts, differs.map(Timestamp::as_second))
        };
        assert_eq!(compared(&[1, 2], &[1, 2]), ([2, 2], None));
        assert_eq!(compared(&[1, 2], &[1, 3, 4]), ([2, 3], Some(2)));
        assert_eq!(compared(&[1], &[1, 3]), ([1, 2], Some(3)));
        assert_eq!(compared(&[], &[4]), ([0, 1], Some(4)));
    }
}
