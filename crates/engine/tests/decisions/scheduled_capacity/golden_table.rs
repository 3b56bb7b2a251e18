//! The golden table of schedules, each row through a world: the value, who wins, and that every
//! change was announced with its instant and its value (`timeline` asserts that).

use almanac_calendar::{Pattern, PatternText, PatternWindow};

use crate::support::schedule::{Publish as _, Schedule, pattern};

const WORKING_DAYS: &str = "weekdays=Mon,Tue,Wed,Thu,Fri";

fn working_days(at: &str) -> String {
    format!("{WORKING_DAYS}; {at}")
}

#[test]
fn row_1_nights_and_weekends_of_an_office() {
    let (nine, seventeen) = (working_days("hours=9"), working_days("hours=17"));
    let schedule = Schedule::new("America/Los_Angeles", 2)
        .with(1, "weekdays=Fri; hours=17", "weekdays=Mon; hours=9")
        .with(3, &nine, &seventeen)
        .with(2, &seventeen, &nine);
    let mut producer = schedule.published();
    let expected = "Mon 1 Feb 00:00 1, Mon 1 Feb 09:00 3, Mon 1 Feb 17:00 2, Tue 2 Feb 09:00 3, \
                    Tue 2 Feb 17:00 2, Wed 3 Feb 09:00 3, Wed 3 Feb 17:00 2, Thu 4 Feb 09:00 3, \
                    Thu 4 Feb 17:00 2, Fri 5 Feb 09:00 3, Fri 5 Feb 17:00 1, Mon 8 Feb 09:00 3";
    let timeline = producer.timeline("2021-02-01T00:00:00-08:00", "2021-02-08T10:00:00-08:00");
    assert_eq!(timeline, expected);
    let winner = |at| producer.decide(crate::support::instant(at)).memory.winner;
    assert_eq!(winner("2021-02-05T12:00:00-08:00"), Some(1));
    assert_eq!(winner("2021-02-06T12:00:00-08:00"), Some(0));
    assert_eq!(winner("2021-02-03T20:00:00-08:00"), Some(2));
}

#[test]
fn row_2_the_first_of_two_open_behaviors_wins() {
    let schedule = Schedule::utc(1)
        .with(5, "weekdays=Mon; hours=9", "weekdays=Mon; hours=17")
        .with(9, "weekdays=Mon; hours=8", "weekdays=Mon; hours=12");
    let expected = "Mon 23 Nov 00:00 1, Mon 23 Nov 08:00 9, Mon 23 Nov 09:00 5, Mon 23 Nov 17:00 1";
    let timeline = schedule.published().timeline("2026-11-23T00:00:00Z", "2026-11-24T00:00:00Z");
    assert_eq!(timeline, expected);
}

#[test]
fn row_3_a_second_start_needs_no_second_end() {
    let schedule = Schedule::utc(0).with(9, "weekdays=Mon,Tue; hours=9", "weekdays=Fri; hours=17");
    let timeline = schedule.published().timeline("2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z");
    assert_eq!(timeline, "Mon 23 Nov 00:00 0, Mon 23 Nov 09:00 9, Fri 27 Nov 17:00 0");
}

#[test]
fn row_4_a_second_end_needs_no_second_start() {
    let schedule = Schedule::utc(0).with(9, "weekdays=Mon; hours=9", "weekdays=Tue,Wed; hours=17");
    let timeline = schedule.published().timeline("2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z");
    assert_eq!(timeline, "Mon 23 Nov 00:00 0, Mon 23 Nov 09:00 9, Tue 24 Nov 17:00 0");
}

#[test]
fn row_5_an_end_on_more_days_than_the_start() {
    let start = working_days("hours=6; minutes=30");
    let schedule = Schedule::utc(0).with(3, &start, "hours=22; minutes=10");
    let expected = "Fri 27 Nov 00:00 0, Fri 27 Nov 06:30 3, Fri 27 Nov 22:10 0, \
                    Mon 30 Nov 06:30 3, Mon 30 Nov 22:10 0";
    let timeline = schedule.published().timeline("2026-11-27T00:00:00Z", "2026-12-01T00:00:00Z");
    assert_eq!(timeline, expected);
}

#[test]
fn row_6_over_the_end_of_a_month() {
    let schedule = Schedule::utc(0).with(3, "days=28,29,30,31; hours=8", "days=1; hours=20");
    let timeline = schedule.published().timeline("2022-10-02T00:00:00Z", "2022-11-28T00:00:00Z");
    assert_eq!(timeline, "Sun 2 Oct 00:00 0, Fri 28 Oct 08:00 3, Tue 1 Nov 20:00 0");
}

