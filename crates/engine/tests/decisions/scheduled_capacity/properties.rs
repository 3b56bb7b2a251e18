//! Properties over random schedules and instants: deterministic, total, exact about waking, stable, without history;
//! and equal to an independent evaluation of every transition.

use std::cmp::Reverse;

use almanac_calendar::{DailyWindow, PatternWindow, Windows, Zone};
use almanac_checker::check_scheduled_capacity;
use almanac_engine::scheduled_capacity::{
    Behavior, Change, Decision, Input, LOOKS_AHEAD, ScheduledCapacity, Schedules, decide,
};
use almanac_engine::turn;
use almanac_engine::{Outcome, Reach};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::support::property::{fail, holds};
use crate::support::schedule::{Close, Producer, close, pattern};
use crate::support::{NANOSECOND, instant};

/// One behavior: its window as a string, its value and its priority.
type BehaviorCase = (Window, u32, i32);

#[derive(Clone, Debug)]
enum Window {
    Daily(String, String),
    Pattern(String, String),
}

#[derive(Clone, Debug)]
pub(super) struct Case {
    zone: &'static str,
    default_value: u32,
    behaviors: Vec<BehaviorCase>,
    now: Timestamp,
    /// The delay of the requested turn.
    late: SignedDuration,
}

fn windows() -> impl Strategy<Value = Window> {
    let time = || (0..24_u8, prop_oneof![Just(0_u8), Just(30), 0..60_u8]);
    let text = |(hour, minute): (u8, u8)| format!("{hour:02}:{minute:02}");
    let daily = (time(), time())
        .prop_map(move |(start, end)| Window::Daily(text(start), text(end)))
        .prop_filter("they coincide", |it| !matches!(it, Window::Daily(a, b) if a == b));
    let days = prop_oneof![
        3 => Just(String::new()),
        2 => Just("weekdays=Mon,Tue,Wed,Thu,Fri".to_owned()),
        2 => (0..7_u8).prop_map(|day| format!("weekdays={day}")),
        1 => (1..29_u8).prop_map(|day| format!("days={day}")),
        1 => (1..13_u8).prop_map(|month| format!("months={month}; days=1")),
        1 => (2025..2030_u16).prop_map(|year| format!("years={year}; months=3; days=29")),
        1 => Just("months=2; days=29".to_owned()),
    ];
    let side = (days, 0..24_u8, prop_oneof![Just("0"), Just("30"), Just("0,20,40")]);
    let side =
        side.prop_map(|(days, hour, minutes)| format!("{days}; hours={hour}; minutes={minutes}"));
    let patterns = (side.clone(), side)
        .prop_filter("they coincide", |(start, end)| {
            PatternWindow::new(pattern(start), pattern(end)).is_ok()
        })
        .prop_map(|(start, end)| Window::Pattern(start, end));
    prop_oneof![daily, patterns]
}

pub(super) fn cases() -> impl Strategy<Value = Case> {
    let zones = prop_oneof![
        Just("UTC"),
        Just("America/New_York"),
        Just("Europe/Berlin"),
        Just("Australia/Lord_Howe"),
        Just("Africa/Cairo"),
    ];
    let behavior = (windows(), 0..4_u32, -1..2_i32);
    let seconds =
        instant("2025-06-01T00:00:00Z").as_second()..instant("2029-01-01T00:00:00Z").as_second();
    let aligned = prop_oneof![Just(1_i64), Just(1800), Just(3600)];
    let nanoseconds = prop_oneof![Just(0_i32), Just(1), Just(999_999_999)];
    let now = (seconds, aligned, nanoseconds).prop_map(|(second, unit, nanosecond)| {
        Timestamp::new(second - second % unit, nanosecond).expect("within the range")
    });
    let late = prop_oneof![2 => Just(0_i64), 1 => Just(1), 1 => 2..5_000_000_000_i64];
    let late = late.prop_map(SignedDuration::from_nanos);
    let behaviors = prop::collection::vec(behavior, 0..6);
    (zones, 0..4_u32, behaviors, now, late).prop_map(
        |(zone, default_value, behaviors, now, late)| Case {
            zone,
            default_value,
            behaviors,
            now,
            late,
        },
    )
}

impl Case {
    fn policy(&self) -> ScheduledCapacity {
        let zone = Zone::named(self.zone).unwrap();
        let all = self.behaviors.iter().map(|(window, value, priority)| Behavior {
            windows: match window {
                Window::Daily(start, end) => DailyWindow::parse(start, end).unwrap().in_zone(zone),
                Window::Pattern(start, end) => {
                    PatternWindow::new(pattern(start), pattern(end)).unwrap().in_zone(zone)
                }
            },
            value: *value,
            priority: *priority,
        });
        ScheduledCapacity { zone, default_value: self.default_value, behaviors: all.collect() }
    }
}

