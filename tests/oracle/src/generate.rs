//! Random schedules, unusual but well formed.
//!
//! The cases concentrate where mistakes are likely: in the night hours in which clocks change, at the ends of months,
//! and with both day fields set. A few schedules never fire, and must be rejected.

use fastrand::Rng;

use crate::schedule::{PatternTexts, Schedule};
use crate::window::{MONTHS, WEEKDAYS};

/// A field's range, its preferred values, and its names.
struct Shape {
    lowest: i64,
    highest: i64,
    favorites: &'static [i64],
    names: &'static [&'static str],
    /// The value of the first entry in the names.
    first_name: i64,
}

const MINUTE: Shape = Shape {
    lowest: 0,
    highest: 59,
    favorites: &[0, 0, 1, 15, 29, 30, 30, 31, 45, 59],
    names: &[],
    first_name: 0,
};
const HOUR: Shape = Shape {
    lowest: 0,
    highest: 23,
    favorites: &[0, 0, 1, 1, 2, 2, 3, 3, 4, 9, 22, 23],
    names: &[],
    first_name: 0,
};
const DAY: Shape = Shape {
    lowest: 1,
    highest: 31,
    favorites: &[1, 13, 28, 29, 29, 30, 31],
    names: &[],
    first_name: 0,
};
const MONTH: Shape =
    Shape { lowest: 1, highest: 12, favorites: &[2, 2, 3, 10, 11], names: &MONTHS, first_name: 1 };
const WEEKDAY: Shape =
    Shape { lowest: 0, highest: 7, favorites: &[0, 1, 5, 7], names: &WEEKDAYS, first_name: 0 };

/// A random schedule; patterns with years name some near `year`.
#[must_use]
pub fn random_schedule(rng: &mut Rng, year: i64) -> Schedule {
    match rng.u8(0..12) {
        0..=4 => Schedule::Cron(cron(rng)),
        5..=7 => daily(rng),
        _ => pattern_window(rng, year),
    }
}

fn cron(rng: &mut Rng) -> String {
    if rng.u8(0..25) == 0 {
        let macros =
            ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];
        return macros[rng.usize(0..macros.len())].to_owned();
    }
    // The probability of an open field: high for months, or hardly any schedule would fire.
    let fields = [
        cron_field(rng, &MINUTE, 10),
        cron_field(rng, &HOUR, 20),
        cron_field(rng, &DAY, 45),
        cron_field(rng, &MONTH, 60),
        cron_field(rng, &WEEKDAY, 45),
    ];
    let separator = if rng.u8(0..10) == 0 { "  " } else { " " };
    fields.join(separator)
}

fn cron_field(rng: &mut Rng, shape: &Shape, open_percent: u8) -> String {
    if rng.u8(0..100) < open_percent {
        return (if rng.u8(0..6) == 0 { "?" } else { "*" }).to_owned();
    }
    match rng.u8(0..10) {
        0..=3 => cron_item(rng, shape, false),
        4..=7 => {
            let open = rng.u8(0..8) == 0;
            let items: Vec<_> = (0..rng.usize(2..6)).map(|_| cron_item(rng, shape, open)).collect();
            items.join(",")
        }
        _ => cron_item(rng, shape, true),
    }
}

/// A value, a range or a step; `open` allows items that start with `*` or `?`.
fn cron_item(rng: &mut Rng, shape: &Shape, open: bool) -> String {
    match rng.u8(0..12) {
        0 | 1 if open => format!("*/{}", step(rng, shape)),
        2 if open => format!("?/{}", step(rng, shape)),
        3 if open => ["*", "?", "*/1"][rng.usize(0..3)].to_owned(),
        0..=4 => {
            let (first, last) = (value(rng, shape), value(rng, shape));
            let (first, last) = (first.min(last), first.max(last));
            let range =
                format!("{}-{}", write_value(rng, shape, first), write_value(rng, shape, last));
            if rng.bool() { range } else { format!("{range}/{}", step(rng, shape)) }
        }
        5 | 6 => {
            let first = value(rng, shape);
            format!("{}/{}", write_value(rng, shape, first), step(rng, shape))
        }
        _ => {
            let value = value(rng, shape);
            write_value(rng, shape, value)
        }
    }
}

