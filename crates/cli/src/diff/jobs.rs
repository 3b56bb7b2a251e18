//! `CronJobs` of both sides: which of them start Jobs at other times, and since when.
//!
//! What counts is when, not how it is written: the schedule, its time zone, and whether it is suspended. What their
//! Jobs do is not known.

use std::collections::BTreeMap;

use almanac_api::reading::Starts;
use almanac_engine::{Identity, counted};
use almanac_forecast::{Period, Presence};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::side::Side;
use crate::cron_jobs::{STARTS, ShownCronJob};
use crate::input::InputPlace;
use crate::subject::Subject;
use crate::wall_clock::civil;

/// The `CronJobs` of two places.
#[derive(Default)]
pub(super) struct Jobs {
    /// How many are compared.
    pub(super) compared: usize,
    /// How many are not, as something on the new side cannot be used.
    pub(super) unclear: usize,
    pub(super) changes: Vec<JobChange>,
}

/// A `CronJob` that starts Jobs at other times.
pub(super) struct JobChange {
    title: String,
    target: Value,
    place: Option<String>,
    before: Option<Schedule>,
    after: Option<Schedule>,
    /// The first instant at which one side starts a Job and the other one does not, as a wall clock and as it is.
    differs: Option<(String, Timestamp)>,
}

/// When one side starts Jobs.
struct Schedule {
    said: String,
    starts: usize,
    is_suspended: bool,
}

impl Jobs {
    /// Compares those of two places that are asked about.
    pub(super) fn add(
        &mut self,
        name: Option<&str>,
        [before, after]: [Option<&InputPlace>; 2],
        new: &Side,
        period: Period,
        only: &[Subject],
    ) {
        let mut all: BTreeMap<(&Identity, usize), [Option<&ShownCronJob>; 2]> = BTreeMap::new();
        for (side, place) in [before, after].into_iter().enumerate() {
            let jobs = place.map_or(&[] as &[ShownCronJob], |it| it.cron_jobs.as_slice());
            let mut of_name = 0;
            for (index, job) in jobs.iter().enumerate() {
                let is_another = index > 0 && jobs[index - 1].identity == job.identity;
                of_name = if is_another { of_name + 1 } else { 0 };
                if only.is_empty() || only.iter().any(|it| it.fits(&job.identity)) {
                    all.entry((&job.identity, of_name)).or_default()[side] = Some(job);
                }
            }
        }
        for [one, other] in all.into_values() {
            let is_unclear = match other {
                Some(job) => job.job.starts == Starts::Unusable,
                None => new.may_miss_objects(),
            };
            if is_unclear {
                self.unclear += 1;
                continue;
            }
            self.compared += 1;
            let of_place = other.and(after).or(before);
            if let Some(place) = of_place.filter(|_| !is_same(one, other)) {
                self.changes.extend(JobChange::of(name, place, [one, other], period));
            }
        }
    }

    /// How many there are of a sort.
    fn count(&self, presence: Presence) -> usize {
        self.changes.iter().filter(|it| it.presence() == presence).count()
    }

    /// `1 of 2 CronJobs changes`, `1 CronJob is new`.
    pub(super) fn told(&self) -> Vec<String> {
        let [changed, added, removed] =
            [Presence::Both, Presence::Added, Presence::Removed].map(|it| self.count(it));
        let common = self.compared - added - removed;
        let is = |count: usize| if count == 1 { "is" } else { "are" };
        let mut told = Vec::new();
        if changed > 0 {
            let verb = if changed == 1 { "changes" } else { "change" };
            told.push(format!("{changed} of {} {verb}", counted(common, "CronJob")));
        }
        if added > 0 {
            told.push(format!("{} {} new", counted(added, "CronJob"), is(added)));
        }
        if removed > 0 {
            told.push(format!("{} {} gone", counted(removed, "CronJob"), is(removed)));
        }
        told
    }
}

/// Whether both start Jobs at the same times.
fn is_same(one: Option<&ShownCronJob>, other: Option<&ShownCronJob>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => {
            one.job.starts == other.job.starts && one.job.is_suspended() == other.job.is_suspended()
        }
        _ => false,
    }
}

