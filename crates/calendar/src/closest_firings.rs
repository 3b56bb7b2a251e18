//! The shortest time between two firings, independent of the current date.
//!
//! A schedule that is valid today must also be valid tomorrow, and everywhere. So the time is computed over a fixed
//! stretch, which is long enough for every weekday to fall on every date. Not every firing of that stretch is visited,
//! because checking ten thousand rules would take too long. How far two firings can be apart follows from the times of
//! day and from the days; only a clock change can bring them closer, so the surroundings of each are checked as well.

use jiff::{SignedDuration, Timestamp};

use crate::civil::SECONDS_A_DAY;
use crate::{Cron, Firings, Zone, instant};

/// 2024-01-01T00:00:00Z, and twenty-eight years later: dates and weekdays are the same again.
const BEGIN: i64 = 1_704_067_200;
const END: i64 = 2_587_680_000;

impl Firings {
    /// The shortest time between two firings over all dates, if it is at most `limit`. Longer times are not searched
    /// for.
    ///
    /// ```
    /// use almanac_calendar::{Cron, Zone};
    /// use jiff::SignedDuration;
    ///
    /// let firings = Cron::parse("0,20 9 * * *").unwrap().in_zone(Zone::utc());
    /// let within = |minutes| firings.closest_within(SignedDuration::from_mins(minutes));
    /// assert_eq!(within(30), Some(SignedDuration::from_mins(20)));
    /// assert_eq!(within(15), None);
    /// ```
    #[must_use]
    pub fn closest_within(&self, limit: SignedDuration) -> Option<SignedDuration> {
        let limit = limit.as_secs();
        let times = TimesOfDay::from_cron(self.cron())?;
        let on_calendar = times.closest(limit);
        let at_changes = closest_at_changes(self, times.least(), limit);
        let closest = on_calendar.into_iter().chain(at_changes).min();
        closest.filter(|it| *it <= limit).map(SignedDuration::from_secs)
    }
}

/// The times of day at which a schedule fires, ignoring clock changes. The times are the same on
/// every day with firings.
struct TimesOfDay {
    firings: Firings,
    /// The midnight before the first firing of the stretch.
    midnight: i64,
    /// The time from the first firing of a day to the last.
    span: i64,
    /// The shortest time between two firings of a day.
    within: Option<i64>,
}

impl TimesOfDay {
    /// The times of day of a schedule; `None` if it does not fire in the whole stretch.
    fn from_cron(cron: &Cron) -> Option<TimesOfDay> {
        let firings = cron.clone().in_zone(Zone::utc());
        let first = next_from(&firings, BEGIN).filter(|first| *first < END)?;
        let midnight = first - first.rem_euclid(SECONDS_A_DAY);
        let (from, to) = (instant::at(first)?, instant::at(midnight + SECONDS_A_DAY)?);
        let last = firings.previous(instant::at(midnight + SECONDS_A_DAY - 1)?)?.as_second();
        let within = firings.shortest_interval(from, to).map(|interval| interval.as_secs());
        Some(TimesOfDay { firings, midnight, span: last - first, within })
    }

    /// The time from the last firing of a day to the first firing of the next, if the schedule fires on both days.
    fn over_midnight(&self) -> i64 {
        SECONDS_A_DAY - self.span
    }

    /// A lower limit of the time between two firings.
    fn least(&self) -> i64 {
        self.within.map_or(self.over_midnight(), |within| within.min(self.over_midnight()))
    }

    /// The shortest time between two firings, if it is at most `limit`.
    fn closest(&self, limit: i64) -> Option<i64> {
        let over_midnight = self.over_midnight();
        if over_midnight > limit || self.within.is_some_and(|within| within <= over_midnight) {
            return self.within;
        }
        let over_days = self.closest_days().map(|days| over_midnight + (days - 1) * SECONDS_A_DAY);
        self.within.into_iter().chain(over_days).min()
    }

    /// The minimum distance, in days, between two days with firings.
    fn closest_days(&self) -> Option<i64> {
        let mut closest: Option<i64> = None;
        let mut midnight = self.midnight;
        while closest != Some(1) {
            let Some(next) =
                next_from(&self.firings, midnight + SECONDS_A_DAY).filter(|next| *next < END)
            else {
                break;
            };
            let days = (next - midnight) / SECONDS_A_DAY;
            closest = Some(closest.map_or(days, |closest| closest.min(days)));
            midnight += days * SECONDS_A_DAY;
        }
        closest
    }
}

