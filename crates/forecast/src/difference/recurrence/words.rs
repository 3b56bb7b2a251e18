//! A recurrence in words: `Fri 17:00 to Mon 09:00, each week`.

use std::fmt;

use jiff::civil::{Date, Time};
use jiff::fmt::strtime;

use super::{Days, Recurrence};

/// The maximum number of exceptions, or of times of a day, in a line for users.
const NAMED: usize = 4;

const NAMES: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// `Fri 17:00 to Mon 09:00, each week`, `Mon to Fri, 08:00 to 09:00, except Fri 2026-12-25`.
impl fmt::Display for Recurrence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spans = self.in_words();
        match self.days {
            Days::OfMonth(day) => write!(formatter, "on day {day} of each month, {spans}")?,
            Days::OfWeek(weekdays) => {
                let named: Vec<usize> = (0..7).filter(|it| weekdays[*it]).collect();
                match *named {
                    [only] => write!(formatter, "{} {spans}, each week", NAMES[only])?,
                    [_, _, _, _, _, _, _] => write!(formatter, "every day, {spans}")?,
                    _ => write!(formatter, "{}, {spans}", weekdays_in_words(&named))?,
                }
            }
        }
        if let Some(since) = self.since {
            write!(formatter, ", from {}", day(since))?;
        }
        if let Some(until) = self.until {
            write!(formatter, ", until {}", day(until))?;
        }
        if !self.except.is_empty() {
            let except: Vec<String> = self.except.iter().copied().map(day).collect();
            write!(formatter, ", except {}", some_of(&except))?;
        }
        Ok(())
    }
}

impl Recurrence {
    fn in_words(&self) -> String {
        let begin = match self.days {
            Days::OfWeek(weekdays) if weekdays.iter().filter(|it| **it).count() == 1 => {
                weekdays.iter().position(|it| *it)
            }
            Days::OfWeek(_) | Days::OfMonth(_) => None,
        };
        let spans = self.spans.iter().map(|span| {
            let (from, to) = (time(span.from), time(span.to));
            let later = usize::try_from(span.days).unwrap_or_default();
            match (later, begin) {
                (0, _) => format!("{from} to {to}"),
                (_, Some(begin)) => format!("{from} to {} {to}", NAMES[(begin + later) % 7]),
                (1, None) if span.to == Time::midnight() => format!("{from} to midnight"),
                (1, None) => format!("{from} to {to} the next day"),
                (_, None) => format!("{from} to {to} {later} days later"),
            }
        });
        some_of(&spans.collect::<Vec<_>>())
    }
}

/// `Mon to Fri`, or `Mon, Wed and Fri`.
fn weekdays_in_words(named: &[usize]) -> String {
    let are_in_a_row = named.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    match *named {
        [first, .., last] if are_in_a_row && named.len() > 2 => {
            format!("{} to {}", NAMES[first], NAMES[last])
        }
        _ => some_of(&named.iter().map(|it| NAMES[*it].to_owned()).collect::<Vec<_>>()),
    }
}

/// `a, b and c`; for many items, the first few and their total.
fn some_of(all: &[String]) -> String {
    match all {
        [] => String::new(),
        [only] => only.clone(),
        [most @ .., last] if all.len() <= NAMED + 2 => format!("{} and {last}", most.join(", ")),
        [.., last] => format!("{}, … and {last} ({} in all)", all[..NAMED].join(", "), all.len()),
    }
}

fn day(date: Date) -> String {
    // A date has all parts of the format.
    strtime::format("%a %Y-%m-%d", date).unwrap_or_default()
}

fn time(time: Time) -> String {
    let format = if time.second() == 0 { "%H:%M" } else { "%H:%M:%S" };
    strtime::format(format, time).unwrap_or_default()
}
