//! The values at the start of a period: from the last firing before it, else specified, else unknown.

use almanac_engine::Field;
use almanac_forecast::{AssumedValues, Assumption, Forecast};

use crate::builders::*;

const DAY: (&str, &str) = ("2026-03-05T00:00:00Z", "2026-03-06T00:00:00Z");

#[test]
fn the_last_firing_before_the_start_leaves_its_value() {
    let rules = vec![rule("open", "0 8 * * *", 10), rule("close", "0 20 * * *", 3)];
    let world = Building::default().workload("shop", 7).scaling("s", to_workload("shop"), rules);
    let series = series(&world.world(), period(DAY.0, DAY.1), Field::Replicas);
    assert_eq!(
        segment_lines(&series),
        ["05 00:00 3 s/close", "05 08:00 10 s/open", "05 20:00 3 s/close"]
    );
}

#[test]
fn the_last_firing_may_have_been_years_ago() {
    let rules = vec![rule("leap", "0 0 29 2 *", 10)];
    let world = Building::default().workload("shop", 7).scaling("s", to_workload("shop"), rules);
    let series = series(&world.world(), period(DAY.0, DAY.1), Field::Replicas);
    assert_eq!(segment_lines(&series), ["05 00:00 10 s/leap"]);
}

#[test]
fn a_firing_at_the_very_start_belongs_to_the_period() {
    let rules = vec![rule("open", "0 8 * * *", 10), rule("close", "0 20 * * *", 3)];
    let world = Building::default().scaling("s", to_workload("shop"), rules).world();
    let from_eight = period("2026-03-05T08:00:00Z", "2026-03-05T09:00:00Z");
    assert_eq!(segment_lines(&series(&world, from_eight, Field::Replicas)), ["05 08:00 10 s/open"]);
    let until_eight = period("2026-03-05T07:00:00Z", "2026-03-05T08:00:00Z");
    assert_eq!(
        segment_lines(&series(&world, until_eight, Field::Replicas)),
        ["05 07:00 3 s/close"]
    );
}

#[test]
fn without_any_firing_the_given_value_applies() {
    let rules = vec![suspended(rule("open", "0 8 * * *", 10))];
    let world = Building::default().workload("shop", 7).scaling("s", to_workload("shop"), rules);
    let series = series(&world.world(), period(DAY.0, DAY.1), Field::Replicas);
    assert_eq!(segment_lines(&series), ["05 00:00 7 nobody"]);
}

#[test]
fn an_unknown_value_is_reported_as_unknown() {
    let rules = vec![bounds("max", "0 8 * * *", None, Some(10))];
    let world = Building::default().scaling("s", to_autoscaler("shop"), rules).world();
    let from_to = period(DAY.0, DAY.1);
    assert_eq!(segment_lines(&series(&world, from_to, Field::MinReplicas)), ["05 00:00 ? nobody"]);
    let target = autoscaler("shop");
    let expected = [
        Assumption::InForceBefore { from: from_to.from() },
        Assumption::TargetExists { target: target.clone() },
        Assumption::UnknownAtStart { target, field: Field::MinReplicas },
    ];
    assert_eq!(Forecast::new(&world, from_to, AssumedValues::new()).assumptions(), expected);
}

#[test]
fn an_assumed_value_applies_until_a_rule_fires() {
    let rules = vec![rule("open", "0 8 * * *", 10)];
    let world = Building::default().workload("shop", 7).scaling("s", to_workload("shop"), rules);
    let world = world.world();
    let assumed = AssumedValues::from([((deployment("shop"), Field::Replicas), 99)]);
    let forecast = Forecast::new(&world, period(DAY.0, DAY.1), assumed);
    let part = forecast.parts().next().unwrap();
    assert_eq!(segment_lines(&part.series[0]), ["05 00:00 99 nobody", "05 08:00 10 s/open"]);
    let given =
        Assumption::Stated { target: deployment("shop"), field: Field::Replicas, value: 99 };
    assert!(part.assumptions.contains(&given));
}

#[test]
fn rules_start_from_an_assumed_bound() {
    let rules = vec![bounds("more", "0 8 * * *", Some(20), None)];
    let world = Building::default().autoscaler("shop", 1, 50);
    let world = world.scaling("s", to_autoscaler("shop"), rules).world();
    let target = autoscaler("shop");
    let assumed = AssumedValues::from([
        ((target.clone(), Field::MinReplicas), 2),
        ((target, Field::MaxReplicas), 5),
    ]);
    let forecast = Forecast::new(&world, period(DAY.0, DAY.1), assumed);
    let part = forecast.parts().next().unwrap();
    let lines: Vec<_> = part.series.iter().map(segment_lines).collect();
    assert_eq!(lines[0], ["05 00:00 2 nobody", "05 08:00 20 s/more"]);
    assert_eq!(lines[1], ["05 00:00 5 nobody", "05 08:00 20 s/more"]);
}

#[test]
fn the_bound_that_was_moved_out_of_the_way_long_ago_stays_moved() {
    let rules = vec![
        bounds("campaign", "0 8 1 * *", Some(20), None),
        bounds("usual", "0 20 * * *", Some(2), None),
    ];
    let world = Building::default().autoscaler("shop", 1, 10);
    let world = world.scaling("s", to_autoscaler("shop"), rules).world();
    let from_to = period(DAY.0, DAY.1);
    assert_eq!(
        segment_lines(&series(&world, from_to, Field::MaxReplicas)),
        ["05 00:00 20 s/campaign"]
    );
    assert_eq!(segment_lines(&series(&world, from_to, Field::MinReplicas)), ["05 00:00 2 s/usual"]);
}

#[test]
fn a_schedule_does_not_depend_on_the_past() {
    let world = Building::default().schedule("nodes", 1, vec![daily("9", "17", 5, 0)]).world();
    let midday = period("2026-03-05T12:00:00Z", "2026-03-06T12:00:00Z");
    let value = series(&world, midday, Field::Value);
    let expected = [
        "05 12:00 5 nodes/behaviors[0]",
        "05 17:00 1 nodes/default",
        "06 09:00 5 nodes/behaviors[0]",
    ];
    assert_eq!(segment_lines(&value), expected);
}
