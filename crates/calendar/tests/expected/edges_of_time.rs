//! The ends of years, centuries and jiff's own range.

use almanac_calendar::{PatternText, Zone};
use jiff::{SignedDuration, Timestamp};

use crate::{assert_fires, assert_opens, at, cron, daily, turned, window};

const ZONES: [&str; 4] = ["UTC", "America/New_York", "Pacific/Kiritimati", "Africa/Casablanca"];

#[test]
fn a_leap_day_comes_every_four_years_but_not_in_2100() {
    let leap_day = cron("UTC", "0 0 29 2 *");
    assert_fires(
        &leap_day,
        ("2090-01-01T00:00Z", "2112-01-01T00:00Z"),
        &["2092-02-29T00:00Z", "2096-02-29T00:00Z", "2104-02-29T00:00Z", "2108-02-29T00:00Z"],
    );
    assert_eq!(leap_day.next(at("2096-02-29T00:00Z")), Some(at("2104-02-29T00:00Z")));
    assert_eq!(leap_day.previous(at("2104-02-28T23:59Z")), Some(at("2096-02-29T00:00Z")));
    // 2000 was one, being divisible by 400.
    assert_eq!(leap_day.next(at("1996-03-01T00:00Z")), Some(at("2000-02-29T00:00Z")));
}

#[test]
fn a_leap_day_on_a_monday_can_be_forty_years_away() {
    // 29 February is a Monday in 2044 and 2072, then, 2100 being no leap year, not before 2112.
    let leap_monday = PatternText {
        days: Some("29"),
        months: Some("2"),
        weekdays: Some("Mon"),
        ..PatternText::default()
    };
    let first_of_march =
        PatternText { days: Some("1"), months: Some("3"), ..PatternText::default() };
    let rare = window("UTC", leap_monday, first_of_march);
    assert_opens(
        &rare,
        ("2073-01-01T00:00Z", "2113-01-01T00:00Z"),
        &[("2112-02-29T00:00Z", "2112-03-01T00:00Z")],
    );
    let expected = Some(at("2072-03-01T00:00Z"));
    assert_eq!(rare.previous_transition(at("2112-02-28T23:59:59Z")).map(|turn| turn.at), expected);

    // A window that is open for forty years knows it on the last day.
    let tuesday = PatternText { weekdays: Some("Tue"), ..leap_monday };
    let long = window("UTC", leap_monday, tuesday);
    // A Tuesday in 2056 and 2084; so open from 2072 to 2084, closed until 2112.
    assert!(long.is_open(at("2084-02-28T23:59:59Z")));
    assert!(!long.is_open(at("2112-02-28T23:59:59Z")));
    assert!(long.is_open(at("2112-02-29T00:00Z")));
    assert_eq!(
        long.previous_transition(at("2112-02-28T00:00Z")).map(|turn| (turn.at, turn.opens)),
        Some((at("2084-02-29T00:00Z"), false))
    );
}

#[test]
fn a_window_that_opened_forty_years_ago_is_still_open() {
    // Between two Mondays on a leap day nothing ends it: the end is just before the start.
    let start = PatternText {
        days: Some("29"),
        months: Some("feb"),
        weekdays: Some("mon"),
        hours: Some("12"),
        ..PatternText::default()
    };
    let end = PatternText { hours: Some("11"), ..start };
    let long = window("UTC", start, end);
    assert!(long.is_open(at("2072-02-29T12:00Z")));
    assert!(long.is_open(at("2112-02-29T10:59:59Z")));
    assert!(!long.is_open(at("2112-02-29T11:00Z")));
    let expected = Some(at("2112-02-29T11:00Z"));
    assert_eq!(long.next_transition(at("2072-02-29T12:00Z")).map(|turn| turn.at), expected);
}

#[test]
fn years_end_in_their_own_zone() {
    // The 53rd week of 2026 runs from Monday 28 December to Sunday 3 January.
    assert_fires(
        &cron("UTC", "0 0 * * mon"),
        ("2026-12-20T00:00Z", "2027-01-12T00:00Z"),
        &["2026-12-21T00:00Z", "2026-12-28T00:00Z", "2027-01-04T00:00Z", "2027-01-11T00:00Z"],
    );
    let expected = Some(at("2027-01-01T00:00+14:00"));
    assert_eq!(cron("Pacific/Kiritimati", "0 0 1 1 *").next(at("2026-06-01T00:00Z")), expected);
    let over_midnight = daily("America/New_York", "23:59", "00:01");
    assert_opens(
        &over_midnight,
        ("2026-12-31T12:00Z", "2027-01-01T12:00Z"),
        &[("2026-12-31T23:59-05:00", "2027-01-01T00:01-05:00")],
    );
}

#[test]
fn one_off_dates_are_over_when_they_are_over() {
    let start = PatternText { years: Some("2026"), hours: Some("9"), ..dated("24", "dec") };
    let end = PatternText { years: Some("2027"), ..dated("2", "jan") };
    let holidays = window("Europe/Berlin", start, end);
    let open = (at("2026-12-24T09:00+01:00"), true);
    let close = (at("2027-01-02T00:00+01:00"), false);
    assert_eq!(turned(&holidays, "1990-01-01T00:00Z", "2090-01-01T00:00Z"), [open, close]);
    assert!(!holidays.is_open(at("1999-01-01T00:00Z")));
    assert!(holidays.is_open(at("2026-12-31T00:00Z")));
    assert_eq!(holidays.next_transition(close.0), None);
    assert_eq!(holidays.previous_transition(at("2026-12-24T08:59:59Z") - DAY), None);
    let long_after = holidays.previous_transition(at("9000-01-01T00:00Z"));
    assert_eq!(long_after.map(|turn| (turn.at, turn.opens)), Some(close));
}

