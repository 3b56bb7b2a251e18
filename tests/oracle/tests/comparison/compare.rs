//! Compares a subject with the oracle's result for a year: the whole list, and queries at adversarial instants.

use std::cell::LazyCell;
use std::fmt::Debug;

use almanac_oracle::{
    Change, Flip, Line, Observation, Rule, firing_after, firing_up_to, transition_after,
    transition_up_to, year_start,
};
use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};

use crate::case::Case;
use crate::subject::{Fires, Opens, Subject, Turn};

/// The number of random instants, and of events, to compare.
const RANDOM_INSTANTS: usize = 24;
const EVENTS: usize = 12;

/// The oracle's result for one year of one schedule.
pub(crate) struct Truth<'a> {
    pub(crate) case: &'a Case,
    pub(crate) line: &'a Line,
    pub(crate) rule: &'a Rule,
    pub(crate) seen: &'a Observation,
    /// The zone's clock changes in the year.
    pub(crate) changes: &'a [Change],
}

pub(crate) fn instant(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// The first difference, as an error.
pub(crate) fn compare(truth: &Truth<'_>, subject: &Subject) -> Result<(), String> {
    match (truth.seen, subject) {
        (Observation::Firings(firings), Subject::Fires(subject)) => {
            compare_firings(truth, firings, subject.as_ref())
        }
        (Observation::Window { open_before, flips }, Subject::Opens(subject)) => {
            compare_window(truth, *open_before, flips, subject.as_ref())
        }
        _ => Err("one fires, the other opens and closes".to_owned()),
    }
}

fn compare_firings(truth: &Truth<'_>, firings: &[i64], subject: &dyn Fires) -> Result<(), String> {
    let (from, to) = (truth.from(), truth.to());
    let expected: Vec<_> = firings.iter().copied().map(instant).collect();
    same_list("between", &expected, &subject.between(instant(from), instant(to)))?;
    let smallest = firings.windows(2).map(|pair| pair[1] - pair[0]).min();
    same(
        "shortest_interval over the year",
        &smallest.map(SignedDuration::from_secs),
        &subject.shortest_interval(instant(from), instant(to)),
    )?;

    // Computed at most once, and only if the year has no result.
    let earlier = LazyCell::new(|| firing_up_to(truth.line, truth.rule, from - 1).map(instant));
    let later = LazyCell::new(|| firing_after(truth.line, truth.rule, to - 1).map(instant));
    let mut rng = Rng::with_seed(truth.case.own_seed());
    for now in truth.instants(&mut rng, firings) {
        let after = expected.partition_point(|&firing| firing <= now);
        let next = expected.get(after).copied().or_else(|| *later);
        same_at("next", now, &next, &subject.next(now))?;
        let previous = after.checked_sub(1).map(|before| expected[before]).or_else(|| *earlier);
        same_at("previous", now, &previous, &subject.previous(now))?;
    }
    for (a, b) in truth.stretches(&mut rng, firings) {
        let inside: Vec<_> = expected.iter().copied().filter(|&at| a <= at && at < b).collect();
        same_list(&format!("between {a} and {b}"), &inside, &subject.between(a, b))?;
    }
    Ok(())
}

fn compare_window(
    truth: &Truth<'_>,
    open_before: bool,
    flips: &[Flip],
    subject: &dyn Opens,
) -> Result<(), String> {
    let (from, to) = (truth.from(), truth.to());
    let turn = |flip: Flip| (instant(flip.at), flip.opens);
    let expected: Vec<Turn> = flips.iter().copied().map(turn).collect();
    same_list("between", &expected, &subject.between(instant(from), instant(to)))?;
    let just_before = instant(from) - SignedDuration::from_nanos(1);
    same_at("is_open", just_before, &open_before, &subject.is_open(just_before))?;

    let events: Vec<_> = flips.iter().map(|flip| flip.at).collect();
    let earlier = LazyCell::new(|| transition_up_to(truth.line, truth.rule, from - 1).map(turn));
    let later = LazyCell::new(|| transition_after(truth.line, truth.rule, to - 1).map(turn));
    let mut rng = Rng::with_seed(truth.case.own_seed());
    for now in truth.instants(&mut rng, &events) {
        let after = expected.partition_point(|&(at, _)| at <= now);
        let last = after.checked_sub(1).map(|before| expected[before]);
        let open = last.map_or(open_before, |(_, opens)| opens);
        same_at("is_open", now, &open, &subject.is_open(now))?;
        let next = expected.get(after).copied().or_else(|| *later);
        same_at("next_transition", now, &next, &subject.next(now))?;
        let previous = last.or_else(|| *earlier);
        same_at("previous_transition", now, &previous, &subject.previous(now))?;
    }
    for (a, b) in truth.stretches(&mut rng, &events) {
        let inside: Vec<_> = expected.iter().copied().filter(|t| a <= t.0 && t.0 < b).collect();
        same_list(&format!("between {a} and {b}"), &inside, &subject.between(a, b))?;
    }
    Ok(())
}

impl Truth<'_> {
    fn from(&self) -> i64 {
        year_start(self.case.year)
    }

    fn to(&self) -> i64 {
        year_start(self.case.year + 1)
    }

    /// The instants of queries, all within the year: random to the nanosecond, and at, just before and just after
    /// events, clock changes and the ends of the year.
    fn instants(&self, rng: &mut Rng, events: &[i64]) -> Vec<Timestamp> {
        let (from, to) = (self.from(), self.to());
        let mut edges = vec![from, to];
        for change in self.changes {
            edges.extend([change.at, change.at + (change.before - change.after).abs()]);
            // Mistakes are most likely at events next to a change.
            let next = events.partition_point(|&event| event < change.at);
            edges.extend(events.iter().skip(next.saturating_sub(2)).take(4));
        }
        edges.extend(events.first());
        edges.extend(events.last());
        edges.extend((0..EVENTS).filter_map(|_| rng.choice(events)));

        let nanosecond = SignedDuration::from_nanos(1);
        let mut instants: Vec<_> = edges
            .into_iter()
            .map(instant)
            .flat_map(|at| {
                let second = SignedDuration::from_secs(1);
                [at, at - nanosecond, at + nanosecond, at - second, at + second]
            })
            .filter(|&at| instant(from) <= at && at < instant(to))
            .collect();
        instants.extend((0..RANDOM_INSTANTS).map(|_| {
            instant(rng.i64(from..to)) + SignedDuration::from_nanos(rng.i64(0..1_000_000_000))
        }));
        instants
    }

    /// A few stretches of the year, with ends on events or at random.
    fn stretches(&self, rng: &mut Rng, events: &[i64]) -> Vec<(Timestamp, Timestamp)> {
        let mut end = || match rng.choice(events) {
            Some(&event) if rng.bool() => event,
            _ => rng.i64(self.from()..self.to()),
        };
        (0..3)
            .map(|_| {
                let (a, b) = (end(), end());
                // Short stretches, because a whole year has been compared already.
                let (a, b) = (a.min(b), a.max(b).min(a.min(b) + 40 * 86_400));
                (instant(a), instant(b))
            })
            .collect()
    }
}

fn same<T: PartialEq + Debug>(what: &str, expected: &T, found: &T) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    Err(format!("{what}: the oracle has {expected:?}, the calendar {found:?}"))
}

fn same_at<T: PartialEq + Debug>(
    what: &str,
    now: Timestamp,
    expected: &T,
    found: &T,
) -> Result<(), String> {
    if expected == found { Ok(()) } else { same(&format!("{what} at {now}"), expected, found) }
}

fn same_list<T: PartialEq + Debug>(what: &str, expected: &[T], found: &[T]) -> Result<(), String> {
    let differs = expected.iter().zip(found).position(|(expected, found)| expected != found);
    match differs {
        None if expected.len() == found.len() => Ok(()),
        differs => {
            let at = differs.unwrap_or(expected.len().min(found.len()));
            let entry = |list: &[T]| {
                list.get(at).map_or("no more".to_owned(), |entry| format!("{entry:?}"))
            };
            Err(format!(
                "{what}: the oracle has {}, the calendar {}; at entry {at} the oracle has {}, the calendar {}",
                expected.len(),
                found.len(),
                entry(expected),
                entry(found)
            ))
        }
    }
}
