//! Intervals: `@every 5m`, `rate(5 minutes)`. Intervals have no fixed start; an interval that divides an hour or a day
//! evenly runs just as often at fixed times.

use jiff::SignedDuration;

use super::{Equivalent, Loss};

/// The duration after `@every`; `None` if it is invalid.
pub(super) fn every(text: &str) -> Option<Result<Equivalent, Loss>> {
    // The units of Go except for `µs` and `ns`, which are too short.
    text.parse::<SignedDuration>().ok().filter(SignedDuration::is_positive).map(evenly)
}

/// The contents of `rate(…)`: a number and a unit.
pub(super) fn rate(text: &str) -> Result<Equivalent, Loss> {
    let (number, unit) = text.trim().split_once(char::is_whitespace).ok_or(Loss::NotARate)?;
    let seconds = match unit.trim() {
        "minute" | "minutes" => 60,
        "hour" | "hours" => 3_600,
        "day" | "days" => 86_400,
        _ => return Err(Loss::NotARate),
    };
    match number.parse::<u32>() {
        Ok(0) | Err(_) => Err(Loss::NotARate),
        Ok(number) => evenly(SignedDuration::from_secs(i64::from(number) * seconds)),
    }
}

fn evenly(interval: SignedDuration) -> Result<Equivalent, Loss> {
    const HOUR: i64 = 60;
    const DAY: i64 = 24 * HOUR;
    if interval < SignedDuration::from_mins(1) {
        return Err(Loss::TooOften);
    }
    let minutes = interval.as_mins();
    if interval != SignedDuration::from_mins(minutes) {
        return Err(Loss::Uneven);
    }
    let expression = match minutes {
        1 => "* * * * *".to_owned(),
        HOUR => "0 * * * *".to_owned(),
        DAY => "0 0 * * *".to_owned(),
        _ if minutes == 7 * DAY => "0 0 * * sun".to_owned(),
        _ if HOUR % minutes == 0 => format!("*/{minutes} * * * *"),
        _ if minutes % HOUR == 0 && DAY % minutes == 0 => format!("0 */{} * * *", minutes / HOUR),
        _ => return Err(Loss::Uneven),
    };
    Ok(expression.into())
}
