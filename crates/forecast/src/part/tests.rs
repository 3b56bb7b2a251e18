//! The skipped days show nothing new: a run of all days has the same findings.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use almanac_calendar::Zone;
use almanac_engine::cron_scaling::{CronRule, CronScaling};
use almanac_engine::scheduled_capacity::{Behavior, ScheduledCapacity};
use almanac_engine::{Autoscaler, PolicyObject, Target, Workload, World};
use almanac_fixtures::{at, names, rules, schedules};
use proptest::prelude::*;

use super::*;

const ZONES: [&str; 5] =
    ["UTC", "Europe/Berlin", "Europe/Paris", "America/New_York", "Asia/Kolkata"];

/// Cron fields for every day, and for days of every week, month and year.
const DAYS: [&str; 8] =
    ["* * *", "* * 1-5", "* * 6", "* * 1-5", "1 * *", "29 * *", "27 11 *", "* 7-12 *"];

#[derive(Clone, Debug)]
struct AnyRule {
    hour: u8,
    days: usize,
    zone: usize,
    value: u32,
}

fn any_rules(zones: usize) -> impl Strategy<Value = Vec<AnyRule>> {
    let rule = (0_u8..12, 0..DAYS.len(), 0..zones, 1_u32..6);
    let rule =
        rule.prop_map(|(hour, days, zone, value)| AnyRule { hour: hour * 2, days, zone, value });
    prop::collection::vec(rule, 1..5)
}

fn scaling(name: &str, target: &Target, of: &[AnyRule]) -> (Identity, CronScaling) {
    let rule = |(position, it): (usize, &AnyRule)| -> CronRule {
        let cron = format!("0 {} {}", it.hour, DAYS[it.days]);
        let name = format!("rule-{position}");
        let rule = match target {
            Target::Workload(_) => rules::rule(&name, &cron, it.value),
            Target::Autoscaler(_) if it.value % 2 == 0 => {
                rules::bounds(&name, &cron, Some(it.value), None)
            }
            Target::Autoscaler(_) => rules::bounds(&name, &cron, None, Some(it.value)),
        };
        rule.zone(ZONES[it.zone]).checked(position, target)
    };
    let rules = of.iter().enumerate().map(rule).collect();
    let policy = CronScaling {
        target: target.clone(),
        target_version: "v1".into(),
        rules,
        unusable_rules: Box::default(),
    };
    (names::cron_federated_hpa(name).identity, policy)
}

/// Rules of one or two policies that set replicas of a workload, or bounds of an autoscaler.
#[derive(Clone, Debug)]
struct Scalings {
    of_workload: bool,
    policies: Vec<Vec<AnyRule>>,
}

fn any_scalings() -> impl Strategy<Value = Scalings> {
    let policies = prop_oneof![
        any_rules(1).prop_map(|one| vec![one]),
        any_rules(ZONES.len()).prop_map(|one| vec![one]),
        (any_rules(1), any_rules(2)).prop_map(|(one, other)| vec![one, other]),
    ];
    (any::<bool>(), policies).prop_map(|(of_workload, policies)| Scalings { of_workload, policies })
}

fn world_of(Scalings { of_workload, policies }: &Scalings) -> World {
    let mut world = World::default();
    let target = if *of_workload {
        let target = names::workload("shop");
        let workload = Workload { replicas: Some(2), ..Workload::default() };
        world.objects.workloads.insert(target.identity().clone(), workload);
        target
    } else {
        let target = names::autoscaler("shop");
        let bounds = Autoscaler { min_replicas: Some(2), max_replicas: Some(4) };
        world.objects.autoscalers.insert(target.identity().clone(), bounds);
        target
    };
    for (number, rules) in policies.iter().enumerate() {
        let (identity, policy) = scaling(&format!("policy-{number}"), &target, rules);
        world.cron_scaling.policies.insert(identity, PolicyObject::new(policy));
    }
    world
}

fn any_schedule() -> impl Strategy<Value = World> {
    let day = prop::sample::select(vec![
        "weekdays=Mon,Tue,Wed,Thu,Fri;",
        "weekdays=Sat;",
        "",
        "days=1;",
        "days=2;",
        "months=Dec;",
        "days=26; months=Nov;",
    ]);
    let behavior = (day, 0..11_u8, 1..12_u8, 1_u32..5, 0..3_i32);
    let behaviors = prop::collection::vec(behavior, 1..5);
    (behaviors, 0..ZONES.len()).prop_map(|(behaviors, zone)| {
        let behaviors = behaviors.iter().map(|(days, start, long, value, priority)| {
            let (start, end) = (start * 2, (start * 2 + long) % 24);
            let hours = |hour: u8| {
                let mut text = (*days).to_owned();
                let _ = write!(text, "hours={hour}");
                text
            };
            schedules::behavior(ZONES[zone], &hours(start), &hours(end), *value, *priority)
        });
        let behaviors: Vec<Behavior> = behaviors.collect();
        let zone = Zone::named(ZONES[zone]).unwrap();
        let policy = ScheduledCapacity { zone, default_value: 1, behaviors: behaviors.into() };
        let mut world = World::default();
        let identity = names::metrics_producer("shop").identity;
        world.scheduled_capacity.policies.insert(identity, PolicyObject::new(policy));
        world
    })
}

/// The findings, each with its policy and its rule.
fn described_findings(findings: &[ForecastFinding]) -> BTreeSet<String> {
    let describe = |finding: &ForecastFinding| {
        let rule = finding.rule.as_deref().unwrap_or_default();
        format!("{} {rule}: {}", finding.policy.identity.name(), finding.problem)
    };
    findings.iter().map(describe).collect()
}

fn says_the_same_of_all_days(world: &World) {
    let period = Period::new(at("2026-11-23T00:00:00Z"), at("2028-05-01T00:00:00Z")).unwrap();
    let forecast = Forecast::new(world, period, AssumedValues::new());
    for (part, island) in forecast.islands.iter().enumerate() {
        let watch = Watch::new(world, &island.policies, period);
        let of_all = forecast.watched(island, watch, &[period]);
        let (some, all) =
            (described_findings(&forecast.findings(part)), described_findings(&of_all));
        let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| -> Vec<String> {
            one.difference(other).cloned().collect()
        };
        assert_eq!(only(&some, &all), only(&all, &some));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_run_of_all_days_of_cron_rules_has_the_same_findings(scalings in any_scalings()) {
        says_the_same_of_all_days(&world_of(&scalings));
    }

    #[test]
    fn a_run_of_all_days_of_windows_has_the_same_findings(world in any_schedule()) {
        says_the_same_of_all_days(&world);
    }
}

#[test]
fn a_run_of_all_days_has_the_same_findings_for_a_lost_value_that_is_set_again() {
    let rule = |hour, days, value| AnyRule { hour, days, zone: 0, value };
    let one = vec![rule(4, 7, 2), rule(4, 5, 4)];
    let other = vec![rule(0, 4, 2)];
    let scalings = Scalings { of_workload: false, policies: vec![one, other] };
    says_the_same_of_all_days(&world_of(&scalings));
}
