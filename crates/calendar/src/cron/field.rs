//! One field of a cron expression: its values, its names, and how its text becomes a set of bits.

use std::ops::Range;

use super::error::{CronError, CronErrorKind, CronField};
use crate::names::{MONTHS, WEEKDAYS, nearest_name, position_of_name, position_of_short_name};
use crate::quoted::excerpt;

/// The values of one field.
#[derive(Clone, Copy)]
pub(super) struct FieldSet {
    /// One bit for each value as written: Sunday may be 0 or 7.
    pub(super) bits: u64,
    /// Whether the field contains `*` or `?` without a step, and so restricts nothing.
    pub(super) free: bool,
    /// Whether the field contains `*`, `?` or a step, and so describes a rhythm.
    pub(super) rhythm: bool,
}

impl CronField {
    /// The values, smallest and largest.
    pub(super) fn bounds(self) -> (u8, u8) {
        match self {
            CronField::Minute => (0, 59),
            CronField::Hour => (0, 23),
            CronField::DayOfMonth => (1, 31),
            CronField::Month => (1, 12),
            CronField::Weekday => (0, 7),
        }
    }

    /// The last value that `N/step` and `*/step` reach: 7 is only another number for Sunday.
    fn last(self) -> u8 {
        match self {
            CronField::Weekday => 6,
            _ => self.bounds().1,
        }
    }

    fn named(self, text: &str) -> Option<u8> {
        match self {
            CronField::Month => position_of_short_name(&MONTHS, text).map(|index| index + 1),
            CronField::Weekday => position_of_short_name(&WEEKDAYS, text),
            _ => None,
        }
    }
}

/// The text of one field, and its offset in the expression.
#[derive(Clone, Copy)]
pub(super) struct FieldText<'a> {
    pub(super) field: CronField,
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> FieldText<'a> {
    pub(super) fn parse(self) -> Result<FieldSet, CronError> {
        let mut set = FieldSet { bits: 0, free: false, rhythm: false };
        let mut at = self.at;
        for item in self.text.split(',') {
            let item = FieldText { text: item, at, ..self };
            item.add_to(&mut set)?;
            at += item.text.len() + 1;
        }
        Ok(set)
    }

    /// Reads one item of the list: a star, a value or a range, with or without a step.
    fn add_to(self, set: &mut FieldSet) -> Result<(), CronError> {
        if self.text.is_empty() {
            return Err(self.error(CronErrorKind::EmptyItem));
        }
        let (base, step) = match self.text.split_once('/') {
            None => (self, None),
            Some((base, step)) => {
                let step = self.part(base.len() + 1, step);
                (self.part(0, base), Some(step.step()?))
            }
        };
        if let Some(step) = step
            && let Some(any) = base.any()
        {
            return Err(
                self.error(CronErrorKind::AnyValue { stepped: Some(format!("{any}/{step}")) })
            );
        }
        let (from, to) = if matches!(base.text, "*" | "?") {
            set.rhythm = true;
            set.free |= step.is_none_or(|step| step == 1);
            (self.field.bounds().0, self.field.last())
        } else if base.text.contains(['*', '?']) {
            return Err(base.error(CronErrorKind::StarWithMore(excerpt(base.text))));
        } else if let Some((from, to)) = base.text.split_once('-') {
            let (from_text, to_text) = (base.part(0, from), base.part(from.len() + 1, to));
            let (from, to) = (from_text.value()?, to_text.value()?);
            if from > to {
                let named = from_text.text.bytes().any(|it| it.is_ascii_alphabetic());
                let step = step.unwrap_or(1);
                return Err(self.error(CronErrorKind::Backwards { from, to, step, named }));
            }
            (from, to)
        } else {
            let value = base.value()?;
            (value, if step.is_some() { self.field.last().max(value) } else { value })
        };
        set.rhythm |= step.is_some();
        for value in (from..=to).step_by(step.unwrap_or(1)) {
            set.bits |= 1 << value;
        }
        Ok(())
    }

    /// The values that Jenkins chooses one of for `H` or `H(0-29)`.
    fn any(self) -> Option<&'a str> {
        let range = self.text.strip_prefix(['H', 'h'])?;
        if range.is_empty() {
            return Some("*");
        }
        let range = range.strip_prefix('(')?.strip_suffix(')')?;
        FieldText { text: range, ..self }.parse().ok().map(|_| range)
    }

    fn step(self) -> Result<usize, CronError> {
        match self.text.parse::<usize>() {
            Ok(0) => Err(self.error(CronErrorKind::StepOfZero)),
            // `parse` accepts a sign, but a step has none.
            Ok(step) if self.text.bytes().all(|it| it.is_ascii_digit()) => Ok(step),
            // A step past the end of any field leaves its first value, however many digits it has.
            Err(_) if !self.text.is_empty() && self.text.bytes().all(|it| it.is_ascii_digit()) => {
                Ok(usize::from(u8::MAX))
            }
            _ => Err(self.error(CronErrorKind::NotAStep(excerpt(self.text)))),
        }
    }

    fn value(self) -> Result<u8, CronError> {
        let (first, last) = self.field.bounds();
        if !self.text.is_empty() && self.text.bytes().all(|it| it.is_ascii_digit()) {
            return match self.text.parse::<u8>() {
                Ok(value) if (first..=last).contains(&value) => Ok(value),
                _ => Err(self.error(CronErrorKind::OutOfRange(excerpt(self.text)))),
            };
        }
        self.field.named(self.text).ok_or_else(|| self.error(self.what_is_wrong()))
    }

    /// Determines the error in a text that is not a value of its field.
    fn what_is_wrong(self) -> CronErrorKind {
        let upper = self.text.to_ascii_uppercase();
        let given = || excerpt(self.text);
        if self.text.is_empty() || self.text.contains('-') {
            return CronErrorKind::OpenRange;
        }
        if self.text.contains('#') {
            return CronErrorKind::NthWeekday;
        }
        let digits = |text: &str| text.bytes().all(|it| it.is_ascii_digit());
        let days = matches!(self.field, CronField::DayOfMonth | CronField::Weekday);
        if days && (upper == "L" || upper == "LW" || upper.strip_suffix('L').is_some_and(digits)) {
            return CronErrorKind::LastDay;
        }
        if days && (upper == "W" || upper.strip_suffix('W').is_some_and(digits)) {
            return CronErrorKind::NearestWeekday;
        }
        if upper == "H" || upper.starts_with("H(") {
            return CronErrorKind::AnyValue { stepped: None };
        }
        let names: &[&'static str] = match self.field {
            CronField::Month => &MONTHS,
            CronField::Weekday => &WEEKDAYS,
            _ => &[],
        };
        match position_of_name(names, self.text) {
            Some(index) => {
                let short = &names[usize::from(index)][..3];
                CronErrorKind::LongName { given: given(), short }
            }
            None => {
                CronErrorKind::NotAValue { given: given(), nearest: nearest_name(names, self.text) }
            }
        }
    }

    /// A part of this text, `offset` bytes into it.
    fn part(self, offset: usize, text: &'a str) -> FieldText<'a> {
        FieldText { text, at: self.at + offset, ..self }
    }

    fn error(self, kind: CronErrorKind) -> CronError {
        CronError::new(kind, Some(self.field), self.span())
    }

    fn span(self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }
}