/// The shortest time between two firings with a clock change between them, or on one of them.
/// `least` is their distance without clock changes; changes that cannot bring the firings to
/// within `limit` of each other are skipped.
fn closest_at_changes(firings: &Firings, least: i64, limit: i64) -> Option<i64> {
    let changes = firings.zone().changes(instant::at(BEGIN)?, instant::at(END)?);
    changes
        .filter(|change| {
            let shift = change.shift().as_secs().abs();
            // A clock set forward shortens the time between two firings by the change. A clock set back may
            // show the same minute again, that much later.
            limit >= shift || limit + shift >= least
        })
        .filter_map(|change| {
            let at = change.at.as_second();
            let first = next_from(firings, at).filter(|first| *first < END)?;
            let before = firings.previous(instant::at(at - 1)?).map(Timestamp::as_second);
            let before = before.filter(|before| *before >= BEGIN).map(|before| first - before);
            let after = next_from(firings, first + 1).filter(|after| *after < END);
            before.into_iter().chain(after.map(|after| after - first)).min()
        })
        .min()
}

/// The first firing at or after a second.
fn next_from(firings: &Firings, second: i64) -> Option<i64> {
    firings.next(instant::at(second - 1)?).map(Timestamp::as_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dense and sparse ones, with dates that meet weekdays, with times around midnight and around
    /// clock changes, with minutes that are shown twice.
    const SCHEDULES: &[&str] = &[
        "* * * * *",
        "*/7 * * * *",
        "0 9 * * *",
        "0 9 * * 1",
        "0 9 * * 1,3",
        "0 9 * * 1-5",
        "0 9 1 * *",
        "0 0 29 2 *",
        "0 0 28,29 2 *",
        "0 0 1 1 1",
        "30 2 29 2 0",
        "0 9 31 * *",
        "59,0 0,23 * * 1,3",
        "0,59 0,23 * * 1,2",
        "30 2,3 * * *",
        "30 1,3 * * 0",
        "15 */2 * * *",
        "30 */6 * * *",
        "0 0,12 1,15 * *",
        "1,59 2 * * *",
        "*/20 2 25-31 3 *",
    ];

    /// Zones with changes by an hour, by half an hour, at midnight, around Ramadan, by two hours, and without changes.
    const ZONES: &[&str] = &[
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "America/Santiago",
        "Africa/Cairo",
        "Africa/Casablanca",
        "Antarctica/Troll",
        "Asia/Kathmandu",
    ];

    fn firings(schedule: &str, zone: &str) -> Firings {
        Cron::parse(schedule).unwrap().in_zone(Zone::named(zone).unwrap())
    }

    #[test]
    fn the_stretch_begins_with_a_leap_year_and_ends_on_the_same_weekday() {
        let ends: Vec<_> = [BEGIN, END].map(|it| instant::at(it).unwrap().to_string()).into();
        assert_eq!(ends, ["2024-01-01T00:00:00Z", "2052-01-01T00:00:00Z"]);
        assert_eq!((END - BEGIN) % (7 * SECONDS_A_DAY), 0);
    }

    #[test]
    fn the_shortest_time_is_that_of_all_firings_of_the_stretch() {
        let (from, to) = (instant::at(BEGIN).unwrap(), instant::at(END).unwrap());
        for zone in ZONES {
            for schedule in SCHEDULES {
                let firings = firings(schedule, zone);
                let expected = firings.shortest_interval(from, to);
                let found = firings.closest_within(SignedDuration::MAX);
                assert_eq!(found, expected, "{schedule} in {zone}");
            }
        }
    }

    #[test]
    fn only_a_gap_longer_than_the_limit_counts_as_none() {
        for zone in ZONES {
            for schedule in SCHEDULES {
                let firings = firings(schedule, zone);
                let whole = firings.closest_within(SignedDuration::MAX);
                for seconds in [60, 61, 300, 1_800, 3_600, 5_400, 7_200, 21_600, 82_800, 90_000] {
                    let limit = SignedDuration::from_secs(seconds);
                    let expected = whole.filter(|interval| *interval <= limit);
                    let found = firings.closest_within(limit);
                    assert_eq!(found, expected, "{schedule} in {zone} within {limit:#}");
                }
            }
        }
    }
}
