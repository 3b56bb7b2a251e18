//! Times of day in English.

use super::lists::{and, even_step, members, run};
use crate::recurrence::TimeSet;

/// So many times of day are listed one by one.
const MOST_LISTED: usize = 4;

/// `at 08:30`, `every 15 minutes`, `every hour from 09:00 to 17:00` and the like.
pub(super) fn time_phrase(times: TimeSet) -> String {
    let (minutes, hours) = (members(times.minutes), members(u64::from(times.hours)));
    let rhythm = match even_step(&minutes, 60) {
        Some(1) => Some("every minute".to_owned()),
        Some(step) if minutes.len() > 2 || hours.len() > 2 => Some(format!("every {step} minutes")),
        _ => None,
    };
    if hours.len() == 24 {
        return rhythm.unwrap_or_else(|| every_hour(&minutes));
    }
    if rhythm.is_none() && minutes.len() * hours.len() <= MOST_LISTED {
        return format!("at {}", and(&times.iter().map(clock).collect::<Vec<_>>()));
    }
    let span = || format!("from {} to {}", clock(times.first()), clock(times.last()));
    match (rhythm, run(&hours), minutes.as_slice()) {
        (Some(rhythm), Some(_), _) => format!("{rhythm} {}", span()),
        (Some(rhythm), None, _) if hours.len() == 1 => format!("{rhythm} {}", span()),
        (Some(rhythm), None, _) => format!("{rhythm} in the hours {}", numbers(&hours)),
        (None, Some(_), [_]) => format!("every hour {}", span()),
        (None, None, [_]) => match even_step(&hours, 24) {
            Some(step) => format!("every {step} hours, from {} on", clock(times.first())),
            None => format!("at {}", and(&times.iter().map(clock).collect::<Vec<_>>())),
        },
        _ => format!("at minutes {} of the hours {}", numbers(&minutes), numbers(&hours)),
    }
}

/// `08:30`, of a minute of the day.
pub(super) fn clock(time: u16) -> String {
    format!("{:02}:{:02}", time / 60, time % 60)
}

fn every_hour(minutes: &[u8]) -> String {
    match minutes {
        [0] => "every hour, on the hour".to_owned(),
        [minute] => format!("every hour, at minute {minute}"),
        several => format!("every hour, at minutes {}", numbers(several)),
    }
}

fn numbers(values: &[u8]) -> String {
    and(&values.iter().map(u8::to_string).collect::<Vec<_>>())
}
