//! The demand of workloads together over time, compared with their allowances.

use std::collections::BTreeSet;

use almanac_engine::{
    Allowance, Autoscaler, Bound, Bounding, Consumer, Demand, Identity, Labels, PolicyObject,
    Resource, Value, World,
};
use almanac_fixtures::{autoscalers, names};
use almanac_forecast::{AssumedValues, Fit, Forecast, Period};
use proptest::prelude::*;

use crate::builders::*;

fn two_years() -> Period {
    period("2026-11-23T00:00:00Z", "2028-11-23T00:00:00Z")
}

/// A Deployment whose pods request one CPU each.
fn consumer(name: &str, replicas: Option<u32>) -> Consumer {
    let of_pod = [1000, 0, 0, 0, 1];
    Consumer { workload: deployment(name), replicas, autoscaler: None, of_pod }
}

fn autoscaled(name: &str, min: u32, max: u32) -> Consumer {
    let bounds = Autoscaler { min_replicas: Some(min), max_replicas: Some(max) };
    let autoscaler = Some((to_autoscaler(name).identity().clone(), bounds));
    Consumer { autoscaler, ..consumer(name, Some(1)) }
}

fn allowance(by: Bounding, resource: Resource, most: u64, consumers: usize) -> Allowance {
    let bound = Bound { resource, most, key: resource_key(resource), location: "q.yaml:7".into() };
    Allowance { by, bounds: vec![bound], consumers: (0..consumers).collect() }
}

fn resource_key(resource: Resource) -> Box<str> {
    if resource == Resource::Pods { "pods".into() } else { "requests.cpu".into() }
}

/// An allowance of `most` pods for all consumers.
fn pods(most: u64, consumers: Vec<Consumer>) -> Demand {
    let quota = Bounding::Quota(Identity::new("", "ResourceQuota", "default", "compute"));
    let allowance = allowance(quota, Resource::Pods, most, consumers.len());
    Demand { consumers, groups: vec![vec![allowance]] }
}

/// The messages, each with its fix.
fn findings_for(world: &World, demand: &Demand) -> Vec<String> {
    let forecast = Forecast::new(world, two_years(), AssumedValues::new());
    let fit = Fit::new(&forecast, demand);
    let all = (0..fit.len()).flat_map(|group| fit.excesses(group));
    all.map(|it| format!("{}: {it}; {}", it.by.rule.as_deref().unwrap_or("-"), it.advice()))
        .collect()
}

/// A shop by day, and a cart with other hours.
fn shop_and_cart(cart: &[(&str, u32)]) -> World {
    let day = vec![rule("open", "0 8 * * *", 10), rule("close", "0 20 * * *", 1)];
    let cart = cart.iter().map(|(cron, replicas)| rule(&format!("to-{replicas}"), cron, *replicas));
    Building::default()
        .workload("shop", 1)
        .workload("cart", 1)
        .scaling("shop", to_workload("shop"), day)
        .scaling("cart", to_workload("cart"), cart.collect())
        .world()
}

fn both() -> Vec<Consumer> {
    vec![consumer("shop", Some(1)), consumer("cart", Some(1))]
}

#[test]
fn workloads_exceed_a_quota_from_the_instant_at_which_their_sum_does() {
    let world = shop_and_cart(&[("0 12 * * *", 9), ("0 18 * * *", 2)]);
    let expected = [
        "to-9: at 2026-11-23T12:00:00Z, with 9 replicas of Deployment.apps default/cart, there are at least 19 pods \
      in namespace default, 4 more than ResourceQuota compute allows: pods is 15 (q.yaml:7); raise hard.pods of \
      ResourceQuota compute to at least 19, or ask for fewer replicas",
    ];
    assert_eq!(findings_for(&world, &pods(15, both())), expected);
    assert_eq!(findings_for(&world, &pods(19, both())), [""; 0]);
}

#[test]
fn peaks_at_different_times_do_not_add_up() {
    let world = shop_and_cart(&[("0 21 * * *", 9), ("0 7 * * *", 1)]);
    assert_eq!(findings_for(&world, &pods(12, both())), [""; 0]);
}

#[test]
fn a_higher_peak_on_a_rare_day_is_what_the_fix_names() {
    let world = shop_and_cart(&[("0 12 * * *", 9), ("0 18 * * *", 2), ("0 13 24 12 *", 40)]);
    let found = findings_for(&world, &pods(15, both()));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("to-9: at 2026-11-23T12:00:00Z"), "{found:?}");
    assert!(found[0].contains("; later, up to 50, at 2026-12-24T13:00:00Z"), "{found:?}");
    assert!(found[0].contains("to at least 50, or"), "{found:?}");
}

#[test]
fn workloads_that_no_policy_scales_count_with_their_own_replicas() {
    let world = shop_and_cart(&[("0 21 * * *", 1)]);
    let with = |replicas| {
        let mut consumers = both();
        consumers.push(consumer("other", replicas));
        findings_for(&world, &pods(15, consumers)).len()
    };
    assert_eq!((with(Some(4)), with(Some(5)), with(None)), (0, 1, 0));
    // An excess without any policy is not scheduled.
    let world = Building::default().workload("other", 20).world();
    assert_eq!(findings_for(&world, &pods(15, vec![consumer("other", Some(20))])), [""; 0]);
}

#[test]
fn an_excess_at_the_start_is_reported_for_the_policy_that_set_it() {
    let world = shop_and_cart(&[("0 20 * * *", 30)]);
    let found = findings_for(&world, &pods(15, both()));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("to-30: at 2026-11-23T00:00:00Z, with 30 replicas"), "{found:?}");
}

