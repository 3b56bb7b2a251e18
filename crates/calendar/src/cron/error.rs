//! Everything that can be wrong with a cron expression, each with a sentence on how to fix it.

use std::fmt;
use std::ops::Range;

use super::dialect::OtherDialect;
use crate::names::{MONTHS, WEEKDAYS, number};
use crate::quoted::QuotedText;
use crate::{Zone, ZoneError};

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

/// The reason that a text is not a cron expression, the position, and the fix.
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
    pub(super) instead: Option<String>,
}

impl CronError {
    pub(super) fn new(kind: CronErrorKind, field: Option<CronField>, span: Range<usize>) -> Self {
        Self { kind, field, span, instead: None }
    }

    /// The kind of the error.
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

    /// The wrong field; `None` if several fields are wrong.
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

    /// The advice in a few words, if the message does not include it.
    ///
    /// ```
    /// use almanac_calendar::Cron;
    ///
    /// let error = Cron::parse("0 25 * * *").unwrap_err();
    /// assert_eq!(error.advice().as_deref(), Some("write an hour from 0 to 23"));
    /// ```
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        self.kind.advice(self.field.unwrap_or(CronField::Minute))
    }

    /// The corrected expression, if the meaning is certain.
    ///
    /// ```
    /// use almanac_calendar::Cron;
    ///
    /// let error = Cron::parse("0 0 22-2 ? * *").unwrap_err();
    /// assert_eq!(error.instead(), Some("0 22-23,0-2 * * *"));
    /// assert_eq!(Cron::parse("0 0 L * *").unwrap_err().instead(), None);
    /// ```
    #[must_use]
    pub fn instead(&self) -> Option<&str> {
        self.instead.as_deref()
    }
}

/// The problem in a cron expression.
///
/// ```
/// use almanac_calendar::{Cron, CronErrorKind};
///
/// let error = Cron::parse("0 0 15W * *").unwrap_err();
/// assert_eq!(error.kind(), &CronErrorKind::NearestWeekday);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CronErrorKind {
    /// Not five fields, but this many.
    FieldCount(usize),
    /// The expression is written for another scheduler.
    OtherDialect(OtherDialect),
    /// A comment after the five fields.
    Comment {
        /// The text before it.
        expression: String,
    },
    /// A command after the five fields, as in a crontab.
    Command {
        /// The text before it.
        expression: String,
    },
    /// `H` of Jenkins, which stands for any value; with a step, one item that fires as often.
    AnyValue {
        /// The replacement, where it has a step.
        stepped: Option<String>,
    },
    /// `@every` without a length of time.
    Every,
    /// `@reboot`, which names no time.
    Reboot,
    /// A macro that is not in lower case; the intended macro.
    MacroLetterCase(&'static str),
    /// An `@` word that is not a macro.
    UnknownMacro(String),
    /// Quotes that are part of the text.
    Quotes {
        /// The text between them.
        expression: String,
    },
    /// A zone before or after the expression.
    ZoneInside {
        /// The zone, or why it is not valid.
        zone: Result<Zone, Box<ZoneError>>,
        /// The expression without the zone, if usable, or its correction.
        expression: Option<String>,
    },
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
        /// The step after the range; 1 for none.
        step: usize,
        /// Whether the values are written as names.
        named: bool,
    },
    /// A number that the field does not have.
    OutOfRange(String),
    /// A step of zero.
    StepOfZero,
    /// Something other than a number after the slash.
    NotAStep(String),
    /// `L`, the last day.
    LastDay,
    /// `W`, the weekday nearest to a day.
    NearestWeekday,
    /// `#`, the nth weekday of a month.
    NthWeekday,
    /// `*` or `?` combined with something other than a step.
    StarWithMore(String),
    /// A full name instead of its three letters.
    LongName {
        /// The name as written.
        given: String,
        /// Its three letters.
        short: &'static str,
    },
    /// Neither a number nor a name of the field.
    NotAValue {
        /// The text as written.
        given: String,
        /// The name that was probably meant, if it is nearly one.
        nearest: Option<&'static str>,
    },
    /// No date matches, such as 31 February.
    NeverFires,
}

impl fmt::Display for CronError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            CronErrorKind::FieldCount(count) => field_count(*count, f),
            CronErrorKind::OtherDialect(dialect) => dialect.fmt(f),
            CronErrorKind::Comment { expression } => {
                write!(f, "a comment is not part of a cron expression; write {expression}")
            }
            CronErrorKind::Command { expression } => {
                write!(f, "a command is not part of a cron expression; write {expression}")
            }
            CronErrorKind::Quotes { expression } => {
                write!(f, "quotes are not part of a cron expression; write {expression}")
            }
            CronErrorKind::Every => f.write_str(
                "@every has no fixed start, so its firings would depend on when the scheduler started; write \
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
                "{} is not a macro; the macros are @yearly, @annually, @monthly, @weekly, @daily, \
                 @midnight and @hourly",
                QuotedText(given)
            ),
            CronErrorKind::ZoneInside { zone, expression } => {
                f.write_str("a zone is not part of a cron expression")?;
                match (zone, expression) {
                    (Err(error), _) => write!(f, ", and {error}"),
                    (Ok(zone), Some(expression)) => {
                        write!(f, "; write {expression}, and {zone} as its time zone")
                    }
                    (Ok(zone), None) => write!(f, "; write {zone} as its time zone"),
                }
            }
            CronErrorKind::StepOfZero => {
                f.write_str("a step of 0 never advances; write a step of at least 1")
            }
            CronErrorKind::NotAStep(given) if given.is_empty() => {
                f.write_str("a step is missing; write a number after the slash, such as */5")
            }
            CronErrorKind::NotAStep(given) => {
                write!(f, "{} is not a step; write a number, such as */5", QuotedText(given))
            }
            CronErrorKind::NeverFires => f.write_str(
                "it never fires: no such date exists in the given months; write a date that exists",
            ),
            kind => f.write_str(&kind.value_message(self.field.unwrap_or(CronField::Minute))),
        }
    }
}

