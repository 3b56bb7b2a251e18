//! The next value: the first instant at which the number differs, within a year.

use almanac_engine::scheduled_capacity::{Change, LOOKS_AHEAD};

use crate::support::schedule::{Publish as _, Schedule};
use crate::support::{NANOSECOND, instant};

fn change(at: &str, value: u32) -> Change {
    Change { at: instant(at), value }
}

#[test]
fn a_change_of_winner_with_the_same_value_is_not_a_next_value() {
    let producer =
        Schedule::utc(1).with(5, "hours=9", "hours=12").with(5, "hours=12", "hours=17").published();
    let decision = producer.decide(instant("2026-11-23T10:00:00Z"));
    assert_eq!(decision.memory.next, Some(change("2026-11-23T17:00:00Z", 1)));
    // The winner changes earlier, and so does the winner in the status.
    assert_eq!(decision.wake_at, Some(instant("2026-11-23T12:00:00Z")));
}

#[test]
fn losing_behaviors_neither_wake_nor_change_anything() {
    let producer = Schedule::utc(1)
        .with_priority(1, 5, "hours=9", "hours=17")
        .with(7, "hours=10", "hours=11")
        .published();
    let decision = producer.decide(instant("2026-11-23T09:30:00Z"));
    assert_eq!(decision.wake_at, Some(instant("2026-11-23T17:00:00Z")));
}

#[test]
fn the_next_value_is_that_of_the_next_winner() {
    let producer = Schedule::utc(1)
        .with_priority(1, 5, "hours=9", "hours=17")
        .with(7, "hours=10", "hours=18")
        .published();
    assert_eq!(producer.next("2026-11-23T12:00:00Z"), Some(change("2026-11-23T17:00:00Z", 7)));
    assert_eq!(producer.next("2026-11-23T17:00:00Z"), Some(change("2026-11-23T18:00:00Z", 1)));
}

#[test]
fn behaviors_equal_to_the_default_have_no_next_value() {
    let producer = Schedule::utc(5)
        .with(5, "hours=12; minutes=0,2,4,6", "hours=12; minutes=1,3,5,7")
        .published();
    let decision = producer.decide(instant("2026-11-23T12:00:00Z"));
    assert_eq!(decision.memory.next, None);
    assert_eq!(decision.wake_at, Some(instant("2026-11-23T12:01:00Z")));
}

#[test]
fn a_rare_change_is_found_after_many_that_change_nothing() {
    let list = |numbers: std::ops::Range<u32>, step| {
        let numbers: Vec<String> = numbers.step_by(step).map(|it| it.to_string()).collect();
        numbers.join(",")
    };
    let every_hour = |minutes: &str| format!("hours={}; minutes={minutes}", list(0..24, 1));
    let producer = Schedule::utc(5)
        .with(5, &every_hour(&list(0..60, 2)), &every_hour("1,31"))
        .with(8, "days=1; months=Nov; hours=6", "days=2; months=Nov")
        .published();
    // The second behavior does not apply before the first one closes, a minute later.
    assert_eq!(producer.next("2026-10-23T12:00:00Z"), Some(change("2026-11-01T06:01:00Z", 8)));
    assert_eq!(producer.next("2026-11-23T12:00:00Z"), Some(change("2027-11-01T06:01:00Z", 8)));
}

#[test]
fn a_change_more_than_a_year_away_appears_with_time_alone() {
    let mut producer = Schedule::utc(1)
        .with(5, "days=29; months=Feb; years=2028", "days=1; months=Mar")
        .published();
    let leap_day = change("2028-02-29T00:00:00Z", 5);
    let in_sight = leap_day.at - LOOKS_AHEAD;

    let (_, wake_at) = producer.turn(instant("2026-11-23T12:00:00Z"));
    assert_eq!(producer.memory().unwrap().next, None);
    assert_eq!(wake_at, Some(in_sight));
    assert_eq!(producer.decide(in_sight - NANOSECOND).memory.next, None);

    let (actions, wake_at) = producer.turn(in_sight);
    assert_eq!(producer.memory().unwrap().next, Some(leap_day));
    assert_eq!((actions.len(), wake_at), (0, Some(leap_day.at)));
}

#[test]
fn the_same_day_of_the_next_year_is_within_a_year() {
    let producer = Schedule::utc(1).with(5, "days=1; months=Mar", "days=1; months=Mar; hours=1");
    let producer = producer.published();
    // From 2027 to 2028, 366 days pass.
    assert_eq!(producer.next("2027-03-01T01:00:00Z"), Some(change("2028-03-01T00:00:00Z", 5)));
}

#[test]
fn without_further_changes_there_is_no_next_value_and_no_wake() {
    let producer = Schedule::utc(1).with(
        5,
        "days=1; months=Jan; years=2026",
        "days=2; months=Jan; years=2026",
    );
    let decision = producer.published().decide(instant("2026-02-01T00:00:00Z"));
    assert_eq!((decision.memory.next, decision.wake_at), (None, None));
}
