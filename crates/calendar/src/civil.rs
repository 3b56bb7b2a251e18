//! Arithmetic on the wall clock: days, months and minutes as plain integers.
//!
//! Schedules are evaluated on civil time without a zone, where arithmetic is exact and cheap. A
//! *civil second* counts from 1970-01-01T00:00:00 as a wall clock shows it, a *civil minute* is
//! sixty of them, a *civil day* 1440 minutes. [`crate::zone`] converts them to instants. The public
//! API uses `jiff::civil`; the conversions are at the end.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "remainders are cast to the type that holds them"
)]

use jiff::civil::DateTime;

pub(crate) const SECONDS_A_MINUTE: i64 = 60;
pub(crate) const MINUTES_A_DAY: i64 = 24 * 60;
pub(crate) const SECONDS_A_DAY: i64 = MINUTES_A_DAY * SECONDS_A_MINUTE;

/// Weekdays, leap years and month lengths repeat exactly after this many days (400 years).
pub(crate) const DAYS_A_CYCLE: i64 = 146_097;
pub(crate) const YEARS_A_CYCLE: i32 = 400;

/// Days from 0000-03-01, the start of a year that ends with its leap day, to 1970-01-01.
const DAYS_TO_EPOCH: i64 = 719_468;

/// A calendar date. Unlike `jiff::civil::Date` it has no range, so that arithmetic needs no errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Date {
    pub(crate) year: i32,
    /// 1 to 12.
    pub(crate) month: u8,
    /// 1 to 31.
    pub(crate) day: u8,
}

impl Date {
    /// The date of a civil day.
    ///
    /// Years are counted from March, which puts the leap day last: then the day of the year gives
    /// the month by a linear formula (153 days every five months).
    pub(crate) const fn from_day(day: i64) -> Date {
        let shifted = day + DAYS_TO_EPOCH;
        let cycle = shifted.div_euclid(DAYS_A_CYCLE);
        let day_of_cycle = shifted.rem_euclid(DAYS_A_CYCLE);
        let leap_days =
            day_of_cycle / 1_460 - day_of_cycle / 36_524 + day_of_cycle / (DAYS_A_CYCLE - 1);
        let year_of_cycle = (day_of_cycle - leap_days) / 365;
        let day_of_year =
            day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
        let months_since_march = (5 * day_of_year + 2) / 153;
        let day_of_month = day_of_year - (153 * months_since_march + 2) / 5 + 1;
        let month =
            if months_since_march < 10 { months_since_march + 3 } else { months_since_march - 9 };
        let year = year_of_cycle + cycle * YEARS_A_CYCLE as i64 + (month <= 2) as i64;
        Date { year: year as i32, month: month as u8, day: day_of_month as u8 }
    }
}

/// The civil day on which a month starts.
pub(crate) const fn first_day_of_month(year: i32, month: u8) -> i64 {
    let year_from_march = year as i64 - (month <= 2) as i64;
    let cycle = year_from_march.div_euclid(YEARS_A_CYCLE as i64);
    let year_of_cycle = year_from_march.rem_euclid(YEARS_A_CYCLE as i64);
    let months_since_march = (month as i64 + 9) % 12;
    let day_of_year = (153 * months_since_march + 2) / 5;
    let day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    cycle * DAYS_A_CYCLE + day_of_cycle - DAYS_TO_EPOCH
}

/// The weekday of a civil day, 0 for Sunday to 6 for Saturday.
pub(crate) const fn weekday(day: i64) -> u8 {
    // 1970-01-01 was a Thursday.
    (day + 4).rem_euclid(7) as u8
}

pub(crate) const fn is_leap_year(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

pub(crate) const fn days_in_month(year: i32, month: u8) -> u8 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The civil second of `time`.
pub(crate) fn second_of(time: DateTime) -> i64 {
    let day = first_day_of_month(i32::from(time.year()), time.month().unsigned_abs())
        + i64::from(time.day())
        - 1;
    day * SECONDS_A_DAY
        + i64::from(time.hour()) * 3_600
        + i64::from(time.minute()) * SECONDS_A_MINUTE
        + i64::from(time.second())
}

/// The civil time of a civil second; seconds beyond jiff's years become its first or last civil time.
pub(crate) fn datetime_of(second: i64) -> DateTime {
    let date = Date::from_day(second.div_euclid(SECONDS_A_DAY));
    let rest = second.rem_euclid(SECONDS_A_DAY);
    let Ok(year) = i16::try_from(date.year) else {
        return if second < 0 { DateTime::MIN } else { DateTime::MAX };
    };
    let (hour, minute, second_of_minute) = (rest / 3_600, rest / 60 % 60, rest % 60);
    DateTime::new(
        year,
        date.month.cast_signed(),
        date.day.cast_signed(),
        hour as i8,
        minute as i8,
        second_of_minute as i8,
        0,
    )
    .unwrap_or(if second < 0 { DateTime::MIN } else { DateTime::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_agree_with_jiff_over_a_whole_cycle() {
        let mut date = jiff::civil::date(1899, 12, 31);
        let first = first_day_of_month(1899, 12) + 30;
        for day in first..first + DAYS_A_CYCLE {
            let ours = Date::from_day(day);
            assert_eq!(
                (ours.year, ours.month, ours.day),
                (i32::from(date.year()), date.month() as u8, date.day() as u8)
            );
            assert_eq!(weekday(day), date.weekday().to_sunday_zero_offset() as u8, "{date}");
            assert_eq!(days_in_month(ours.year, ours.month), date.days_in_month() as u8);
            let month_began = first_day_of_month(ours.year, ours.month);
            assert_eq!(month_began + i64::from(ours.day) - 1, day, "{date}");
            date = date.tomorrow().unwrap();
        }
    }

    #[test]
    fn civil_seconds_and_civil_times_convert_both_ways() {
        for text in ["1969-12-31T23:59:59", "0000-02-29T00:00:00", "2100-03-01T12:30:01"] {
            let time: DateTime = text.parse().unwrap();
            assert_eq!(datetime_of(second_of(time)), time);
        }
    }

    #[test]
    fn seconds_beyond_jiffs_years_become_its_edges() {
        assert_eq!(datetime_of(i64::MAX / 4), DateTime::MAX);
        assert_eq!(datetime_of(i64::MIN / 4), DateTime::MIN);
    }
}