/// A step, sometimes one that exceeds the field after its first value.
fn step(rng: &mut Rng, shape: &Shape) -> i64 {
    let half = (shape.highest - shape.lowest) / 2 + 1;
    if rng.u8(0..10) == 0 { 3 * half } else { rng.i64(1..=half) }
}

fn value(rng: &mut Rng, shape: &Shape) -> i64 {
    if rng.bool() {
        shape.favorites[rng.usize(0..shape.favorites.len())]
    } else {
        rng.i64(shape.lowest..=shape.highest)
    }
}

/// A value in cron syntax: a number, possibly with a leading zero, or a name of three characters.
fn write_value(rng: &mut Rng, shape: &Shape, value: i64) -> String {
    match (name_of(shape, value), rng.u8(0..8)) {
        (Some(name), 0..=3) => letter_case(rng, &name[..3]),
        (_, 4) => format!("{value:02}"),
        _ => value.to_string(),
    }
}

fn name_of(shape: &Shape, value: i64) -> Option<&'static str> {
    usize::try_from(value - shape.first_name).ok().and_then(|at| shape.names.get(at).copied())
}

fn letter_case(rng: &mut Rng, name: &str) -> String {
    match rng.u8(0..4) {
        0 => name.to_owned(),
        1 => name.to_uppercase(),
        2 => name[..1].to_uppercase() + &name[1..],
        _ => name.chars().map(|c| if rng.bool() { c.to_ascii_uppercase() } else { c }).collect(),
    }
}

fn daily(rng: &mut Rng) -> Schedule {
    let start = time_of_day(rng);
    let end = match time_of_day(rng) {
        end if end != start && rng.u8(0..8) > 0 => end,
        _ => "24:00".to_owned(),
    };
    Schedule::Daily { start, end }
}

fn time_of_day(rng: &mut Rng) -> String {
    format!("{:02}:{:02}", value(rng, &HOUR), value(rng, &MINUTE))
}

fn pattern_window(rng: &mut Rng, year: i64) -> Schedule {
    let start = pattern(rng, year);
    // Half of the ends are the start with other times, as in typical windows.
    let end = if rng.bool() {
        PatternTexts {
            minutes: list(rng, &MINUTE, 50),
            hours: list(rng, &HOUR, 90),
            ..start.clone()
        }
    } else {
        pattern(rng, year)
    };
    Schedule::Pattern { start: start.into(), end: end.into() }
}

fn pattern(rng: &mut Rng, year: i64) -> PatternTexts {
    PatternTexts {
        minutes: list(rng, &MINUTE, 50),
        hours: list(rng, &HOUR, 85),
        days: list(rng, &DAY, 30),
        months: list(rng, &MONTH, 25),
        weekdays: list(rng, &WEEKDAY, 45),
        years: (rng.u8(0..8) == 0).then(|| years(rng, year)),
    }
}

fn list(rng: &mut Rng, shape: &Shape, percent: u8) -> Option<String> {
    if rng.u8(0..100) >= percent {
        return None;
    }
    let length = if rng.bool() { 1 } else { rng.usize(2..7) };
    let items: Vec<_> = (0..length)
        .map(|_| {
            let value = value(rng, shape);
            match name_of(shape, value) {
                Some(name) if rng.u8(0..4) == 0 => letter_case(rng, name),
                _ => write_value(rng, shape, value),
            }
        })
        .collect();
    let comma = [",", ",", ", ", " , "][rng.usize(0..4)];
    Some(items.join(comma))
}

fn years(rng: &mut Rng, year: i64) -> String {
    let years: Vec<_> = (0..rng.usize(1..4))
        .map(|_| {
            let year = if rng.u8(0..4) == 0 {
                rng.i64(1970..=2100)
            } else {
                (year + rng.i64(-2..=2)).clamp(1970, 2100)
            };
            year.to_string()
        })
        .collect();
    years.join(",")
}
