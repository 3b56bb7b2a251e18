//! The days that must be run to show everything that a run of the whole period would show. A day with the same
//! rules as an earlier one, and the same state before it, shows nothing new.
//!
//! The state that rules leave behind depends on the order in which they last fired, and on the clock differences
//! between their time zones. So a day is identified by that order, by the differences, and by the rules
//! of that day and of the day before.
//! The calendar alone determines all of them.

use std::collections::BTreeSet;

use almanac_engine::RuleSchedule;
use jiff::civil::{Date, Time};
use jiff::{SignedDuration, Timestamp};

use crate::Period;

/// The maximum number of rules with different days; with more, every day is run.
const MAX_RULES: usize = 128;

/// The days before a day that run again, so that the state before it is known.
const LEAD: i64 = 8;

/// After this many days, weekly repetition has shown everything: after the lead and a week, each last occurrence is
/// one week after the previous one.
const WEEKS: i64 = LEAD + 16;

/// The stretches of a period that must be run, in order. Stretches neither touch nor overlap. If several policies
/// interact, the earlier state matters as well. That state is unknown for the first days.
pub(crate) fn days_to_run(
    rules: &[&RuleSchedule],
    are_of_several: bool,
    period: Period,
) -> Vec<Period> {
    let different = on_different_days(rules, period);
    let rules = different.as_slice();
    if rules.is_empty() || rules.len() > MAX_RULES {
        return vec![period];
    }
    let Some(mut days) = Days::new(rules, are_of_several, period) else { return vec![period] };
    let mut stretches: Vec<Period> = Vec::new();
    while let Some(day) = days.next_to_run() {
        let Some(stretch) = days.stretch(day) else { continue };
        match stretches.last_mut() {
            Some(last) if stretch.from() <= last.to() => {
                *last = Period::new(last.from(), last.to().max(stretch.to())).unwrap_or(*last);
            }
            _ => stretches.push(stretch),
        }
    }
    stretches
}

/// One rule of each group that occurs on the same days of the same clock, and last occurred on the same day before
/// the period. Nothing else distinguishes days. If more rules exist than can be distinguished, returns only some.
fn on_different_days<'r>(rules: &[&'r RuleSchedule], period: Period) -> Vec<&'r RuleSchedule> {
    let clocks = clocks(rules, period);
    let dates = |at: Timestamp| clocks.iter().map(move |it| it.zone().civil(at).date());
    let first = dates(period.from()).min();
    let (Some(first), Some(last)) = (first, dates(period.to()).max()) else { return Vec::new() };
    let next = |month: &Date| month.checked_add(jiff::Span::new().months(1)).ok();
    let months = std::iter::successors(Some(first.first_of_month()), next);
    let months: Vec<Date> = months.take_while(|month| *month <= last).collect();
    let mut known: BTreeSet<(Option<usize>, RuleState, Vec<[u32; 2]>)> = BTreeSet::new();
    let mut different = Vec::new();
    for rule in rules {
        if different.len() > MAX_RULES {
            break;
        }
        let days = months.iter().map(|it| rule.days_of_month(it.year(), it.month())).collect();
        let did = before(rule, first, period);
        if known.insert((clock_of(rule, &clocks, period), did, days)) {
            different.push(*rule);
        }
    }
    different
}

/// Rules with clocks of their own. Clocks that are equal throughout the period count once.
pub(crate) fn clocks<'r>(rules: &[&'r RuleSchedule], period: Period) -> Vec<&'r RuleSchedule> {
    let mut clocks: Vec<&RuleSchedule> = Vec::new();
    for rule in rules {
        if clock_of(rule, &clocks, period).is_none() {
            clocks.push(rule);
        }
    }
    clocks
}

/// The index of the clock that a rule follows.
pub(crate) fn clock_of(
    rule: &RuleSchedule,
    clocks: &[&RuleSchedule],
    period: Period,
) -> Option<usize> {
    let shows_the_same =
        |it: &&RuleSchedule| it.zone().shows_the_same(rule.zone(), period.from(), period.to());
    clocks.iter().position(shows_the_same)
}

/// The days of a period in order, counted from the first.
struct Days<'r> {
    rules: &'r [&'r RuleSchedule],
    clocks: Vec<&'r RuleSchedule>,
    period: Period,
    first: Date,
    last: i64,
    /// The differences of the clocks in seconds, each with its first day, in order.
    differences: Vec<(i64, Vec<i32>)>,
    repeats_weekly: bool,
    are_of_several: bool,
    next: Day,
    /// The state of each rule before the day.
    before: Vec<RuleState>,
    /// The rules of the day before, as bits: those that fired or opened, and those that closed.
    came: [u128; 2],
    seen: BTreeSet<Vec<i64>>,
}

/// A day of the calendar, with the data that all days of its month share.
struct Day {
    number: i64,
    date: Date,
    /// The days of its month on which each rule fires or is open.
    month: Vec<[u32; 2]>,
}

/// The state of a rule before a day.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RuleState {
    /// The day of its last firing.
    Fired(i64),
    /// The state of the window, and its changes on the last day with a change.
    Window(i64),
}

