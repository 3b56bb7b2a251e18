//! The dates: days of the month, months, weekdays and years, and the combination of the two kinds of day.
//!
//! A month is one word with a bit for each day, so the search goes from month to month, not from
//! day to day.

use crate::civil::{Date, YEARS_A_CYCLE, days_in_month, first_day_of_month, weekday};

/// The combination of days of the month and weekdays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DayRule {
    /// A date needs both: the rule of pattern windows, and of cron if one of them is unrestricted.
    Both,
    /// A date needs one of them: the rule of cron when both are restricted.
    Either,
}

/// A set of dates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DateSet {
    /// The years, in order; `None` for every year.
    pub(crate) years: Option<Box<[i16]>>,
    /// Bits 1 to 31.
    pub(crate) days: u32,
    /// Bits 1 to 12.
    pub(crate) months: u16,
    /// Bits 0 (Sunday) to 6.
    pub(crate) weekdays: u8,
    pub(crate) rule: DayRule,
}

pub(crate) const ALL_DAYS: u32 = u32::MAX << 1;
pub(crate) const ALL_MONTHS: u16 = 0b1_1111_1111_1110;
pub(crate) const ALL_WEEKDAYS: u8 = 0b111_1111;

impl DateSet {
    /// Every date.
    pub(crate) const EVERY_DAY: DateSet = DateSet {
        years: None,
        days: ALL_DAYS,
        months: ALL_MONTHS,
        weekdays: ALL_WEEKDAYS,
        rule: DayRule::Both,
    };

    /// The dates with these days of the month, months and weekdays, as one bit each; `None` is any.
    /// Weekdays are 0 to 7, where both 0 and 7 are Sunday.
    #[expect(clippy::cast_possible_truncation, reason = "no day, month or weekday is over 31")]
    pub(crate) fn from_bits(
        days: Option<u64>,
        months: Option<u64>,
        weekdays: Option<u64>,
    ) -> DateSet {
        let week = |bits: u64| (bits | bits >> 7) as u8 & ALL_WEEKDAYS;
        DateSet {
            days: days.map_or(ALL_DAYS, |bits| bits as u32),
            months: months.map_or(ALL_MONTHS, |bits| bits as u16),
            weekdays: weekdays.map_or(ALL_WEEKDAYS, week),
            ..DateSet::EVERY_DAY
        }
    }

    /// Whether a day is in the set.
    #[inline]
    pub(crate) fn contains(&self, day: i64) -> bool {
        self.is_every_day() || self.contains_date(day)
    }

    fn contains_date(&self, day: i64) -> bool {
        let by_weekday = self.weekdays == ALL_WEEKDAYS || self.weekdays >> weekday(day) & 1 == 1;
        if self.is_any_date() {
            return by_weekday;
        }
        let date = Date::from_day(day);
        let by_day = self.days >> date.day & 1 == 1;
        self.months >> date.month & 1 == 1
            && match self.rule {
                DayRule::Both => by_day && by_weekday,
                DayRule::Either => by_day || by_weekday,
            }
            && self.has_year(date.year)
    }

    /// The first date after a day.
    ///
    /// The search ends after a whole cycle of the calendar, or with the last of the years: a set
    /// that has no date in that time has none at all.
    #[inline]
    pub(crate) fn after(&self, day: i64) -> Option<i64> {
        if self.is_every_day() {
            return Some(day + 1);
        }
        self.after_where(day, |year, month| self.days_of(year, month))
    }

    /// The last date before a day; the search ends as for
    /// [`DateSet::after`].
    #[inline]
    pub(crate) fn before(&self, day: i64) -> Option<i64> {
        if self.is_every_day() {
            return Some(day - 1);
        }
        self.before_where(day, |year, month| self.days_of(year, month))
    }

