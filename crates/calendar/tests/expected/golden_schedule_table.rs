//! Scheduled capacity as its users expect it, at the level of windows: several windows with
//! values, of which the open one with the highest priority wins, and among equals the first.

use almanac_calendar::{Pattern, PatternText, PatternWindow, Windows};
use jiff::civil::{Weekday, date};
use jiff::{SignedDuration, Timestamp, ToSpan};

use crate::{at, window};

struct Behaviour {
    value: i32,
    priority: i32,
    window: Windows,
}

struct Timetable {
    default: i32,
    behaviours: Vec<Behaviour>,
}

impl Timetable {
    fn new(default: i32) -> Timetable {
        Timetable { default, behaviours: Vec::new() }
    }

    fn behaviour(mut self, value: i32, window: Windows) -> Timetable {
        self.behaviours.push(Behaviour { value, priority: 0, window });
        self
    }

    fn with_priority(mut self, priority: i32) -> Timetable {
        self.behaviours.last_mut().unwrap().priority = priority;
        self
    }

    fn value(&self, now: Timestamp) -> i32 {
        let mut winner: Option<&Behaviour> = None;
        for behaviour in self.behaviours.iter().filter(|b| b.window.is_open(now)) {
            if winner.is_none_or(|winner| behaviour.priority > winner.priority) {
                winner = Some(behaviour);
            }
        }
        winner.map_or(self.default, |winner| winner.value)
    }

    /// The value at `from`, and every change of it before `to`.
    fn values(&self, from: &str, to: &str) -> Vec<(Timestamp, i32)> {
        let (from, to) = (at(from), at(to));
        let mut instants: Vec<_> = self
            .behaviours
            .iter()
            .flat_map(|behaviour| behaviour.window.between(from, to).map(|turn| turn.at))
            .chain([from])
            .collect();
        instants.sort_unstable();
        let mut values: Vec<(Timestamp, i32)> = Vec::new();
        for now in instants {
            let value = self.value(now);
            if values.last().is_none_or(|&(_, last)| last != value) {
                values.push((now, value));
            }
        }
        values
    }
}

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

fn expect(values: &[(&str, i32)]) -> Vec<(Timestamp, i32)> {
    values.iter().map(|&(instant, value)| (at(instant), value)).collect()
}

#[test]
fn row_1_nights_and_weekends_of_an_office() {
    let zone = "America/Los_Angeles";
    let office = Timetable::new(2)
        .behaviour(1, window(zone, on("Fri", "17"), on("Mon", "9")))
        .behaviour(3, window(zone, on(EVERY_WEEKDAY, "9"), on(EVERY_WEEKDAY, "17")))
        .behaviour(2, window(zone, on(EVERY_WEEKDAY, "17"), on(EVERY_WEEKDAY, "9")));
    assert_eq!(
        office.values("2021-02-01T00:00-08:00", "2021-02-08T10:00-08:00"),
        expect(&[
            ("2021-02-01T00:00-08:00", 1),
            ("2021-02-01T09:00-08:00", 3),
            ("2021-02-01T17:00-08:00", 2),
            ("2021-02-02T09:00-08:00", 3),
            ("2021-02-02T17:00-08:00", 2),
            ("2021-02-03T09:00-08:00", 3),
            ("2021-02-03T17:00-08:00", 2),
            ("2021-02-04T09:00-08:00", 3),
            ("2021-02-04T17:00-08:00", 2),
            ("2021-02-05T09:00-08:00", 3),
            // From Friday 17:00 the first and the third are both open, and the first comes first.
            ("2021-02-05T17:00-08:00", 1),
            ("2021-02-08T09:00-08:00", 3),
        ])
    );
}

#[test]
fn row_2_the_first_of_two_open_windows_wins() {
    let monday = Timetable::new(1)
        .behaviour(5, window("UTC", on("Mon", "9"), on("Mon", "17")))
        .behaviour(9, window("UTC", on("Mon", "8"), on("Mon", "12")));
    assert_eq!(
        monday.values("2026-11-23T00:00Z", "2026-11-24T00:00Z"),
        expect(&[
            ("2026-11-23T00:00Z", 1),
            ("2026-11-23T08:00Z", 9),
            ("2026-11-23T09:00Z", 5),
            ("2026-11-23T17:00Z", 1),
        ])
    );
}

