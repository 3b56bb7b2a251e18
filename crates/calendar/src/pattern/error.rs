//! Everything that can be wrong with a pattern, each with a sentence on how to fix it.

use std::fmt;
use std::ops::Range;

use crate::daily::{as_people_write_it, is_midnight};
use crate::quoted::QuotedText;

/// The fields of a pattern.
///
/// ```
/// use almanac_calendar::PatternField;
///
/// assert_eq!(PatternField::Weekdays.name(), "weekdays");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternField {
    /// 0 to 59.
    Minutes,
    /// 0 to 23.
    Hours,
    /// Days of the month.
    Days,
    /// Months of the year.
    Months,
    /// Days of the week.
    Weekdays,
    /// Calendar years.
    Years,
}

impl PatternField {
    /// The field's name, as it is written.
    ///
    /// ```
    /// assert_eq!(almanac_calendar::PatternField::Days.name(), "days");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PatternField::Minutes => "minutes",
            PatternField::Hours => "hours",
            PatternField::Days => "days",
            PatternField::Months => "months",
            PatternField::Weekdays => "weekdays",
            PatternField::Years => "years",
        }
    }

    pub(super) fn bounds(self) -> (u16, u16) {
        match self {
            PatternField::Minutes => (0, 59),
            PatternField::Hours => (0, 23),
            PatternField::Days => (1, 31),
            PatternField::Months => (1, 12),
            PatternField::Weekdays => (0, 7),
            PatternField::Years => (1970, 2999),
        }
    }

    /// The last distinct value: weekday 7 is Sunday again.
    pub(super) fn last(self) -> u16 {
        match self {
            PatternField::Weekdays => 6,
            _ => self.bounds().1,
        }
    }

    /// Whether leaving the field out means any value, and not 0.
    fn may_be_any(self) -> bool {
        !matches!(self, PatternField::Minutes | PatternField::Hours)
    }
}

/// The reason that a text is not a pattern, the field, the position, and the fix.
///
/// ```
/// use almanac_calendar::{Pattern, PatternField, PatternText};
///
/// let text = PatternText { hours: Some("9, 24"), ..PatternText::default() };
/// let error = Pattern::parse(text).unwrap_err();
/// assert_eq!((error.field(), error.span()), (Some(PatternField::Hours), 3..5));
/// assert_eq!(error.to_string(), "hours run from 0 to 23, not 24");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    kind: PatternErrorKind,
    field: PatternField,
    span: Range<usize>,
}

impl PatternError {
    pub(super) fn new(
        kind: PatternErrorKind,
        field: PatternField,
        span: Range<usize>,
    ) -> PatternError {
        PatternError { kind, field, span }
    }

    /// The kind of the error.
    ///
    /// ```
    /// use almanac_calendar::{Pattern, PatternErrorKind, PatternText};
    ///
    /// let text = PatternText { hours: Some("8,*"), ..PatternText::default() };
    /// let error = Pattern::parse(text).unwrap_err();
    /// assert_eq!(error.kind(), &PatternErrorKind::Star);
    /// ```
    #[must_use]
    pub fn kind(&self) -> &PatternErrorKind {
        &self.kind
    }

    /// The field that is wrong; `None` when only the fields together are.
    ///
    /// ```
    /// use almanac_calendar::{Pattern, PatternField, PatternText};
    ///
    /// let text = PatternText { hours: Some("8,*"), ..PatternText::default() };
    /// let error = Pattern::parse(text).unwrap_err();
    /// assert_eq!(error.field(), Some(PatternField::Hours));
    /// ```
    #[must_use]
    pub fn field(&self) -> Option<PatternField> {
        (self.kind != PatternErrorKind::NeverFires).then_some(self.field)
    }

    /// The only possible correction of the invalid text.
    ///
    /// ```
    /// use almanac_calendar::{Pattern, PatternText};
    ///
    /// let text = PatternText { hours: Some("8pm"), ..PatternText::default() };
    /// assert_eq!(Pattern::parse(text).unwrap_err().instead().as_deref(), Some("20"));
    /// ```
    #[must_use]
    pub fn instead(&self) -> Option<String> {
        match &self.kind {
            PatternErrorKind::NotAValue { nearest: Some(nearest), .. } => Some(nearest.clone()),
            PatternErrorKind::NotAValue { .. } => {
                let (hour, minute) = self.time_of_day()?;
                (minute == 0).then(|| hour.to_string())
            }
            PatternErrorKind::OutOfRange(_) if self.is_end_of_day() => Some("0".to_owned()),
            PatternErrorKind::Range { instead, .. } => instead.clone(),
            _ => None,
        }
    }

    /// The hour and the minute, if a time of day is written where an hour is due.
    ///
    /// ```
    /// use almanac_calendar::{Pattern, PatternText};
    ///
    /// let text = PatternText { hours: Some("9:30am"), ..PatternText::default() };
    /// assert_eq!(Pattern::parse(text).unwrap_err().time_of_day(), Some((9, 30)));
    /// ```
    #[must_use]
    pub fn time_of_day(&self) -> Option<(u8, u8)> {
        match &self.kind {
            PatternErrorKind::NotAValue { given, .. } if self.field == PatternField::Hours => {
                as_people_write_it(given)
            }
            _ => None,
        }
    }

