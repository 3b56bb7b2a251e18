//! Dates in English.

use super::lists::{joined, listed, members, ordinal, run, step};
use crate::names::{MONTHS, WEEKDAYS, capitalized};
use crate::recurrence::{DateSet, DayRule};

/// Up to this many days of the month are listed; more are described as every second or third.
const MAX_LISTED: usize = 4;

/// ` on 1 January`, `, Monday to Friday`, ` every day from June to August` and the like, with what
/// separates it from the time before it. After a rhythm, which includes "every" already, it is shorter.
pub(super) fn date_phrase(dates: &DateSet, after_rhythm: bool) -> String {
    let everything = DateSet::EVERY_DAY;
    let days = (dates.days != everything.days).then(|| members(u64::from(dates.days)));
    let weekdays =
        (dates.weekdays != everything.weekdays).then(|| week_from_monday(dates.weekdays));
    let period = Period {
        months: (dates.months != everything.months).then(|| members(u64::from(dates.months))),
        years: dates.years.as_deref(),
    };
    match (days, weekdays) {
        (None, None) if after_rhythm => period.within(),
        (None, None) => format!(" every day{}", period.within()),
        (None, Some(weekdays)) => weekday_phrase(&weekdays, after_rhythm) + &period.within(),
        (Some(days), None) => match (days.as_slice(), period.months.as_deref()) {
            (&[day], Some(&[_])) => format!(" on {day} {}", period.phrase()),
            (days, _) => {
                format!(" on {} of {}{}", day_list(days), period.phrase(), period.lacking(days))
            }
        },
        (Some(days), Some(weekdays)) => match dates.rule {
            DayRule::Either => either(&days, &weekdays, &period),
            DayRule::Both => both(&days, &weekdays, &period),
        },
    }
}

/// The months and years of dates.
struct Period<'a> {
    months: Option<Vec<u8>>,
    years: Option<&'a [i16]>,
}

impl Period<'_> {
    /// ` in December`, ` from June to August 2026`, ` in 2026`; empty when unrestricted.
    fn within(&self) -> String {
        let months = self.months.as_deref().map(|months| match run(months) {
            Some((first, last)) => format!(" from {} to {}", month_name(first), month_name(last)),
            None => format!(" in {}", listed(months, month_name)),
        });
        months.unwrap_or_default() + &self.in_years()
    }

    /// `every month`, `January and July`, `November 2026`, `each month from June to August`.
    fn phrase(&self) -> String {
        let months = match self.months.as_deref() {
            None => "every month".to_owned(),
            Some(months) if run(months).is_some() => return format!("each month{}", self.within()),
            Some(months) => listed(months, month_name),
        };
        months + &self.in_years()
    }

    /// Points out that not every month has these days, where that is easy to overlook: ` that has
    /// one`.
    fn lacking(&self, days: &[u8]) -> String {
        const LENGTHS: [u8; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let length = |month: &u8| LENGTHS[usize::from((*month).clamp(1, 12)) - 1];
        let shortest = match self.months.as_deref() {
            None => 28,
            Some(months) => months.iter().map(length).min().unwrap_or(31),
        };
        match days.iter().filter(|day| **day > shortest).collect::<Vec<_>>().as_slice() {
            [] => String::new(),
            [_] if days.len() == 1 => " that has one".to_owned(),
            long if days.len() == long.len() => " that has them".to_owned(),
            [day] => format!(", where there is a {}", ordinal(**day)),
            _ => String::new(),
        }
    }

    /// ` 2026` after the name of a month, else ` in 2026`, ` in 2026 and 2027`.
    fn in_years(&self) -> String {
        match (self.years, &self.months) {
            (None, _) => String::new(),
            (Some([year]), Some(_)) => format!(" {year}"),
            (Some(years), _) => format!(" in {}", listed(years, |year| year.to_string())),
        }
    }
}

/// Days of the month or weekdays: one of them is enough.
fn either(days: &[u8], weekdays: &[u8], period: &Period<'_>) -> String {
    let weekdays = match run(weekdays) {
        Some((first, last)) => format!("from {} to {}", weekday_name(first), weekday_name(last)),
        None => format!("on every {}", listed(weekdays, weekday_name)),
    };
    if period.months.is_none() {
        let lacking = period.lacking(days);
        format!(" on {} of {}{lacking} and {weekdays}", day_list(days), period.phrase())
    } else {
        format!(" on {} and {weekdays},{}", day_list(days), period.within())
    }
}

/// Days of the month that are also one of the weekdays.
fn both(days: &[u8], weekdays: &[u8], period: &Period<'_>) -> String {
    let names: Vec<String> = weekdays.iter().map(|it| weekday_name(*it)).collect();
    format!(" on {} of {} where it is a {}", day_list(days), period.phrase(), joined(&names, "or"))
}

/// `the 1st and 15th`, `the 1st to 7th`, `every 2nd day from the 1st to the 31st`.
fn day_list(days: &[u8]) -> String {
    match (step(days), days) {
        (Some(step @ 2..), [first, .., last]) if days.len() > MAX_LISTED => {
            let (step, first, last) = (ordinal(step), ordinal(*first), ordinal(*last));
            format!("every {step} day from the {first} to the {last}")
        }
        _ => format!("the {}", listed(days, ordinal)),
    }
}

fn weekday_phrase(weekdays: &[u8], after_rhythm: bool) -> String {
    match (run(weekdays), weekdays) {
        (Some((first, last)), _) => format!(", {} to {}", weekday_name(first), weekday_name(last)),
        (None, [day]) => {
            let comma = if after_rhythm { "," } else { "" };
            format!("{comma} every {}", weekday_name(*day))
        }
        (None, _) => format!(" on {}", listed(weekdays, weekday_name)),
    }
}

/// The weekdays in the order of a working week: 1 for Monday to 7 for Sunday.
fn week_from_monday(weekdays: u8) -> Vec<u8> {
    (1..=7).filter(|day| weekdays >> (day % 7) & 1 == 1).collect()
}

fn weekday_name(day: u8) -> String {
    capitalized(WEEKDAYS[usize::from(day % 7)])
}

fn month_name(month: u8) -> String {
    capitalized(MONTHS[usize::from(month.clamp(1, 12)) - 1])
}
