//! The differences between two forecasts are exactly those of their series, found by comparing at every boundary of
//! either. A behavior that is only written in another way makes no difference.

use std::collections::{BTreeMap, BTreeSet};

use almanac_engine::{Field, Identity, Value, World};
use almanac_forecast::{
    AssumedValues, Comparison, Difference, Forecast, Period, PodHours, Presence, Series, Stretch,
};
use jiff::Timestamp;
use proptest::prelude::*;

use crate::builders::*;
use crate::stepping::worlds;

fn differences(before: &World, after: &World, period: Period) -> Vec<Difference> {
    let forecast = |world| Some(Forecast::new(world, period, AssumedValues::new()));
    let comparison = Comparison::new(forecast(before), forecast(after));
    comparison.parts().flat_map(|part| part.differences).collect()
}

fn fortnight() -> Period {
    period("2026-03-02T00:00:00Z", "2026-03-16T00:00:00Z")
}

type SeriesByField<'a> = BTreeMap<(&'a Identity, Field), &'a Series>;

fn by_field(all: &[Series]) -> SeriesByField<'_> {
    all.iter().map(|it| ((&it.target, it.field), it)).collect()
}

/// The value of a side at an instant: that of its series, or else that of the object, if known.
fn value_at(
    world: &World,
    series: Option<&Series>,
    place: (&Identity, Field),
    at: Timestamp,
) -> KnownValue {
    let Some(series) = series else {
        let (object, field) = place;
        return field.can_be_assumed().then(|| field.read(world, object).map(Some)).flatten();
    };
    series.at(at).map(|it| it.value.clone())
}

type KnownValue = Option<Option<Value>>;

/// Compares the differences with the series themselves, at every boundary of either.
fn assert_differences(before: &World, after: &World, period: Period) {
    let reported = differences(before, after, period);
    let worlds = [before, after];
    let (before, after) = (all_series(before, period), all_series(after, period));
    let (before, after) = (by_field(&before), by_field(&after));
    let difference_at = |place: &(&Identity, Field)| {
        reported.iter().find(|it| (&it.target, it.field) == (place.0, place.1))
    };
    for place in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
        let sides = [before.get(place).copied(), after.get(place).copied()];
        let of_both = sides.iter().flatten().flat_map(|it| &it.segments);
        let boundaries: BTreeSet<Timestamp> = of_both.map(|it| it.from).collect();
        let difference = difference_at(place);
        for at in boundaries {
            let expected = [0, 1].map(|side| value_at(worlds[side], sides[side], *place, at));
            let is_in = |it: &&Stretch| it.from <= at && at < it.to;
            let stretch = difference.and_then(|it| it.stretches.iter().find(is_in));
            match stretch {
                None => assert_eq!(expected[0], expected[1], "{place:?} at {at}"),
                Some(Stretch { before, after, .. }) => {
                    assert_ne!(expected[0], expected[1], "{place:?} at {at}");
                    let reported = [before, after].map(|it| it.as_ref().map(|it| it.value.clone()));
                    assert_eq!(reported, expected, "{place:?} at {at}");
                }
            }
        }
        if let Some(difference) = difference {
            assert_well_formed(difference, period);
            if sides.iter().all(Option::is_some) && difference.before.contains_key(&None) {
                let pod_hours = |it: &Stretch| Some(PodHours::new(it.growth()?, it.nanoseconds()));
                let growth: Option<Vec<PodHours>> =
                    difference.stretches.iter().map(pod_hours).collect();
                let (before, after) = (difference.before[&None], difference.after[&None]);
                if let Some(growth) = growth {
                    assert_eq!(growth.into_iter().sum::<PodHours>(), after.hours - before.hours);
                }
            }
        }
    }
    assert!(reported.iter().all(|it| before.contains_key(&(&it.target, it.field))
        || after.contains_key(&(&it.target, it.field))));
}

