//! From six or seven fields of another dialect to five.

use super::super::error::{CronErrorKind, CronField, over_the_end};
use super::super::field::FieldText;
use super::super::parse;
use super::{Dialect, Equivalent, Loss};
use crate::names::{WEEKDAYS, position_of_name, position_of_short_name};

/// The fields of an expression, by meaning.
pub(super) struct Fields<'a> {
    dialect: Dialect,
    second: Option<&'a str>,
    /// Minute, hour, day of the month and month.
    others: [&'a str; 4],
    weekday: &'a str,
    year: Option<&'a str>,
}

impl<'a> Fields<'a> {
    /// `None` if the dialect does not have this many.
    pub(super) fn in_dialect(dialect: Dialect, fields: &[&'a str]) -> Option<Self> {
        let (second, [minute, hour, day, month, weekday], year) = match (dialect, fields) {
            (Dialect::EventBridge, &[minute, hour, day, month, weekday, year]) => {
                (None, [minute, hour, day, month, weekday], Some(year))
            }
            (
                Dialect::Quartz | Dialect::Spring,
                &[second, minute, hour, day, month, weekday, ref year @ ..],
            ) => (Some(second), [minute, hour, day, month, weekday], year.first().copied()),
            _ => return None,
        };
        Some(Self { dialect, second, others: [minute, hour, day, month], weekday, year })
    }

    /// The equivalent; `None` if it is not an expression of the dialect.
    pub(super) fn translate(self) -> Option<Result<Equivalent, Loss>> {
        let seconds = self.second.map_or(Some(1), |second| {
            let field = FieldText { field: CronField::Minute, text: second, at: 0 };
            Some(field.parse().ok()?.bits)
        })?;
        let year = self.year.filter(|year| !is_any(year));
        if year.is_some_and(|year| !is_year(year) && !year.starts_with("*/")) {
            return None;
        }
        let of = [CronField::Minute, CronField::Hour, CronField::DayOfMonth, CronField::Month];
        let mut fields = Vec::new();
        for (field, text) in of.into_iter().zip(self.others) {
            let given = ForeignField { field, text };
            match given.as_here() {
                Ok(text) => fields.push(text),
                Err(lost) => return lost.map(Err),
            }
        }
        let weekday = ForeignField { field: CronField::Weekday, text: self.weekday };
        match if self.counts_from_one() { weekday.as_names() } else { weekday.as_here() } {
            Ok(_) if self.dialect == Dialect::Spring && self.weekday.contains('/') => {
                return Some(Err(Loss::WeekdaySteps));
            }
            Ok(text) => fields.push(text),
            Err(lost) => return lost.map(Err),
        }
        // A day field covering every day must become `*`, or cron would match either field.
        for (position, field) in [(2, CronField::DayOfMonth), (4, CronField::Weekday)] {
            if let Some(text) = fields.get_mut(position).filter(|text| is_every(field, text)) {
                "*".clone_into(text);
            }
        }
        let expression = fields.join(" ");
        let read = parse::parse(&expression);
        if read.as_ref().is_err_and(|error| error.kind == CronErrorKind::NeverFires) {
            return Some(Err(Loss::Never));
        }
        read.ok()?;
        Some(if fields[2] != "*" && fields[4] != "*" {
            Err(Loss::BothDays)
        } else if let Some(year) = year {
            Err(Loss::Years(year.to_owned()))
        } else if seconds.count_ones() > 1 {
            Err(Loss::Seconds)
        } else {
            let by_number = self.weekday.bytes().any(|it| it.is_ascii_digit());
            // Of sixty seconds, one is set.
            let second = u8::try_from(seconds.trailing_zeros()).unwrap_or(0);
            Ok(Equivalent { expression, second, by_number })
        })
    }

    /// Whether Sunday is 1 and Saturday 7.
    fn counts_from_one(&self) -> bool {
        matches!(self.dialect, Dialect::EventBridge | Dialect::Quartz)
    }
}

fn is_any(text: &str) -> bool {
    matches!(text, "*" | "?" | "*/1")
}

/// Whether a field restricts nothing.
fn is_every(field: CronField, text: &str) -> bool {
    let values = |text| {
        let bits = FieldText { field, text, at: 0 }.parse().ok()?.bits;
        // Sunday is 7 as well.
        Some(if field == CronField::Weekday { bits | bits >> 7 } else { bits })
    };
    values("*").is_some_and(|every| values(text).is_some_and(|given| given & every == every))
}

/// Whether the field lists years.
pub(super) fn is_year(text: &str) -> bool {
    let years = || text.split([',', '-', '/']);
    let is_number = |part: &str| part.bytes().all(|it| it.is_ascii_digit());
    years().all(|part| is_any(part) || is_number(part))
        && years().any(|part| part.len() == 4 && is_number(part))
}

/// Whether the text starts with the first three letters of a name.
pub(super) fn begins_with_name(names: &[&str], text: &str) -> bool {
    text.get(..3).is_some_and(|name| position_of_short_name(names, name).is_some())
}

/// The weekdays of a field in which numbers count from 1 for Sunday, by their names; `None` for another
/// field.
pub(in crate::cron) fn weekdays_from_one(text: &str) -> Option<String> {
    ForeignField { field: CronField::Weekday, text }.as_names().ok()
}

/// A field as written in another dialect.
struct ForeignField<'a> {
    field: CronField,
    text: &'a str,
}

