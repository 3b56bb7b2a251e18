//! From the text of a cron expression to its fields.

use super::Cron;
use super::error::{CronError, CronErrorKind, CronField};
use super::field::{FieldSet, FieldText};
use crate::quoted::excerpt;
use crate::recurrence::{DateSet, DayRule, Recurrence, TimeSet};

const MACROS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

pub(super) fn parse(text: &str) -> Result<Cron, CronError> {
    let trimmed = text.trim();
    let at = text.len() - text.trim_start().len();
    let whole = |kind| Err(CronError { kind, field: None, span: at..at + trimmed.len() });
    if trimmed.starts_with('@') {
        return match MACROS.iter().find(|(name, _)| *name == trimmed) {
            Some((_, expression)) => parse(expression),
            None => whole(wrong_macro(trimmed)),
        };
    }
    if trimmed.starts_with("TZ=") || trimmed.starts_with("CRON_TZ=") {
        let prefix = trimmed.split_whitespace().next().map_or(0, str::len);
        let kind = CronErrorKind::ZonePrefix;
        return Err(CronError { kind, field: None, span: at..at + prefix });
    }
    let mut fields = trimmed
        .split_whitespace()
        .map(|field| (field, field.as_ptr().addr() - text.as_ptr().addr()));
    let (Some(minute), Some(hour), Some(day), Some(month), Some(weekday), None) =
        (fields.next(), fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return whole(CronErrorKind::FieldCount(trimmed.split_whitespace().count()));
    };
    let read = |(text, at): (&str, usize), field| FieldText { field, text, at }.parse();
    let minutes = read(minute, CronField::Minute)?;
    let hours = read(hour, CronField::Hour)?;
    let dates = dates(
        read(day, CronField::DayOfMonth)?,
        read(month, CronField::Month)?,
        read(weekday, CronField::Weekday)?,
    );
    if dates.is_empty() {
        return Err(CronError {
            kind: CronErrorKind::NeverFires,
            field: Some(CronField::DayOfMonth),
            span: day.1..month.1 + month.0.len(),
        });
    }
    let times = TimeSet::of(minutes.bits, hours.bits);
    Ok(Cron { recurrence: Recurrence { dates, times }, fixed: !minutes.rhythm && !hours.rhythm })
}

fn dates(days: FieldSet, months: FieldSet, weekdays: FieldSet) -> DateSet {
    // A free field may list other values beside its star; they say nothing more.
    let bits = |field: FieldSet| (!field.free).then_some(field.bits);
    let both = DateSet::of(bits(days), bits(months), bits(weekdays));
    let everything = DateSet::EVERY_DAY;
    if days.free || weekdays.free {
        both
    } else if both.days == everything.days || both.weekdays == everything.weekdays {
        // A date needs only one of the two, and every date has it: `1-31 * 5` is every day.
        DateSet { months: both.months, ..everything }
    } else {
        DateSet { rule: DayRule::Either, ..both }
    }
}

fn wrong_macro(given: &str) -> CronErrorKind {
    let lower = given.to_ascii_lowercase();
    if lower.starts_with("@every") {
        return CronErrorKind::Every;
    }
    if lower == "@reboot" {
        return CronErrorKind::Reboot;
    }
    match MACROS.iter().find(|(name, _)| *name == lower) {
        Some((name, _)) => CronErrorKind::MacroLetterCase(name),
        None => CronErrorKind::UnknownMacro(excerpt(given)),
    }
}
