//! Next events: firings and boundaries, in order.

use almanac_engine::{Occurrence, Value};
use almanac_forecast::{AssumedValues, Event, Upcoming};

use crate::builders::*;

fn event_line(event: &Event) -> String {
    let sets: Vec<_> = event
        .sets
        .iter()
        .map(|(field, before, after)| {
            let before = before.as_ref().and_then(Value::number);
            format!("{field} {before:?}->{after}")
        })
        .collect();
    let rule = event.rule.as_deref().unwrap_or("-");
    let (what, policy) = (event.what.name(), event.policy.identity.name());
    format!("{} {policy}/{rule} {what} {}", event.at, sets.join(" "))
}

#[test]
fn firings_and_boundaries_come_in_order_of_time() {
    let rules = vec![rule("open", "0 8 * * *", 10), rule("close", "0 17 * * *", 3)];
    let world = Building::default()
        .scaling("s", to_workload("shop"), rules)
        .schedule("nodes", 1, vec![daily("9", "17", 5, 0), daily("12", "13", 7, 1)])
        .world();
    let events: Vec<_> =
        Upcoming::new(world, monday(), &AssumedValues::new()).map(|it| event_line(&it)).collect();
    let expected = [
        "2026-03-02T08:00:00Z s/open fires replicas Some(3)->10",
        "2026-03-02T09:00:00Z nodes/behaviors[0] opens value Some(1)->5",
        "2026-03-02T12:00:00Z nodes/behaviors[1] opens value Some(5)->7",
        "2026-03-02T13:00:00Z nodes/behaviors[1] closes value Some(7)->5",
        "2026-03-02T17:00:00Z nodes/behaviors[0] closes value Some(5)->1",
        "2026-03-02T17:00:00Z s/close fires replicas Some(10)->3",
    ];
    assert_eq!(events, expected);
}

#[test]
fn a_boundary_at_the_very_start_is_listed() {
    let world = Building::default().schedule("nodes", 1, vec![daily("9", "17", 5, 0)]).world();
    let nine = period("2026-03-02T09:00:00Z", "2026-03-02T10:00:00Z");
    let events: Vec<_> = Upcoming::new(world, nine, &AssumedValues::new()).collect();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].what, Occurrence::Opens);
}

#[test]
fn firings_that_change_nothing_or_are_superseded_are_listed() {
    let rules = vec![rule("a", "0 8 * * *", 10), rule("b", "0 8 * * *", 11)];
    let world = Building::default().scaling("s", to_workload("shop"), rules).world();
    let events: Vec<_> =
        Upcoming::new(world, monday(), &AssumedValues::new()).map(|it| event_line(&it)).collect();
    let expected = [
        "2026-03-02T08:00:00Z s/a superseded ",
        "2026-03-02T08:00:00Z s/b fires replicas Some(11)->11",
    ];
    assert_eq!(events, expected);
}
