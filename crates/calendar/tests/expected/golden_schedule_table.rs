//! The windows of the golden table of schedules. Which of several open ones wins is in the table of the engine.

use almanac_calendar::{Pattern, PatternText, PatternWindow};
use jiff::ToSpan;
use jiff::civil::{Weekday, date};

use crate::{assert_opens, at, turned, window};

const EVERY_WEEKDAY: &str = "Mon,Tue,Wed,Thu,Fri";
const NO_FIELDS: PatternText<'static> = PatternText {
    minutes: None,
    hours: None,
    days: None,
    months: None,
    weekdays: None,
    years: None,
};

fn on(weekdays: &'static str, hours: &'static str) -> PatternText<'static> {
    PatternText { weekdays: Some(weekdays), hours: Some(hours), ..NO_FIELDS }
}

fn clock(hours: &'static str, minutes: &'static str) -> PatternText<'static> {
    PatternText { hours: Some(hours), minutes: Some(minutes), ..NO_FIELDS }
}

#[test]
fn row_1_nights_and_weekends_of_an_office() {
    let zone = "America/Los_Angeles";
    let week = ("2021-02-01T10:00-08:00", "2021-02-08T10:00-08:00");
    assert_opens(
        &window(zone, on("Fri", "17"), on("Mon", "9")),
        week,
        &[("2021-02-05T17:00-08:00", "2021-02-08T09:00-08:00")],
    );
    assert_opens(
        &window(zone, on(EVERY_WEEKDAY, "9"), on(EVERY_WEEKDAY, "17")),
        ("2021-02-01T00:00-08:00", "2021-02-08T00:00-08:00"),
        &[
            ("2021-02-01T09:00-08:00", "2021-02-01T17:00-08:00"),
            ("2021-02-02T09:00-08:00", "2021-02-02T17:00-08:00"),
            ("2021-02-03T09:00-08:00", "2021-02-03T17:00-08:00"),
            ("2021-02-04T09:00-08:00", "2021-02-04T17:00-08:00"),
            ("2021-02-05T09:00-08:00", "2021-02-05T17:00-08:00"),
        ],
    );
    assert_opens(
        &window(zone, on(EVERY_WEEKDAY, "17"), on(EVERY_WEEKDAY, "9")),
        week,
        &[
            ("2021-02-01T17:00-08:00", "2021-02-02T09:00-08:00"),
            ("2021-02-02T17:00-08:00", "2021-02-03T09:00-08:00"),
            ("2021-02-03T17:00-08:00", "2021-02-04T09:00-08:00"),
            ("2021-02-04T17:00-08:00", "2021-02-05T09:00-08:00"),
            // From Friday 17:00 this and the weekend are both open.
            ("2021-02-05T17:00-08:00", "2021-02-08T09:00-08:00"),
        ],
    );
}

#[test]
fn row_3_a_second_start_does_not_need_a_second_end() {
    assert_opens(
        &window("UTC", on("Mon,Tue", "9"), on("Fri", "17")),
        ("2026-11-23T00:00Z", "2026-11-30T00:00Z"),
        &[("2026-11-23T09:00Z", "2026-11-27T17:00Z")],
    );
}

#[test]
fn row_4_a_second_end_does_not_need_a_second_start() {
    assert_opens(
        &window("UTC", on("Mon", "9"), on("Tue,Wed", "17")),
        ("2026-11-23T00:00Z", "2026-11-30T00:00Z"),
        &[("2026-11-23T09:00Z", "2026-11-24T17:00Z")],
    );
}

#[test]
fn row_5_an_end_on_more_days_than_the_start() {
    let start = PatternText { minutes: Some("30"), ..on(EVERY_WEEKDAY, "6") };
    assert_opens(
        &window("UTC", start, clock("22", "10")),
        ("2026-11-27T00:00Z", "2026-12-01T00:00Z"),
        &[("2026-11-27T06:30Z", "2026-11-27T22:10Z"), ("2026-11-30T06:30Z", "2026-11-30T22:10Z")],
    );
}

#[test]
fn row_6_over_the_end_of_a_month() {
    let start = PatternText { days: Some("28,29,30,31"), hours: Some("8"), ..NO_FIELDS };
    let end = PatternText { days: Some("1"), hours: Some("20"), ..NO_FIELDS };
    assert_opens(
        &window("UTC", start, end),
        ("2022-10-02T00:00Z", "2022-11-28T00:00Z"),
        &[("2022-10-28T08:00Z", "2022-11-01T20:00Z")],
    );
}