fn assert_well_formed(difference: &Difference, period: Period) {
    let stretches = &difference.stretches;
    assert!(stretches.first().unwrap().from >= period.from());
    assert!(stretches.last().unwrap().to <= period.to());
    for stretch in stretches {
        assert!(stretch.from < stretch.to);
        assert_ne!(stretch.values().0, stretch.values().1);
    }
    for pair in stretches.windows(2) {
        assert!(pair[0].to <= pair[1].from);
        assert!(pair[0].to < pair[1].from || pair[0].values() != pair[1].values(), "{pair:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_forecast_does_not_differ_from_itself(world in worlds()) {
        prop_assert_eq!(differences(&world, &world, fortnight()), Vec::new());
    }

    #[test]
    fn what_differs_is_what_the_two_forecasts_say(before in worlds(), after in worlds()) {
        assert_differences(&before, &after, fortnight());
        assert_differences(&after, &before, fortnight());
    }

    #[test]
    fn other_names_and_parts_are_not_a_difference(world in worlds()) {
        let mut renamed = world.clone();
        renamed.cron_scaling.policies.clear();
        for (identity, object) in &world.cron_scaling.policies {
            let mut object = object.clone();
            let mut policy = object.policy.as_deref().unwrap().clone();
            for rule in &mut policy.rules {
                rule.name = format!("other-{}", rule.name).into();
            }
            object.policy = Some(policy.into());
            let name = format!("other-{}", identity.name());
            let other = Identity::new(identity.group(), identity.kind(), identity.namespace(), name);
            renamed.cron_scaling.policies.insert(other, object);
        }
        prop_assert_eq!(differences(&world, &renamed, fortnight()), Vec::new());
    }
}

fn shop(rules: Vec<almanac_engine::cron_scaling::CronRule>) -> World {
    Building::default().workload("shop", 1).scaling("s", to_workload("shop"), rules).world()
}

#[test]
fn a_schedule_in_two_parts_or_two_policies_is_not_a_difference() {
    let one = shop(vec![rule("open", "0 8,12 * * *", 5), rule("close", "0 20 * * *", 2)]);
    let parts = vec![
        rule("close", "0 20 * * *", 2),
        rule("noon", "0 12 * * *", 5),
        rule("morning", "0 8 * * *", 5),
    ];
    assert_eq!(differences(&one, &shop(parts), fortnight()), []);
    let two = Building::default()
        .workload("shop", 1)
        .scaling("day", to_workload("shop"), vec![rule("open", "0 8 * * *", 5)])
        .scaling("night", to_workload("shop"), vec![rule("close", "0 20 * * *", 2)])
        .world();
    assert_eq!(differences(&one, &two, fortnight()), []);
}

#[test]
fn a_stretch_names_the_writers_of_both_values() {
    let before = shop(vec![rule("open", "0 8 * * *", 5), rule("close", "0 20 * * *", 2)]);
    let after = shop(vec![rule("up", "0 8 * * *", 5), rule("down", "0 22 * * *", 2)]);
    let found = differences(&before, &after, monday());
    let [difference] = &*found else { panic!("{found:?}") };
    let [stretch] = &*difference.stretches else { panic!("{difference:?}") };
    let expected = (at("2026-03-02T20:00:00Z"), at("2026-03-02T22:00:00Z"));
    assert_eq!((stretch.from, stretch.to), expected);
    let rule = |side: &Option<almanac_forecast::Side>| {
        side.as_ref().unwrap().origin.writer.as_ref().unwrap().rule.clone().unwrap()
    };
    assert_eq!((&*rule(&stretch.before), &*rule(&stretch.after)), ("close", "up"));
    assert_eq!(stretch.growth(), Some(3));
    let growth = difference.after[&None].hours - difference.before[&None].hours;
    let expected = ("6".to_owned(), "42".to_owned());
    assert_eq!((growth.to_string(), growth.a_week(monday()).to_string()), expected);
}

#[test]
fn a_target_that_only_one_forecast_has_differs_throughout() {
    let none = World::default();
    let some = shop(vec![rule("open", "0 8 * * *", 5), rule("close", "0 20 * * *", 2)]);
    let added = differences(&none, &some, fortnight());
    assert_eq!(added[0].presence, Presence::Added);
    assert!(added[0].stretches.iter().all(|it| it.before.is_none() && it.growth().is_none()));
    assert_eq!(added[0].by_values().len(), 2);
    let removed = differences(&some, &none, fortnight());
    assert_eq!(removed[0].presence, Presence::Removed);
    assert_differences(&none, &some, fortnight());
}

#[test]
fn islands_that_are_joined_or_parted_are_compared_object_by_object() {
    let apart = Building::default()
        .scaling("a", to_workload("one"), vec![rule("up", "0 8 * * *", 5)])
        .scaling("b", to_workload("two"), vec![rule("up", "0 8 * * *", 6)])
        .world();
    let moved = Building::default()
        .scaling("a", to_workload("two"), vec![rule("up", "0 8 * * *", 5)])
        .scaling("b", to_workload("one"), vec![rule("up", "0 8 * * *", 6)])
        .world();
    assert_eq!(differences(&apart, &moved, fortnight()).len(), 2);
    assert_differences(&apart, &moved, fortnight());
    let forecast = |world| Some(Forecast::new(world, fortnight(), AssumedValues::new()));
    assert_eq!(Comparison::new(forecast(&apart), forecast(&moved)).len(), 2);
    assert_eq!(Comparison::new(forecast(&apart), None).len(), 2);
}
