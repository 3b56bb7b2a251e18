//! Groups repeated stretches by what they have in common.
//!
//! `Fri 17:00 to Mon 09:00, each week` instead of fifty rows. Grouping is exact: a recurrence, with its first and last
//! day and its exceptions, stands for exactly the stretches it was found from. It uses civil times only; the caller
//! chooses the time zone and how to show an instant there.

mod words;

use std::collections::{BTreeMap, BTreeSet};

use jiff::ToSpan as _;
use jiff::civil::{Date, DateTime, Time};

/// After this many days without an occurrence, the next one is listed separately.
const MAX_GAP: i32 = 21;
/// A longer stretch cannot recur every week.
const MAX_SPAN: i32 = 7;

/// The start or the end of a stretch, as civil time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    /// An edge of the period; the stretch may go on outside of the period.
    Open,
    /// A civil time.
    At(DateTime),
    /// An instant with an ambiguous civil time, because of a fold or a clock change.
    Unclear,
}

/// A stretch in civil time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CivilStretch {
    /// The start.
    pub from: Edge,
    /// The end.
    pub to: Edge,
}

/// An entry of a list of stretches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StretchGroup {
    /// Several stretches as one recurrence, by their indexes.
    Recurring(Recurrence, Vec<usize>),
    /// A single stretch, by its index.
    Once(usize),
}

/// Occurrences on certain days, at certain times.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Recurrence {
    /// The days on which the occurrences start.
    pub days: Days,
    /// The starts and the ends on those days.
    pub spans: Vec<Span>,
    /// The first day; `None` if the start is before the period.
    pub since: Option<Date>,
    /// The last day; `None` if the end is after the period.
    pub until: Option<Date>,
    /// The exceptions.
    pub except: Vec<Date>,
}

/// Recurring days.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Days {
    /// Days of every week: one entry for each weekday, Monday first.
    OfWeek([bool; 7]),
    /// A day of every month.
    OfMonth(i8),
}

/// The start of a stretch as a time of day, and its end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Span {
    /// The start.
    pub from: Time,
    /// The days from the start to the end.
    pub days: i32,
    /// The time of the end on that day.
    pub to: Time,
}

/// The first civil time of a period, and the first after it.
type CivilPeriod = (DateTime, DateTime);

/// A recurrence of one span, and the indexes of its stretches.
type OfSpan = (Recurrence, Vec<usize>);

