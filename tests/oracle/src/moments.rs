//! A set of civil minutes: times of the day, and days.
//!
//! `cron` and `window` parse strings into such a set.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::tz::Offset;

use crate::line::{DAY, MINUTE};

/// One civil day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Day {
    /// Days since 1970-01-01.
    pub number: i64,
    /// The year.
    pub year: i64,
    /// The month, 1 to 12.
    pub month: i64,
    /// The day of the month, 1 to 31.
    pub day: i64,
    /// The weekday, Sunday = 0.
    pub weekday: i64,
}

impl Day {
    /// The day `number` days after 1970-01-01.
    ///
    /// # Panics
    ///
    /// Outside the years -9999 to 9999.
    #[must_use]
    pub fn numbered(number: i64) -> Day {
        let midnight =
            Timestamp::from_second(number * DAY).expect("the year has at most four digits");
        let date = Offset::UTC.to_datetime(midnight).date();
        Day {
            number,
            year: date.year().into(),
            month: date.month().into(),
            day: date.day().into(),
            weekday: date.weekday().to_sunday_zero_offset().into(),
        }
    }
}

/// A set of civil minutes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moments {
    /// Whether each minute of the day is in the set.
    pub(crate) times: Vec<bool>,
    /// Whether each day of the month is in the set (0 is unused).
    pub(crate) days: Vec<bool>,
    /// Whether each month is in the set (0 is unused).
    pub(crate) months: Vec<bool>,
    /// Whether each weekday is in the set, Sunday = 0.
    pub(crate) weekdays: Vec<bool>,
    /// The years; `None` for all.
    pub(crate) years: Option<BTreeSet<i64>>,
    /// Whether a match of either the day of the month or the weekday is sufficient.
    pub(crate) either_day: bool,
}

impl Moments {
    /// Whether some time of this day may be in the set.
    #[must_use]
    pub fn has_day(&self, day: Day) -> bool {
        let of_month = holds(&self.days, day.day);
        let of_week = holds(&self.weekdays, day.weekday);
        let right_day = if self.either_day { of_month || of_week } else { of_month && of_week };
        let right_year = self.years.as_ref().is_none_or(|years| years.contains(&day.year));
        right_day && right_year && holds(&self.months, day.month)
    }

    /// Whether the set contains this time of the day, in seconds after midnight.
    pub(crate) fn has_time(&self, seconds: i64) -> bool {
        holds(&self.times, seconds / MINUTE)
    }

    /// The times of a day in the set, in seconds after midnight.
    pub(crate) fn times_of_day(&self) -> Vec<i64> {
        (0..DAY).step_by(60).filter(|&time| self.has_time(time)).collect()
    }

    /// All days that distinguish sets: 400 years, because the calendar repeats after that, and every named year.
    pub(crate) fn decisive_days(&self) -> impl Iterator<Item = Day> + use<> {
        let named = self.years.clone().unwrap_or_default();
        let named = named.into_iter().filter(|year| !(2000..2400).contains(year));
        (2000..2400).chain(named).flat_map(|year| {
            let first = crate::line::year_start(year) / DAY;
            (first..first + 366).map(Day::numbered).filter(move |day| day.year == year)
        })
    }

    /// Whether the set contains any minute.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        self.times.contains(&true) && self.decisive_days().any(|day| self.has_day(day))
    }

    /// Whether two sets contain the same minutes.
    #[must_use]
    pub fn coincides_with(&self, other: &Moments) -> bool {
        self.times == other.times
            && self
                .decisive_days()
                .chain(other.decisive_days())
                .all(|day| self.has_day(day) == other.has_day(day))
    }

    /// The latest minute of the set that is no later than a civil time.
    ///
    /// Searches back day by day for 45 years (29 February on a given weekday recurs within 40), and as far as the first
    /// named year.
    #[must_use]
    pub fn latest_up_to(&self, civil: i64) -> Option<i64> {
        let today = Day::numbered(civil.div_euclid(DAY));
        let first_year = self.years.iter().flatten().copied().chain([today.year - 45]).min()?;
        let mut day = today;
        while day.year >= first_year {
            if self.has_day(day) {
                let midnight = day.number * DAY;
                let times = self.times_of_day();
                if let Some(time) = times.iter().rev().find(|&time| midnight + time <= civil) {
                    return Some(midnight + time);
                }
            }
            day = Day::numbered(day.number - 1);
        }
        None
    }
}

fn holds(set: &[bool], value: i64) -> bool {
    usize::try_from(value).ok().and_then(|index| set.get(index).copied()).unwrap_or(false)
}