#[test]
fn row_7_months_of_start_and_end_that_overlap() {
    let start = PatternText { months: Some("Jan,Feb,Mar"), ..on(EVERY_WEEKDAY, "9") };
    let end = PatternText { months: Some("Feb,Mar,Apr"), ..on(EVERY_WEEKDAY, "17") };
    let quarter = window("UTC", start, end);

    // No end before 1 February, so January stays open through its nights and weekends.
    let mut expected = vec![(at("2021-01-01T09:00Z"), true), (at("2021-02-01T17:00Z"), false)];
    let weekdays = date(2021, 2, 2).series(1.day()).take_while(|&day| day <= date(2021, 3, 31));
    for day in weekdays.filter(|day| !matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday))
    {
        expected.push((at(&format!("{day}T09:00Z")), true));
        expected.push((at(&format!("{day}T17:00Z")), false));
    }
    assert_eq!(turned(&quarter, "2021-01-01T00:00Z", "2022-01-01T00:00Z"), expected);
    assert_eq!(expected.last(), Some(&(at("2021-03-31T17:00Z"), false)));
}

#[test]
fn row_8_days_and_weekdays_must_both_match() {
    let first_thursday = |hours| PatternText {
        days: Some("1,2,3,4,5,6,7"),
        months: Some("Jan"),
        ..on("Thu", hours)
    };
    assert_opens(
        &window("UTC", first_thursday("9"), first_thursday("17")),
        ("2026-01-01T00:00Z", "2027-01-01T00:00Z"),
        &[("2026-01-01T09:00Z", "2026-01-01T17:00Z")],
    );
}

#[test]
fn row_9_the_leap_day() {
    let start = PatternText { days: Some("29"), months: Some("Feb"), ..NO_FIELDS };
    let end = PatternText { days: Some("1"), months: Some("Mar"), ..NO_FIELDS };
    assert_opens(
        &window("UTC", start, end),
        ("2024-01-01T00:00Z", "2028-01-01T00:00Z"),
        &[("2024-02-29T00:00Z", "2024-03-01T00:00Z")],
    );
}

#[test]
fn row_10_a_window_holds_its_start_and_not_its_end() {
    let day = window("UTC", clock("9", "0"), clock("17", "0"));
    assert!(!day.is_open(at("2026-11-23T08:59:59.999Z")));
    assert!(day.is_open(at("2026-11-23T09:00Z")));
    assert!(day.is_open(at("2026-11-23T16:59:59.999Z")));
    assert!(!day.is_open(at("2026-11-23T17:00Z")));
}

#[test]
fn row_11_a_window_that_always_coincides_or_never_fires_is_rejected() {
    let parse = |text| Pattern::parse(text).unwrap();
    let nine = PatternText { hours: Some("9"), ..NO_FIELDS };
    for text in [nine, NO_FIELDS] {
        assert_eq!(
            PatternWindow::new(parse(text), parse(text)).unwrap_err().to_string(),
            "start and end are always the same instant, so the window has no length; \
             write an end that differs from the start"
        );
    }
    let never = PatternText { days: Some("31"), months: Some("Feb"), ..NO_FIELDS };
    assert_eq!(
        Pattern::parse(never).unwrap_err().to_string(),
        "it never fires: no date has all of these days, months, weekdays and years; \
         write a date that exists"
    );
}

#[test]
fn row_12_a_start_in_the_gap_waits_for_its_end() {
    assert_opens(
        &window("America/New_York", clock("2", "30"), clock("3", "30")),
        ("2026-03-08T00:00-05:00", "2026-03-09T00:00-04:00"),
        &[("2026-03-08T03:00-04:00", "2026-03-08T03:30-04:00")],
    );
}

#[test]
fn row_13_a_fold_opens_at_its_first_pass_and_is_not_opened_again() {
    // Two hours: half an hour before the clock goes back, an hour again, and half an hour more.
    assert_opens(
        &window("America/New_York", clock("1", "30"), clock("2", "30")),
        ("2026-11-01T00:00-04:00", "2026-11-02T00:00-05:00"),
        &[("2026-11-01T01:30-04:00", "2026-11-01T02:30-05:00")],
    );
}
