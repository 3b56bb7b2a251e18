//! From the text of a cron expression to its fields.

use std::ops::Range;

use super::Cron;
use super::dialect;
use super::error::{CronError, CronErrorKind, CronField, over_the_end};
use super::field::{FieldSet, FieldText};
use crate::Zone;
use crate::names::{MONTHS, WEEKDAYS};
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

/// The five fields, in the order in which they are written.
pub(super) const FIELDS: [CronField; 5] = [
    CronField::Minute,
    CronField::Hour,
    CronField::DayOfMonth,
    CronField::Month,
    CronField::Weekday,
];

pub(super) fn parse(text: &str) -> Result<Cron, CronError> {
    read(text)
        .map_err(|error| CronError { instead: instead(&error, text, MAX_CORRECTIONS), ..error })
}

/// The maximum number of corrected values of an expression.
const MAX_CORRECTIONS: usize = 16;

/// The correction of an invalid expression, if it can be determined.
fn instead(error: &CronError, text: &str, corrections: usize) -> Option<String> {
    let further = corrections.checked_sub(1)?;
    let with = |value: &str| {
        let Range { start, end } = error.span();
        let text = format!("{}{value}{}", &text[..start], &text[end..]);
        match read(&text) {
            Ok(_) => Some(text.trim().to_owned()),
            Err(error) => instead(&error, &text, further),
        }
    };
    match &error.kind {
        CronErrorKind::OtherDialect(dialect) => dialect.same().map(str::to_owned),
        CronErrorKind::Comment { expression }
        | CronErrorKind::Command { expression }
        | CronErrorKind::Quotes { expression } => Some(expression.clone()),
        CronErrorKind::MacroLetterCase(name) => Some((*name).to_owned()),
        CronErrorKind::LongName { short, .. }
        | CronErrorKind::NotAValue { nearest: Some(short), .. } => with(short),
        CronErrorKind::AnyValue { stepped } => with(stepped.as_ref()?),
        CronErrorKind::Backwards { from, to, step, named } => {
            with(&over_the_end(*from, *to, *step, error.field?, *named))
        }
        _ => None,
    }
}

fn read(text: &str) -> Result<Cron, CronError> {
    let trimmed = text.trim();
    let at = text.len() - text.trim_start().len();
    let wrong = |kind| CronError::new(kind, None, at..at + trimmed.len());
    let unquoted = trimmed.trim_matches(['"', '\'', '`']);
    if unquoted.len() < trimmed.len() {
        let begin = unquoted.as_ptr().addr() - text.as_ptr().addr();
        let expression = expression_of(unquoted).map_err(|error| CronError {
            span: error.span.start + begin..error.span.end + begin,
            ..error
        })?;
        return Err(wrong(CronErrorKind::Quotes { expression }));
    }
    if let Some(comment) = comment(trimmed) {
        // An error before a comment matters more than the comment.
        let expression = expression_of(&text[..at + comment])?;
        return Err(wrong(CronErrorKind::Comment { expression }));
    }
    if let Some(cron) = MACROS.iter().find(|(name, _)| *name == trimmed) {
        return read(cron.1);
    }
    if has_zone(trimmed) {
        let prefix = trimmed.split_whitespace().next().unwrap_or(trimmed);
        let zone =
            Zone::named(prefix.split_once('=').map_or("", |(_, zone)| zone)).map_err(Box::new);
        let rest = trimmed[prefix.len()..].trim();
        let expression = if has_zone(rest) { None } else { expression_of(rest).ok() };
        let kind = CronErrorKind::ZoneInside { zone, expression };
        return Err(CronError::new(kind, None, at..at + prefix.len()));
    }
    if trimmed.ends_with(')')
        && let Some(found) = dialect::recognize(trimmed)
    {
        return Err(wrong(CronErrorKind::OtherDialect(found)));
    }
    let mut fields = trimmed
        .split_whitespace()
        .map(|field| (field, field.as_ptr().addr() - text.as_ptr().addr()));
    let (Some(minute), Some(hour), Some(day), Some(month), Some(weekday), None) =
        (fields.next(), fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err(wrong(not_five_fields(trimmed)));
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
        let span = day.1..month.1 + month.0.len();
        return Err(CronError::new(CronErrorKind::NeverFires, Some(CronField::DayOfMonth), span));
    }
    let times = TimeSet::from_bits(minutes.bits, hours.bits);
    Ok(Cron { recurrence: Recurrence { dates, times }, fixed: !minutes.rhythm && !hours.rhythm })
}

fn dates(days: FieldSet, months: FieldSet, weekdays: FieldSet) -> DateSet {
    // An unrestricted field may list other values next to its star; they have no effect.
    let bits = |field: FieldSet| (!field.free).then_some(field.bits);
    let both = DateSet::from_bits(bits(days), bits(months), bits(weekdays));
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

/// The start of a comment: a `#` after a space, or a semicolon, unless another expression follows.
fn comment(text: &str) -> Option<usize> {
    let begins = |(at, sign): &(usize, &str)| match *sign {
        "#" => text[..*at].ends_with(char::is_whitespace),
        _ => !text[at + 1..]
            .trim_start()
            .starts_with(|it: char| it.is_ascii_digit() || "*?@".contains(it)),
    };
    text.match_indices(['#', ';']).find(begins).map(|(at, _)| at)
}

fn has_zone(text: &str) -> bool {
    text.starts_with("TZ=") || text.starts_with("CRON_TZ=")
}

/// The expression in a text, or its correction.
pub(super) fn expression_of(text: &str) -> Result<String, CronError> {
    match parse(text) {
        Ok(_) => Ok(text.trim().to_owned()),
        Err(error) => error.instead.clone().ok_or(error),
    }
}

fn not_five_fields(text: &str) -> CronErrorKind {
    if let Some((five, zone)) = text.rsplit_once(char::is_whitespace)
        && let Ok(zone) = Zone::named(zone)
        && let Ok(expression) = expression_of(five)
    {
        return CronErrorKind::ZoneInside { zone: Ok(zone), expression: Some(expression) };
    }
    if let Some(dialect) = dialect::recognize(text) {
        return CronErrorKind::OtherDialect(dialect);
    }
    if text.starts_with('@') {
        return wrong_macro(text);
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if let Some((five, [next, ..])) = fields.split_at_checked(5)
        && looks_like_command(next)
        && let Ok(expression) = expression_of(&five.join(" "))
    {
        return CronErrorKind::Command { expression };
    }
    CronErrorKind::FieldCount(fields.len())
}

/// Whether a text contains more than numbers, names and punctuation: a path, a program, a user.
fn looks_like_command(field: &str) -> bool {
    let is_name = |letter: char| letter.is_ascii_lowercase() || matches!(letter, '-' | '_');
    let is_user = field.len() > 3 && field.chars().all(is_name);
    let is_day = WEEKDAYS.iter().chain(&MONTHS).any(|name| field.starts_with(&name[..3]));
    field.starts_with(['/', '.', '~']) || (is_user && !is_day)
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
