//! `CronJobs` of both sides: which of them start Jobs at other times, and since when.
//!
//! The comparison covers the instants, not the spelling: the schedule, its time zone, and whether it is suspended. The
//! effects of their Jobs are not known. Starts are counted one after the other, so memory does not grow with the
//! period.

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
    /// How many are compared.
    pub(super) compared: usize,
    /// How many are not, as something on the new side cannot be used.
    pub(super) unclear: usize,
    pub(super) changes: Vec<JobChange>,
}

/// Those that are compared, before they are.
#[derive(Default)]
pub(super) struct Pairs<'a> {
    all: Vec<Pair<'a>>,
    unclear: usize,
}

/// A `CronJob` of both sides, or of one.
struct Pair<'a> {
    /// The name of its place, if there are several.
    name: Option<String>,
    place: &'a InputPlace,
    both: Both<'a>,
}

type Both<'a> = [Option<&'a ShownCronJob>; 2];

/// The starts of both sides in a period, compared.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Compared {
    starts: [usize; 2],
    /// The first instant that only one side has.
    differs: Option<Timestamp>,
}

/// A `CronJob` that starts Jobs at other times.
pub(super) struct JobChange {
    title: String,
    target: Value,
    place: Option<String>,
    before: Option<Schedule>,
    after: Option<Schedule>,
    /// The first instant at which one side starts a Job and the other one does not, as a civil time and as an instant.
    differs: Option<(String, Timestamp)>,
}

/// When one side starts Jobs.
struct Schedule {
    said: String,
    starts: usize,
    is_suspended: bool,
}

impl<'a> Pairs<'a> {
    /// Adds the requested ones of two places.
    pub(super) fn add(
        &mut self,
        name: Option<&str>,
        [before, after]: [Option<&'a InputPlace>; 2],
        new: &Side,
        only: &[Subject],
    ) {
        let mut all: BTreeMap<(&Identity, usize), Both<'a>> = BTreeMap::new();
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

    /// Compares them in a period, each two schedules once.
    pub(super) fn compared(self, period: Period, threads: usize) -> anyhow::Result<Jobs> {
        let mut distinct: Vec<Both<'_>> = Vec::new();
        let mut of_pairs = Vec::new();
        for Pair { both, .. } in &self.all {
            let is_known = |it: &Both<'_>| {
                it.iter().zip(both).all(|(one, other)| has_same_starts(*one, *other))
            };
            let known = distinct.iter().position(is_known);
            of_pairs.push(known.unwrap_or(distinct.len()));
            if known.is_none() {
                distinct.push(*both);
            }
        }
        let mut results = Vec::new();
        let of_index = |index: usize, hand: &mut dyn FnMut(Compared) -> anyhow::Result<()>| {
            hand(distinct.get(index).map_or_else(Compared::default, |it| Compared::of(*it, period)))
        };
        in_order(distinct.len(), threads, of_index, |result| {
            results.push(result);
            Ok(())
        })?;
        let (compared, unclear) = (self.all.len(), self.unclear);
        let of_pairs = of_pairs.into_iter().filter_map(|index| results.get(index).copied());
        let all = self.all.into_iter().zip(of_pairs);
        let differing = all.filter(|(pair, result)| !is_same(pair.both, *result));
        let changes = differing.filter_map(|(pair, result)| JobChange::of(pair, result));
        Ok(Jobs { compared, unclear, changes: changes.collect() })
    }
}

impl Compared {
    /// Goes through the starts of both sides in order of time.
    fn of(both: Both<'_>, period: Period) -> Compared {
        let [one, other] = both.map(|job| job.into_iter().flat_map(move |it| it.starts(period)));
        // Those that start at the same times are gone through once.
        if has_same_starts(both[0], both[1]) {
            let count = one.count();
            return Compared { starts: [count, count], differs: None };
        }
        Compared::of_starts(one, other)
    }

    fn of_starts(
        mut one: impl Iterator<Item = Timestamp>,
        mut other: impl Iterator<Item = Timestamp>,
    ) -> Compared {
        let mut common = 0;
        loop {
            let next = [one.next(), other.next()];
            if next[0] == next[1] && next[0].is_some() {
                common += 1;
                continue;
            }
            let [of_one, of_other] = next.map(|it| usize::from(it.is_some()));
            let starts = [common + of_one + one.count(), common + of_other + other.count()];
            return Compared { starts, differs: next.into_iter().flatten().min() };
        }
    }
}

impl Jobs {
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

/// Whether two have the same schedule, or none of them is there.
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

/// Whether both sides have it, and it starts Jobs at the same times in the period.
fn is_same([before, after]: Both<'_>, compared: Compared) -> bool {
    // Of an interval, the instants are not known.
    let are_known = |it: &ShownCronJob| {
        it.job.is_suspended() || matches!(it.job.starts, Starts::At(_) | Starts::Never)
    };
    let (Some(one), Some(other)) = (before, after) else { return false };
    has_same_starts(before, after)
        || (are_known(one) && are_known(other) && compared.differs.is_none())
}

impl JobChange {
    fn of(pair: Pair<'_>, compared: Compared) -> Option<JobChange> {
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
            before: before.map(|it| Schedule::of(it, of_old)),
            after: after.map(|it| Schedule::of(it, of_new)),
            differs: compared.differs.map(|at| (civil(job.zone(), at), at)),
        })
    }

    /// Its name, with its place.
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
        let presence = presence(self.presence());
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
    fn of(job: &ShownCronJob, starts: usize) -> Schedule {
        let (meaning, is_suspended) = (job.meaning(), job.job.is_suspended());
        let said = match (meaning.is_empty(), is_suspended) {
            (true, _) => job.why_nothing(),
            (false, true) => format!("{meaning}, suspended"),
            (false, false) => meaning,
        };
        Schedule { said, starts, is_suspended }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_the_first_instant_that_only_one_side_has() {
        let at =
            |seconds: &'static [i64]| seconds.iter().map(|it| Timestamp::from_second(*it).unwrap());
        let compared = |one: &'static [i64], other: &'static [i64]| {
            let Compared { starts, differs } = Compared::of_starts(at(one), at(other));
            (starts, differs.map(Timestamp::as_second))
        };
        assert_eq!(compared(&[1, 2], &[1, 2]), ([2, 2], None));
        assert_eq!(compared(&[1, 2], &[1, 3, 4]), ([2, 3], Some(2)));
        assert_eq!(compared(&[1], &[1, 3]), ([1, 2], Some(3)));
        assert_eq!(compared(&[], &[4]), ([0, 1], Some(4)));
    }
}
