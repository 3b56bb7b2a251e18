//! Compares the overlaps with the rules that are open every quarter of an hour.

use std::fmt::Write as _;

use almanac_calendar::Zone;
use almanac_engine::cron_scaling::CronScaling;
use almanac_engine::scheduled_capacity::{Behavior, ScheduledCapacity};
use almanac_engine::{PolicyObject, Workload};
use almanac_fixtures::{at, names, rules, schedules};
use jiff::SignedDuration;
use proptest::prelude::*;

use super::*;
use crate::{AssumedValues, Forecast};

const QUARTER: SignedDuration = SignedDuration::from_mins(15);

fn any_behaviors() -> impl Strategy<Value = Vec<Behavior>> {
    let days = prop::sample::select(vec!["", "weekdays=Mon,Tue,Wed;", "weekdays=Sat;", "days=26;"]);
    let behavior = (days, 0..12_u8, 1..12_u8, 1_u32..4, 0..3_i32);
    let behavior = behavior.prop_map(|(days, start, long, value, priority)| {
        let hours = |hour: u8| {
            let mut text = days.to_owned();
            let _ = write!(text, "hours={}", hour % 24);
            text
        };
        let (start, end) = (hours(start * 2), hours(start * 2 + long));
        schedules::behavior("Europe/Berlin", &start, &end, value, priority)
    });
    prop::collection::vec(behavior, 1..5)
}

/// The open rules whose value another rule overrides, and whether the priority decides it.
fn outranked_at(behaviors: &[Behavior], now: Timestamp) -> Vec<(String, bool)> {
    let open = || behaviors.iter().enumerate().filter(|(_, it)| it.windows.is_open(now));
    let Some(most) = open().map(|(_, it)| it.priority).max() else { return Vec::new() };
    let Some((_, decides)) = open().find(|(_, it)| it.priority == most) else { return Vec::new() };
    let others = open().filter(|(_, it)| it.value != decides.value);
    others.map(|(place, it)| (format!("behaviors[{place}]"), it.priority != most)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn windows_overlap_when_several_are_open_that_ask_for_different_values(
        behaviors in any_behaviors(),
    ) {
        // The clocks go back within the period.
        let (from, to) = (at("2026-10-23T03:00:00Z"), at("2026-11-02T00:00:00Z"));
        let zone = Zone::named("Europe/Berlin").unwrap();
        let policy =
            ScheduledCapacity { zone, default_value: 1, behaviors: behaviors.clone().into() };
        let mut world = World::default();
        let identity = names::metrics_producer("shop").identity;
        world.scheduled_capacity.policies.insert(identity.clone(), PolicyObject::new(policy));
        let period = Period::new(from, to).unwrap();
        let forecast = Forecast::new(&world, period, AssumedValues::new());
        let overlaps = forecast.open_windows(0).for_target(&identity);
        for two in overlaps.windows(2) {
            prop_assert!(two[0].to <= two[1].from);
        }
        let mut now = from;
        while now < to {
            let found = overlaps.iter().find(|it| it.from <= now && now < it.to);
            let found = found.map_or_else(Vec::new, |it| {
                let described = |it: &Outranked| (it.rule.rule.as_deref().unwrap().to_owned(), it.is_by_rank);
                it.rules.iter().map(described).collect::<Vec<_>>()
            });
            prop_assert_eq!(found, outranked_at(&behaviors, now), "at {}", now);
            now += QUARTER;
        }
    }
}

/// The overlaps in two days of policies, each with its rules.
fn meetings(policies: &[&[(&str, &str, u32)]]) -> Vec<String> {
    let mut world = World::default();
    let target = names::workload("shop");
    world.objects.workloads.insert(target.identity().clone(), Workload::default());
    for (number, of_policy) in policies.iter().enumerate() {
        let rules = of_policy.iter().enumerate().map(|(position, (name, cron, replicas))| {
            rules::rule(name, cron, *replicas).checked(position, &target)
        });
        let policy = CronScaling {
            target: target.clone(),
            target_version: "v1".into(),
            rules: rules.collect(),
            unusable_rules: Box::default(),
        };
        let identity = names::cron_federated_hpa(&format!("policy-{number}")).identity;
        world.cron_scaling.policies.insert(identity, PolicyObject::new(policy));
    }
    let period = Period::new(at("2026-11-23T00:00:00Z"), at("2026-11-25T00:00:00Z")).unwrap();
    let part = Forecast::new(&world, period, AssumedValues::new()).part(0);
    let all = part.meetings.values().flatten();
    let described = |it: &Overlap| {
        assert_eq!(it.from, it.to);
        let rules: Vec<&str> = it.rules.iter().filter_map(|it| it.rule.rule.as_deref()).collect();
        format!("{}: {}", it.from, rules.join(", "))
    };
    all.map(described).collect()
}

#[test]
fn rules_that_fire_at_one_instant_meet_and_those_that_agree_do_not() {
    let daily = ("daily", "0 8 * * *", 30);
    let monday = ("monday", "0 8 * * 1", 50);
    assert_eq!(meetings(&[&[daily, monday]]), ["2026-11-23T08:00:00Z: daily"]);
    assert_eq!(meetings(&[&[daily, ("alike", "0 8 * * 1", 30)]]), [""; 0]);
    assert_eq!(meetings(&[&[daily, ("later", "1 8 * * 1", 50)]]), [""; 0]);
}

#[test]
fn rules_of_two_policies_that_fire_at_one_instant_meet() {
    let (one, other) = (("one", "0 8 * * *", 30), ("other", "0 8 * * 1", 50));
    assert_eq!(meetings(&[&[one], &[other]]), ["2026-11-23T08:00:00Z: one"]);
    assert_eq!(meetings(&[&[one], &[("alike", "0 8 * * 1", 30)]]), [""; 0]);
    assert_eq!(meetings(&[&[one], &[("later", "1 8 * * 1", 50)]]), [""; 0]);
}
