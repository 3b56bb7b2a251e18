//! Schedules written for another scheduler: its name, and the equivalent expression, if one exists.
//!
//! Fields are translated in [`translate`], intervals in [`interval`].

mod interval;
mod translate;

use std::fmt;

use self::translate::{Fields, begins_with_name, is_year};
pub(super) use self::translate::{names, weekdays_from_one};
use super::error::{CronErrorKind, CronField};
use super::field::FieldText;
use super::parse;
use crate::names::{MONTHS, WEEKDAYS};

/// The schedule syntax of another scheduler.
///
/// ```
/// use almanac_calendar::{Cron, CronErrorKind, Dialect};
///
/// let error = Cron::parse("cron(0 10 ? * MON-FRI *)").unwrap_err();
/// let CronErrorKind::OtherDialect(found) = error.kind() else { panic!("{error}") };
/// assert_eq!(found.dialect(), Dialect::EventBridge);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// Amazon `EventBridge`'s six fields, the last of which is the year, with or without `cron(…)`.
    EventBridge,
    /// Amazon `EventBridge`'s `rate(…)`.
    Rate,
    /// Amazon `EventBridge`'s `at(…)`.
    At,
    /// Quartz: seconds first, perhaps the year last, weekdays from 1 for Sunday.
    Quartz,
    /// Seconds first and weekdays as here: Spring, Azure Functions and others.
    Spring,
    /// `@every` of Go's schedulers.
    Every,
}

/// A schedule in another dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherDialect {
    /// The candidates, the likeliest first; never empty.
    readings: Vec<Reading>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Reading {
    dialect: Dialect,
    equivalent: Result<Equivalent, Loss>,
}

/// The equivalent in five fields.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Equivalent {
    expression: String,
    /// The second that is dropped; zero for none.
    second: u8,
    /// Whether weekdays were written as numbers.
    by_number: bool,
}

impl From<String> for Equivalent {
    fn from(expression: String) -> Self {
        Self { expression, second: 0, by_number: false }
    }
}

/// The reason that there is no equivalent in five fields.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Loss {
    /// More than one second of a minute.
    Seconds,
    /// Some years only.
    Years(String),
    /// A day of the month and a weekday.
    BothDays,
    /// The schedule fires once.
    Once,
    /// An interval that divides neither an hour nor a day.
    Uneven,
    /// Steps over weekdays, which each scheduler counts from another day.
    WeekdaySteps,
    /// Weekdays by number, and no sign of the day from which they count.
    WeekdayNumbers,
    /// The expression is not valid in the dialect.
    NotValid,
    /// A value that `rate(…)` does not accept.
    NotARate,
    /// An interval shorter than a minute.
    TooOften,
    /// No date matches.
    Never,
    /// A value that the five fields do not support.
    Value(CronErrorKind, CronField),
}

impl Dialect {
    /// The scheduler that is best known for the dialect.
    fn name(self) -> &'static str {
        match self {
            Dialect::EventBridge | Dialect::Rate | Dialect::At => "EventBridge",
            Dialect::Quartz => "Quartz",
            Dialect::Spring => "Spring",
            Dialect::Every => "Go",
        }
    }
}

impl OtherDialect {
    /// The dialect, or the likeliest dialect of several.
    ///
    /// ```
    /// use almanac_calendar::{Cron, CronErrorKind, Dialect};
    ///
    /// let error = Cron::parse("0 0 12 * * MON-FRI").unwrap_err();
    /// let CronErrorKind::OtherDialect(found) = error.kind() else { panic!("{error}") };
    /// assert_eq!(found.dialect(), Dialect::Spring);
    /// ```
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.readings.first().map_or(Dialect::Spring, |reading| reading.dialect)
    }

    /// The equivalent expression, if it is unambiguous and lossless.
    pub(super) fn same(&self) -> Option<&str> {
        match self.readings.as_slice() {
            [Reading { equivalent: Ok(equivalent), .. }] if equivalent.second == 0 => {
                Some(&equivalent.expression)
            }
            _ => None,
        }
    }

    /// The advice if no single expression is equivalent.
    pub(super) fn advice(&self) -> Option<String> {
        let equivalent = self.readings.iter().filter_map(|reading| {
            let expression = &reading.equivalent.as_ref().ok()?.expression;
            Some((reading.dialect, expression))
        });
        match equivalent.collect::<Vec<_>>().as_slice() {
            [] => self.readings.first()?.equivalent.as_ref().err()?.advice(),
            [(_, expression)] => Some(format!("write {expression:?}")),
            several => {
                let each = several
                    .iter()
                    .map(|(dialect, it)| format!("{it:?} if it comes from {}", dialect.name()));
                Some(format!("write {}", each.collect::<Vec<_>>().join(", or ")))
            }
        }
    }

    fn from_readings(readings: Vec<Reading>) -> Option<Self> {
        (!readings.is_empty()).then_some(Self { readings })
    }
}