impl<'r> Days<'r> {
    fn new(
        rules: &'r [&'r RuleSchedule],
        are_of_several: bool,
        period: Period,
    ) -> Option<Days<'r>> {
        let clocks = clocks(rules, period);
        let date = |rule: &&RuleSchedule, at| rule.zone().civil(at).date();
        let first = clocks.iter().map(|it| date(it, period.from())).min()?;
        let end = clocks.iter().map(|it| date(it, period.to())).max()?;
        let number = |date: Date| days_between(first, date);
        let before = rules.iter().map(|rule| before(rule, first, period)).collect();
        let next = Day { number: 0, date: first, month: month_of(rules, first) };
        Some(Days {
            rules,
            period,
            first,
            last: number(end),
            differences: differences(&clocks, period, first),
            are_of_several: are_of_several || clocks.len() > 1,
            clocks,
            repeats_weekly: rules.iter().all(|it| it.repeats_weekly()),
            next,
            before,
            came: [0; 2],
            seen: BTreeSet::new(),
        })
    }

    /// The next day that shows something new, with the first day that must be run for it.
    fn next_to_run(&mut self) -> Option<(i64, i64)> {
        while self.next.number <= self.last {
            let day = self.next.number;
            let comes = self.next.rule_bits();
            // The first day may have started already, so other days cannot be compared with it.
            let is_known = day >= if self.are_of_several { LEAD } else { 1 };
            let is_new =
                if is_known { self.is_new(day, comes) } else { day == 0 || comes != [0; 2] };
            let lead = self.lead(day);
            self.record(day, comes);
            self.advance()?;
            if is_new {
                return Some((lead, day));
            }
        }
        None
    }

    fn is_new(&mut self, day: i64, comes: [u128; 2]) -> bool {
        if comes == [0; 2] {
            return false;
        }
        let difference = |day| {
            let of_day = self.differences.iter().rposition(|(since, _)| *since <= day);
            of_day.map_or(0, |it| self.same_difference(it))
        };
        let mut key = Vec::with_capacity(10 + self.rules.len());
        for bits in [comes, self.came].as_flattened() {
            key.extend(
                bits.to_le_bytes().as_chunks::<8>().0.iter().map(|it| i64::from_le_bytes(*it)),
            );
        }
        key.extend([difference(day - 1), difference(day)]);
        for before in &self.before {
            key.push(match before {
                // The interaction of several policies also depends on how long ago their rules fired.
                RuleState::Fired(last) if self.are_of_several && *last >= day - LEAD => *last - day,
                RuleState::Fired(last) => {
                    let is_later =
                        |it: &&RuleState| matches!(it, RuleState::Fired(other) if other > last);
                    i64::try_from(self.before.iter().filter(is_later).count()).unwrap_or(i64::MAX)
                }
                RuleState::Window(state) => *state,
            });
        }
        self.seen.insert(key)
    }

    /// The index of the first difference that equals the difference at an index.
    fn same_difference(&self, position: usize) -> i64 {
        let seconds_at =
            |position: usize| self.differences.get(position).map(|(_, seconds)| seconds);
        let same =
            (0..position).find(|it| seconds_at(*it) == seconds_at(position)).unwrap_or(position);
        i64::try_from(same).unwrap_or(i64::MAX)
    }

    /// The first day that must be run to know the state on a day. A change on that day may also end an earlier
    /// interaction of several policies.
    fn lead(&self, day: i64) -> i64 {
        if self.are_of_several {
            return day - LEAD;
        }
        let fired = self.before.iter().filter_map(|before| match before {
            RuleState::Fired(last) => Some(*last),
            RuleState::Window(_) => None,
        });
        fired.filter(|last| *last >= day - LEAD).min().unwrap_or(day).min(day - 1)
    }

    fn record(&mut self, day: i64, comes: [u128; 2]) {
        for (rule, before) in self.before.iter_mut().enumerate() {
            let does = comes.map(|bits| bits >> rule & 1 == 1);
            match (before, does) {
                (_, [false, false]) => {}
                (RuleState::Fired(last), _) => *last = day,
                (RuleState::Window(state), [opens, closes]) => {
                    *state = 1 + i64::from(opens) + 2 * i64::from(closes);
                }
            }
        }
        self.came = comes;
    }

    /// Goes to the next day; where all weeks are the same, to the next day with a change.
    fn advance(&mut self) -> Option<()> {
        let number = self.next.number + 1;
        let changes = || self.differences.iter().map(|(since, _)| *since);
        let latest = changes().filter(|since| *since <= number).max().unwrap_or(0).max(0);
        if self.repeats_weekly && number > latest + WEEKS {
            let Some(next) = changes().filter(|since| *since > number).min() else {
                self.next.number = self.last + 1;
                return Some(());
            };
            if next - 7 > number {
                return self.skip_to(next - 1 - (next - 1 - number) % 7);
            }
        }
        let date = self.next.date.tomorrow().ok()?;
        let is_same_month = date.month() == self.next.date.month();
        self.next.number = number;
        self.next.date = date;
        if !is_same_month {
            self.next.month = month_of(self.rules, date);
        }
        Some(())
    }

    /// Skips whole weeks that equal the previous week.
    fn skip_to(&mut self, number: i64) -> Option<()> {
        let skipped = number - (self.next.number + 1);
        for before in &mut self.before {
            if let RuleState::Fired(last) = before {
                *last = last.saturating_add(skipped);
            }
        }
        let date = self.first.checked_add(jiff::Span::new().days(number)).ok()?;
        self.next = Day { number, date, month: month_of(self.rules, date) };
        Some(())
    }

    /// The first and the last instant of days, on all clocks.
    fn stretch(&self, (first, last): (i64, i64)) -> Option<Period> {
        let midnights = |number: i64| {
            let date = self.first.saturating_add(jiff::Span::new().days(number));
            let time = date.to_datetime(Time::midnight());
            self.clocks.iter().filter_map(move |it| it.zone().resolve(time))
        };
        let from = if last == 0 { None } else { midnights(first).min() };
        let from = from.unwrap_or(self.period.from()).max(self.period.from());
        let to = midnights(last + 1).max().unwrap_or(self.period.to()).min(self.period.to());
        Period::new(from, to)
    }
}

