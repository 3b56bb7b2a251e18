//! The forecast against stepping: what the engine says when it is asked at every minute, by a loop
//! that knows nothing of `wake_at`, of replaying or of parts.

use almanac_checker::{check_cron_scaling, check_scheduled_capacity};
use almanac_engine::cron_scaling::{CronRule, Memory, RuleMemory};
use almanac_engine::scheduled_capacity::Behaviour;
use almanac_engine::{
    Field, Identity, PolicyName, Reach, Value, World, cron_scaling, scheduled_capacity, turn,
};
use almanac_forecast::{Assumed, Clock, Period};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use crate::builders::*;
use crate::series::assert_well_formed;

/// Rules fire daily or weekly, so that after so long every rule has fired.
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
    let setting = (prop::option::of(1..9_u32), 1..9_u32, any::<bool>());
    prop::collection::vec((crons(), setting), 1..4).prop_map(|rules| {
        let named = rules.into_iter().enumerate().map(|(index, ((cron, zone), setting))| {
            let (min, max) = match setting {
                (Some(low), high, _) => (Some(low.min(high)), Some(low.max(high))),
                (None, only, true) => (Some(only), None),
                (None, only, false) => (None, Some(only)),
            };
            in_zone(bounds(&format!("r{index}"), &cron, min, max), zone)
        });
        named.map(|it| CronRule { max_delay_seconds: 0, ..it }).collect()
    })
}

fn behaviours() -> impl Strategy<Value = Vec<Behaviour>> {
    let times = (0..24_u8, 0..60_u8, 0..24_u8, 0..60_u8);
    let weekday = prop::option::of(0..7_u8);
    let one = (times, weekday, prop::sample::select(&ZONES[..]), 0..5_u32, -1..2_i32);
    let one = one.prop_filter_map("start and end differ", |(times, weekday, zone, value, rank)| {
        let (h1, m1, h2, m2) = times;
        let weekday = weekday.map(|it| it.to_string());
        let text = |number: u8| number.to_string();
        let (h1, m1, h2, m2) = ((text(h1)), text(m1), text(h2), text(m2));
        (h1 != h2 || m1 != m2).then(|| {
            let start = almanac_calendar::PatternText {
                hours: Some(&h1),
                minutes: Some(&m1),
                weekdays: weekday.as_deref(),
                ..Default::default()
            };
            let end = almanac_calendar::PatternText {
                hours: Some(&h2),
                minutes: Some(&m2),
                ..Default::default()
            };
            behaviour(start, end, zone, value, rank)
        })
    });
    prop::collection::vec(one, 0..4)
}

fn worlds() -> impl Strategy<Value = World> {
    (rules(), rules(), [bound_rules(), bound_rules()], behaviours(), any::<bool>()).prop_map(
        |(one, two, [bounds, further], behaviours, contested)| {
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
                .schedule("nodes", 1, behaviours)
                .world()
        },
    )
}

/// Asks every policy at every minute. The first minutes lie before the period, so that every rule
/// has fired once by its beginning.
fn stepped(mut world: World, period: Period, mut each: impl FnMut(Timestamp, &World)) {
    let mut now = period.from() - SETTLES;
    for object in world.cron_scalings.values_mut() {
        let policy = object.policy.as_ref().unwrap();
        let rules = policy.rules.iter().map(|rule| RuleMemory {
            name: rule.name.clone(),
            fingerprint: rule.fingerprint,
            handled: now,
            pending: None,
            undone: None,
            executions: std::sync::Arc::default(),
        });
        object.memory = Some(Memory { rules: rules.collect() });
    }
    let is_cron = |policy: &PolicyName| world.cron_scalings.contains_key(&policy.identity);
    let policies: Vec<PolicyName> = world.policies().filter(is_cron).collect();
    let reach = Reach::everything();
    while now < period.to() {
        for policy in &policies {
            let input = cron_scaling::gather(&world, &policy.identity, &reach).unwrap();
            let decision = cron_scaling::decide(&input, now);
            if !decision.actions.is_empty() || is_looked_at(now) {
                check_cron_scaling(&input, now, &decision).stop();
            }
            turn::take(&mut world, policy, now).unwrap();
        }
        if now >= period.from() {
            each(now, &world);
        }
        now += SignedDuration::from_mins(1);
    }
}

/// Checking every minute would take longer than everything else.
fn is_looked_at(now: Timestamp) -> bool {
    now.as_second() % 3600 == 0
}

fn field_at(world: &World, target: &Identity, field: Field, now: Timestamp) -> Option<Value> {
    if field == Field::Value {
        let input = scheduled_capacity::gather(world, target).unwrap();
        let decision = scheduled_capacity::decide(&input, now);
        if is_looked_at(now) {
            check_scheduled_capacity(&input, now, &decision).stop();
        }
        return Some(Value::Number(decision.memory.value));
    }
    field.read(world, target)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn segments_equal_what_deciding_says_when_asked_at_every_minute(
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
        stepped(world, period, |now, world| {
            for series in &all {
                let segment = series.at(now).unwrap();
                let stepped = field_at(world, &series.target, series.field, now);
                assert_eq!(segment.value, stepped, "{} {} at {now}", series.target, series.field);
            }
        });
    }

    #[test]
    fn one_clock_over_the_whole_world_says_what_a_clock_a_target_says(world in worlds()) {
        let period = period("2026-10-24T00:00:00Z", "2026-10-27T00:00:00Z");
        let all = all_series(&world, period);
        let mut clock = Clock::start(world, period.from(), &Assumed::new());
        let mut met = 0;
        while let Some(step) = clock.step(period.to()) {
            // The last turn of an instant is what shows.
            if clock.next() == Some(step.at) {
                continue;
            }
            for series in &all {
                let segment = series.at(step.at).unwrap();
                let holder = &clock.holders()[&(series.target.clone(), series.field)];
                prop_assert_eq!(&segment.value, &holder.value);
                prop_assert_eq!(&segment.origin.writer, &holder.origin.writer);
                met += 1;
            }
        }
        prop_assert!(met > 0);
    }
}

#[test]
fn the_loop_that_steps_finds_a_forecast_wrong_that_is_shifted_by_a_minute() {
    let rules = vec![rule("open", "0 8 * * *", 10), rule("close", "0 20 * * *", 3)];
    let world = Building::default().workload("shop", 7);
    let world = world.scaling("s", to_workload("shop"), rules).world();
    let day = period("2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z");
    let later = cron_scaling::CronScaling {
        rules: Box::from([rule("open", "1 8 * * *", 10), rule("close", "0 20 * * *", 3)]),
        ..world.cron_scalings[&cron_policy("s").identity].policy.as_deref().unwrap().clone()
    };
    let mut shifted = world.clone();
    shifted.cron_scalings.get_mut(&cron_policy("s").identity).unwrap().policy = Some(later.into());
    let series = series(&shifted, day, Field::Replicas);
    let mut differences = 0;
    stepped(world, day, |now, world| {
        let stepped = field_at(world, &series.target, series.field, now);
        differences += u32::from(series.at(now).unwrap().value != stepped);
    });
    assert_eq!(differences, 1);
}