impl std::error::Error for CronError {}

fn field_count(count: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "a cron expression has five fields, this has {}", number(count))?;
    match count {
        0 => f.write_str("; write minute, hour, day of month, month and weekday"),
        _ => Ok(()),
    }
}

impl CronErrorKind {
    /// The message about a single value.
    pub(super) fn value_message(&self, field: CronField) -> String {
        match self {
            CronErrorKind::EmptyItem => "the list has an empty item; remove the extra comma".into(),
            CronErrorKind::OpenRange => "a range has two ends, such as 1-5".into(),
            CronErrorKind::Backwards { from, to, step, named } => {
                let (first, last) = (field.written(*from, *named), field.written(*to, *named));
                let instead = over_the_end(*from, *to, *step, field, *named);
                format!("the range {first}-{last} runs backwards; write {instead}")
            }
            CronErrorKind::OutOfRange(given) => {
                let (first, last) = field.bounds();
                let sunday = if field == CronField::Weekday { " (0 and 7 are Sunday)" } else { "" };
                format!("{} run from {first} to {last}{sunday}, not {given}", field.values())
            }
            CronErrorKind::LastDay => {
                "`L` for the last day can't be expressed in five fields".into()
            }
            CronErrorKind::NearestWeekday => {
                "`W` for the nearest weekday can't be expressed in five fields".into()
            }
            CronErrorKind::NthWeekday => {
                "`#` for the nth weekday of a month can't be expressed in five fields".into()
            }
            CronErrorKind::AnyValue { stepped } => {
                let choice = || format!("{} of your choice", field.value());
                let instead = stepped.clone().unwrap_or_else(choice);
                format!("`H` means any value in Jenkins; write {instead}")
            }
            CronErrorKind::StarWithMore(given) => format!(
                "{} mixes a star with something else; a star is used alone or with a step, such \
                 as */5",
                QuotedText(given)
            ),
            CronErrorKind::LongName { given, short } => {
                format!(
                    "{} is too long for a name; write its three letters, {short}",
                    QuotedText(given)
                )
            }
            CronErrorKind::NotAValue { given, nearest: Some(nearest) } => {
                format!("{} is not {}; did you mean {nearest}?", QuotedText(given), field.value())
            }
            CronErrorKind::NotAValue { given, nearest: None } => {
                let (first, last) = field.bounds();
                let values = match field {
                    CronField::Month => "1 to 12 or jan to dec".to_owned(),
                    CronField::Weekday => "0 to 7 (0 and 7 are Sunday) or sun to sat".to_owned(),
                    _ => format!("{first} to {last}"),
                };
                format!("{} is not {}; write {values}", QuotedText(given), field.value())
            }
            _ => String::new(),
        }
    }
}

/// The valid form of a range that runs over the end of the day, week or year: two ranges split at the end. A range with a
/// step becomes a list, because the step counts on over the end.
pub(super) fn over_the_end(from: u8, to: u8, step: usize, field: CronField, named: bool) -> String {
    let (first, last) = match field {
        CronField::Weekday => (0, 6),
        _ => field.bounds(),
    };
    // Sunday starts a week as 0, and ends it as 7.
    let from = if field == CronField::Weekday { from % 7 } else { from };
    let range = |from: u8, to: u8| {
        let (first, last) = (field.written(from, named), field.written(to, named));
        if from == to { first } else { format!("{first}-{last}") }
    };
    if step > 1 {
        let beyond = if to < from { to + (last - first + 1) } else { to };
        let values = (from..=beyond).step_by(step);
        let wrapped =
            values.map(|value| if value > last { value - (last - first + 1) } else { value });
        return wrapped.map(|value| field.written(value, named)).collect::<Vec<_>>().join(",");
    }
    match field {
        CronField::Weekday if from <= to => range(from, to),
        CronField::Weekday if to == 0 && !named => range(from, 7),
        _ => format!("{},{}", range(from, last), range(first, to)),
    }
}

impl CronField {
    fn written(self, value: u8, named: bool) -> String {
        match self {
            CronField::Weekday if named => WEEKDAYS[usize::from(value % 7)][..3].to_owned(),
            CronField::Month if named => MONTHS[usize::from(value - 1)][..3].to_owned(),
            _ => value.to_string(),
        }
    }

    fn values(self) -> &'static str {
        match self {
            CronField::Minute => "minutes",
            CronField::Hour => "hours",
            CronField::DayOfMonth => "days of the month",
            CronField::Month => "months",
            CronField::Weekday => "weekdays",
        }
    }

    pub(super) fn value(self) -> &'static str {
        match self {
            CronField::Minute => "a minute",
            CronField::Hour => "an hour",
            CronField::DayOfMonth => "a day of the month",
            CronField::Month => "a month",
            CronField::Weekday => "a weekday",
        }
    }
}