impl Day {
    /// The rules of the day, as bits: those that fire or open, and those that close.
    fn rule_bits(&self) -> [u128; 2] {
        let mut bits_of_day = [0; 2];
        for (rule, days) in self.month.iter().enumerate() {
            for (bits, days) in bits_of_day.iter_mut().zip(days) {
                *bits |= u128::from(days >> self.date.day() & 1) << rule;
            }
        }
        bits_of_day
    }
}

/// The state of a rule before a period, by days from the first.
fn before(rule: &RuleSchedule, first: Date, period: Period) -> RuleState {
    if rule.has_windows() {
        return RuleState::Window(i64::from(rule.is_open(period.from())));
    }
    let last = rule.last(period.from()).map(|at| rule.zone().civil(at).date());
    RuleState::Fired(last.map_or(i64::MIN, |date| days_between(first, date)))
}

fn month_of(rules: &[&RuleSchedule], date: Date) -> Vec<[u32; 2]> {
    rules.iter().map(|it| it.days_of_month(date.year(), date.month())).collect()
}

/// The lead of each clock over the first clock in seconds, at every change.
fn differences(clocks: &[&RuleSchedule], period: Period, first: Date) -> Vec<(i64, Vec<i32>)> {
    if clocks.len() < 2 {
        return Vec::new();
    }
    let changes = clocks.iter().flat_map(|it| it.zone().changes(period.from(), period.to()));
    let mut changes: BTreeSet<Timestamp> = changes.map(|it| it.at).collect();
    changes.insert(period.from());
    let difference = |at: Timestamp| {
        let offset = |it: &&RuleSchedule| it.zone().offset(at).seconds();
        let base = clocks.first().map_or(0, offset);
        clocks.iter().map(|it| offset(it) - base).collect()
    };
    // A change is on one day for one clock, and perhaps on the next day for another clock.
    let day = |at: Timestamp| {
        let dates = clocks.iter().map(|it| it.zone().civil(at).date());
        dates.min().map_or(0, |date| days_between(first, date))
    };
    changes.into_iter().map(|at| (day(at), difference(at))).collect()
}

fn days_between(first: Date, date: Date) -> i64 {
    let hours = date.duration_since(first).as_hours();
    hours / SignedDuration::from_hours(24).as_hours()
}

#[cfg(test)]
mod tests {
    use almanac_engine::Schedule;
    use almanac_fixtures::{at, names, rules};

    use super::*;

    fn schedules(times: impl Iterator<Item = (u32, u32)>) -> Vec<RuleSchedule> {
        let of_time = |(minute, hour): (u32, u32)| {
            ["* * *", "* * 1-5", "1 * *", "27 11 *"].map(|days| {
                let cron = format!("{minute} {hour} {days}");
                let rule = rules::rule("r", &cron, 1).checked(0, &names::workload("shop"));
                RuleSchedule {
                    rule: "r".into(),
                    position: 0,
                    is_off: false,
                    schedule: Schedule::Firings(rule.firings),
                    ranked: None,
                    requested_value: None,
                    sets: Vec::new(),
                }
            })
        };
        times.flat_map(of_time).collect()
    }

    #[test]
    fn rules_of_the_same_days_count_as_one() {
        let period = Period::new(at("2026-11-23T00:00:00Z"), at("2028-11-23T00:00:00Z")).unwrap();
        let run = |times: &mut dyn Iterator<Item = (u32, u32)>| {
            let all = schedules(times);
            days_to_run(&all.iter().collect::<Vec<_>>(), true, period)
        };
        let few = run(&mut [(0_u32, 8_u32), (0, 20)].into_iter());
        let many = run(&mut (0..60_u32).map(|minute| (minute, 8 + minute / 5)));
        assert_eq!(few, many);
        assert!(many.len() > 1, "not all days are run");
    }
}
