//! Dates in English.

use super::lists::{and, members, ordinal, run};
use crate::names::{MONTHS, WEEKDAYS, capitalised};
use crate::recurrence::{DateSet, DayRule};

/// ` on 1 January`, `, Monday to Friday`, ` every day from June to August` and the like, with what
/// separates it from the time before it; `None` for every day there is.
pub(super) fn date_phrase(dates: &DateSet) -> Option<String> {
    let everything = DateSet::EVERY_DAY;
    let days = (dates.days != everything.days).then(|| members(u64::from(dates.days)));
    let weekdays =
        (dates.weekdays != everything.weekdays).then(|| week_from_monday(dates.weekdays));
    let months = (dates.months != everything.months).then(|| members(u64::from(dates.months)));
    let years = dates
        .years
        .as_deref()
        .map(|years| and(&years.iter().map(i16::to_string).collect::<Vec<_>>()));
    let months = months.as_deref();
    let phrase = match (days, weekdays, months) {
        (None, None, None) => return years.map(|years| format!(" every day of {years}")),
        (None, None, Some(months)) => format!(" every day{}", in_months(months)),
        (None, Some(weekdays), None) => weekday_phrase(&weekdays),
        (None, Some(weekdays), Some(months)) => weekday_phrase(&weekdays) + &in_months(months),
        (Some(days), None, months) => days_of_months(&days, months),
        (Some(days), Some(weekdays), months) => both(&days, &weekdays, dates.rule, months),
    };
    Some(match years {
        None => phrase,
        Some(years) if phrase.ends_with("every month") => format!("{phrase} of {years}"),
        Some(years) => format!("{phrase} {years}"),
    })
}

/// Days and weekdays together.
fn both(days: &[u8], weekdays: &[u8], rule: DayRule, months: Option<&[u8]>) -> String {
    match rule {
        DayRule::Either => {
            let names = and(&weekdays.iter().map(|it| weekday_name(*it)).collect::<Vec<_>>());
            match months {
                None => format!(" on {} of every month and on every {names}", day_list(days)),
                Some(months) => {
                    format!(" on {} and on every {names},{}", day_list(days), in_months(months))
                }
            }
        }
        DayRule::Both => {
            let names: Vec<String> = weekdays.iter().map(|it| weekday_name(*it)).collect();
            let of = months.map_or("every month".to_owned(), month_names);
            format!(" on {} of {of} where it is a {}", day_list(days), names.join(" or "))
        }
    }
}

fn days_of_months(days: &[u8], months: Option<&[u8]>) -> String {
    match (days, months) {
        (days, None) => format!(" on {} of every month", day_list(days)),
        (&[day], Some(&[month])) => format!(" on {day} {}", month_name(month)),
        (days, Some(months)) => format!(" on {} of {}", day_list(days), month_names(months)),
    }
}

/// `the 1st and 15th`, `the 1st to 7th`.
fn day_list(days: &[u8]) -> String {
    match run(days) {
        Some((first, last)) => format!("the {} to {}", ordinal(first), ordinal(last)),
        None => format!("the {}", and(&days.iter().map(|it| ordinal(*it)).collect::<Vec<_>>())),
    }
}

fn weekday_phrase(weekdays: &[u8]) -> String {
    let names = || weekdays.iter().map(|it| weekday_name(*it)).collect::<Vec<_>>();
    match (run(weekdays), weekdays) {
        (Some((first, last)), _) => format!(", {} to {}", weekday_name(first), weekday_name(last)),
        (None, [day]) => format!(" every {}", weekday_name(*day)),
        (None, _) => format!(" on {}", and(&names())),
    }
}

/// ` in December`, ` from June to August`.
fn in_months(months: &[u8]) -> String {
    match month_phrase(months) {
        Some(run) => format!(" {run}"),
        None => format!(" in {}", month_names(months)),
    }
}

/// `from June to August`.
fn month_phrase(months: &[u8]) -> Option<String> {
    let (first, last) = run(months)?;
    Some(format!("from {} to {}", month_name(first), month_name(last)))
}

fn month_names(months: &[u8]) -> String {
    and(&months.iter().map(|it| month_name(*it)).collect::<Vec<_>>())
}

/// The weekdays in the order of a working week: 1 for Monday to 7 for Sunday.
fn week_from_monday(weekdays: u8) -> Vec<u8> {
    (1..=7).filter(|day| weekdays >> (day % 7) & 1 == 1).collect()
}

fn weekday_name(day: u8) -> String {
    capitalised(WEEKDAYS[usize::from(day % 7)])
}

fn month_name(month: u8) -> String {
    capitalised(MONTHS[usize::from(month.clamp(1, 12)) - 1])
}