#[test]
fn a_higher_priority_wins_over_an_earlier_place() {
    let monday = Timetable::new(1)
        .behaviour(5, window("UTC", on("Mon", "9"), on("Mon", "17")))
        .behaviour(9, window("UTC", on("Mon", "8"), on("Mon", "12")))
        .with_priority(1);
    assert_eq!(
        monday.values("2026-11-23T00:00Z", "2026-11-24T00:00Z"),
        expect(&[
            ("2026-11-23T00:00Z", 1),
            ("2026-11-23T08:00Z", 9),
            ("2026-11-23T12:00Z", 5),
            ("2026-11-23T17:00Z", 1),
        ])
    );
}

#[test]
fn row_3_a_second_start_does_not_need_a_second_end() {
    let week = Timetable::new(0).behaviour(9, window("UTC", on("Mon,Tue", "9"), on("Fri", "17")));
    assert_eq!(
        week.values("2026-11-23T00:00Z", "2026-11-30T00:00Z"),
        expect(&[("2026-11-23T00:00Z", 0), ("2026-11-23T09:00Z", 9), ("2026-11-27T17:00Z", 0)])
    );
}

#[test]
fn row_4_a_second_end_does_not_need_a_second_start() {
    let week = Timetable::new(0).behaviour(9, window("UTC", on("Mon", "9"), on("Tue,Wed", "17")));
    assert_eq!(
        week.values("2026-11-23T00:00Z", "2026-11-30T00:00Z"),
        expect(&[("2026-11-23T00:00Z", 0), ("2026-11-23T09:00Z", 9), ("2026-11-24T17:00Z", 0)])
    );
}

#[test]
fn row_5_an_end_on_more_days_than_the_start() {
    let start = PatternText { minutes: Some("30"), ..on(EVERY_WEEKDAY, "6") };
    let mornings = Timetable::new(0).behaviour(3, window("UTC", start, clock("22", "10")));
    assert_eq!(
        mornings.values("2026-11-27T00:00Z", "2026-12-01T00:00Z"),
        expect(&[
            ("2026-11-27T00:00Z", 0),
            ("2026-11-27T06:30Z", 3),
            ("2026-11-27T22:10Z", 0),
            ("2026-11-30T06:30Z", 3),
            ("2026-11-30T22:10Z", 0),
        ])
    );
}

#[test]
fn row_6_over_the_end_of_a_month() {
    let start = PatternText { days: Some("28,29,30,31"), hours: Some("8"), ..NO_FIELDS };
    let end = PatternText { days: Some("1"), hours: Some("20"), ..NO_FIELDS };
    let month_end = Timetable::new(0).behaviour(3, window("UTC", start, end));
    assert_eq!(
        month_end.values("2022-10-02T00:00Z", "2022-11-28T00:00Z"),
        expect(&[("2022-10-02T00:00Z", 0), ("2022-10-28T08:00Z", 3), ("2022-11-01T20:00Z", 0)])
    );
}

#[test]
fn row_7_months_of_start_and_end_that_overlap() {
    let start = PatternText { months: Some("Jan,Feb,Mar"), ..on(EVERY_WEEKDAY, "9") };
    let end = PatternText { months: Some("Feb,Mar,Apr"), ..on(EVERY_WEEKDAY, "17") };
    let quarter = Timetable::new(2).behaviour(7, window("UTC", start, end));

    // No end before 1 February, so January stays open through its nights and weekends.
    let mut expected =
        expect(&[("2021-01-01T00:00Z", 2), ("2021-01-01T09:00Z", 7), ("2021-02-01T17:00Z", 2)]);
    let weekdays = date(2021, 2, 2).series(1.day()).take_while(|&day| day <= date(2021, 3, 31));
    for day in weekdays.filter(|day| !matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday))
    {
        expected.push((at(&format!("{day}T09:00Z")), 7));
        expected.push((at(&format!("{day}T17:00Z")), 2));
    }
    assert_eq!(quarter.values("2021-01-01T00:00Z", "2022-01-01T00:00Z"), expected);
    assert_eq!(expected.last(), Some(&(at("2021-03-31T17:00Z"), 2)));
}