pub(super) type Decide<'a> = &'a dyn Fn(&Input<'_>, Timestamp) -> Decision;

/// Checks one case of a function to decide and a function to close turns.
pub(super) fn check(case: &Case, decide: Decide<'_>, spoil: Close<'_>) -> TestCaseResult {
    let mut producer = Producer::new(case.policy());
    let now = case.now;
    let first = producer.input();
    let decision = decide(&first, now);
    let violations = check_scheduled_capacity(&first, now, &decision);
    prop_assert!(violations.is_empty(), "{violations}");
    prop_assert_eq!(&decide(&first, now), &decision, "it is not deterministic");

    let settled = Input { published: Some(&decision.memory), ..first };
    let again = decide(&settled, now);
    prop_assert_eq!(&again.actions, &[], "it is not stable");
    prop_assert_eq!(again.memory, decision.memory, "it depends on its history");

    let wake_at = again.wake_at;
    let until = wake_at.unwrap_or(now + LOOKS_AHEAD);
    for instant in between(now, until) {
        let within = decide(&settled, instant);
        prop_assert_eq!(&within, &again, "{} is before it wakes at {:?}", instant, wake_at);
    }
    if let Some(wake_at) = wake_at {
        let then = decide(&settled, wake_at);
        prop_assert_ne!(then.memory, again.memory, "nothing changes at {}", wake_at);
    }
    let expected = by_walking_every_transition(&case.policy(), now);
    let found = (decision.memory.value, decision.memory.next);
    if expected != found {
        return Err(fail(format!("the transitions lead to {expected:?}, not {found:?}")));
    }
    // The first turn, a turn without changes, and the next turn, slightly late.
    for at in [Some(now), Some(now), wake_at.map(|at| at + case.late)].into_iter().flatten() {
        check_turn(&mut producer, at, decide, spoil)?;
    }
    Ok(())
}

fn check_turn(
    producer: &mut Producer,
    now: Timestamp,
    decide: Decide<'_>,
    spoil: Close<'_>,
) -> TestCaseResult {
    let decision = decide(&producer.input(), now);
    let mut open = turn::open(&producer.world, &producer.name(), &Reach::everything(), now)
        .ok_or_else(|| fail("it has no turn"))?;
    if let Some(opened) = open.decision_mut().get_mut::<Schedules>() {
        opened.decision = decision;
    }
    let outcomes: Vec<Outcome> =
        open.actions().iter().map(|action| producer.world.apply(action)).collect();
    let (_, violations) = close(open, &mut producer.world, &outcomes, spoil);
    prop_assert!(violations.is_empty(), "at {now}: {violations}");
    Ok(())
}

/// Instants after `from` and before `to`, including the last possible one.
fn between(from: Timestamp, to: Timestamp) -> impl Iterator<Item = Timestamp> {
    let length = from.duration_until(to);
    let fractions = (1..8).map(move |eighths| from + length / 8 * eighths);
    let edges = [from + NANOSECOND, from + SignedDuration::from_secs(1), to - NANOSECOND];
    fractions.chain(edges).filter(move |at| from < *at && *at < to)
}

/// The value at `now` and the next different one within a year, from all transitions.
fn by_walking_every_transition(
    policy: &ScheduledCapacity,
    now: Timestamp,
) -> (u32, Option<Change>) {
    let value = |at: Timestamp| {
        let open = policy.behaviors.iter().enumerate().filter(|(_, it)| it.windows.is_open(at));
        open.max_by_key(|(index, it)| (it.priority, Reverse(*index)))
            .map_or(policy.default_value, |(_, it)| it.value)
    };
    let end = now + LOOKS_AHEAD + NANOSECOND;
    let mut instants: Vec<Timestamp> = policy
        .behaviors
        .iter()
        .flat_map(|it| Windows::between(&it.windows, now + NANOSECOND, end).map(|it| it.at))
        .collect();
    instants.sort_unstable();
    let next = instants.into_iter().find(|at| value(*at) != value(now));
    (value(now), next.map(|at| Change { at, value: value(at) }))
}

#[test]
fn every_schedule_is_decided_exactly_as_its_transitions_say() {
    let name = "every_schedule_is_decided_exactly_as_its_transitions_say";
    holds(name, 300, cases(), |case| check(&case, &decide, &|_, _| {}));
}
