//! A set of civil minutes: certain times of day on certain dates.
//!
//! Everything the calendar offers is based on this: a cron expression is one recurrence, a window
//! is two (one that opens it and one that closes it). There are no zones or instants here; civil
//! minutes go in and civil minutes come out.

mod dates;
mod times;

pub(crate) use self::dates::{DateSet, DayRule};
pub(crate) use self::times::TimeSet;
use crate::civil::{MINUTES_A_DAY, SECONDS_A_MINUTE, first_day_of_month};

/// Certain times of day on certain dates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Recurrence {
    pub(crate) dates: DateSet,
    pub(crate) times: TimeSet,
}

/// A minute of the wall clock, decomposed once for all queries about it. Its date is computed only
/// if needed: most schedules are for every day, or for certain weekdays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CivilMinute {
    day: i64,
    /// The minute of the day; 1440 when the day is over, for searches that begin after it.
    time: u16,
}

/// The last minute of a day.
const LAST_TIME: u16 = 24 * 60 - 1;

impl CivilMinute {
    pub(crate) fn new(minute: i64) -> CivilMinute {
        let day = minute.div_euclid(MINUTES_A_DAY);
        let time = minute.rem_euclid(MINUTES_A_DAY);
        let time = u16::try_from(time).unwrap_or(LAST_TIME);
        CivilMinute { day, time }
    }

    /// The minute in which a civil second lies.
    pub(crate) fn from_second(civil: i64) -> CivilMinute {
        CivilMinute::new(civil.div_euclid(SECONDS_A_MINUTE))
    }

    /// The start of a search for later minutes.
    pub(crate) fn after(self) -> CivilMinute {
        CivilMinute { time: self.time + 1, ..self }
    }

    /// The minute as a count of minutes.
    pub(crate) fn minute(self) -> i64 {
        join(self.day, self.time)
    }
}

impl Recurrence {
    /// The first matching minute at or after `from`.
    pub(crate) fn next(&self, from: CivilMinute) -> Option<i64> {
        if self.dates.contains(from.day)
            && let Some(time) = self.times.next(from.time)
        {
            return Some(join(from.day, time));
        }
        let day = self.dates.after(from.day)?;
        Some(join(day, self.times.first()))
    }

    /// The last matching minute at or before `from`.
    pub(crate) fn previous(&self, from: CivilMinute) -> Option<i64> {
        if self.dates.contains(from.day)
            && let Some(time) = self.times.previous(from.time)
        {
            return Some(join(from.day, time));
        }
        let day = self.dates.before(from.day)?;
        Some(join(day, self.times.last()))
    }

    /// All matching minutes in `[from, to)`, in order.
    pub(crate) fn between(&self, from: i64, to: i64) -> impl Iterator<Item = i64> {
        let next = |minute| self.next(CivilMinute::new(minute));
        std::iter::successors(next(from), move |minute| next(minute + 1))
            .take_while(move |minute| *minute < to)
    }

    /// The first matching minute, if the years are restricted.
    pub(crate) fn first(&self) -> Option<i64> {
        let year = self.dates.earliest_year()?;
        self.next(CivilMinute::new(first_day_of_month(year, 1) * MINUTES_A_DAY))
    }

    /// The minutes of this recurrence that are not in `other`.
    pub(crate) fn without<'a>(&'a self, other: &'a Recurrence) -> Difference<'a> {
        Difference { base: self, removed: other }
    }
}

/// The minutes of one recurrence that are not in another.
///
/// It searches for the date first, with a month's days as one mask, so that a rare or empty
/// difference is found as fast as a rare recurrence.
#[derive(Clone, Copy)]
pub(crate) struct Difference<'a> {
    base: &'a Recurrence,
    removed: &'a Recurrence,
}

impl Difference<'_> {
    /// The first minute at or after `from`.
    pub(crate) fn next(self, from: CivilMinute) -> Option<i64> {
        if let Some(time) = self.on(from.day).and_then(|left| left.next(from.time)) {
            return Some(join(from.day, time));
        }
        let dates = &self.base.dates;
        let day = if self.leaves_times_on_every_date() {
            dates.after(from.day)?
        } else {
            dates.after_where(from.day, |year, month| self.days(year, month))?
        };
        Some(join(day, self.on(day)?.next(0)?))
    }

    /// The last minute at or before `from`.
    pub(crate) fn previous(self, from: CivilMinute) -> Option<i64> {
        if let Some(time) = self.on(from.day).and_then(|left| left.previous(from.time)) {
            return Some(join(from.day, time));
        }
        let dates = &self.base.dates;
        let day = if self.leaves_times_on_every_date() {
            dates.before(from.day)?
        } else {
            dates.before_where(from.day, |year, month| self.days(year, month))?
        };
        Some(join(day, self.on(day)?.previous(LAST_TIME)?))
    }

    /// Whether the difference is empty.
    pub(crate) fn is_empty(self) -> bool {
        let first_year = self.base.dates.earliest_year().unwrap_or(2000);
        self.next(CivilMinute::new(first_day_of_month(first_year, 1) * MINUTES_A_DAY)).is_none()
    }

    /// Whether every date of the base keeps at least one minute regardless of the removed dates.
    fn leaves_times_on_every_date(self) -> bool {
        self.base.times.without(self.removed.times).next(0).is_some()
    }

    /// The days of a month that are not removed entirely.
    fn days(self, year: i32, month: u8) -> u32 {
        self.base.dates.days_of(year, month) & !self.removed.dates.days_of(year, month)
    }

    /// The remaining times on a day, if the base contains the day.
    fn on(self, day: i64) -> Option<times::Remaining> {
        self.base.dates.contains(day).then(|| {
            if self.removed.dates.contains(day) {
                self.base.times.without(self.removed.times)
            } else {
                self.base.times.without(TimeSet::EMPTY)
            }
        })
    }
}

fn join(day: i64, time: u16) -> i64 {
    day * MINUTES_A_DAY + i64::from(time)
}