/// The dialect of a text that has parentheses, or not exactly five fields.
pub(super) fn recognize(text: &str) -> Option<OtherDialect> {
    let only =
        |dialect, equivalent| OtherDialect::from_readings(vec![Reading { dialect, equivalent }]);
    if let Some(inside) = call(text, "rate") {
        return only(Dialect::Rate, interval::rate(inside));
    }
    if let Some(interval) = text.get(..6).filter(|it| it.eq_ignore_ascii_case("@every")) {
        let equivalent = interval::every(text[interval.len()..].trim())?;
        return only(Dialect::Every, equivalent);
    }
    if call(text, "at").is_some() {
        return only(Dialect::At, Err(Loss::Once));
    }
    if let Some(inside) = call(text, "cron") {
        return only(Dialect::EventBridge, in_parentheses(inside));
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    let mut readings: Vec<Reading> = Vec::new();
    for dialect in likely(&fields) {
        let equivalent = Fields::in_dialect(dialect, &fields).and_then(Fields::translate);
        let is_new = |equivalent: &Result<Equivalent, Loss>| match equivalent {
            Ok(equivalent) => {
                readings.iter().all(|known| !known.is_equivalent_to(&equivalent.expression))
            }
            Err(_) => readings.is_empty(),
        };
        if let Some(equivalent) = equivalent.filter(is_new) {
            readings.push(Reading { dialect, equivalent });
        }
    }
    OtherDialect::from_readings(readings)
}

/// The meaning of `cron(…)`: the dialect is always `EventBridge`'s.
fn in_parentheses(inside: &str) -> Result<Equivalent, Loss> {
    let fields: Vec<&str> = inside.split_whitespace().collect();
    if let &[.., weekday] = fields.as_slice()
        && fields.len() == 5
    {
        // Without the year, the first day of the weekday numbers is unclear.
        return if weekday.bytes().any(|it| it.is_ascii_digit()) {
            Err(Loss::WeekdayNumbers)
        } else {
            parse::expression_of(inside).map(Equivalent::from).map_err(|_| first_mistake(&fields))
        };
    }
    let read = Fields::in_dialect(Dialect::EventBridge, &fields).and_then(Fields::translate);
    read.unwrap_or_else(|| Err(first_mistake(&fields)))
}

/// The first value that no dialect has.
fn first_mistake(fields: &[&str]) -> Loss {
    // The weekday field is skipped, because its values differ between dialects.
    let mistakes = fields.iter().zip(parse::FIELDS).take(4).filter_map(|(text, field)| {
        let error = FieldText { field, text, at: 0 }.parse().err()?;
        Some(Loss::Value(error.kind, field))
    });
    mistakes.into_iter().next().unwrap_or(Loss::NotValid)
}

impl Reading {
    fn is_equivalent_to(&self, expression: &str) -> bool {
        self.equivalent.as_ref().is_ok_and(|equivalent| equivalent.expression == expression)
    }
}

/// The contents of the parentheses of `name(…)`, without nested ones.
fn call<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (before, rest) = text.split_once('(')?;
    let inside = rest.trim_end().strip_suffix(')').filter(|inside| !inside.contains('('))?;
    before.trim_end().eq_ignore_ascii_case(name).then_some(inside)
}

