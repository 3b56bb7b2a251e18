//! A set of civil minutes: certain times of day on certain dates.
//!
//! Everything the calendar offers stands on this: a cron expression is one recurrence, a window is
//! two (one that opens it and one that closes it). Here is no zone and no instant; civil minutes go
//! in and civil minutes come out.

mod dates;
mod times;

pub(crate) use self::dates::{DateSet, DayRule};
pub(crate) use self::times::TimeSet;
use crate::civil::{MINUTES_A_DAY, first_day_of_month};

/// Certain times of day on certain dates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Recurrence {
    pub(crate) dates: DateSet,
    pub(crate) times: TimeSet,
}

impl Recurrence {
    /// The first matching minute at or after `minute`.
    pub(crate) fn next(&self, minute: i64) -> Option<i64> {
        let (mut day, time) = split(minute);
        if self.dates.contains(day)
            && let Some(time) = self.times.next(time)
        {
            return Some(join(day, time));
        }
        day = self.dates.next(day + 1)?;
        Some(join(day, self.times.first()))
    }

    /// The last matching minute at or before `minute`.
    pub(crate) fn previous(&self, minute: i64) -> Option<i64> {
        let (mut day, time) = split(minute);
        if self.dates.contains(day)
            && let Some(time) = self.times.previous(time)
        {
            return Some(join(day, time));
        }
        day = self.dates.previous(day - 1)?;
        Some(join(day, self.times.last()))
    }

    /// All matching minutes in `[from, to)`, in order.
    pub(crate) fn between(&self, from: i64, to: i64) -> impl Iterator<Item = i64> {
        std::iter::successors(self.next(from), |minute| self.next(minute + 1))
            .take_while(move |minute| *minute < to)
    }

    /// The very first matching minute, when there are years to begin with.
    pub(crate) fn first(&self) -> Option<i64> {
        let year = self.dates.earliest_year()?;
        self.next(first_day_of_month(year, 1) * MINUTES_A_DAY)
    }

    /// The minutes of this recurrence that are not in `other`.
    pub(crate) fn without<'a>(&'a self, other: &'a Recurrence) -> Difference<'a> {
        Difference { base: self, removed: other }
    }
}

/// The minutes of one recurrence that are not in another.
///
/// It looks for the date first, with a month's days as one mask, so that a difference which is
/// rarely or never met is found as fast as a rare recurrence.
#[derive(Clone, Copy)]
pub(crate) struct Difference<'a> {
    base: &'a Recurrence,
    removed: &'a Recurrence,
}

impl Difference<'_> {
    /// The first minute at or after `minute`.
    pub(crate) fn next(self, minute: i64) -> Option<i64> {
        let (day, time) = split(minute);
        if let Some(time) = self.on(day).and_then(|times| times.next(time)) {
            return Some(join(day, time));
        }
        let day = self.base.dates.next_where(day + 1, |year, month| self.days(year, month))?;
        Some(join(day, self.on(day)?.next(0)?))
    }

    /// The last minute at or before `minute`.
    pub(crate) fn previous(self, minute: i64) -> Option<i64> {
        let (day, time) = split(minute);
        if let Some(time) = self.on(day).and_then(|times| times.previous(time)) {
            return Some(join(day, time));
        }
        let day = self.base.dates.previous_where(day - 1, |year, month| self.days(year, month))?;
        Some(join(day, self.on(day)?.previous(LAST_TIME)?))
    }

    /// Whether there is no such minute at all.
    pub(crate) fn is_empty(self) -> bool {
        let first_year = self.base.dates.earliest_year().unwrap_or(2000);
        self.next(first_day_of_month(first_year, 1) * MINUTES_A_DAY).is_none()
    }

    /// The days of a month on which at least one minute is left.
    fn days(self, year: i32, month: u8) -> u32 {
        let base = self.base.dates.days_of(year, month);
        if self.base.times.without(self.removed.times).next(0).is_some() {
            base
        } else {
            base & !self.removed.dates.days_of(year, month)
        }
    }

    /// The times that are left on a day, if it is one of the base's.
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

/// The last minute of a day.
const LAST_TIME: u16 = 24 * 60 - 1;

/// The civil day of a civil minute, and its minute of the day.
fn split(minute: i64) -> (i64, u16) {
    let time = minute.rem_euclid(MINUTES_A_DAY);
    (minute.div_euclid(MINUTES_A_DAY), u16::try_from(time).unwrap_or(LAST_TIME))
}

fn join(day: i64, time: u16) -> i64 {
    day * MINUTES_A_DAY + i64::from(time)
}