    /// Whether the hour is 24, which is the hour 0 of the next day, or `midnight` or `12am`, which may be.
    #[must_use]
    pub fn is_end_of_day(&self) -> bool {
        let is_24 = matches!(&self.kind, PatternErrorKind::OutOfRange(given) if given == "24");
        self.field == PatternField::Hours && (is_24 || self.is_midnight())
    }

    fn is_midnight(&self) -> bool {
        matches!(&self.kind, PatternErrorKind::NotAValue { given, .. } if is_midnight(given))
    }

    /// The advice in a few words, if the message does not include it.
    ///
    /// ```
    /// use almanac_calendar::{Pattern, PatternText};
    ///
    /// let text = PatternText { hours: Some("25"), ..PatternText::default() };
    /// let error = Pattern::parse(text).unwrap_err();
    /// assert_eq!(error.advice().as_deref(), Some("write hours from 0 to 23"));
    /// ```
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        match &self.kind {
            PatternErrorKind::OutOfRange(_) if self.is_end_of_day() => {
                Some("write 0, which belongs to the next day".to_owned())
            }
            PatternErrorKind::NotAValue { .. } if self.is_end_of_day() => {
                Some("write 0, and name the days that begin then".to_owned())
            }
            PatternErrorKind::OutOfRange(_) => {
                let (first, last) = self.field.bounds();
                Some(format!("write {} from {first} to {last}", self.field.name()))
            }
            PatternErrorKind::NotAValue { nearest: Some(nearest), .. } => {
                Some(format!("did you mean {nearest}?"))
            }
            _ => None,
        }
    }

    /// The bytes of the field's text that are wrong.
    ///
    /// ```
    /// use almanac_calendar::{Pattern, PatternText};
    ///
    /// let text = PatternText { hours: Some("8,*"), ..PatternText::default() };
    /// let error = Pattern::parse(text).unwrap_err();
    /// assert_eq!(error.span(), 2..3);
    /// ```
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }
}

/// The problem in a pattern.
///
/// ```
/// use almanac_calendar::{Pattern, PatternErrorKind, PatternText};
///
/// let text = PatternText { days: Some("31"), months: Some("Feb"), ..PatternText::default() };
/// assert_eq!(Pattern::parse(text).unwrap_err().kind(), &PatternErrorKind::NeverFires);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternErrorKind {
    /// An empty field.
    EmptyList,
    /// Nothing between two commas, or a comma at an end.
    EmptyItem,
    /// A number that the field does not have.
    OutOfRange(String),
    /// A range.
    Range {
        /// The range as written.
        given: String,
        /// The equivalent list, if it is short.
        instead: Option<String>,
    },
    /// A step.
    Step(String),
    /// `*` or `?`.
    Star,
    /// Neither a number nor a name of the field.
    NotAValue {
        /// The text as written.
        given: String,
        /// The name that was probably meant, if it is nearly one.
        nearest: Option<String>,
    },
    /// No date matches, such as 31 February.
    NeverFires,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = self.field.name();
        let (first, last) = self.field.bounds();
        match &self.kind {
            PatternErrorKind::EmptyList if self.field.may_be_any() => {
                write!(f, "the list of {field} is empty; leave {field} out for any")
            }
            PatternErrorKind::EmptyList => {
                write!(f, "the list of {field} is empty; leave {field} out for 0")
            }
            PatternErrorKind::EmptyItem => {
                f.write_str("the list has an empty item; remove the extra comma")
            }
            PatternErrorKind::OutOfRange(given) => {
                write!(f, "{field} run from {first} to {last}")?;
                if self.field == PatternField::Weekdays {
                    f.write_str(" (0 and 7 are Sunday)")?;
                }
                write!(f, ", not {given}")
            }
            PatternErrorKind::Range { given, instead } => {
                write!(f, "{} is a range, and a pattern takes lists; write ", QuotedText(given))?;
                f.write_str(instead.as_deref().unwrap_or("its values with commas between them"))
            }
            PatternErrorKind::Step(given) => write!(
                f,
                "{} is a step, and a pattern takes lists; write its values with commas between \
                 them",
                QuotedText(given)
            ),
            PatternErrorKind::Star if self.field.may_be_any() => {
                write!(f, "a pattern takes no stars; leave {field} out for any")
            }
            PatternErrorKind::Star => write!(
                f,
                "a pattern takes no stars; write the {field} with commas between them (left out \
                 they are 0)"
            ),
            PatternErrorKind::NotAValue { given, nearest: Some(nearest) } => {
                write!(
                    f,
                    "{} is not one of the {field}; did you mean {nearest}?",
                    QuotedText(given)
                )
            }
            PatternErrorKind::NotAValue { given, nearest: None } => {
                write!(f, "{} is not one of the {field}; write ", QuotedText(given))?;
                match self.field {
                    PatternField::Months => f.write_str("1 to 12 or names, such as Jan"),
                    PatternField::Weekdays => {
                        f.write_str("0 to 7 (0 and 7 are Sunday) or names, such as Mon")
                    }
                    _ => write!(f, "{first} to {last}"),
                }
            }
            PatternErrorKind::NeverFires => f.write_str(
                "it never fires: no date has all of these days, months, weekdays and years; write \
                 a date that exists",
            ),
        }
    }
}

impl std::error::Error for PatternError {}
