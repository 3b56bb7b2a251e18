//! The forecast against stepping: the value of every rule and every schedule at every minute, by a loop that has no
//! turns, no `wake_at`, no replaying and no parts. The loop uses the calendar to check whether a rule fires, and
//! nothing of the engine.

use std::collections::BTreeMap;

use almanac_engine::cron_scaling::{CronRule, CronScaling, DesiredScale};
use almanac_engine::scheduled_capacity::{Behavior, ScheduledCapacity};
use almanac_engine::{Field, Identity, Value, World};
use almanac_forecast::{AssumedValues, Period, Simulation};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use crate::builders::*;
use crate::series::assert_well_formed;

/// Rules fire daily or weekly, so every rule has fired within this time.
const SETTLES: SignedDuration = SignedDuration::from_hours(9 * 24);
const ZONES: [&str; 4] = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"];

fn crons() -> impl Strategy<Value = (String, &'static str)> {
    let minute = prop_oneof!["[0-5]?[0-9]", Just("*/17".to_owned()), Just("0,30".to_owned())];
    let hour = prop_oneof![3 => (0..24_u8).prop_map(|it| it.to_string()), 1 => Just("*".to_owned()),
        1 => Just("1-3".to_owned())];
    let weekday =
        prop_oneof![2 => Just("*".to_owned()), 1 => (0..7_u8).prop_map(|it| it.to_string())];
    let cron = (minute, hour, weekday).prop_map(|(m, h, w)| format!("{m} {h} * * {w}"));
    (cron, prop::sample::select(&ZONES[..]))
}

fn rules() -> impl Strategy<Value = Vec<CronRule>> {
    let rule = (crons(), 0..9_u32, prop::bool::weighted(0.1));
    prop::collection::vec(rule, 1..4).prop_map(|rules| {
        let named = rules.into_iter().enumerate().map(|(index, ((cron, zone), value, off))| {
            let it = in_zone(rule_named(index, &cron, value), zone);
            if off { suspended(it) } else { it }
        });
        named.collect()
    })
}

fn rule_named(index: usize, cron: &str, value: u32) -> CronRule {
    CronRule { max_delay_seconds: 0, ..rule(&format!("r{index}"), cron, value) }
}

fn bound_rules() -> impl Strategy<Value = Vec<CronRule>> {
    let desired = (prop::option::of(1..9_u32), 1..9_u32, any::<bool>());
    prop::collection::vec((crons(), desired), 1..4).prop_map(|rules| {
        let named = rules.into_iter().enumerate().map(|(index, ((cron, zone), desired))| {
            let (min, max) = match desired {
                (Some(low), high, _) => (Some(low.min(high)), Some(low.max(high))),
                (None, only, true) => (Some(only), None),
                (None, only, false) => (None, Some(only)),
            };
            in_zone(bounds(&format!("r{index}"), &cron, min, max), zone)
        });
        named.map(|it| CronRule { max_delay_seconds: 0, ..it }).collect()
    })
}

fn any_behaviors() -> impl Strategy<Value = Vec<Behavior>> {
    let times = (0..24_u8, 0..60_u8, 0..24_u8, 0..60_u8);
    let weekday = prop::option::of(0..7_u8);
    let one = (times, weekday, prop::sample::select(&ZONES[..]), 0..5_u32, -1..2_i32);
    let one = one.prop_filter_map("start and end differ", |(times, weekday, zone, value, rank)| {
        let (h1, m1, h2, m2) = times;
        (h1 != h2 || m1 != m2).then(|| {
            let weekday = weekday.map_or(String::new(), |it| format!("; weekdays={it}"));
            let start = format!("hours={h1}; minutes={m1}{weekday}");
            behavior(zone, &start, &format!("hours={h2}; minutes={m2}"), value, rank)
        })
    });
    prop::collection::vec(one, 0..4)
}

pub(crate) fn worlds() -> impl Strategy<Value = World> {
    (rules(), rules(), [bound_rules(), bound_rules()], any_behaviors(), any::<bool>()).prop_map(
        |(one, two, [bounds, further], behaviors, contested)| {
            let second = if contested { "shop" } else { "other" };
            let second_autoscaler = if contested { "web" } else { "api" };
            Building::default()
                .workload("shop", 7)
                .workload("other", 8)
                .autoscaler("web", 2, 6)
                .autoscaler("api", 1, 9)
                .scaling("one", to_workload("shop"), one)
                .scaling("two", to_workload(second), two)
                .scaling("bounds", to_autoscaler("web"), bounds)
                .scaling("further", to_autoscaler(second_autoscaler), further)
                .schedule("nodes", 1, behaviors)
                .world()
        },
    )
}

/// The value of every field at every minute, by a loop that decides nothing through the engine.
struct Stepped<'a> {
    world: &'a World,
    /// The fields that rules set. A field without a value is unknown.
    numbers: BTreeMap<(Identity, Field), u32>,
}