/// The part that cannot be expressed here; `None` if it is not a valid field there, either.
type Untranslatable = Option<Loss>;

impl ForeignField<'_> {
    /// The field in five-field syntax: ranges do not run backwards, and every step has a start.
    fn as_here(&self) -> Result<String, Untranslatable> {
        let items: Result<Vec<String>, Untranslatable> =
            self.text.split(',').map(|item| self.item(item)).collect();
        Ok(items?.join(","))
    }

    fn item(&self, item: &str) -> Result<String, Untranslatable> {
        let item = match item {
            "?" => "*".to_owned(),
            _ if item.starts_with('/') => format!("*{item}"),
            _ => item.to_owned(),
        };
        let read = FieldText { field: self.field, text: &item, at: 0 }.parse();
        let Err(error) = read else { return Ok(item) };
        match error.kind {
            CronErrorKind::Backwards { from, to, step, named } => {
                Ok(over_the_end(from, to, step, self.field, named))
            }
            CronErrorKind::LongName { short, .. } => self.item(&format!(
                "{}{short}{}",
                &item[..error.span.start],
                &item[error.span.end..]
            )),
            // `FRIL`: the last Friday.
            _ if item.ends_with(['L', 'l']) && begins_with_name(&WEEKDAYS, &item) => {
                Err(self.lost(CronErrorKind::LastDay))
            }
            kind => Err(self.lost(kind)),
        }
    }

    fn lost(&self, kind: CronErrorKind) -> Untranslatable {
        let is_known_elsewhere = matches!(
            kind,
            CronErrorKind::LastDay | CronErrorKind::NearestWeekday | CronErrorKind::NthWeekday
        );
        is_known_elsewhere.then_some(Loss::Value(kind, self.field))
    }

    /// Weekdays that count from 1 for Sunday, by their names.
    fn as_names(&self) -> Result<String, Untranslatable> {
        if is_any(self.text) || !self.text.bytes().any(|it| it.is_ascii_digit()) {
            // Alone, the last day of the week is a Saturday.
            let is_saturday = self.text.eq_ignore_ascii_case("L");
            return if is_saturday { Ok("sat".to_owned()) } else { self.as_here() };
        }
        let mut days = [false; 7];
        for item in self.text.split(',') {
            let (base, step) = item.split_once('/').unwrap_or((item, "1"));
            let step = step.parse::<usize>().ok().filter(|step| *step > 0).ok_or(None)?;
            let (from, to) = match base.split_once('-') {
                Some((from, to)) => (self.position(from)?, self.position(to)?),
                None if is_any(base) || base.is_empty() => (0, 6),
                None => {
                    let from = self.position(base)?;
                    (from, if item.contains('/') { 6 } else { from })
                }
            };
            let last = if to < from { to + 7 } else { to };
            for day in (from..=last).step_by(step) {
                days[day % 7] = true;
            }
        }
        Ok(names(days))
    }

    /// From 0 for Sunday.
    fn position(&self, text: &str) -> Result<usize, Untranslatable> {
        let name = position_of_short_name(&WEEKDAYS, text);
        if let Some(name) = name.or_else(|| position_of_name(&WEEKDAYS, text)) {
            return Ok(usize::from(name));
        }
        if let Ok(day @ 1..=7) = text.parse::<usize>() {
            return Ok(day - 1);
        }
        let read = FieldText { field: self.field, text, at: 0 }.parse();
        Err(read.err().and_then(|error| self.lost(error.kind)))
    }
}

/// `mon-fri` where that is equivalent, else a list.
pub(in crate::cron) fn names(days: [bool; 7]) -> String {
    let name = |day: usize| &WEEKDAYS[day][..3];
    let listed: Vec<usize> = (0..7).filter(|day| days[*day]).collect();
    match listed.as_slice() {
        [first, .., last] if last - first == 6 && listed.len() == 7 => "*".to_owned(),
        [first, _, .., last] if last - first + 1 == listed.len() => {
            format!("{}-{}", name(*first), name(*last))
        }
        _ => listed.iter().map(|day| name(*day)).collect::<Vec<_>>().join(","),
    }
}
