//! A version of the policies that takes over from another version: new and edited rules start then, as in a cluster.

use almanac_engine::cron_scaling::{CronRule, Memory, RuleMemory};
use almanac_engine::metric_scaling::TargetType;
use almanac_engine::{PolicyObject, Value, World};
use almanac_fixtures::autoscalers::{Autoscaler, external, scheduled};
use almanac_fixtures::names::horizontal_autoscaler;
use almanac_forecast::{
    AssumedValues, Assumption, Comparison, Difference, Forecast, Part, Period, Presence,
};
use proptest::prelude::*;

use crate::builders::*;
use crate::stepping::worlds;

/// The parts of a version that takes over from another version.
fn taking_over(before: Option<&World>, after: &World, period: Period) -> Vec<Part> {
    let before = before.map(|world| Forecast::new(world, period, AssumedValues::new()));
    let after = Forecast::new(after, period, AssumedValues::new());
    after.taking_over(before.as_ref()).parts().collect()
}

/// The only series of a version that takes over, as text.
#[track_caller]
fn replica_lines(before: Option<&World>, after: &World, period: Period) -> Vec<String> {
    let parts = taking_over(before, after, period);
    let [Part { series, .. }] = &*parts else { panic!("one part: {parts:?}") };
    let [series] = &**series else { panic!("one series: {series:?}") };
    segment_lines(series)
}

fn shop(rules: Vec<almanac_engine::cron_scaling::CronRule>) -> World {
    Building::default().workload("shop", 7).scaling("s", to_workload("shop"), rules).world()
}

/// From Thursday morning until Friday evening.
fn two_days() -> Period {
    period("2026-03-05T09:00:00Z", "2026-03-06T21:00:00Z")
}

#[test]
fn an_added_policy_sets_nothing_for_earlier_firings() {
    let before = Building::default().workload("shop", 7).world();
    let rules = vec![rule("yearly", "0 0 1 1 *", 9), rule("friday", "0 17 * * 5", 5)];
    let after = shop(rules);
    let expected = ["05 09:00 7 nobody", "06 17:00 5 s/friday"];
    assert_eq!(replica_lines(Some(&before), &after, two_days()), expected);
    assert_eq!(replica_lines(None, &after, two_days()), expected);
}

#[test]
fn a_firing_at_the_very_start_is_the_first_of_an_added_policy() {
    let after = shop(vec![rule("open", "0 9 * * *", 10)]);
    assert_eq!(replica_lines(None, &after, two_days())[0], "05 09:00 10 s/open");
}

#[test]
fn added_and_edited_rules_begin_and_the_others_continue() {
    let close = || rule("close", "0 20 * * *", 3);
    let before = shop(vec![rule("open", "0 8 * * *", 10), close()]);
    let noon = rule("noon", "0 12 * * 5", 20);
    let after = shop(vec![rule("open", "0 8 * * *", 12), close(), noon]);
    let expected = [
        "05 09:00 10 s/open",
        "05 20:00 3 s/close",
        "06 08:00 12 s/open",
        "06 12:00 20 s/noon",
        "06 20:00 3 s/close",
    ];
    assert_eq!(replica_lines(Some(&before), &after, two_days()), expected);
}

#[test]
fn a_policy_finds_the_values_of_the_policy_that_it_replaces() {
    let before = shop(vec![rule("open", "0 8 * * *", 10)]);
    let after = Building::default()
        .workload("shop", 7)
        .scaling("other", to_workload("shop"), vec![rule("late", "0 22 * * *", 1)])
        .world();
    let expected = ["05 09:00 10 s/open", "05 22:00 1 other/late"];
    assert_eq!(replica_lines(Some(&before), &after, two_days()), expected);
}

#[test]
fn bounds_keep_their_values_including_a_bound_that_no_rule_names() {
    let of = |rules| {
        Building::default().autoscaler("shop", 2, 5).scaling("s", to_autoscaler("shop"), rules)
    };
    let before = of(vec![bounds("high", "0 8 * * *", Some(8), None)]).world();
    let after = of(vec![bounds("low", "0 20 * * *", Some(3), None)]).world();
    let parts = taking_over(Some(&before), &after, two_days());
    let all: Vec<Vec<String>> = parts[0].series.iter().map(segment_lines).collect();
    assert_eq!(all[0], ["05 09:00 8 s/high", "05 20:00 3 s/low"]);
    assert_eq!(all[1], ["05 09:00 8 s/high"]);
}

