//! The reasons for a number, behavior by behavior.

use almanac_engine::Verdict;
use almanac_engine::scheduled_capacity::Cause;
use jiff::Timestamp;

use crate::support::instant;
use crate::support::schedule::{Producer, Publish as _, Schedule};

#[test]
fn every_behavior_is_explained_as_winning_losing_or_closed() {
    let producer = Schedule::utc(1)
        .with_priority(1, 5, "hours=9", "hours=17")
        .with(7, "hours=10", "hours=18")
        .with_priority(1, 6, "hours=8", "hours=16")
        .with(8, "hours=20", "hours=21")
        .published();
    let reasons = producer.explain("2026-11-23T12:00:00Z");
    let cause: Vec<_> = reasons.iter().map(|it| (it.rule, it.verdict, it.cause)).collect();
    let expected = [
        (Some(0), Verdict::Won, Cause::Open),
        (Some(1), Verdict::Lost, Cause::LowerPriority { than: 0 }),
        (Some(2), Verdict::Lost, Cause::LaterInTheSpec { than: 0 }),
        (Some(3), Verdict::Inactive, Cause::Closed),
    ];
    assert_eq!(cause, expected);
    assert_eq!(reasons[0].since, Some(instant("2026-11-23T09:00:00Z")));
    assert_eq!(reasons[0].until, Some(instant("2026-11-23T17:00:00Z")));
    assert_eq!(reasons[3].since, Some(instant("2026-11-22T21:00:00Z")));
    assert_eq!(reasons[3].until, Some(instant("2026-11-23T20:00:00Z")));
}

#[test]
fn the_default_holds_because_nothing_is_open() {
    let producer = Schedule::utc(1).with(5, "hours=9", "hours=17").published();
    let reasons = producer.explain("2026-11-23T08:00:00Z");
    assert_eq!((reasons[0].rule, reasons[0].cause), (None, Cause::NothingOpen));
    assert_eq!(reasons[0].until, Some(instant("2026-11-23T09:00:00Z")));
    assert_eq!(reasons[1].cause, Cause::Closed);
}

#[test]
fn reasons_read_as_lines_for_a_person() {
    let producer =
        Schedule::utc(1).with(5, "hours=9", "hours=17").with(7, "hours=10", "hours=18").published();
    let lines = producer.explained("2026-11-23T12:00:00Z");
    assert!(lines[0].ends_with(": open"), "{lines:?}");
    assert!(lines[1].ends_with(": open, but behavior 0 is listed before it"), "{lines:?}");
    let lines = producer.explained("2026-11-23T08:00:00Z");
    assert_eq!(lines[0], "no behavior is open, so the default applies");
    assert!(lines[1].ends_with(": closed"), "{lines:?}");
}

#[test]
fn the_everyday_decision_records_only_what_won() {
    let producer =
        Schedule::utc(1).with(5, "hours=9", "hours=17").with(7, "hours=10", "hours=18").published();
    let now = instant("2026-11-23T12:00:00Z");
    let reasons = producer.decide(now).reasons;
    assert_eq!(reasons.len(), 1);
    assert_eq!(reasons[0].verdict, Verdict::Won);
}

/// The instant from which the winner has won.
fn since(producer: &Producer, now: &str) -> Option<Timestamp> {
    let reasons = producer.explain(now);
    let mut winners = reasons.iter().filter(|it| it.verdict == Verdict::Won);
    let since = winners.next().unwrap().since;
    assert!(winners.next().is_none(), "there is one winner");
    since
}

#[test]
fn a_winner_is_dated_from_its_first_win_not_from_its_opening() {
    let producer = Schedule::utc(1)
        .with(5, "hours=9", "hours=17")
        .with_priority(1, 7, "hours=10", "hours=12")
        .published();
    let since = |time: &str| {
        let since = since(&producer, &format!("2026-11-23T{time}Z")).unwrap();
        since.strftime("%d %H:%M").to_string()
    };
    assert_eq!(since("08:00:00"), "22 17:00", "the default");
    assert_eq!(since("09:00:00"), "23 09:00");
    assert_eq!(since("09:59:59"), "23 09:00");
    assert_eq!(since("10:00:00"), "23 10:00");
    assert_eq!(since("11:00:00"), "23 10:00");
    assert_eq!(since("12:00:00"), "23 12:00", "it was open all the while, but did not win");
    assert_eq!(since("16:00:00"), "23 12:00");
    assert_eq!(since("17:00:00"), "23 17:00");
}

#[test]
fn losing_behaviors_do_not_change_the_start_of_the_winner() {
    let producer = Schedule::utc(1)
        .with_priority(1, 5, "hours=9", "hours=17")
        .with(7, "hours=10", "hours=11")
        .with_priority(1, 6, "hours=12", "hours=18")
        .published();
    assert_eq!(since(&producer, "2026-11-23T16:00:00Z"), Some(instant("2026-11-23T09:00:00Z")));
    let expected = Some(instant("2026-11-23T17:00:00Z"));
    assert_eq!(since(&producer, "2026-11-23T17:30:00Z"), expected, "the one above it has closed");
}

#[test]
fn a_default_that_has_always_applied_has_no_start() {
    assert_eq!(since(&Schedule::utc(4).published(), "2026-11-23T10:00:00Z"), None);
}

#[test]
fn the_world_explains_a_schedule_with_the_start_of_each_state() {
    let producer = Schedule::utc(1)
        .with(5, "hours=9", "hours=17")
        .with_priority(1, 7, "hours=10", "hours=12")
        .published();
    let explained = producer.world.explain(&producer.name(), instant("2026-11-23T13:00:00Z"));
    let lines: Vec<_> = explained.iter().map(|it| (it.rule.as_deref(), it.verdict)).collect();
    assert_eq!(
        lines,
        [(Some("behaviors[0]"), Verdict::Won), (Some("behaviors[1]"), Verdict::Inactive)]
    );
    assert_eq!(explained[0].since, Some(instant("2026-11-23T12:00:00Z")));
    assert_eq!(explained[0].until, Some(instant("2026-11-23T17:00:00Z")));
}