/// The dialects with this many fields, the likeliest first. A `?`, a name or a year in certain
/// positions distinguishes them.
fn likely(fields: &[&str]) -> Vec<Dialect> {
    let &[first, _, third, fourth, fifth, sixth] = fields else {
        return if fields.len() == 7 { vec![Dialect::Quartz] } else { Vec::new() };
    };
    let has_digits = |text: &str| text.bytes().any(|it| it.is_ascii_digit());
    if third == "?" || fifth == "?" {
        vec![Dialect::EventBridge]
    } else if fourth == "?" || sixth == "?" {
        // Spring accepts a question mark, too, and counts weekdays differently.
        let one = vec![Dialect::Quartz];
        if has_digits(sixth) { vec![Dialect::Quartz, Dialect::Spring] } else { one }
    } else if is_year(sixth)
        || begins_with_name(&MONTHS, fourth)
        || begins_with_name(&WEEKDAYS, fifth)
    {
        vec![Dialect::EventBridge]
    } else if sixth == "*" && first.bytes().all(|it| it.is_ascii_digit()) {
        // EventBridge requires a `?`, so it is the likelier dialect only with a `?`.
        vec![Dialect::Spring, Dialect::EventBridge]
    } else {
        vec![Dialect::Spring]
    }
}

impl fmt::Display for OtherDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Reading { dialect, equivalent }) in self.readings.iter().enumerate() {
            let name = match dialect {
                Dialect::EventBridge => "EventBridge's dialect, with the year last",
                Dialect::Rate => {
                    "EventBridge's rate(…), which counts from when the rule was created"
                }
                Dialect::At => "EventBridge's at(…)",
                Dialect::Quartz => "Quartz's dialect, with seconds first",
                Dialect::Spring => "a dialect with seconds first, such as Spring's",
                Dialect::Every => "@every, which counts from when the scheduler started",
            };
            f.write_str(if index == 0 { "this is " } else { "; or " })?;
            f.write_str(name)?;
            match equivalent {
                Ok(equivalent) => equivalent.write(*dialect, f)?,
                Err(loss) => write!(f, "; {}", loss.message(*dialect))?,
            }
        }
        Ok(())
    }
}

impl Equivalent {
    fn write(&self, dialect: Dialect, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.by_number && matches!(dialect, Dialect::EventBridge | Dialect::Quartz) {
            f.write_str(", where weekdays count from 1 for Sunday")?;
        }
        write!(f, "; write {}", self.expression)?;
        if self.second > 0 {
            write!(f, "; firings are on whole minutes, so second {} is dropped", self.second)?;
        }
        Ok(())
    }
}

impl Loss {
    fn message(&self, dialect: Dialect) -> String {
        match self {
            Loss::Seconds => "cron fires at most once a minute, on the minute".into(),
            Loss::Years(years) => format!("five fields have no year, so {years} can't be kept"),
            Loss::BothDays if dialect == Dialect::Spring => {
                "it requires both the day of the month and the weekday to match, but here one of them \
                 is enough, so that can't be kept"
                    .into()
            }
            Loss::BothDays => "it takes a day of the month or a weekday, and ? for the other".into(),
            Loss::Once => "it fires once, which five fields can't express".into(),
            Loss::Uneven => {
                "no five fields fire at that interval".into()
            }
            Loss::WeekdaySteps => {
                "schedulers disagree on which weekday a step counts from; list the weekdays".into()
            }
            Loss::NotARate => {
                "it takes a whole number of minutes, hours or days, and at least one".into()
            }
            Loss::TooOften => "cron fires at most once a minute".into(),
            Loss::WeekdayNumbers => {
                "without a year field it is unclear whether weekday 1 is Sunday or Monday".into()
            }
            Loss::NotValid => "it takes six fields, and these are not valid there".into(),
            Loss::Never => "it never fires: no such date exists in the given months".into(),
            Loss::Value(kind, field) => kind.value_message(*field),
        }
    }

    fn advice(&self) -> Option<String> {
        let advice = match self {
            Loss::Seconds | Loss::TooOften => {
                "it can't be kept; the most often a rule can fire is every minute"
            }
            Loss::Years(_) => "write five fields, and delete the rule when its years are over",
            Loss::BothDays => {
                "keep either the day of the month or the weekday, and write * for the other"
            }
            Loss::Once => "write its minute, hour, day and month, and delete the rule afterwards",
            Loss::Uneven => {
                "it can't be kept in one rule; write its times of day in rules of their own, or choose \
                 an interval that divides a day"
            }
            Loss::WeekdaySteps | Loss::WeekdayNumbers => {
                "write five fields, and list the weekdays by name, such as mon,wed,fri"
            }
            Loss::NotARate | Loss::NotValid => {
                "write five fields: minute, hour, day of month, month and weekday"
            }
            Loss::Never => "write a date that exists",
            Loss::Value(kind, field) => return kind.advice(*field),
        };
        Some(advice.to_owned())
    }
}
