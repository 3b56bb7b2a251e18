//! A plain parser of cron expressions: tests each value of a field against the string.

use crate::line::MINUTE;
use crate::moments::Moments;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The minutes that an expression matches, and whether the expression is fixed. `None` unless the expression has five
/// fields.
pub(crate) fn read(text: &str) -> Option<(Moments, bool)> {
    let text = match text.trim() {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        other => other,
    };
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [minute, hour, day, month, weekday] = fields.as_slice() else {
        return None;
    };

    let times = (0..1440)
        .map(|time| matches(minute, time % 60, 0, 59) && matches(hour, time / 60, 0, 23))
        .collect();
    let moments = Moments {
        times,
        days: (0..32).map(|value| matches(day, value, 1, 31)).collect(),
        months: (0..13).map(|value| matches(month, value, 1, 12)).collect(),
        // Seven is a second name of Sunday and not an eighth day: steps run to Saturday.
        weekdays: (0..7)
            .map(|value| matches(weekday, value, 0, 6) || (value == 0 && matches(weekday, 7, 0, 6)))
            .collect(),
        years: None,
        either_day: is_restriction(day) && is_restriction(weekday),
    };
    let follows_the_clock = |field: &str| field.contains(['*', '?', '/']);
    Some((moments, !follows_the_clock(minute) && !follows_the_clock(hour)))
}

/// Whether a field matches a value. `*` and `N/step` run from `lowest` to `highest`.
fn matches(field: &str, value: i64, lowest: i64, highest: i64) -> bool {
    field.split(',').any(|item| item_matches(item, value, lowest, highest).unwrap_or(false))
}

fn item_matches(item: &str, value: i64, lowest: i64, highest: i64) -> Option<bool> {
    let (range, step) = match item.split_once('/') {
        Some((range, step)) => (range, Some(step.parse::<i64>().ok()?)),
        None => (item, None),
    };
    let (first, last) = match (range, range.split_once('-')) {
        ("*" | "?", _) => (lowest, highest),
        (_, Some((first, last))) => (number(first)?, number(last)?),
        (single, None) => {
            let first = number(single)?;
            (first, if step.is_some() { highest.max(first) } else { first })
        }
    };
    Some(first <= value && value <= last && (value - first) % step.unwrap_or(1) == 0)
}

/// The value of a number or a name. No month has the name of a weekday.
fn number(text: &str) -> Option<i64> {
    let text = text.to_lowercase();
    let place = |names: &[&str]| names.iter().position(|&name| name == text);
    if let Some(month) = place(&MONTHS) {
        return i64::try_from(month + 1).ok();
    }
    if let Some(weekday) = place(&WEEKDAYS) {
        return i64::try_from(weekday).ok();
    }
    text.parse().ok()
}

/// A field with a bare `*` or `?` in it leaves every value open.
fn is_restriction(field: &str) -> bool {
    !field.split(',').any(|item| matches!(item, "*" | "?" | "*/1" | "?/1"))
}

/// A time of day as minutes, for tests and windows: `HH:MM`.
pub(crate) fn time_of_day(text: &str) -> Option<i64> {
    let (hour, minute) = text.split_once(':')?;
    Some((hour.parse::<i64>().ok()? * 60 + minute.parse::<i64>().ok()?) * MINUTE)
}