#[test]
fn a_bound_that_no_rule_has_set_comes_from_the_later_version() {
    let of = |max, more: Option<_>| {
        let rules = vec![bounds("high", "0 8 * * *", Some(3), None)];
        let rules = rules.into_iter().chain(more).collect();
        Building::default().autoscaler("shop", 2, max).scaling("s", to_autoscaler("shop"), rules)
    };
    let before = of(20, None).world();
    for more in [None, Some(bounds("yearly", "0 0 1 1 *", Some(4), None))] {
        let parts = taking_over(Some(&before), &of(6, more).world(), two_days());
        let comparison: Vec<Vec<String>> = parts[0].series.iter().map(segment_lines).collect();
        assert_eq!(comparison[1], ["05 09:00 6 nobody"]);
    }
}

#[test]
fn a_status_outweighs_what_another_version_has_left() {
    let rules = vec![rule("open", "0 8 * * *", 12)];
    let memory = almanac_engine::cron_scaling::Memory {
        rules: vec![almanac_engine::cron_scaling::RuleMemory::beginning(
            &rules[0],
            at("2026-03-05T08:00:00Z"),
        )],
    };
    let before = shop(vec![rule("open", "0 8 * * *", 10)]);
    let after = Building::default()
        .workload("shop", 12)
        .scaling("s", to_workload("shop"), rules)
        .with_status("s", None, Some(memory))
        .world();
    let expected = ["05 09:00 12 nobody", "06 08:00 12 s/open"];
    assert_eq!(replica_lines(Some(&before), &after, two_days()), expected);
}

#[test]
fn the_value_of_an_edited_rule_since_a_later_status_stays() {
    let (open, close) = (rule("open", "0 8 * * *", 10), rule("close", "0 20 * * *", 3));
    let known_of = |rules: &[&CronRule], set: u32, written: Vec<CronRule>| {
        let handled = |rule: &&CronRule| RuleMemory::beginning(rule, at("2026-03-04T20:00:00Z"));
        let memory = Memory { rules: rules.iter().map(handled).collect() };
        Building::default()
            .workload("shop", set)
            .scaling("s", to_workload("shop"), written)
            .with_status("s", None, Some(memory))
            .world()
    };
    let before = shop(vec![open.clone(), close.clone()]);
    let edited = rule("open", "0 8 * * *", 20);
    let after = known_of(&[&open, &close], 3, vec![edited.clone(), close.clone()]);
    let expected =
        ["05 09:00 10 s/open", "05 20:00 3 s/close", "06 08:00 20 s/open", "06 20:00 3 s/close"];
    assert_eq!(replica_lines(Some(&before), &after, two_days()), expected);
    // If the edited rule has been in force at the time of the status, it has fired since.
    let added = rule("noon", "0 12 * * *", 5);
    let rules = vec![edited.clone(), close.clone(), added];
    let after = known_of(&[&edited, &close], 3, rules);
    let lines = replica_lines(Some(&before), &after, two_days());
    assert_eq!(lines[..2], ["05 09:00 20 s/open", "05 12:00 5 s/noon"]);
}

#[test]
fn only_a_policy_that_takes_over_has_that_assumption() {
    let assumed = |before: &World, after: &World| {
        let parts = taking_over(Some(before), after, two_days());
        parts.into_iter().flat_map(|part| part.assumptions).collect::<Vec<_>>()
    };
    let before = shop(vec![rule("open", "0 8 * * *", 10)]);
    let after = shop(vec![rule("open", "0 8 * * *", 12)]);
    let from = two_days().from();
    assert_eq!(assumed(&before, &before), [Assumption::InForceBefore { from }]);
    assert_eq!(assumed(&before, &after), [Assumption::TakesOver { from }]);
}

/// A shop whose status was written at 8:00.
fn known_shop(rules: &[CronRule]) -> World {
    let handled = |rule| RuleMemory::beginning(rule, at("2026-03-05T08:00:00Z"));
    // A new rule has no status.
    let known = rules.iter().filter(|rule| &*rule.name != "new").map(handled);
    let memory = Memory { rules: known.collect() };
    Building::default()
        .workload("shop", 12)
        .scaling("s", to_workload("shop"), rules.to_vec())
        .with_status("s", None, Some(memory))
        .world()
}

