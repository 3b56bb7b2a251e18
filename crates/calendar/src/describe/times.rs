//! Times of day in English.

use super::lists::{even_step, joined, listed, members, run, step};
use crate::recurrence::TimeSet;

/// Up to this many times of day are listed one by one; more if they share the minute.
const MAX_LISTED: usize = 4;
const MAX_LISTED_AT_ONE_MINUTE: usize = 8;

/// The description of the times of a day.
pub(super) enum TimePhrase {
    /// Certain times: `at 08:30`.
    At(String),
    /// A rhythm, which includes "every" already: `every 15 minutes`.
    Every(String),
}

/// `at 08:30`, `every 15 minutes`, `every hour from 09:00 to 17:00` and the like.
pub(super) fn time_phrase(times: TimeSet) -> TimePhrase {
    use TimePhrase::{At, Every};
    let (minutes, hours) = (members(times.minutes), members(u64::from(times.hours)));
    let rhythm = match even_step(&minutes, 60) {
        Some(step) if step == 1 || minutes.len() > 2 || hours.len() > 2 => {
            Some(every(step, "minute"))
        }
        _ => None,
    };
    if hours.len() == 24 {
        return Every(rhythm.unwrap_or_else(|| every_hour(&minutes)));
    }
    let one_by_one = || {
        let times: Vec<String> = times.iter().map(clock).collect();
        At(format!("at {}", joined(&times, "and")))
    };
    let span = || format!("from {} to {}", clock(times.first()), clock(times.last()));
    match (rhythm, minutes.as_slice(), hours.as_slice()) {
        (Some(rhythm), _, [_]) => Every(format!("{rhythm} {}", span())),
        (Some(rhythm), _, hours) if run(hours).is_some() => Every(format!("{rhythm} {}", span())),
        (Some(rhythm), _, hours) => Every(format!("{rhythm} in the hours {}", numbers(hours))),
        (None, minutes, hours) if minutes.len() * hours.len() <= MAX_LISTED => one_by_one(),
        (None, [_], hours) if let Some(step) = step(hours) => {
            Every(format!("{} {}", every(step, "hour"), span()))
        }
        (None, minutes, [_]) if let Some(step) = step(minutes) => {
            Every(format!("{} {}", every(step, "minute"), span()))
        }
        (None, [_], hours) if hours.len() <= MAX_LISTED_AT_ONE_MINUTE => one_by_one(),
        (None, minutes, hours) => {
            At(format!("at {} of {}", counted(minutes, "minute"), hour_phrase(hours)))
        }
    }
}

/// `08:30`, of a minute of the day.
pub(super) fn clock(time: u16) -> String {
    format!("{:02}:{:02}", time / 60, time % 60)
}

/// `every minute`, `every 5 minutes`.
fn every(step: u8, unit: &str) -> String {
    if step == 1 { format!("every {unit}") } else { format!("every {step} {unit}s") }
}

fn every_hour(minutes: &[u8]) -> String {
    match minutes {
        [0] => "every hour, on the hour".to_owned(),
        minutes => format!("every hour, at {}", counted(minutes, "minute")),
    }
}

/// `hour 3`, `the hours 3 and 4`.
fn hour_phrase(hours: &[u8]) -> String {
    let the = if hours.len() > 1 { "the " } else { "" };
    format!("{the}{}", counted(hours, "hour"))
}

/// `minute 7`, `minutes 5 and 7`.
fn counted(values: &[u8], unit: &str) -> String {
    let plural = if values.len() > 1 { "s" } else { "" };
    format!("{unit}{plural} {}", numbers(values))
}

fn numbers(values: &[u8]) -> String {
    listed(values, |value| value.to_string())
}