impl JobChange {
    fn of(
        place: Option<&str>,
        input: &InputPlace,
        [before, after]: [Option<&ShownCronJob>; 2],
        period: Period,
    ) -> Option<JobChange> {
        let job = after.or(before)?;
        let starts = |of: Option<&ShownCronJob>| -> Vec<Timestamp> {
            of.into_iter().flat_map(|it| it.starts(period)).collect()
        };
        let differs = first_difference(&starts(before), &starts(after));
        let name = job.name();
        let schedule = |of: Option<&ShownCronJob>| of.map(|it| Schedule::of(it, period));
        Some(JobChange {
            title: place.map_or_else(|| name.clone(), |place| format!("{place}: {name}")),
            target: job.reference(input),
            place: place.map(str::to_owned),
            before: schedule(before),
            after: schedule(after),
            differs: differs.map(|at| (civil(job.zone(), at), at)),
        })
    }

    /// What it is called, in its place.
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

    /// One sentence, without what it is of.
    pub(super) fn sentence(&self) -> String {
        let mut parts = match (&self.before, &self.after) {
            (Some(before), Some(after)) => vec![
                format!("starts Jobs {} → {}", before.said, after.said),
                format!("{} → {} in the period", before.starts, counted(after.starts, "start")),
            ],
            (None, Some(after)) => vec![
                format!("newly starts Jobs {}", after.said),
                format!("{} in the period", counted(after.starts, "start")),
            ],
            (Some(before), None) => vec![
                format!("no longer starts Jobs; it was {}", before.said),
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

    /// The row of the table in which changes are shown.
    pub(super) fn row(&self) -> [String; 8] {
        let said = |of: &Option<Schedule>| {
            of.as_ref().map_or_else(|| "not set".to_owned(), |it| it.said.clone())
        };
        let (before, after) = (said(&self.before), said(&self.after));
        let (title, starts) = (self.title.clone(), STARTS.to_owned());
        let [hours, peak, set_by] = <[String; 3]>::default();
        [title, starts, self.when(), before, after, hours, peak, set_by]
    }

    /// The same for a program.
    pub(super) fn to_json(&self) -> Value {
        let presence = match self.presence() {
            Presence::Both => "both",
            Presence::Added => "added",
            Presence::Removed => "removed",
        };
        let mut told = json!({ "target": self.target, "what": STARTS, "presence": presence });
        if let Some(place) = &self.place {
            told["place"] = json!(place);
        }
        if let Some((_, at)) = &self.differs {
            told["from"] = json!(at);
        }
        for (name, schedule) in [("before", &self.before), ("after", &self.after)] {
            if let Some(Schedule { said, starts, is_suspended }) = schedule {
                let one = json!({ "meaning": said, "starts": starts, "suspended": is_suspended });
                told[name] = one;
            }
        }
        told
    }
}

impl Schedule {
    fn of(job: &ShownCronJob, period: Period) -> Schedule {
        let (meaning, is_suspended) = (job.meaning(), job.job.is_suspended());
        let said = match (meaning.is_empty(), is_suspended) {
            (true, _) => job.why_nothing(),
            (false, true) => format!("{meaning}, suspended"),
            (false, false) => meaning,
        };
        Schedule { said, starts: job.starts(period).count(), is_suspended }
    }
}

/// The first instant that only one of the two has.
fn first_difference(one: &[Timestamp], other: &[Timestamp]) -> Option<Timestamp> {
    let common = one.iter().zip(other).take_while(|(at, other_at)| at == other_at).count();
    one.get(common).into_iter().chain(other.get(common)).min().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_the_first_instant_that_only_one_side_has() {
        let at = |seconds: &[i64]| -> Vec<Timestamp> {
            seconds.iter().map(|it| Timestamp::from_second(*it).unwrap()).collect()
        };
        let difference = |one: &[i64], other: &[i64]| {
            first_difference(&at(one), &at(other)).map(Timestamp::as_second)
        };
        assert_eq!(difference(&[1, 2], &[1, 2]), None);
        assert_eq!(difference(&[1, 2], &[1, 3]), Some(2));
        assert_eq!(difference(&[1], &[1, 3]), Some(3));
        assert_eq!(difference(&[], &[4]), Some(4));
    }
}
