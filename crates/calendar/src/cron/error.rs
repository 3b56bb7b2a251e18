//! Everything that can be wrong with a cron expression, each with a sentence on what would be right.

use std::fmt;
use std::ops::Range;

use crate::names::{MONTHS, WEEKDAYS, number};
use crate::quoted::Quoted;

/// One of the five fields of a cron expression.
///
/// ```
/// use almanac_calendar::{Cron, CronField};
///
/// assert_eq!(Cron::parse("0 24 * * *").unwrap_err().field(), Some(CronField::Hour));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CronField {
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// 1 to 31.
    DayOfMonth,
    /// 1 to 12, or jan to dec.
    Month,
    /// 0 to 7, where 0 and 7 are Sunday, or sun to sat.
    Weekday,
}

/// Why a text is not a cron expression, where, and what would be right.
///
/// ```
/// use almanac_calendar::Cron;
///
/// let error = Cron::parse("0 22-2 * * *").unwrap_err();
/// assert_eq!(error.span(), 2..6);
/// assert_eq!(error.to_string(), "the range 22-2 runs backwards; write 22-23,0-2");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronError {
    pub(super) kind: CronErrorKind,
    pub(super) field: Option<CronField>,
    pub(super) span: Range<usize>,
}

impl CronError {
    /// What is wrong.
    ///
    /// ```
    /// use almanac_calendar::{Cron, CronErrorKind};
    ///
    /// let error = Cron::parse("0 0 L * *").unwrap_err();
    /// assert_eq!(error.kind(), &CronErrorKind::LastDay);
    /// ```
    #[must_use]
    pub fn kind(&self) -> &CronErrorKind {
        &self.kind
    }

    /// The field that is wrong, when it is a single one.
    ///
    /// ```
    /// use almanac_calendar::{Cron, CronField};
    ///
    /// assert_eq!(Cron::parse("0 0 L * *").unwrap_err().field(), Some(CronField::DayOfMonth));
    /// assert_eq!(Cron::parse("0 0 * *").unwrap_err().field(), None);
    /// ```
    #[must_use]
    pub fn field(&self) -> Option<CronField> {
        self.field
    }

    /// The bytes of the text that are wrong.
    ///
    /// ```
    /// assert_eq!(almanac_calendar::Cron::parse("0 0 L * *").unwrap_err().span(), 4..5);
    /// ```
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }
}

/// What is wrong with a cron expression.
///
/// ```
/// use almanac_calendar::{Cron, CronErrorKind};
///
/// let error = Cron::parse("@every 5m").unwrap_err();
/// assert_eq!(error.kind(), &CronErrorKind::Every);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CronErrorKind {
    /// Not five fields, but so many.
    FieldCount(usize),
    /// `@every`, whose runs would depend on when it was read.
    Every,
    /// `@reboot`, which names no time.
    Reboot,
    /// A macro in other letters than small ones; the macro that was meant.
    MacroLetterCase(&'static str),
    /// An `@` word that is no macro.
    UnknownMacro(String),
    /// A zone inside the expression.
    ZonePrefix,
    /// Nothing between two commas, or a comma at an end.
    EmptyItem,
    /// A range with fewer or more than two ends.
    OpenRange,
    /// A range whose first value is the larger one.
    Backwards {
        /// The first value as written.
        from: u8,
        /// The last value as written.
        to: u8,
        /// Whether they are written as names.
        named: bool,
    },
    /// A number that the field does not have.
    OutOfRange(String),
    /// A step of zero.
    StepOfZero,
    /// Something other than a number behind the slash.
    NotAStep(String),
    /// `L`, the last day.
    LastDay,
    /// `W`, the weekday nearest to a day.
    NearestWeekday,
    /// `#`, the nth weekday of a month.
    NthWeekday,
    /// `*` or `?` with something other than a step beside it.
    StarWithMore(String),
    /// A whole name where three letters are due.
    LongName {
        /// The name as written.
        given: String,
        /// Its three letters.
        short: &'static str,
    },
    /// Neither a number nor a name of the field.
    NotAValue(String),
    /// No date matches, such as 31 February.
    NeverFires,
}