#[test]
fn a_rule_added_to_a_policy_with_a_status_does_not_fire_before() {
    let open = rule("open", "0 8 * * *", 12);
    let before = known_shop(std::slice::from_ref(&open));
    let after = known_shop(&[open, rule("new", "30 8 * * *", 30)]);
    let expected = ["05 09:00 12 nobody", "06 08:00 12 s/open", "06 08:30 30 s/new"];
    assert_eq!(replica_lines(Some(&before), &after, two_days()), expected);
}

#[test]
fn a_policy_added_next_to_one_with_a_status_does_not_fire_before() {
    let before = known_shop(&[rule("open", "0 8 * * *", 12)]);
    let mut after = before.clone();
    let added = Building::default()
        .scaling("added", to_workload("shop"), vec![rule("half", "30 8 * * *", 30)])
        .world();
    after.cron_scaling.policies.extend(added.cron_scaling.policies);
    let expected = ["05 09:00 12 nobody", "06 08:00 12 s/open", "06 08:30 30 added/half"];
    assert_eq!(replica_lines(Some(&before), &after, two_days()), expected);
}

#[test]
fn the_value_of_a_deleted_rule_since_a_status_stays() {
    let open = rule("open", "0 8 * * *", 12);
    let before = known_shop(&[open.clone(), rule("half", "30 8 * * *", 30)]);
    let after = known_shop(&[open]);
    let expected = ["05 09:00 30 s/half", "06 08:00 12 s/open"];
    assert_eq!(replica_lines(Some(&before), &after, two_days()), expected);
}

fn differences_in(before: &World, after: &World, period: Period) -> Vec<Difference> {
    let forecast = |world| Forecast::new(world, period, AssumedValues::new());
    let (before, after) = (forecast(before), forecast(after));
    let after = after.taking_over(Some(&before));
    let comparison = Comparison::new(Some(before), Some(after));
    comparison.parts().flat_map(|part| part.differences).collect()
}

fn has_differences(before: &World, after: &World) -> bool {
    !differences_in(before, after, two_days()).is_empty()
}

#[test]
fn the_value_of_a_deleted_policy_stays_unless_the_object_is_deleted_too() {
    let rules = || vec![rule("open", "0 8 * * *", 10), rule("close", "0 20 * * *", 3)];
    let unseen = Building::default().scaling("s", to_workload("shop"), rules()).world();
    let kept = Building::default().workload("shop", 7).world();
    let nothing = World::default();
    let ten = Some(Some(Value::Number(10)));
    for (before, after, expected) in [
        (&shop(rules()), &kept, ten.clone()),
        (&unseen, &nothing, ten),
        (&shop(rules()), &nothing, None),
    ] {
        let found = differences_in(before, after, two_days());
        let [difference] = &*found else { panic!("{found:?}") };
        assert_eq!(difference.presence, Presence::Removed);
        let evening = difference.stretches.iter().find(|it| it.from == at("2026-03-05T20:00:00Z"));
        let after = evening.unwrap().after.as_ref().map(|side| side.value.clone());
        assert_eq!(after, expected);
    }
}

#[test]
fn a_time_of_creation_in_the_files_of_one_version_changes_nothing() {
    let of = |created| {
        let rules = vec![rule("open", "0 8 * * *", 10), rule("close", "0 20 * * *", 3)];
        let shop = Building::default().workload("shop", 7);
        shop.scaling("s", to_workload("shop"), rules).with_status("s", created, None).world()
    };
    let (without, with) = (of(None), of(Some("2026-03-05T08:30:00Z")));
    assert!(!has_differences(&without, &with));
    assert!(!has_differences(&with, &without));
}

/// A shop of three replicas, and a schedule of six that is ten at night.
fn scaled(name: &str, autoscaler: Autoscaler) -> World {
    let night = vec![daily("17", "9", 10, 0)];
    let mut world = Building::default().workload("shop", 3).schedule("nodes", 6, night).world();
    let policy = PolicyObject::new(autoscaler.checked());
    world.metric_scaling.policies.insert(horizontal_autoscaler(name).identity, policy);
    world
}

fn following_nodes() -> Autoscaler {
    Autoscaler::for_deployment("shop", 1, 20).by(scheduled("nodes"))
}

