//! Schedules that were written for another scheduler: what it is called, and what to write here
//! instead, if there is anything that means the same.
//!
//! Fields are translated in [`translate`], intervals in [`interval`].

mod interval;
mod translate;

use std::fmt;

use self::translate::{Fields, begins_with_name, is_year};
use super::error::{CronErrorKind, CronField};
use super::parse;
use crate::names::{MONTHS, WEEKDAYS};

/// Another scheduler's way to write a schedule.
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
    /// The likeliest one first; never empty.
    readings: Vec<Reading>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Reading {
    dialect: Dialect,
    meant: Result<Meant, Loss>,
}

/// What means the same in five fields.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Meant {
    expression: String,
    /// The second that has to be left out; zero for none.
    second: u8,
    /// Whether weekdays were written as numbers.
    by_number: bool,
}

impl From<String> for Meant {
    fn from(expression: String) -> Self {
        Self { expression, second: 0, by_number: false }
    }
}

/// Why no five fields mean the same.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Loss {
    /// More than one second of a minute.
    Seconds,
    /// Some years only.
    Years(String),
    /// A day of the month and a weekday.
    BothDays,
    /// It happens once.
    Once,
    /// An interval that divides neither an hour nor a day.
    Uneven,
    /// Steps over weekdays, which each scheduler counts from another day.
    WeekdaySteps,
    /// An interval shorter than a minute.
    TooOften,
    /// A value that these five fields do not have.
    Value(CronErrorKind, CronField),
}

impl OtherDialect {
    /// The dialect, or the likeliest one.
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

    /// The one expression that means the same, if nothing is lost and there is no doubt about it.
    pub(super) fn same(&self) -> Option<&str> {
        match self.readings.as_slice() {
            [Reading { meant: Ok(meant), .. }] if meant.second == 0 => Some(&meant.expression),
            _ => None,
        }
    }

    fn of(readings: Vec<Reading>) -> Option<Self> {
        (!readings.is_empty()).then_some(Self { readings })
    }
}

/// The dialect of a text that has parentheses, or something else than five fields.
pub(super) fn recognise(text: &str) -> Option<OtherDialect> {
    let only = |dialect, meant| OtherDialect::of(vec![Reading { dialect, meant }]);
    if let Some(inside) = call(text, "rate") {
        return only(Dialect::Rate, interval::rate(inside)?);
    }
    if let Some(interval) = text.get(..6).filter(|it| it.eq_ignore_ascii_case("@every")) {
        let meant = interval::every(text[interval.len()..].trim())?;
        return only(Dialect::Every, meant);
    }
    if call(text, "at").is_some() {
        return only(Dialect::At, Err(Loss::Once));
    }
    if let Some(inside) = call(text, "cron") {
        let fields: Vec<&str> = inside.split_whitespace().collect();
        let meant = if let &[.., weekday] = fields.as_slice()
            && fields.len() == 5
        {
            // Nobody knows what day they count from.
            let by_number = weekday.bytes().any(|it| it.is_ascii_digit());
            Ok(parse::expression_of(inside).ok().filter(|_| !by_number)?.into())
        } else {
            Fields::in_dialect(Dialect::EventBridge, &fields)?.translate()?
        };
        return only(Dialect::EventBridge, meant);
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    let mut readings: Vec<Reading> = Vec::new();
    for dialect in likely(&fields) {
        let meant = Fields::in_dialect(dialect, &fields).and_then(Fields::translate);
        let is_new = |meant: &Result<Meant, Loss>| match meant {
            Ok(meant) => readings.iter().all(|known| !known.says(&meant.expression)),
            Err(_) => readings.is_empty(),
        };
        if let Some(meant) = meant.filter(is_new) {
            readings.push(Reading { dialect, meant });
        }
    }
    OtherDialect::of(readings)
}

impl Reading {
    fn says(&self, expression: &str) -> bool {
        self.meant.as_ref().is_ok_and(|meant| meant.expression == expression)
    }
}

/// What stands in the parentheses of `name(…)`, which has no others in it.
fn call<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (before, rest) = text.split_once('(')?;
    let inside = rest.trim_end().strip_suffix(')').filter(|inside| !inside.contains('('))?;
    before.trim_end().eq_ignore_ascii_case(name).then_some(inside)
}