#[test]
fn row_8_days_and_weekdays_must_both_match() {
    let first_thursday = |hours| PatternText {
        days: Some("1,2,3,4,5,6,7"),
        months: Some("Jan"),
        ..on("Thu", hours)
    };
    let once =
        Timetable::new(1).behaviour(9, window("UTC", first_thursday("9"), first_thursday("17")));
    assert_eq!(
        once.values("2026-01-01T00:00Z", "2027-01-01T00:00Z"),
        expect(&[("2026-01-01T00:00Z", 1), ("2026-01-01T09:00Z", 9), ("2026-01-01T17:00Z", 1)])
    );
}

#[test]
fn row_9_the_leap_day() {
    let start = PatternText { days: Some("29"), months: Some("Feb"), ..NO_FIELDS };
    let end = PatternText { days: Some("1"), months: Some("Mar"), ..NO_FIELDS };
    let leap_day = Timetable::new(1).behaviour(5, window("UTC", start, end));
    assert_eq!(
        leap_day.values("2024-01-01T00:00Z", "2028-01-01T00:00Z"),
        expect(&[("2024-01-01T00:00Z", 1), ("2024-02-29T00:00Z", 5), ("2024-03-01T00:00Z", 1)])
    );
}

#[test]
fn row_10_a_window_holds_its_start_and_not_its_end() {
    let day = Timetable::new(1).behaviour(4, window("UTC", clock("9", "0"), clock("17", "0")));
    assert_eq!(day.value(at("2026-11-23T08:59:59.999Z")), 1);
    assert_eq!(day.value(at("2026-11-23T09:00Z")), 4);
    assert_eq!(day.value(at("2026-11-23T16:59:59.999Z")), 4);
    assert_eq!(day.value(at("2026-11-23T17:00Z")), 1);
}

#[test]
fn row_11_a_window_that_always_coincides_or_never_fires_is_rejected() {
    let parse = |text| Pattern::parse(text).unwrap();
    let nine = PatternText { hours: Some("9"), ..NO_FIELDS };
    for text in [nine, NO_FIELDS] {
        assert_eq!(
            PatternWindow::new(parse(text), parse(text)).unwrap_err().to_string(),
            "start and end are always the same moment, so the window has no length; \
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
    let nightly = Timetable::new(1)
        .behaviour(2, window("America/New_York", clock("2", "30"), clock("3", "30")));
    assert_eq!(
        nightly.values("2026-03-08T00:00-05:00", "2026-03-09T00:00-04:00"),
        expect(&[
            ("2026-03-08T00:00-05:00", 1),
            ("2026-03-08T03:00-04:00", 2),
            ("2026-03-08T03:30-04:00", 1),
        ])
    );
}

#[test]
fn row_13_a_fold_opens_at_its_first_pass_and_is_not_opened_again() {
    let nightly = Timetable::new(1)
        .behaviour(2, window("America/New_York", clock("1", "30"), clock("2", "30")));
    assert_eq!(
        nightly.values("2026-11-01T00:00-04:00", "2026-11-02T00:00-05:00"),
        expect(&[
            ("2026-11-01T00:00-04:00", 1),
            ("2026-11-01T01:30-04:00", 2),
            ("2026-11-01T02:30-05:00", 1),
        ])
    );
    // Two hours: half an hour before the clock goes back, an hour again, and half an hour more.
    assert_eq!(
        at("2026-11-01T01:30-04:00").duration_until(at("2026-11-01T02:30-05:00")),
        SignedDuration::from_hours(2)
    );
}