const DAY: SignedDuration = SignedDuration::from_hours(24);

fn dated(days: &'static str, months: &'static str) -> PatternText<'static> {
    PatternText { days: Some(days), months: Some(months), ..PatternText::default() }
}

#[test]
fn schedules_work_before_1970_and_after_2100() {
    // New York in 1965 left summer time on 31 October; 1885 is in its first years of standard time.
    let nightly = cron("America/New_York", "30 1 * * *");
    assert_eq!(nightly.next(at("1965-10-31T04:00Z")), Some(at("1965-10-31T01:30-04:00")));
    assert_eq!(nightly.next(at("1965-10-31T05:30Z")), Some(at("1965-11-01T01:30-05:00")));
    assert_eq!(nightly.previous(at("1885-01-01T07:00Z")), Some(at("1885-01-01T01:30-05:00")));
    // In 2200 summer time ends on the first Sunday of November, as the rule says: the second.
    assert_eq!(nightly.next(at("2200-11-02T04:00Z")), Some(at("2200-11-02T01:30-04:00")));
    assert_eq!(nightly.next(at("2200-11-02T05:30Z")), Some(at("2200-11-03T01:30-05:00")));
    let window = daily("America/New_York", "01:30", "02:30");
    assert_opens(
        &window,
        ("2200-11-02T04:00Z", "2200-11-03T05:00Z"),
        &[("2200-11-02T01:30-04:00", "2200-11-02T02:30-05:00")],
    );
}

#[test]
fn local_mean_time_is_kept_to_the_second() {
    // Until noon of 18 November 1883 New York was 4:56:02 behind UTC.
    let zone = Zone::named("America/New_York").unwrap();
    assert_eq!(zone.offset(at("1880-01-01T00:00Z")).seconds(), -(4 * 3600 + 56 * 60 + 2));
    let expected = Some(at("1880-01-01T13:56:02Z"));
    assert_eq!(cron("America/New_York", "0 9 * * *").next(at("1880-01-01T00:00Z")), expected);
}

#[test]
fn nothing_panics_at_the_limits_of_jiffs_range() {
    for zone in ZONES {
        let schedules =
            [cron(zone, "* * * * *"), cron(zone, "30 2 * * *"), cron(zone, "0 0 29 2 *")];
        let windows = [daily(zone, "22:00", "06:00"), daily(zone, "00:00", "24:00")];
        for limit in [Timestamp::MIN, Timestamp::MAX] {
            for hours in [0_i64, 1, 30, 24 * 365] {
                for sign in [-1, 1] {
                    let distance = SignedDuration::from_hours(sign * hours);
                    let Ok(now) = limit.checked_add(distance) else { continue };
                    for firings in &schedules {
                        assert!(firings.next(now).is_none_or(|next| next > now));
                        assert!(firings.previous(now).is_none_or(|previous| previous <= now));
                    }
                    for windows in &windows {
                        let _either = windows.is_open(now);
                        assert!(windows.next_transition(now).is_none_or(|next| next.at > now));
                        assert!(windows.previous_transition(now).is_none_or(|last| last.at <= now));
                    }
                }
            }
        }
    }
}

#[test]
fn nothing_fires_after_the_end_of_time_or_before_its_beginning() {
    let yearly = cron("UTC", "0 0 1 1 *");
    assert_eq!(yearly.next(Timestamp::MAX), None);
    assert_eq!(yearly.previous(Timestamp::MIN), None);
    assert!(yearly.previous(Timestamp::MAX).is_some());
    assert!(yearly.next(Timestamp::MIN).is_some());
    assert_fires(&yearly, ("2026-06-01T00:00Z", "2026-05-01T00:00Z"), &[]);
    let nightly = daily("UTC", "22:00", "06:00");
    assert_eq!(nightly.next_transition(Timestamp::MAX), None);
    assert_eq!(nightly.previous_transition(Timestamp::MIN), None);
    assert_eq!(nightly.between(Timestamp::MAX, Timestamp::MIN).count(), 0);
}

#[test]
fn iterators_are_lazy_and_half_open() {
    // All of jiff's 20,000 years: nobody waits for the rest of it.
    let every_minute = cron("Europe/Berlin", "* * * * *");
    assert_eq!(every_minute.between(Timestamp::MIN, Timestamp::MAX).take(3).count(), 3);
    let nightly = daily("Europe/Berlin", "22:00", "06:00");
    assert_eq!(nightly.between(Timestamp::MIN, Timestamp::MAX).take(3).count(), 3);

    let noon = cron("UTC", "0 12 * * *");
    assert_fires(
        &noon,
        ("2026-01-01T12:00Z", "2026-01-03T12:00Z"),
        &["2026-01-01T12:00Z", "2026-01-02T12:00Z"],
    );
    assert_fires(&noon, ("2026-01-01T12:00Z", "2026-01-01T12:00Z"), &[]);
    assert_eq!(
        turned(&daily("UTC", "09:00", "17:00"), "2026-01-01T09:00Z", "2026-01-01T17:00Z"),
        [(at("2026-01-01T09:00Z"), true)]
    );
}

#[test]
fn an_all_day_window_is_open_and_never_changes() {
    for zone in ZONES {
        let all_day = daily(zone, "00:00", "24:00");
        let now = at("2026-03-08T07:00Z");
        assert!(all_day.is_open(now));
        assert_eq!(all_day.next_transition(now), None);
        assert_eq!(all_day.previous_transition(now), None);
        assert_eq!(all_day.between(at("1970-01-01T00:00Z"), at("2100-01-01T00:00Z")).next(), None);
    }
}