/// Steps through every minute. The first minutes are before the period, so that every rule has fired
/// once by its start.
fn stepped(world: &World, period: Period, mut each: impl FnMut(Timestamp, &Stepped<'_>)) {
    let mut stepped = Stepped::new(world);
    let mut now = period.from() - SETTLES;
    while now < period.to() {
        for object in world.cron_scaling.policies.values() {
            stepped.fire(object.policy.as_deref().unwrap(), now);
        }
        if now >= period.from() {
            each(now, &stepped);
        }
        now += SignedDuration::from_mins(1);
    }
}

impl Stepped<'_> {
    fn new(world: &World) -> Stepped<'_> {
        let mut numbers = BTreeMap::new();
        for (target, live) in &world.objects.workloads {
            numbers.extend(live.replicas.map(|it| ((target.clone(), Field::Replicas), it)));
        }
        for (target, live) in &world.objects.autoscalers {
            let fields = [Field::MinReplicas, Field::MaxReplicas].into_iter();
            let bounds = fields.zip([live.min_replicas, live.max_replicas]);
            numbers.extend(bounds.filter_map(|(field, it)| Some(((target.clone(), field), it?))));
        }
        Stepped { world, numbers }
    }

    /// Applies the rules that fire at this minute: for each field, the last rule in the spec that names it.
    fn fire(&mut self, policy: &CronScaling, now: Timestamp) {
        let fires = |rule: &CronRule| !rule.suspended && rule.firings.previous(now) == Some(now);
        let (mut min_set_by, mut max_set_by) = (None, None);
        for (index, rule) in policy.rules.iter().enumerate().filter(|(_, rule)| fires(rule)) {
            match rule.desired {
                DesiredScale::Replicas(replicas) => self.set(policy, Field::Replicas, replicas),
                DesiredScale::Bounds(bounds) => {
                    if let Some(min) = bounds.min() {
                        self.set(policy, Field::MinReplicas, min);
                        min_set_by = Some(index);
                    }
                    if let Some(max) = bounds.max() {
                        self.set(policy, Field::MaxReplicas, max);
                        max_set_by = Some(index);
                    }
                }
            }
        }
        let bound = |field| self.numbers.get(&(policy.target.identity().clone(), field)).copied();
        let (min, max) = (bound(Field::MinReplicas), bound(Field::MaxReplicas));
        // The later bound stays, and the other bound moves.
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            if min_set_by > max_set_by {
                self.set(policy, Field::MaxReplicas, min);
            } else {
                self.set(policy, Field::MinReplicas, max);
            }
        }
    }

    fn set(&mut self, policy: &CronScaling, field: Field, number: u32) {
        self.numbers.insert((policy.target.identity().clone(), field), number);
    }

    fn value(&self, target: &Identity, field: Field, now: Timestamp) -> Option<Value> {
        let number = match self.world.scheduled_capacity.policies.get(target) {
            Some(object) => Some(scheduled(object.policy.as_deref().unwrap(), now)),
            None => self.numbers.get(&(target.clone(), field)).copied(),
        };
        number.map(Value::Number)
    }
}

/// The open behavior with the highest priority; the first of equal ones.
fn scheduled(policy: &ScheduledCapacity, now: Timestamp) -> u32 {
    let mut winner: Option<&Behavior> = None;
    for behavior in policy.behaviors.iter().filter(|it| it.windows.is_open(now)) {
        if winner.is_none_or(|winner| behavior.priority > winner.priority) {
            winner = Some(behavior);
        }
    }
    winner.map_or(policy.default_value, |winner| winner.value)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn segments_match_the_rules_at_every_minute(
        world in worlds(),
        // Around the clock changes of the zones, and any day of the year.
        day in prop_oneof![Just(66), Just(86), Just(93), Just(275), Just(297), Just(304), 0..365_i64],
    ) {
        let from = at("2026-01-01T00:00:00Z") + SignedDuration::from_hours(24 * day);
        let period = Period::new(from, from + SignedDuration::from_hours(72)).unwrap();
        let all = all_series(&world, period);
        prop_assert!(all.len() >= 4);
        for series in &all {
            assert_well_formed(series, period);
        }
        stepped(&world, period, |now, stepped| {
            for series in &all {
                let segment = series.at(now).unwrap();
                let value = stepped.value(&series.target, series.field, now);
                assert_eq!(segment.value, value, "{} {} at {now}", series.target, series.field);
            }
        });
    }

    #[test]
    fn one_clock_for_the_whole_world_agrees_with_one_clock_per_target(world in worlds()) {
        let period = period("2026-10-24T00:00:00Z", "2026-10-27T00:00:00Z");
        let all = all_series(&world, period);
        let mut clock = Simulation::start(world, period.from(), &AssumedValues::new());
        let mut met = 0;
        while let Some(step) = clock.step(period.to()) {
            // Only the last turn of an instant is visible.
            if clock.next() == Some(step.at) {
                continue;
            }
            for series in &all {
                let segment = series.at(step.at).unwrap();
                let holder = &clock.last_writes()[&(series.target.clone(), series.field)];
                prop_assert_eq!(&segment.value, &holder.value);
                prop_assert_eq!(&segment.origin.writer, &holder.origin.writer);
                met += 1;
            }
        }
        prop_assert!(met > 0);
    }
}

#[test]
fn stepping_detects_a_forecast_shifted_by_a_minute() {
    let rules = vec![rule("open", "0 8 * * *", 10), rule("close", "0 20 * * *", 3)];
    let world = Building::default().workload("shop", 7);
    let world = world.scaling("s", to_workload("shop"), rules).world();
    let later = CronScaling {
        rules: Box::from([rule("open", "1 8 * * *", 10), rule("close", "0 20 * * *", 3)]),
        ..world.cron_scaling.policies[&cron_policy("s").identity].policy.as_deref().unwrap().clone()
    };
    let mut shifted = world.clone();
    shifted.cron_scaling.policies.get_mut(&cron_policy("s").identity).unwrap().policy =
        Some(later.into());
    let series = series(&shifted, monday(), Field::Replicas);
    let mut differences = 0;
    stepped(&world, monday(), |now, stepped| {
        let value = stepped.value(&series.target, series.field, now);
        differences += u32::from(series.at(now).unwrap().value != value);
    });
    assert_eq!(differences, 1);
}