/// Groups the stretches of a period into as few pieces as possible. The stretches are in order and do not overlap. The
/// pieces are in the order of their first stretches.
#[must_use]
pub fn recurrences(stretches: &[CivilStretch], period: CivilPeriod) -> Vec<StretchGroup> {
    let mut found: BTreeMap<Recurrence, (Vec<Span>, Vec<usize>)> = BTreeMap::new();
    for (span, dates) in dates_of_spans(stretches, period) {
        for (recurrence, positions) in recurrences_of_span(span, &dates, period) {
            let key = Recurrence { spans: Vec::new(), ..recurrence };
            let (spans, all) = found.entry(key).or_default();
            spans.push(span);
            all.extend(positions);
        }
    }
    let mut is_recurring = vec![false; stretches.len()];
    let mut groups: Vec<(usize, StretchGroup)> = Vec::new();
    for (recurrence, (spans, mut positions)) in found {
        positions.sort_unstable();
        for position in &positions {
            is_recurring[*position] = true;
        }
        let first = positions.first().copied().unwrap_or_default();
        groups
            .push((first, StretchGroup::Recurring(Recurrence { spans, ..recurrence }, positions)));
    }
    let single = is_recurring.iter().enumerate().filter(|(_, is_recurring)| !**is_recurring);
    groups.extend(single.map(|(position, _)| (position, StretchGroup::Once(position))));
    groups.sort_by_key(|(first, _)| *first);
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The days on which each span starts, with the indexes of the stretches. A stretch that the period cuts off counts
/// as one of the spans that fit it.
fn dates_of_spans(
    stretches: &[CivilStretch],
    period: CivilPeriod,
) -> BTreeMap<Span, BTreeMap<Date, usize>> {
    let mut all: BTreeMap<Span, BTreeMap<Date, usize>> = BTreeMap::new();
    for (position, stretch) in stretches.iter().enumerate() {
        if let (Edge::At(from), Edge::At(to)) = (stretch.from, stretch.to) {
            let days = days_between(from.date(), to.date());
            let span = Span { from: from.time(), days, to: to.time() };
            if (0..=MAX_SPAN).contains(&days) {
                all.entry(span).or_default().insert(from.date(), position);
            }
        }
    }
    for (position, stretch) in stretches.iter().enumerate() {
        let date = |span: &Span| match (stretch.from, stretch.to) {
            (Edge::Open, Edge::At(to)) if span.to == to.time() => plus(to.date(), -span.days)
                .filter(|date| span.on(*date).is_some_and(|(from, _)| from <= period.0)),
            (Edge::At(from), Edge::Open) if span.from == from.time() => {
                Some(from.date()).filter(|it| span.on(*it).is_some_and(|(_, to)| to >= period.1))
            }
            _ => None,
        };
        let fitting = all.iter().filter_map(|(span, dates)| Some((*span, date(span)?, dates)));
        let free = fitting.filter(|(_, date, dates)| !dates.contains_key(date));
        // Of several fitting spans, prefers one that occurs on that day of the week.
        let likely = |date: Date, dates: &BTreeMap<Date, usize>| {
            let same_weekday = dates.keys().filter(|it| it.weekday() == date.weekday()).count();
            (same_weekday, dates.len())
        };
        let best = free.max_by_key(|(_, date, dates)| likely(*date, dates));
        if let Some((span, date, _)) = best {
            all.entry(span).or_default().insert(date, position);
        }
    }
    all
}

/// The recurrences among the occurrences of one span.
fn recurrences_of_span(
    span: Span,
    dates: &BTreeMap<Date, usize>,
    period: CivilPeriod,
) -> Vec<OfSpan> {
    let days: Vec<Date> = dates.keys().copied().collect();
    let all = if let Some(monthly) = monthly_recurrence(span, &days, period) {
        vec![(monthly, days)]
    } else {
        let is_near = |one: &Date, other: &Date| days_between(*one, *other) <= MAX_GAP;
        days.chunk_by(is_near).flat_map(|run| weekly_recurrences(span, run, period)).collect()
    };
    let positions = |days: Vec<Date>| days.iter().filter_map(|it| dates.get(it).copied()).collect();
    all.into_iter().map(|(recurrence, days)| (recurrence, positions(days))).collect()
}

/// The same day of at least three months that follow each other.
fn monthly_recurrence(span: Span, dates: &[Date], period: CivilPeriod) -> Option<Recurrence> {
    let first = dates.first().filter(|_| dates.len() > 2)?;
    if !dates.iter().all(|date| date.day() == first.day()) {
        return None;
    }
    let days = Days::OfMonth(first.day());
    let recurrence = bounded(days, span, dates, period);
    recurrence.except.is_empty().then_some(recurrence)
}

/// The weekly recurrences, with few exceptions, among dates that are near each other.
fn weekly_recurrences(
    span: Span,
    dates: &[Date],
    period: CivilPeriod,
) -> Vec<(Recurrence, Vec<Date>)> {
    let together = recurring(span, dates, period);
    if dates.len() > 2 && together.0.except.len() * 6 <= dates.len() {
        return vec![together];
    }
    let mut by_bounds: BTreeMap<(bool, bool), Vec<Vec<Date>>> = BTreeMap::new();
    for weekday in 0..7 {
        let of_day: Vec<Date> = dates.iter().copied().filter(|it| number(*it) == weekday).collect();
        let (Some(first), Some(last)) = (of_day.first(), of_day.last()) else { continue };
        let bounds = (!shows(span, *first, -7, period), !shows(span, *last, 7, period));
        let weeks = days_between(*first, *last) / 7 + 1;
        let missing = usize::try_from(weeks).unwrap_or(usize::MAX) - of_day.len();
        let is_every_week = of_day.len() > 1 || bounds == (true, true);
        if is_every_week && missing * 3 <= of_day.len() {
            by_bounds.entry(bounds).or_default().push(of_day);
        }
    }
    let mut found = Vec::new();
    for weekdays in by_bounds.into_values() {
        let together = recurring(span, &weekdays.concat(), period);
        if together.0.except.len() * 3 <= together.1.len() {
            found.push(together);
        } else {
            found.extend(weekdays.iter().map(|it| recurring(span, it, period)));
        }
    }
    // A single occurrence is not a recurrence.
    found.retain(|(_, dates)| dates.len() > 1);
    found
}

fn recurring(span: Span, dates: &[Date], period: CivilPeriod) -> (Recurrence, Vec<Date>) {
    let mut dates = dates.to_vec();
    dates.sort_unstable();
    let mut weekdays = [false; 7];
    for date in &dates {
        weekdays[number(*date)] = true;
    }
    (bounded(Days::OfWeek(weekdays), span, &dates, period), dates)
}

/// The recurrence on these days that has exactly these dates.
fn bounded(days: Days, span: Span, dates: &[Date], period: CivilPeriod) -> Recurrence {
    let none =
        || Recurrence { days, spans: vec![span], since: None, until: None, except: Vec::new() };
    let (Some(first), Some(last)) = (dates.first(), dates.last()) else { return none() };
    let all = none().dates(span, period);
    // A few missing dates at an end are exceptions, too.
    let is_end = |missing: usize| missing * 8 > dates.len();
    let since = is_end(all.iter().filter(|it| *it < first).count()).then_some(*first);
    let until = is_end(all.iter().filter(|it| *it > last).count()).then_some(*last);
    let known: BTreeSet<&Date> = dates.iter().collect();
    let is_within = |it: &&Date| {
        since.is_none_or(|since| **it >= since) && until.is_none_or(|until| **it <= until)
    };
    let missing = all.iter().filter(is_within).filter(|it| !known.contains(it));
    let except = missing.copied().collect();
    Recurrence { since, until, except, ..none() }
}

impl Recurrence {
    /// The start days of the occurrences of a span that overlap the period.
    fn dates(&self, span: Span, period: CivilPeriod) -> Vec<Date> {
        let first = plus(period.0.date(), -span.days - 1).unwrap_or(Date::MIN);
        let last = period.1.date();
        let days = first.series(1.day()).take_while(|date| *date <= last);
        let is_in = |date: &Date| {
            self.days.contain(*date)
                && self.since.is_none_or(|since| *date >= since)
                && self.until.is_none_or(|until| *date <= until)
                && !self.except.contains(date)
                && shows(span, *date, 0, period)
        };
        days.filter(is_in).collect()
    }

    /// The start and the end of every occurrence that overlaps the period, as if the period did not cut it off.
    #[must_use]
    pub fn occurrences(&self, period: (DateTime, DateTime)) -> Vec<(DateTime, DateTime)> {
        let of_span = |span: &Span| {
            let dates = self.dates(*span, period).into_iter();
            dates.filter_map(|date| span.on(date)).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = self.spans.iter().flat_map(of_span).collect();
        all.sort_unstable();
        all
    }
}

impl Days {
    fn contain(self, date: Date) -> bool {
        match self {
            Days::OfWeek(weekdays) => weekdays[number(date)],
            Days::OfMonth(day) => date.day() == day,
        }
    }
}

impl Span {
    /// The civil times of the start and the end of an occurrence that starts on this day.
    fn on(self, date: Date) -> Option<(DateTime, DateTime)> {
        Some((date.to_datetime(self.from), plus(date, self.days)?.to_datetime(self.to)))
    }
}

/// Whether a span that starts `later` days after a date overlaps a period.
fn shows(span: Span, date: Date, later: i32, period: CivilPeriod) -> bool {
    let occurrence = plus(date, later).and_then(|date| span.on(date));
    occurrence.is_some_and(|(from, to)| from < period.1 && to > period.0)
}

fn plus(date: Date, days: i32) -> Option<Date> {
    date.checked_add(days.days()).ok()
}

fn days_between(one: Date, other: Date) -> i32 {
    let since = other.since((jiff::Unit::Day, one));
    since.map_or(i32::MAX, |span| span.get_days())
}

/// Days of the week, from Monday on.
fn number(date: Date) -> usize {
    usize::from(date.weekday().to_monday_zero_offset().unsigned_abs())
}

#[cfg(test)]
mod tests;
