//! The nearest event before or after an instant, however many years away.
//!
//! Walking decades minute by minute would take too long. So these functions first search the civil calendar for
//! candidate days, and walk only around those days.

use crate::line::{DAY, Line};
use crate::moments::{Day, Moments};
use crate::schedule::Rule;
use crate::walk::{Flip, Observation, is_open, observe};

/// The length of the search, in years, beyond every named year. The rarest event recurs within 40 years, and a window
/// may wait for a rare start and then for a rare end.
const REACH: i64 = 100;

/// The first firing after an instant.
#[must_use]
pub fn firing_after(line: &Line, rule: &Rule, at: i64) -> Option<i64> {
    let moments = fired_by(rule)?;
    let first = at.div_euclid(DAY) - 2;
    let last = last_day(first, &[moments]);
    (first..=last)
        .filter(|&day| moments.has_day(Day::numbered(day)))
        .find_map(|day| firings_around(line, rule, day).into_iter().find(|&firing| firing > at))
}

/// The last firing at or before an instant.
#[must_use]
pub fn firing_up_to(line: &Line, rule: &Rule, at: i64) -> Option<i64> {
    let moments = fired_by(rule)?;
    let last = at.div_euclid(DAY) + 2;
    let first = first_day(last, &[moments]);
    (first..=last)
        .rev()
        .filter(|&day| moments.has_day(Day::numbered(day)))
        .find_map(|day| firings_around(line, rule, day).into_iter().rfind(|&firing| firing <= at))
}

/// A window's first change of state after an instant.
#[must_use]
pub fn transition_after(line: &Line, rule: &Rule, at: i64) -> Option<Flip> {
    let Rule::Between(start, end) = rule else {
        return None;
    };
    let first = at.div_euclid(DAY) - 2;
    let last = last_day(first, &[start, end]);
    flip_days(start, end, first, last)
        .into_iter()
        .find_map(|day| flips_around(line, rule, day).into_iter().find(|flip| flip.at > at))
}

/// A window's last change of state at or before an instant.
#[must_use]
pub fn transition_up_to(line: &Line, rule: &Rule, at: i64) -> Option<Flip> {
    let Rule::Between(start, end) = rule else {
        return None;
    };
    let last = at.div_euclid(DAY) + 2;
    let first = first_day(last, &[start, end]);
    flip_days(start, end, first, last)
        .into_iter()
        .rev()
        .find_map(|day| flips_around(line, rule, day).into_iter().rfind(|flip| flip.at <= at))
}

fn fired_by(rule: &Rule) -> Option<&Moments> {
    match rule {
        Rule::Reached(moments) | Rule::Shown(moments) => Some(moments),
        Rule::Between(..) => None,
    }
}

fn named_years<'a>(sets: &'a [&Moments]) -> impl Iterator<Item = i64> + 'a {
    sets.iter().filter_map(|set| set.years.as_ref()).flatten().copied()
}

fn last_day(from: i64, sets: &[&Moments]) -> i64 {
    let year = named_years(sets).chain([Day::numbered(from).year]).max().unwrap_or(0);
    (crate::line::year_start(year + REACH) / DAY).max(from)
}

fn first_day(to: i64, sets: &[&Moments]) -> i64 {
    let year = named_years(sets).chain([Day::numbered(to).year]).min().unwrap_or(0);
    (crate::line::year_start(year - REACH) / DAY).min(to)
}

/// The days on which a window that followed the civil calendar alone would change its state.
///
/// A clock change can join events of neighboring days into one instant, so that a flip is never seen, but it cannot
/// make a flip out of nothing.
fn flip_days(start: &Moments, end: &Moments, first: i64, last: i64) -> Vec<i64> {
    let midnight = first * DAY;
    let mut last_start = start.latest_up_to(midnight - 1);
    let mut last_end = end.latest_up_to(midnight - 1);
    let (start_times, end_times) = (start.times_of_day(), end.times_of_day());
    let mut times: Vec<_> = start_times.iter().chain(&end_times).copied().collect();
    times.sort_unstable();

    let mut days = Vec::new();
    for number in first..=last {
        let day = Day::numbered(number);
        let (starts, ends) = (start.has_day(day), end.has_day(day));
        if !starts && !ends {
            continue;
        }
        let mut flips = false;
        for &time in &times {
            let was_open = is_open(last_start, last_end);
            let civil = number * DAY + time;
            if starts && start.has_time(time) {
                last_start = Some(civil);
            }
            if ends && end.has_time(time) {
                last_end = Some(civil);
            }
            flips |= is_open(last_start, last_end) != was_open;
        }
        if flips {
            days.push(number);
        }
    }
    days
}

/// All results that one civil day and its neighbors can have.
fn around(line: &Line, rule: &Rule, day: i64) -> Option<Observation> {
    observe(line, (day - 2) * DAY, (day + 3) * DAY, &[rule]).pop()
}

fn firings_around(line: &Line, rule: &Rule, day: i64) -> Vec<i64> {
    match around(line, rule, day) {
        Some(Observation::Firings(firings)) => firings,
        _ => Vec::new(),
    }
}

fn flips_around(line: &Line, rule: &Rule, day: i64) -> Vec<Flip> {
    match around(line, rule, day) {
        Some(Observation::Window { flips, .. }) => flips,
        _ => Vec::new(),
    }
}
