//! The published and recorded values, and the writes that are not repeated.

use std::sync::Arc;

use almanac_engine::{Action, Exemptions, Family, Outcome, PolicyName, Reach, Verdict, turn};

use crate::support::instant;
use crate::support::schedule::{Publish as _, Schedule};

fn office_hours() -> Schedule {
    Schedule::utc(1).with(4, "hours=9", "hours=17")
}

#[test]
fn a_number_is_published_when_it_is_new_and_not_again() {
    let mut producer = office_hours().published();
    let (actions, wake_at) = producer.turn(instant("2026-11-23T08:00:00Z"));
    let schedule = producer.identity.clone();
    assert_eq!(actions, [Action::Publish { schedule, value: 1 }]);
    assert_eq!(wake_at, Some(instant("2026-11-23T09:00:00Z")));
    let (actions, _) = producer.turn(instant("2026-11-23T08:30:00Z"));
    assert_eq!(actions, []);
}

#[test]
fn a_number_that_could_not_be_published_is_wanted_again() {
    let mut producer = office_hours().published();
    let now = instant("2026-11-23T08:00:00Z");
    for outcome in [Outcome::Conflict, Outcome::Refused("no".into()), Outcome::Unknown("?".into())]
    {
        producer.turn_with(now, |_, _| outcome.clone());
        assert_eq!(producer.memory(), None);
    }
    assert_eq!(producer.turn(now).0.len(), 1);
    assert_eq!(producer.memory().map(|it| it.value), Some(1));
}

#[test]
fn a_schedule_keeps_no_more_than_its_status_contains() {
    // Its policy state is only its status: without it, the next decision is the same.
    let mut producer = office_hours().published();
    let now = instant("2026-11-23T10:00:00Z");
    producer.turn(now);
    let before = producer.memory();
    producer
        .world
        .scheduled_capacity
        .policies
        .get_mut(&producer.identity.clone())
        .unwrap()
        .memory = None;
    producer.turn(now);
    assert_eq!(producer.memory(), before);
}

#[test]
fn after_a_clock_is_set_back_the_value_is_that_of_the_new_time() {
    let mut producer = office_hours().published();
    producer.turn(instant("2026-11-23T09:00:00Z"));
    let (_, wake_at) = producer.turn(instant("2026-11-23T08:59:52Z"));
    assert_eq!(producer.memory().map(|it| it.value), Some(1));
    assert_eq!(wake_at, Some(instant("2026-11-23T09:00:00Z")));
}

#[test]
fn an_exempt_schedule_publishes_nothing_and_is_explained_as_exempt() {
    let mut producer = office_hours().published();
    let now = instant("2026-11-23T10:00:00Z");
    producer.world.objects.exempt = Arc::new(Exemptions::for_namespaces(["default"]));
    let name = PolicyName::new(Family::ScheduledCapacity, producer.identity.clone());
    assert!(turn::open(&producer.world, &name, &Reach::everything(), now).is_none());
    assert_eq!(producer.world.footprint(&name).writes, []);
    let [explained] = producer.world.explain(&name, now).try_into().unwrap();
    assert_eq!(explained.verdict, Verdict::Excluded);
    assert_eq!(explained.message, "not published; the namespace of the object is exempt");
}
