//! The rules of time for windows, seen through a schedule.

use crate::support::schedule::{Publish as _, Schedule};

#[test]
fn a_window_that_ends_before_it_starts_spans_midnight() {
    let mut producer = Schedule::new("Europe/Berlin", 1).daily(4, "22:00", "06:00").published();
    let timeline = producer.timeline("2026-07-01T12:00:00+02:00", "2026-07-02T12:00:00+02:00");
    assert_eq!(timeline, "Wed 1 Jul 12:00 1, Wed 1 Jul 22:00 4, Thu 2 Jul 06:00 1");
}

#[test]
fn a_window_of_the_whole_day_never_changes() {
    let producer = Schedule::utc(1).daily(4, "00:00", "24:00").published();
    let decision = producer.decide(crate::support::instant("2026-07-01T00:00:00Z"));
    assert_eq!((decision.memory.value, decision.wake_at), (4, None));
}

#[test]
fn a_window_that_lies_wholly_in_a_gap_has_no_length_that_day() {
    let mut producer = Schedule::new("America/New_York", 1).daily(4, "02:15", "02:45").published();
    let expected = "Sat 7 Mar 00:00 1, Sat 7 Mar 02:15 4, Sat 7 Mar 02:45 1, Mon 9 Mar 02:15 4, \
                    Mon 9 Mar 02:45 1";
    let timeline = producer.timeline("2026-03-07T00:00:00-05:00", "2026-03-10T00:00:00-04:00");
    assert_eq!(timeline, expected);
}

#[test]
fn an_end_in_a_gap_is_the_first_instant_after_it() {
    let mut producer = Schedule::new("America/New_York", 1).daily(4, "01:00", "02:30").published();
    let timeline = producer.timeline("2026-03-08T00:00:00-05:00", "2026-03-08T12:00:00-04:00");
    assert_eq!(timeline, "Sun 8 Mar 00:00 1, Sun 8 Mar 01:00 4, Sun 8 Mar 03:00 1");
}

#[test]
fn an_end_in_a_fold_is_its_first_occurrence() {
    let producer = Schedule::new("America/New_York", 1).daily(4, "00:30", "01:30").published();
    assert_eq!(producer.value("2026-11-01T01:29:59-04:00"), 4);
    assert_eq!(producer.value("2026-11-01T01:30:00-04:00"), 1);
    assert_eq!(producer.value("2026-11-01T01:29:59-05:00"), 1);
}

#[test]
fn a_gap_at_midnight_opens_the_day_at_its_first_instant() {
    // In Cairo the clock jumps from 00:00 to 01:00 on Friday, 24 April 2026.
    let mut producer = Schedule::new("Africa/Cairo", 1).daily(4, "00:00", "06:00").published();
    let timeline = producer.timeline("2026-04-23T12:00:00+02:00", "2026-04-24T12:00:00+03:00");
    assert_eq!(timeline, "Thu 23 Apr 12:00 1, Fri 24 Apr 01:00 4, Fri 24 Apr 06:00 1");
}

#[test]
fn a_day_that_a_zone_skips_has_no_windows() {
    // Apia had no 30 December 2011. The windows of that day fall together at the next midnight.
    let mut producer = Schedule::new("Pacific/Apia", 1).daily(4, "09:00", "17:00").published();
    let expected = "Thu 29 Dec 12:00 4, Thu 29 Dec 17:00 1, Sat 31 Dec 09:00 4, Sat 31 Dec 17:00 1";
    let timeline = producer.timeline("2011-12-29T12:00:00-10:00", "2011-12-31T20:00:00+14:00");
    assert_eq!(timeline, expected);
}

#[test]
fn a_shift_of_half_an_hour_is_exact_to_the_minute() {
    // On Lord Howe the clock jumps from 02:00 to 02:30 on Sunday, 4 October 2026.
    let mut producer =
        Schedule::new("Australia/Lord_Howe", 1).daily(4, "02:15", "02:40").published();
    let timeline = producer.timeline("2026-10-04T00:00:00+10:30", "2026-10-04T12:00:00+11:00");
    assert_eq!(timeline, "Sun 4 Oct 00:00 1, Sun 4 Oct 02:30 4, Sun 4 Oct 02:40 1");
}

#[test]
fn one_off_dates_come_once() {
    let black_friday =
        ("days=27; months=Nov; years=2026; hours=6", "days=28; months=Nov; years=2026");
    let mut producer = Schedule::utc(1).with(40, black_friday.0, black_friday.1).published();
    let expected = "Thu 1 Jan 00:00 1, Fri 27 Nov 06:00 40, Sat 28 Nov 00:00 1";
    assert_eq!(producer.timeline("2026-01-01T00:00:00Z", "2030-01-01T00:00:00Z"), expected);
}
