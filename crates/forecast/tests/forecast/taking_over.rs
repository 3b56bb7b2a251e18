//! A version of the policies that takes over from another one: what is new or edited begins there, as in a cluster.

use almanac_engine::World;
use almanac_forecast::{AssumedValues, Assumption, Comparison, Forecast, Part, Period};
use proptest::prelude::*;

use crate::builders::*;
use crate::stepping::worlds;

/// The parts of a version that takes over from another one.
fn taking_over(before: Option<&World>, after: &World, period: Period) -> Vec<Part> {
    let before = before.map(|world| Forecast::new(world, period, AssumedValues::new()));
    let after = Forecast::new(after, period, AssumedValues::new());
    after.taking_over(before.as_ref()).parts().collect()
}

/// The only series of a version that takes over, as text.
#[track_caller]
fn told_of(before: Option<&World>, after: &World, period: Period) -> Vec<String> {
    let parts = taking_over(before, after, period);
    let [Part { series, .. }] = &*parts else { panic!("one part: {parts:?}") };
    let [series] = &**series else { panic!("one series: {series:?}") };
    told(series)
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
    assert_eq!(told_of(Some(&before), &after, two_days()), expected);
    assert_eq!(told_of(None, &after, two_days()), expected);
}

#[test]
fn a_firing_at_the_very_start_is_the_first_of_an_added_policy() {
    let after = shop(vec![rule("open", "0 9 * * *", 10)]);
    assert_eq!(told_of(None, &after, two_days())[0], "05 09:00 10 s/open");
}

#[test]
fn rules_that_are_added_or_edited_begin_and_the_others_go_on() {
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
    assert_eq!(told_of(Some(&before), &after, two_days()), expected);
}

#[test]
fn a_policy_finds_what_the_one_that_it_replaces_has_set() {
    let before = shop(vec![rule("open", "0 8 * * *", 10)]);
    let after = Building::default()
        .workload("shop", 7)
        .scaling("other", to_workload("shop"), vec![rule("late", "0 22 * * *", 1)])
        .world();
    let expected = ["05 09:00 10 s/open", "05 22:00 1 other/late"];
    assert_eq!(told_of(Some(&before), &after, two_days()), expected);
}

#[test]
fn bounds_are_found_as_they_are_also_the_one_that_no_rule_names() {
    let of = |rules| {
        Building::default().autoscaler("shop", 2, 5).scaling("s", to_autoscaler("shop"), rules)
    };
    let before = of(vec![bounds("high", "0 8 * * *", Some(8), None)]).world();
    let after = of(vec![bounds("low", "0 20 * * *", Some(3), None)]).world();
    let parts = taking_over(Some(&before), &after, two_days());
    let all: Vec<Vec<String>> = parts[0].series.iter().map(told).collect();
    assert_eq!(all[0], ["05 09:00 8 s/high", "05 20:00 3 s/low"]);
    assert_eq!(all[1], ["05 09:00 8 s/high"]);
}

#[test]
fn a_bound_that_no_rule_has_set_is_the_one_of_the_later_version() {
    let of = |max, more: Option<_>| {
        let rules = vec![bounds("high", "0 8 * * *", Some(3), None)];
        let rules = rules.into_iter().chain(more).collect();
        Building::default().autoscaler("shop", 2, max).scaling("s", to_autoscaler("shop"), rules)
    };
    let before = of(20, None).world();
    for more in [None, Some(bounds("yearly", "0 0 1 1 *", Some(4), None))] {
        let parts = taking_over(Some(&before), &of(6, more).world(), two_days());
        let comparison: Vec<Vec<String>> = parts[0].series.iter().map(told).collect();
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
        .known("s", None, Some(memory))
        .world();
    let expected = ["05 09:00 12 nobody", "06 08:00 12 s/open"];
    assert_eq!(told_of(Some(&before), &after, two_days()), expected);
}

#[test]
fn only_what_takes_over_says_so() {
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

fn has_differences(before: &World, after: &World) -> bool {
    let forecast = |world| Forecast::new(world, two_days(), AssumedValues::new());
    let (before, after) = (forecast(before), forecast(after));
    let after = after.taking_over(Some(&before));
    Comparison::new(Some(before), Some(after)).parts().any(|it| !it.differences.is_empty())
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
        for object in renamed.cron_scalings.values_mut() {
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
        // No rule fires at half a minute.
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