#[test]
fn an_autoscaler_that_can_no_longer_decide_does_not_change_the_replicas() {
    let (before, shop) = (scaled("a", following_nodes()), deployment("shop"));
    let unanswered = Autoscaler::for_deployment("shop", 1, 20).by(external("up"));
    for autoscaler in [unanswered, Autoscaler::for_deployment("shop", 1, 20)] {
        let noon = period("2026-03-05T12:00:00Z", "2026-03-05T13:00:00Z");
        let parts = taking_over(Some(&before), &scaled("a", autoscaler), noon);
        let mut series = parts.iter().flat_map(|part| &part.series);
        let of_shop = series.find(|it| it.target == shop).unwrap();
        let values: Vec<_> = of_shop.segments.iter().map(|it| it.value.clone()).collect();
        assert_eq!(values, [Some(Value::Number(6))]);
    }
}

#[test]
fn a_renamed_autoscaler_that_multiplies_the_replicas_changes_nothing() {
    let of = |name| {
        let query = scheduled("nodes");
        scaled(name, Autoscaler::for_deployment("shop", 1, 20).with(query, TargetType::Value, 3000))
    };
    let noon = period("2026-03-05T12:00:00Z", "2026-03-05T13:00:00Z");
    assert_eq!(differences_in(&of("a"), &of("b"), noon), []);
}

#[test]
fn a_renamed_autoscaler_begins_without_recommendations() {
    // At 9:00 the schedule drops to six, and the stabilization window keeps ten for five minutes.
    let soon = period("2026-03-05T09:02:00Z", "2026-03-05T12:00:00Z");
    let of = |name| {
        let mut world = scaled(name, following_nodes());
        world.objects.workloads.get_mut(&deployment("shop")).unwrap().replicas = Some(10);
        world
    };
    assert_eq!(differences_in(&of("a"), &of("a"), soon), []);
    let found = differences_in(&of("a"), &of("b"), soon);
    let [Difference { stretches, .. }] = &*found else { panic!("{found:?}") };
    let [stretch] = &**stretches else { panic!("{stretches:?}") };
    assert_eq!((stretch.from, stretch.to), (soon.from(), at("2026-03-05T09:05:00Z")));
    assert_eq!(stretch.growth(), Some(-4));
    assert!(stretch.note.is_some());
}

#[test]
fn the_window_of_an_autoscaler_determines_replicas_that_no_file_states() {
    let mut world = scaled("a", following_nodes());
    world.objects.workloads.get_mut(&deployment("shop")).unwrap().replicas = None;
    let lowered = (at("2026-03-05T09:05:00Z"), Some(Value::Number(6)));
    for from in ["2026-03-05T08:58:00Z", "2026-03-05T09:02:00Z"] {
        let soon = period(from, "2026-03-05T12:00:00Z");
        let forecast = Forecast::new(&world, soon, AssumedValues::new());
        let mut series = forecast.parts().flat_map(|part| part.series);
        let of_shop = series.find(|it| it.target == deployment("shop")).unwrap();
        let values: Vec<_> =
            of_shop.segments.iter().map(|it| (it.from, it.value.clone())).collect();
        assert_eq!(values, [(soon.from(), Some(Value::Number(10))), lowered.clone()]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_version_that_takes_over_from_itself_changes_nothing(world in worlds()) {
        prop_assert!(!has_differences(&world, &world));
    }

    #[test]
    fn rules_that_are_only_renamed_change_nothing(world in worlds()) {
        let mut renamed = world.clone();
        for object in renamed.cron_scaling.policies.values_mut() {
            let mut policy = object.policy.as_deref().unwrap().clone();
            for rule in &mut policy.rules {
                rule.name = format!("other-{}", rule.name).into();
            }
            object.policy = Some(policy.into());
        }
        prop_assert!(!has_differences(&world, &renamed));
    }

    #[test]
    fn nothing_that_is_set_before_and_after_changes_at_once(before in worlds(), after in worlds()) {
        // No rule fires between two minutes.
        let period = period("2026-03-02T00:00:30Z", "2026-03-09T00:00:30Z");
        let forecast = |world| Forecast::new(world, period, AssumedValues::new());
        let (old, new) = (forecast(&before), forecast(&after));
        let series = |forecast: &Forecast<'_>| -> Vec<_> {
            forecast.parts().flat_map(|part| part.series).collect()
        };
        let (earlier, later) = (series(&old), series(&new.taking_over(Some(&old))));
        for one in earlier.iter().filter(|it| it.field.can_be_assumed()) {
            let is_same = |it: &&almanac_forecast::Series| {
                (&it.target, it.field) == (&one.target, one.field)
            };
            if let Some(other) = later.iter().find(is_same) {
                prop_assert_eq!(&one.segments[0].value, &other.segments[0].value, "{:?}", one.target);
            }
        }
    }
}