impl fmt::Display for CronError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            CronErrorKind::FieldCount(count) => field_count(*count, f),
            CronErrorKind::Every => f.write_str(
                "@every has no fixed start, so its runs would depend on when it was read; write \
                 the minutes they fall on, such as */5 * * * *",
            ),
            CronErrorKind::Reboot => f.write_str(
                "@reboot names no time; write the minute and hour it should run at, such as \
                 0 4 * * *",
            ),
            CronErrorKind::MacroLetterCase(name) => {
                write!(f, "macros are written in lower case; write {name}")
            }
            CronErrorKind::UnknownMacro(given) => write!(
                f,
                "{} is not a macro; there are @yearly, @annually, @monthly, @weekly, @daily, \
                 @midnight and @hourly",
                Quoted(given)
            ),
            CronErrorKind::ZonePrefix => f.write_str(
                "a TZ= or CRON_TZ= prefix is not part of a cron expression; use `timeZone` for \
                 the zone",
            ),
            CronErrorKind::StepOfZero => {
                f.write_str("a step of 0 never moves on; write a step of at least 1")
            }
            CronErrorKind::NotAStep(given) if given.is_empty() => {
                f.write_str("a step is missing; write a number behind the slash, such as */5")
            }
            CronErrorKind::NotAStep(given) => {
                write!(f, "{} is not a step; write a number, such as */5", Quoted(given))
            }
            CronErrorKind::NeverFires => f.write_str(
                "it never fires: none of the months has any of the days; write a date that exists",
            ),
            kind => value(kind, self.field.unwrap_or(CronField::Minute), f),
        }
    }
}

impl std::error::Error for CronError {}

fn field_count(count: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "a cron expression has five fields, this has {}", number(count))?;
    match count {
        0 => f.write_str("; write minute, hour, day of month, month and weekday"),
        6 => f.write_str("; leave out the seconds, a run starts with its minute"),
        7 => f.write_str("; leave out the seconds and the years"),
        _ => Ok(()),
    }
}

/// The messages about a single value.
fn value(kind: &CronErrorKind, field: CronField, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match kind {
        CronErrorKind::EmptyItem => {
            f.write_str("the list has an empty item; take out the comma that is too many")
        }
        CronErrorKind::OpenRange => f.write_str("a range has two ends, such as 1-5"),
        CronErrorKind::Backwards { from, to, named } => {
            f.write_str(&backwards(*from, *to, field, *named))
        }
        CronErrorKind::OutOfRange(given) => {
            let (first, last) = field.bounds();
            write!(f, "{} run from {first} to {last}", field.values())?;
            if field == CronField::Weekday {
                f.write_str(" (0 and 7 are Sunday)")?;
            }
            write!(f, ", not {given}")
        }
        CronErrorKind::LastDay => f.write_str(
            "`L` for the last day is not part of this dialect; write the days themselves",
        ),
        CronErrorKind::NearestWeekday => f.write_str(
            "`W` for the nearest weekday is not part of this dialect; write the days themselves",
        ),
        CronErrorKind::NthWeekday => f.write_str(
            "`#` for the nth weekday of a month is not part of this dialect; write the days \
             themselves",
        ),
        CronErrorKind::StarWithMore(given) => write!(
            f,
            "{} mixes a star with something else; a star stands alone or before a step, such as \
             */5",
            Quoted(given)
        ),
        CronErrorKind::LongName { given, short } => {
            write!(f, "{} is too long for a name; write its three letters, {short}", Quoted(given))
        }
        CronErrorKind::NotAValue(given) => {
            let (first, last) = field.bounds();
            write!(f, "{} is not {}; write ", Quoted(given), field.value())?;
            match field {
                CronField::Month => f.write_str("1 to 12 or jan to dec"),
                CronField::Weekday => f.write_str("0 to 7 (0 and 7 are Sunday) or sun to sat"),
                _ => write!(f, "{first} to {last}"),
            }
        }
        _ => Ok(()),
    }
}

/// A range that runs over the end of the day, week or year, split where it wraps.
fn backwards(from: u8, to: u8, field: CronField, named: bool) -> String {
    let value = |value: u8| match field {
        CronField::Weekday if named => WEEKDAYS[usize::from(value % 7)][..3].to_owned(),
        CronField::Month if named => MONTHS[usize::from(value - 1)][..3].to_owned(),
        _ => value.to_string(),
    };
    let range = |from: u8, to: u8| {
        if from == to { value(from) } else { format!("{}-{}", value(from), value(to)) }
    };
    let (first, last) = field.bounds();
    let split = match field {
        // Sunday ends the week as 7.
        CronField::Weekday if to == 0 && !named => range(from, 7),
        CronField::Weekday => format!("{},{}", range(from, 6), range(0, to)),
        _ => format!("{},{}", range(from, last), range(first, to)),
    };
    format!("the range {}-{} runs backwards; write {split}", value(from), value(to))
}

impl CronField {
    fn values(self) -> &'static str {
        match self {
            CronField::Minute => "minutes",
            CronField::Hour => "hours",
            CronField::DayOfMonth => "days of the month",
            CronField::Month => "months",
            CronField::Weekday => "weekdays",
        }
    }

    fn value(self) -> &'static str {
        match self {
            CronField::Minute => "a minute",
            CronField::Hour => "an hour",
            CronField::DayOfMonth => "a day of the month",
            CronField::Month => "a month",
            CronField::Weekday => "a weekday",
        }
    }
}
