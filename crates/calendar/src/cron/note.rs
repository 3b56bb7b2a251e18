//! Oddities of valid expressions that are probably not intended.

use std::fmt;

use super::error::CronField;
use super::field::FieldText;
use super::{Cron, dialect, parse};
use crate::names::{MONTHS, WEEKDAYS, capitalized};
use crate::quoted::{QuotedText, excerpt};
use crate::recurrence::DayRule;

/// A part of an expression with a surprising effect.
///
/// The `Display` of a note is a sentence for users.
///
/// ```
/// use almanac_calendar::CronNote;
///
/// let notes = CronNote::all("*/90 * * * *");
/// assert_eq!(notes[0].to_string(), "a step of 90 reaches no second value: `*/90` is minute 0");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CronNote {
    /// A step that leaves a single value.
    LongStep {
        /// The field of the step.
        field: CronField,
        /// The item of the list, as written.
        item: String,
        /// The value that is left.
        value: u8,
        /// Whether the value alone fires at the same instants, on days of clock changes too.
        is_same: bool,
    },
    /// The day of the month and the weekday are both restricted, and one of them is enough.
    EitherDay,
    /// `?` next to weekdays by number: dialects that have `?` count them from another day.
    WeekdayNumbers {
        /// The weekdays, as written.
        given: String,
        /// The weekdays with these numbers here, by name.
        here: String,
        /// The weekdays with these numbers in dialects that count from 1 for Sunday.
        there: String,
    },
}

impl CronNote {
    /// The oddities of an expression; none if it is invalid.
    ///
    /// ```
    /// use almanac_calendar::CronNote;
    ///
    /// assert_eq!(CronNote::all("0 0 13 * 5"), [CronNote::EitherDay]);
    /// assert!(CronNote::all("0 0 * * 5").is_empty());
    /// ```
    #[must_use]
    pub fn all(text: &str) -> Vec<CronNote> {
        let Ok(cron) = Cron::parse(text) else { return Vec::new() };
        let fields = parse::FIELDS.into_iter().zip(text.split_whitespace());
        let items = fields.flat_map(|(field, text)| text.split(',').map(move |it| (field, it)));
        let mut notes: Vec<CronNote> =
            items.filter_map(|(field, item)| long_step(&cron, text, field, item)).collect();
        if cron.recurrence.dates.rule == DayRule::Either {
            notes.push(CronNote::EitherDay);
        }
        notes.extend(weekday_numbers(text));
        notes
    }
}

fn weekday_numbers(text: &str) -> Option<CronNote> {
    let &[.., weekday] = text.split_whitespace().collect::<Vec<_>>().as_slice() else {
        return None;
    };
    if !text.contains('?') || !weekday.bytes().any(|it| it.is_ascii_digit()) {
        return None;
    }
    let bits = FieldText { field: CronField::Weekday, text: weekday, at: 0 }.parse().ok()?.bits;
    let here = dialect::names(std::array::from_fn(|day| (bits | bits >> 7) & 1 << day != 0));
    let there = dialect::weekdays_from_one(weekday).filter(|there| *there != here)?;
    Some(CronNote::WeekdayNumbers { given: excerpt(weekday), here, there })
}

fn long_step(cron: &Cron, text: &str, field: CronField, item: &str) -> Option<CronNote> {
    item.split_once('/')?;
    let bits = FieldText { field, text: item, at: 0 }.parse().ok()?.bits;
    let value = u8::try_from(bits.trailing_zeros()).ok().filter(|_| bits.is_power_of_two())?;
    let at = item.as_ptr().addr() - text.as_ptr().addr();
    let alone = format!("{}{value}{}", &text[..at], &text[at + item.len()..]);
    let is_same = Cron::parse(&alone).is_ok_and(|alone| alone == *cron);
    Some(CronNote::LongStep { field, item: excerpt(item), value, is_same })
}

impl fmt::Display for CronNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CronNote::LongStep { field, item, value, .. } => {
                let step = item.split_once('/').map_or("", |(_, step)| step);
                let named = |names: &[&str], at: u8| {
                    names.get(usize::from(at)).map_or_else(String::new, |name| capitalized(name))
                };
                let only = match field {
                    CronField::Minute => format!("minute {value}"),
                    CronField::Hour => format!("hour {value}"),
                    CronField::DayOfMonth => format!("day {value}"),
                    CronField::Month => named(&MONTHS, value.saturating_sub(1)),
                    CronField::Weekday => named(&WEEKDAYS, value % 7),
                };
                write!(
                    f,
                    "a step of {step} reaches no second value: {} is {only}",
                    QuotedText(item)
                )
            }
            CronNote::EitherDay => f.write_str(
                "it names days of the month and weekdays, and fires on a date that matches either \
                 of them",
            ),
            CronNote::WeekdayNumbers { given, here, there } => write!(
                f,
                "`?` comes from Quartz or EventBridge, which count weekdays from 1 for Sunday: \
                 {} is {here} here, and {there} there",
                QuotedText(given)
            ),
        }
    }
}