    /// The first date after a day among those that `days` gives for each month of this set.
    pub(crate) fn after_where(&self, day: i64, days: impl Fn(i32, u8) -> u32) -> Option<i64> {
        let date = Date::from_day(day);
        let found = days(date.year, date.month) & (ALL_DAYS << (date.day - 1) << 1);
        if found != 0 {
            return Some(day - i64::from(date.day) + i64::from(found.trailing_zeros()));
        }
        let last_year = self.latest_year().unwrap_or(date.year + YEARS_A_CYCLE);
        let (mut year, mut later_months) = (date.year, self.months & ALL_MONTHS << date.month);
        if let Some(first_year) = self.earliest_year()
            && year < first_year
        {
            (year, later_months) = (first_year, self.months);
        }
        while year <= last_year {
            while later_months != 0 {
                let month = bit(later_months.trailing_zeros());
                later_months &= later_months - 1;
                let found = days(year, month);
                if found != 0 {
                    let first = first_day_of_month(year, month);
                    return Some(first + i64::from(found.trailing_zeros()) - 1);
                }
            }
            later_months = self.months;
            year += 1;
        }
        None
    }

    /// The last date before a day among those that `days` gives for each month of this set.
    pub(crate) fn before_where(&self, day: i64, days: impl Fn(i32, u8) -> u32) -> Option<i64> {
        let date = Date::from_day(day);
        let found = days(date.year, date.month) & !(ALL_DAYS << (date.day - 1));
        if found != 0 {
            return Some(day - i64::from(date.day) + i64::from(found.ilog2()));
        }
        let first_year = self.earliest_year().unwrap_or(date.year - YEARS_A_CYCLE);
        let (mut year, mut earlier_months) = (date.year, self.months & ((1 << date.month) - 1));
        if let Some(last_year) = self.latest_year()
            && year > last_year
        {
            (year, earlier_months) = (last_year, self.months);
        }
        while year >= first_year {
            while earlier_months != 0 {
                let month = bit(earlier_months.ilog2());
                earlier_months &= (1 << month) - 1;
                let found = days(year, month);
                if found != 0 {
                    let first = first_day_of_month(year, month);
                    return Some(first + i64::from(found.ilog2()) - 1);
                }
            }
            earlier_months = self.months;
            year -= 1;
        }
        None
    }

    /// The days of a month that are in the set, as bits 1 to 31.
    pub(crate) fn days_of(&self, year: i32, month: u8) -> u32 {
        if self.months >> month & 1 == 0 || !self.has_year(year) {
            return 0;
        }
        let existing = !(ALL_DAYS << days_in_month(year, month)) & ALL_DAYS;
        if self.weekdays == ALL_WEEKDAYS && self.rule == DayRule::Both {
            return self.days & existing;
        }
        let on_weekdays = self.on_weekdays(weekday(first_day_of_month(year, month)));
        existing
            & match self.rule {
                DayRule::Both => self.days & on_weekdays,
                DayRule::Either => self.days | on_weekdays,
            }
    }

    /// The days, as bits 1 to 35 cut to a word, of a month whose first day is `first`.
    #[expect(clippy::cast_possible_truncation, reason = "a month has no more than 31 days")]
    fn on_weekdays(&self, first: u8) -> u32 {
        const EVERY_SEVENTH: u64 = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28;
        let week = u64::from(self.weekdays);
        let from_first_day = (week >> first | week << (7 - first)) & u64::from(ALL_WEEKDAYS);
        ((from_first_day * EVERY_SEVENTH) << 1) as u32
    }

    fn is_every_day(&self) -> bool {
        self.weekdays == ALL_WEEKDAYS && self.is_any_date()
    }

    /// Whether only the weekday matters.
    pub(crate) fn is_any_date(&self) -> bool {
        self.months == ALL_MONTHS
            && self.days == ALL_DAYS
            && self.rule == DayRule::Both
            && self.years.is_none()
    }

    fn has_year(&self, year: i32) -> bool {
        self.years
            .as_deref()
            .is_none_or(|years| years.binary_search_by(|it| i32::from(*it).cmp(&year)).is_ok())
    }

