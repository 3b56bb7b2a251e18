//! From the text of a pattern's fields to the moments it names.

use super::error::{PatternError, PatternErrorKind, PatternField};
use super::{Pattern, PatternText};
use crate::names::{MONTHS, WEEKDAYS, nearest_name, position_of_name, position_of_short_name};
use crate::quoted::excerpt;
use crate::recurrence::{DateSet, Recurrence, TimeSet};

pub(super) fn parse(text: PatternText<'_>) -> Result<Pattern, PatternError> {
    let times = TimeSet::from_bits(
        bits(PatternField::Minutes, text.minutes)?.unwrap_or(1),
        bits(PatternField::Hours, text.hours)?.unwrap_or(1),
    );
    let any_year = DateSet::from_bits(
        bits(PatternField::Days, text.days)?,
        bits(PatternField::Months, text.months)?,
        bits(PatternField::Weekdays, text.weekdays)?,
    );
    let dates = DateSet { years: text.years.map(years).transpose()?, ..any_year };
    if dates.is_empty() {
        return Err(PatternError::new(PatternErrorKind::NeverFires, PatternField::Days, 0..0));
    }
    Ok(Pattern { recurrence: Recurrence { dates, times } })
}

/// The values of a field, as one bit each.
fn bits(field: PatternField, text: Option<&str>) -> Result<Option<u64>, PatternError> {
    let Some(text) = text else { return Ok(None) };
    let mut bits = 0;
    for item in items(field, text) {
        bits |= 1_u64 << item?.value()?;
    }
    Ok(Some(bits))
}

fn years(text: &str) -> Result<Box<[i16]>, PatternError> {
    let mut years = items(PatternField::Years, text)
        .map(|item| item?.value())
        .map(|year| year.map(u16::cast_signed))
        .collect::<Result<Vec<i16>, PatternError>>()?;
    years.sort_unstable();
    years.dedup();
    Ok(years.into())
}

/// One value of a list, without the spaces around it.
struct Item<'a> {
    field: PatternField,
    text: &'a str,
    at: usize,
}

fn items(field: PatternField, text: &str) -> impl Iterator<Item = Result<Item<'_>, PatternError>> {
    let mut at = 0;
    text.split(',').map(move |raw| {
        let start = at + raw.len() - raw.trim_start().len();
        at += raw.len() + 1;
        let item = Item { field, text: raw.trim(), at: start };
        if !item.text.is_empty() {
            return Ok(item);
        }
        let kind = if text.trim().is_empty() {
            PatternErrorKind::EmptyList
        } else {
            PatternErrorKind::EmptyItem
        };
        Err(item.error(kind))
    })
}

impl Item<'_> {
    fn value(&self) -> Result<u16, PatternError> {
        let (first, last) = self.field.bounds();
        if self.text.bytes().all(|it| it.is_ascii_digit()) {
            return match self.text.parse::<u16>() {
                Ok(value) if (first..=last).contains(&value) => Ok(value),
                _ => Err(self.error(PatternErrorKind::OutOfRange(excerpt(self.text)))),
            };
        }
        self.named(self.text).ok_or_else(|| self.error(self.what_is_wrong()))
    }

    /// The value of a name, whole or its first three letters.
    fn named(&self, text: &str) -> Option<u16> {
        let (names, first): (&[&str], _) = match self.field {
            PatternField::Months => (&MONTHS, 1),
            PatternField::Weekdays => (&WEEKDAYS, 0),
            _ => return None,
        };
        let short = position_of_short_name(names, text);
        let index = short.or_else(|| position_of_name(names, text))?;
        Some(u16::from(index) + first)
    }

    fn what_is_wrong(&self) -> PatternErrorKind {
        let given = excerpt(self.text);
        if self.text.contains('*') || self.text.contains('?') {
            return PatternErrorKind::Star;
        }
        if self.text.contains('/') {
            return PatternErrorKind::Step(given);
        }
        if let Some((from, to)) = self.text.split_once('-')
            && !from.is_empty()
        {
            return PatternErrorKind::Range { given, instead: self.listed(from.trim(), to.trim()) };
        }
        let names: &[&'static str] = match self.field {
            PatternField::Months => &MONTHS,
            PatternField::Weekdays => &WEEKDAYS,
            _ => &[],
        };
        let nearest = nearest_name(names, self.text).map(short);
        PatternErrorKind::NotAValue { given, nearest }
    }

    /// The range from one value to another as a list, if it has both ends.
    fn listed(&self, from: &str, to: &str) -> Option<String> {
        let (first, last) = self.field.bounds();
        let value = |text: &str| {
            let number = text.parse::<u16>().ok().filter(|it| (first..=last).contains(it));
            number.or_else(|| self.named(text))
        };
        let (from_value, to_value) = (value(from)?, value(to)?);
        let named = from.parse::<u16>().is_err();
        let values: Vec<u16> = if from_value <= to_value {
            (from_value..=to_value).collect()
        } else {
            (from_value..=last.min(self.field.last())).chain(first..=to_value).collect()
        };
        let text = |value: &u16| match (named, self.field) {
            (true, PatternField::Months) => short(MONTHS[usize::from(value - 1)]),
            (true, PatternField::Weekdays) => short(WEEKDAYS[usize::from(value % 7)]),
            _ => value.to_string(),
        };
        // A list of sixty numbers does not help.
        (values.len() <= 12).then(|| values.iter().map(text).collect::<Vec<_>>().join(","))
    }

    fn error(&self, kind: PatternErrorKind) -> PatternError {
        PatternError::new(kind, self.field, self.at..self.at + self.text.len())
    }
}

fn short(name: &str) -> String {
    crate::names::capitalized(&name[..3])
}
