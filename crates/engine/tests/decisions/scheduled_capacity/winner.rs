//! The winner among several open behaviors.

use crate::support::instant;
use crate::support::schedule::{Publish as _, Schedule};

#[test]
fn the_higher_priority_wins_over_an_earlier_place() {
    let producer = Schedule::utc(1)
        .with(5, "weekdays=Mon; hours=9", "weekdays=Mon; hours=17")
        .with_priority(1, 9, "weekdays=Mon; hours=8", "weekdays=Mon; hours=12")
        .published();
    assert_eq!(producer.value("2026-11-23T08:00:00Z"), 9);
    assert_eq!(producer.value("2026-11-23T11:59:59Z"), 9);
    assert_eq!(producer.value("2026-11-23T12:00:00Z"), 5);
}

#[test]
fn a_negative_priority_loses_to_an_absent_one() {
    let producer = Schedule::utc(1)
        .with_priority(-1, 5, "hours=9", "hours=17")
        .with(9, "hours=9", "hours=17")
        .published();
    assert_eq!(producer.value("2026-11-23T10:00:00Z"), 9);
}

#[test]
fn the_earlier_of_equal_priorities_in_the_spec_wins() {
    let schedule = |first, second| {
        Schedule::utc(1)
            .with_priority(7, first, "hours=9", "hours=17")
            .with_priority(7, second, "hours=9", "hours=17")
            .published()
            .value("2026-11-23T10:00:00Z")
    };
    assert_eq!((schedule(5, 9), schedule(9, 5)), (5, 9));
}

#[test]
fn a_value_of_zero_wins_like_any_other() {
    let producer = Schedule::utc(4).with(0, "hours=9", "hours=17").published();
    let published = producer.decide(instant("2026-11-23T10:00:00Z")).memory;
    assert_eq!((published.value, published.winner), (0, Some(0)));
}

#[test]
fn without_behaviors_the_default_always_applies() {
    let producer = Schedule::utc(4).published();
    let decision = producer.decide(instant("2026-11-23T10:00:00Z"));
    assert_eq!((decision.memory.value, decision.memory.winner), (4, None));
    assert_eq!((decision.memory.next, decision.wake_at), (None, None));
}

#[test]
fn a_behavior_closes_where_the_next_opens_without_a_dip() {
    let producer =
        Schedule::utc(0).with(5, "hours=9", "hours=12").with(5, "hours=12", "hours=17").published();
    assert_eq!(producer.value("2026-11-23T11:59:59.999999999Z"), 5);
    assert_eq!(producer.value("2026-11-23T12:00:00Z"), 5);
}