#[test]
fn a_lower_bound_is_certain_and_an_upper_bound_is_possible_if_a_policy_sets_it() {
    let of = |min, max| {
        let rules = vec![bounds("peak", "0 8 * * *", min, max)];
        let world = Building::default().scaling("shop", to_autoscaler("shop"), rules);
        findings_for(&world.world(), &pods(15, vec![autoscaled("shop", 2, 90)]))
    };
    let certain = of(Some(20), None);
    assert!(certain[0].contains("with 20 replicas of Deployment.apps default/shop"), "{certain:?}");
    assert!(certain[0].contains("there are at least 20 pods"), "{certain:?}");
    let possible = of(None, Some(40));
    assert!(possible[0].contains("with up to 40 replicas of"), "{possible:?}");
    assert!(possible[0].contains("there may be up to 40 pods"), "{possible:?}");
    assert_eq!(of(Some(3), None), [""; 0], "the bound in the spec is not a peak");
}

#[test]
fn a_workload_scaled_by_a_query_without_a_result_is_unknown() {
    let mut world = shop_and_cart(&[("0 12 * * *", 9)]);
    let policy =
        autoscalers::Autoscaler::for_deployment("cart", 1, 50).by(autoscalers::external("up"));
    let name = names::horizontal_autoscaler("cart").identity;
    world.metric_scaling.policies.insert(name, PolicyObject::new(policy.checked()));
    assert_eq!(findings_for(&world, &pods(15, both())), [""; 0]);
    assert_eq!(findings_for(&world, &pods(9, both())).len(), 1, "the other replicas are known");
}

#[test]
fn nodes_bound_the_sum_of_requests_and_each_node_bounds_a_single_pod() {
    let world = shop_and_cart(&[("0 12 * * *", 9)]);
    let nodes = Bounding::Nodes { count: 3, selector: Labels::default() };
    let each = Bounding::EachNode { count: 3, selector: Labels::new([("pool", "small")]) };
    let group = vec![
        allowance(nodes, Resource::RequestsCpu, 15_000, 2),
        allowance(each, Resource::Pods, 0, 1),
    ];
    let demand = Demand { consumers: both(), groups: vec![group] };
    let expected = [
        "open: at 2026-11-23T08:00:00Z, with 10 replicas of Deployment.apps default/shop, the pods request at least \
      19 CPU, 4 more than the 3 nodes can allocate (15), wherever they are placed; add nodes, or ask for fewer \
      replicas",
        "close: at 2026-11-23T00:00:00Z, with 1 replica of Deployment.apps default/shop, but a pod of it requests 1 \
      CPU, which none of the 3 nodes with nodeSelector pool=small can allocate; add a node that \
      is large enough, or lower what a pod requests",
    ];
    assert_eq!(findings_for(&world, &demand), expected);
}

/// Cron fields for every day, and for days of every week, month and year.
const DAYS: [&str; 5] = ["* * *", "* * 1-5", "* * 6", "1 * *", "27 11 *"];

/// A minute, an hour, a number of `DAYS`, and a number of replicas.
type AnyRule = (u8, u8, usize, u32);

fn any_workloads() -> impl Strategy<Value = Vec<Vec<AnyRule>>> {
    let rule = (0_u8..1, 0_u8..24, 0..DAYS.len(), 1_u32..9);
    prop::collection::vec(prop::collection::vec(rule, 1..4), 1..4)
}

/// Rules of more schedules than days can be distinguished by.
fn many_rules() -> impl Strategy<Value = Vec<Vec<AnyRule>>> {
    let rule = (0_u8..60, 0_u8..24, 0..DAYS.len(), 1_u32..9);
    prop::collection::vec(prop::collection::vec(rule, 60..80), 3..4)
}

/// Compares with the sums of all series at every boundary.
fn assert_the_first_excess_and_the_peak_are_found(workloads: &[Vec<AnyRule>], more: u32) {
    let mut building = Building::default();
    let mut consumers = Vec::new();
    for (number, rules) in workloads.iter().enumerate() {
        let name = format!("w{number}");
        let rules = rules.iter().enumerate().map(|(position, (minute, hour, days, replicas))| {
            let cron = format!("{minute} {hour} {}", DAYS[*days]);
            rule(&format!("r{position}"), &cron, *replicas)
        });
        building = building.workload(&name, 1).scaling(&name, to_workload(&name), rules.collect());
        consumers.push(consumer(&name, Some(1)));
    }
    let world = building.world();
    let series = all_series(&world, two_years());
    let changes = series.iter().flat_map(|it| &it.segments).map(|it| it.from);
    let changes: BTreeSet<_> = changes.collect();
    let sum = |at| -> u32 {
        let segments = series.iter().filter_map(|it| it.at(at));
        segments.filter_map(|it| it.value.as_ref().and_then(Value::number)).sum()
    };
    // A Deployment without a policy has one replica.
    let most = u32::try_from(workloads.len()).unwrap() + more;
    let demand = pods(most.into(), consumers);
    let forecast = Forecast::new(&world, two_years(), AssumedValues::new());
    let found = Fit::new(&forecast, &demand).excesses(0);
    let first = changes.iter().copied().find(|at| sum(*at) > most);
    let peak = changes.iter().map(|at| u128::from(sum(*at))).max();
    assert_eq!(found.first().map(|it| it.at), first);
    if let Some(found) = found.first() {
        assert_eq!(Some(found.peak.0), peak);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_first_excess_and_the_peak_are_those_of_all_days(
        workloads in any_workloads(),
        more in 1_u32..12,
    ) {
        assert_the_first_excess_and_the_peak_are_found(&workloads, more);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..Default::default() })]

    #[test]
    fn many_schedules_on_the_same_days_have_the_first_excess_and_the_peak_of_all_days(
        workloads in many_rules(),
        more in 6_u32..24,
    ) {
        assert_the_first_excess_and_the_peak_are_found(&workloads, more);
    }
}
