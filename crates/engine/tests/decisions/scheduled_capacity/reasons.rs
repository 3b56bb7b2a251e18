//! Why a number holds, behaviour by behaviour.

use almanac_engine::Verdict;
use almanac_engine::scheduled_capacity::Because;

use crate::support::instant;
use crate::support::schedule::Schedule;

#[test]
fn every_behaviour_says_why_it_won_lost_or_took_no_part() {
    let producer = Schedule::utc(1)
        .with_priority(1, 5, "hours=9", "hours=17")
        .with(7, "hours=10", "hours=18")
        .with_priority(1, 6, "hours=8", "hours=16")
        .with(8, "hours=20", "hours=21")
        .published();
    let reasons = producer.explain("2026-11-23T12:00:00Z");
    let because: Vec<_> = reasons.iter().map(|it| (it.rule, it.verdict, it.because)).collect();
    assert_eq!(
        because,
        [
            (Some(0), Verdict::Won, Because::Open),
            (Some(1), Verdict::Lost, Because::LowerPriority { than: 0 }),
            (Some(2), Verdict::Lost, Because::LaterInTheSpec { than: 0 }),
            (Some(3), Verdict::Inactive, Because::Closed),
        ]
    );
    assert_eq!(reasons[0].since, Some(instant("2026-11-23T09:00:00Z")));
    assert_eq!(reasons[0].until, Some(instant("2026-11-23T17:00:00Z")));
    assert_eq!(reasons[3].since, Some(instant("2026-11-22T21:00:00Z")));
    assert_eq!(reasons[3].until, Some(instant("2026-11-23T20:00:00Z")));
}

#[test]
fn the_default_holds_because_nothing_is_open() {
    let producer = Schedule::utc(1).with(5, "hours=9", "hours=17").published();
    let reasons = producer.explain("2026-11-23T08:00:00Z");
    assert_eq!((reasons[0].rule, reasons[0].because), (None, Because::NothingOpen));
    assert_eq!(reasons[0].until, Some(instant("2026-11-23T09:00:00Z")));
    assert_eq!(reasons[1].because, Because::Closed);
}

#[test]
fn reasons_read_as_lines_for_a_person() {
    let producer =
        Schedule::utc(1).with(5, "hours=9", "hours=17").with(7, "hours=10", "hours=18").published();
    let lines = producer.explained("2026-11-23T12:00:00Z");
    assert!(lines[0].ends_with(": open"), "{lines:?}");
    assert!(lines[1].ends_with(": open, but behaviour 0 comes before it"), "{lines:?}");
    let lines = producer.explained("2026-11-23T08:00:00Z");
    assert_eq!(lines[0], "no behaviour is open, so the default holds");
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