#[test]
fn row_7_months_of_start_and_end_that_overlap() {
    let start = working_days("months=Jan,Feb,Mar; hours=9");
    let end = working_days("months=Feb,Mar,Apr; hours=17");
    let mut producer = Schedule::utc(2).with(7, &start, &end).published();
    let january = producer.timeline("2021-01-01T00:00:00Z", "2021-02-03T00:00:00Z");
    let expected = "Fri 1 Jan 00:00 2, Fri 1 Jan 09:00 7, Mon 1 Feb 17:00 2, Tue 2 Feb 09:00 7, \
                    Tue 2 Feb 17:00 2";
    assert_eq!(january, expected);
    let year = producer.changes("2021-02-03T00:00:00Z", "2022-01-01T00:00:00Z");
    assert_eq!(year.last(), Some(&("Wed 31 Mar 17:00".to_owned(), 2)));
    // The night's 2, and two changes on each of the working days from 3 February to 31 March.
    assert_eq!(year.len(), 1 + 2 * 41);
    assert!(year.iter().skip(1).all(|(at, value)| {
        let is_weekend = at.starts_with("Sat") || at.starts_with("Sun");
        !is_weekend && at.ends_with(if *value == 7 { "09:00" } else { "17:00" })
    }));
}

#[test]
fn row_8_days_and_weekdays_must_both_match() {
    let first_thursday =
        |hour| format!("days=1,2,3,4,5,6,7; months=Jan; weekdays=Thu; hours={hour}");
    let schedule = Schedule::utc(1).with(9, &first_thursday(9), &first_thursday(17));
    let timeline = schedule.published().timeline("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
    assert_eq!(timeline, "Thu 1 Jan 00:00 1, Thu 1 Jan 09:00 9, Thu 1 Jan 17:00 1");
}

#[test]
fn row_9_the_leap_day() {
    let schedule = Schedule::utc(1).with(5, "days=29; months=Feb", "days=1; months=Mar");
    let timeline = schedule.published().timeline("2024-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
    assert_eq!(timeline, "Mon 1 Jan 00:00 1, Thu 29 Feb 00:00 5, Fri 1 Mar 00:00 1");
}

#[test]
fn row_10_a_behavior_holds_at_its_start_and_not_at_its_end() {
    let producer = Schedule::utc(1).with(4, "hours=9", "hours=17").published();
    assert_eq!(producer.value("2026-11-23T08:59:59.999Z"), 1);
    assert_eq!(producer.value("2026-11-23T08:59:59.999999999Z"), 1);
    assert_eq!(producer.value("2026-11-23T09:00:00Z"), 4);
    assert_eq!(producer.value("2026-11-23T16:59:59.999Z"), 4);
    assert_eq!(producer.value("2026-11-23T17:00:00Z"), 1);
}

#[test]
fn row_11_a_window_that_coincides_or_never_happens_cannot_be_a_behavior() {
    let message = |start, end| {
        PatternWindow::new(pattern(start), pattern(end)).expect_err("they coincide").to_string()
    };
    let coincides = "start and end are always the same instant, so the window has no length; \
                     write an end that differs from the start";
    assert_eq!(message("hours=9", "hours=9"), coincides);
    assert_eq!(message("", ""), coincides);
    let never = PatternText { days: Some("31"), months: Some("Feb"), ..PatternText::default() };
    assert_eq!(
        Pattern::parse(never).expect_err("there is no such day").to_string(),
        "it never fires: no date has all of these days, months, weekdays and years; \
         write a date that exists"
    );
}

#[test]
fn row_12_a_start_in_the_gap_waits_for_its_end() {
    let schedule =
        Schedule::new("America/New_York", 1).with(2, "hours=2; minutes=30", "hours=3; minutes=30");
    let timeline =
        schedule.published().timeline("2026-03-08T00:00:00-05:00", "2026-03-09T00:00:00-04:00");
    assert_eq!(timeline, "Sun 8 Mar 00:00 1, Sun 8 Mar 03:00 2, Sun 8 Mar 03:30 1");
}

#[test]
fn row_13_a_fold_opens_at_its_first_pass_and_stays_open() {
    let producer = Schedule::new("America/New_York", 1)
        .with(2, "hours=1; minutes=30", "hours=2; minutes=30")
        .published();
    assert_eq!(producer.value("2026-11-01T01:29:59-04:00"), 1);
    assert_eq!(producer.value("2026-11-01T01:30:00-04:00"), 2);
    assert_eq!(producer.value("2026-11-01T01:00:00-05:00"), 2);
    assert_eq!(producer.value("2026-11-01T02:29:59-05:00"), 2);
    assert_eq!(producer.value("2026-11-01T02:30:00-05:00"), 1);
}