/// The dialects that so many fields may be in, the likeliest first. Where `?` stands, or a name or a
/// year, tells them apart.
fn likely(fields: &[&str]) -> Vec<Dialect> {
    let &[first, _, third, fourth, fifth, sixth] = fields else {
        return if fields.len() == 7 { vec![Dialect::Quartz] } else { Vec::new() };
    };
    let has_digits = |text: &str| text.bytes().any(|it| it.is_ascii_digit());
    if third == "?" || fifth == "?" {
        vec![Dialect::EventBridge]
    } else if fourth == "?" || sixth == "?" {
        // Spring takes a question mark, too, and counts weekdays in another way.
        let one = vec![Dialect::Quartz];
        if has_digits(sixth) { vec![Dialect::Quartz, Dialect::Spring] } else { one }
    } else if is_year(sixth)
        || begins_with_name(&MONTHS, fourth)
        || begins_with_name(&WEEKDAYS, fifth)
    {
        vec![Dialect::EventBridge]
    } else if sixth == "*" && first == "0" {
        vec![Dialect::Spring, Dialect::EventBridge]
    } else if sixth == "*" && first.bytes().all(|it| it.is_ascii_digit()) {
        // Hardly anything is meant to begin at a second of its own.
        vec![Dialect::EventBridge, Dialect::Spring]
    } else {
        vec![Dialect::Spring]
    }
}

impl fmt::Display for OtherDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Reading { dialect, meant }) in self.readings.iter().enumerate() {
            let name = match dialect {
                Dialect::EventBridge => "EventBridge's dialect, with the year last",
                Dialect::Rate => "EventBridge's rate(…), which counts from when it was made",
                Dialect::At => "EventBridge's at(…)",
                Dialect::Quartz => "Quartz's dialect, with seconds first",
                Dialect::Spring => "a dialect with seconds first, such as Spring's",
                Dialect::Every => "@every, which counts from when it was read",
            };
            f.write_str(if index == 0 { "this is " } else { "; or " })?;
            f.write_str(name)?;
            match meant {
                Ok(meant) => meant.write(*dialect, f)?,
                Err(loss) => write!(f, "; {}", loss.told(*dialect))?,
            }
        }
        Ok(())
    }
}

impl Meant {
    fn write(&self, dialect: Dialect, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.by_number && matches!(dialect, Dialect::EventBridge | Dialect::Quartz) {
            f.write_str(", where weekdays count from 1 for Sunday")?;
        }
        write!(f, "; write {}", self.expression)?;
        if self.second > 0 {
            write!(
                f,
                ", for a run starts with its minute and second {} can't be kept",
                self.second
            )?;
        }
        Ok(())
    }
}

impl Loss {
    fn told(&self, dialect: Dialect) -> String {
        match self {
            Loss::Seconds => "a run starts with its minute, so only one a minute can be kept".into(),
            Loss::Years(years) => format!("five fields have no year, so {years} can't be kept"),
            Loss::BothDays if dialect == Dialect::Spring => {
                "it wants both the day of the month and the weekday to match, where here one of them \
                 is enough, so that can't be kept"
                    .into()
            }
            Loss::BothDays => "it takes a day of the month or a weekday, and ? for the other".into(),
            Loss::Once => "it happens once, which five fields can't say".into(),
            Loss::Uneven => {
                "no five fields run at that interval".into()
            }
            Loss::WeekdaySteps => {
                "schedulers disagree on which weekday a step counts from; list the weekdays".into()
            }
            Loss::TooOften => "nothing here runs more often than every minute".into(),
            Loss::Value(kind, field) => kind.told(*field),
        }
    }
}
