//! A plain parser of daily windows and patterns: tests whether each value of a field is in the list.

use crate::cron::time_of_day;
use crate::line::{DAY, MINUTE};
use crate::moments::Moments;
use crate::schedule::PatternTexts;

pub(crate) const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
pub(crate) const WEEKDAYS: [&str; 7] =
    ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/// Every day at one time. `24:00` is the next day's first minute, so it equals `00:00` of every day.
pub(crate) fn daily(text: &str) -> Option<Moments> {
    let time = time_of_day(text)? % DAY;
    Some(Moments {
        times: (0..1440).map(|minute| minute * MINUTE == time).collect(),
        days: vec![true; 32],
        months: vec![true; 13],
        weekdays: vec![true; 7],
        years: None,
        either_day: false,
    })
}

/// The minutes in a pattern.
pub(crate) fn pattern(texts: &PatternTexts) -> Moments {
    let minutes = texts.minutes.as_deref().unwrap_or("0");
    let hours = texts.hours.as_deref().unwrap_or("0");
    let days = texts.days.as_deref();
    let months = texts.months.as_deref();
    let weekdays = texts.weekdays.as_deref();
    Moments {
        times: (0..1440).map(|time| lists(minutes, time % 60) && lists(hours, time / 60)).collect(),
        days: (0..32).map(|day| days.is_none_or(|list| lists(list, day))).collect(),
        months: (0..13)
            .map(|month| {
                months.is_none_or(|list| lists(list, month) || names(list, month - 1, &MONTHS))
            })
            .collect(),
        weekdays: (0..7)
            .map(|weekday| {
                weekdays.is_none_or(|list| {
                    lists(list, weekday)
                        || names(list, weekday, &WEEKDAYS)
                        || (weekday == 0 && lists(list, 7))
                })
            })
            .collect(),
        years: texts
            .years
            .as_deref()
            .map(|list| list.split(',').filter_map(|item| item.trim().parse().ok()).collect()),
        either_day: false,
    }
}

fn lists(list: &str, value: i64) -> bool {
    list.split(',').any(|item| item.trim().parse() == Ok(value))
}

/// Whether a list contains the name at this index, in full or by its first three characters.
fn names(list: &str, place: i64, names: &[&str]) -> bool {
    let Some(name) = usize::try_from(place).ok().and_then(|place| names.get(place)) else {
        return false;
    };
    list.split(',').any(|item| {
        let item = item.trim().to_lowercase();
        item == *name || item == name[..3]
    })
}