    pub(crate) fn earliest_year(&self) -> Option<i32> {
        self.years.as_deref()?.first().map(|it| i32::from(*it))
    }

    fn latest_year(&self) -> Option<i32> {
        self.years.as_deref()?.last().map(|it| i32::from(*it))
    }

    /// Whether no date is in the set, such as 31 February.
    pub(crate) fn is_empty(&self) -> bool {
        let from = first_day_of_month(self.earliest_year().unwrap_or(2000), 1) - 1;
        self.after(from).is_none()
    }
}

/// The position of a bit in a set of months.
#[expect(clippy::cast_possible_truncation, reason = "the argument is at most 15")]
fn bit(position: u32) -> u8 {
    position as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::civil::DAYS_A_CYCLE;

    fn leap_day_on_a_monday() -> DateSet {
        DateSet { days: 1 << 29, months: 1 << 2, weekdays: 1 << 1, ..DateSet::EVERY_DAY }
    }

    #[test]
    fn after_and_before_agree_with_checking_every_day() {
        let sets = [
            DateSet::EVERY_DAY,
            DateSet { days: 1 << 31, ..DateSet::EVERY_DAY },
            DateSet { weekdays: 0b100_0001, ..DateSet::EVERY_DAY },
            DateSet { days: 1 << 13, weekdays: 1 << 5, ..DateSet::EVERY_DAY },
            DateSet {
                days: 1 << 13,
                weekdays: 1 << 5,
                rule: DayRule::Either,
                ..DateSet::EVERY_DAY
            },
            DateSet {
                months: 1 << 2 | 1 << 12,
                years: Some([1999, 2001].into()),
                ..DateSet::EVERY_DAY
            },
            leap_day_on_a_monday(),
        ];
        for set in sets {
            let days: Vec<i64> = (9_000..13_000).filter(|day| set.contains(*day)).collect();
            for day in 9_000..13_000 {
                if let Some(next) = days.iter().find(|it| **it > day) {
                    assert_eq!(set.after(day), Some(*next), "{set:?}");
                }
                if let Some(previous) = days.iter().rfind(|it| **it < day) {
                    assert_eq!(set.before(day), Some(*previous), "{set:?}");
                }
            }
        }
    }

    #[test]
    fn a_date_that_exists_comes_back_within_forty_years() {
        for month in 1..=12 {
            for day in 1..=31 {
                for weekday in 0..=6 {
                    let set = DateSet {
                        days: 1 << day,
                        months: 1 << month,
                        weekdays: 1 << weekday,
                        ..DateSet::EVERY_DAY
                    };
                    if set.is_empty() {
                        assert!(day > i32::from(days_in_month(2000, month)), "{day}.{month}.");
                        continue;
                    }
                    let Some(mut at) = set.after(0) else { panic!("{set:?}") };
                    while at < DAYS_A_CYCLE {
                        let Some(next) = set.after(at) else { panic!("{set:?}") };
                        assert!(next - at <= 40 * 366, "{set:?}: {at} to {next}");
                        at = next;
                    }
                }
            }
        }
    }

    #[test]
    fn a_set_without_any_date_is_empty() {
        assert!(DateSet { days: 1 << 31, months: 1 << 2, ..DateSet::EVERY_DAY }.is_empty());
        let leap_day_1900 = DateSet {
            years: Some([1900].into()),
            weekdays: ALL_WEEKDAYS,
            ..leap_day_on_a_monday()
        };
        assert!(leap_day_1900.is_empty());
        assert!(!leap_day_on_a_monday().is_empty());
    }

    #[test]
    fn the_search_ends_with_the_last_of_the_years() {
        let set = DateSet { years: Some([2024].into()), ..DateSet::EVERY_DAY };
        let new_year_2025 = first_day_of_month(2025, 1);
        assert_eq!(set.after(new_year_2025), None);
        assert_eq!(set.before(new_year_2025), Some(new_year_2025 - 1));
        assert_eq!(set.after(0), Some(first_day_of_month(2024, 1)));
    }
}
