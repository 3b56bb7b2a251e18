//! Segments: adjacent, covering the period, each with its writer; no two neighbors are equal.

use almanac_engine::{Field, Value, World};
use almanac_forecast::{AssumedValues, Forecast, Period, Segment, Series};

use crate::builders::*;

fn week() -> Period {
    period("2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z")
}

fn number(segment: &Segment) -> Option<u32> {
    segment.value.as_ref().and_then(Value::number)
}

pub(crate) fn assert_well_formed(series: &Series, period: Period) {
    let segments = &series.segments;
    assert_eq!(segments.first().unwrap().from, period.from());
    assert_eq!(segments.last().unwrap().to, period.to());
    for segment in segments {
        assert!(segment.from < segment.to, "{segment:?}");
    }
    for pair in segments.windows(2) {
        assert_eq!(pair[0].to, pair[1].from);
        let differ =
            pair[0].value != pair[1].value || pair[0].origin.writer != pair[1].origin.writer;
        assert!(differ, "alike: {pair:?}");
    }
}

#[test]
fn a_rule_that_repeats_its_value_does_not_start_a_new_segment() {
    let rules = vec![rule("ten", "0 8 * * *", 10)];
    let world = Building::default().scaling("s", to_workload("shop"), rules).world();
    assert_eq!(segment_lines(&series(&world, week(), Field::Replicas)), ["02 00:00 10 s/ten"]);
}

#[test]
fn another_rule_that_sets_the_same_value_starts_a_new_segment() {
    let rules = vec![rule("a", "0 8 * * *", 10), rule("b", "0 20 * * *", 10)];
    let world = Building::default().scaling("s", to_workload("shop"), rules).world();
    let series = series(&world, monday(), Field::Replicas);
    assert_eq!(segment_lines(&series), ["02 00:00 10 s/b", "02 08:00 10 s/a", "02 20:00 10 s/b"]);
}

#[test]
fn only_the_last_of_two_firings_at_one_instant_is_visible() {
    let rules = vec![
        rule("low", "0 20 * * *", 1),
        rule("first", "0 8 * * *", 5),
        rule("second", "0 8 * * *", 6),
    ];
    let world = Building::default().scaling("s", to_workload("shop"), rules).world();
    let series = series(&world, monday(), Field::Replicas);
    assert_eq!(
        segment_lines(&series),
        ["02 00:00 1 s/low", "02 08:00 6 s/second", "02 20:00 1 s/low"]
    );
}

#[test]
fn two_policies_that_write_one_target_share_one_series() {
    let world = Building::default()
        .scaling("day", to_workload("shop"), vec![rule("up", "0 8 * * *", 10)])
        .scaling("night", to_workload("shop"), vec![rule("down", "0 20 * * *", 2)])
        .scaling("else", to_workload("other"), vec![rule("up", "0 8 * * *", 10)])
        .world();
    let all = all_series(&world, monday());
    assert_eq!(all.len(), 2);
    let shop = all.iter().find(|series| series.target == deployment("shop")).unwrap();
    let expected = ["02 00:00 2 night/down", "02 08:00 10 day/up", "02 20:00 2 night/down"];
    assert_eq!(segment_lines(shop), expected);
    assert_eq!(shop.policies(), [&cron_policy("night"), &cron_policy("day")]);
    let forecast = Forecast::new(&world, monday(), AssumedValues::new());
    let contested: Vec<_> = forecast.targets().filter(|(_, writers)| writers.len() > 1).collect();
    assert_eq!(contested.len(), 1);
    assert_eq!(contested[0].0, &deployment("shop"));
    assert_eq!(contested[0].1, [cron_policy("day"), cron_policy("night")]);
}

#[test]
fn the_last_of_two_policies_at_one_instant_wins() {
    let world = Building::default()
        .scaling("a", to_workload("shop"), vec![rule("up", "0 8 * * *", 10)])
        .scaling("b", to_workload("shop"), vec![rule("up", "0 8 * * *", 11)])
        .world();
    assert_eq!(segment_lines(&series(&world, week(), Field::Replicas)), ["02 00:00 11 b/up"]);
}

#[test]
fn the_golden_week_of_the_published_example_is_forecast() {
    let zone = "America/Los_Angeles";
    let [open, close] = ["9", "17"].map(|it| format!("weekdays=Mon,Tue,Wed,Thu,Fri; hours={it}"));
    let behaviors = vec![
        behavior(zone, "weekdays=Fri; hours=17", "weekdays=Mon; hours=9", 1, 0),
        behavior(zone, &open, &close, 3, 0),
        behavior(zone, &close, &open, 2, 0),
    ];
    let world = Building::default().schedule("nodes", 2, behaviors).world();
    let week = period("2021-02-01T08:00:00Z", "2021-02-09T08:00:00Z");
    let series = series(&world, week, Field::Value);
    let values: Vec<_> = series.segments.iter().filter_map(number).collect();
    assert_eq!(values, [1, 3, 2, 3, 2, 3, 2, 3, 2, 3, 1, 3, 2]);
    assert_eq!(series.segments[11].from, at("2021-02-08T17:00:00Z"));
    assert_well_formed(&series, week);
}

#[test]
fn a_clock_change_moves_the_segments_with_the_wall_clock() {
    let rules = vec![
        in_zone(rule("open", "0 8 * * *", 10), "Europe/Berlin"),
        in_zone(rule("close", "0 20 * * *", 3), "Europe/Berlin"),
    ];
    let world = Building::default().scaling("s", to_workload("shop"), rules).world();
    let days = period("2026-03-28T00:00:00Z", "2026-03-30T00:00:00Z");
    let expected = [
        "28 00:00 3 s/close",
        "28 07:00 10 s/open",
        "28 19:00 3 s/close",
        "29 06:00 10 s/open",
        "29 18:00 3 s/close",
    ];
    assert_eq!(segment_lines(&series(&world, days, Field::Replicas)), expected);
}

#[test]
fn each_bound_names_the_rule_that_set_it() {
    let rules = vec![
        bounds("floor", "0 6 * * *", Some(4), None),
        bounds("ceiling", "0 7 * * *", None, Some(8)),
        bounds("push", "0 12 * * *", Some(12), None),
    ];
    let world = Building::default().autoscaler("shop", 1, 10);
    let world = world.scaling("s", to_autoscaler("shop"), rules).world();
    let expected = ["02 00:00 12 s/push", "02 06:00 4 s/floor", "02 12:00 12 s/push"];
    assert_eq!(segment_lines(&series(&world, monday(), Field::MinReplicas)), expected);
    let max = series(&world, monday(), Field::MaxReplicas);
    assert_eq!(
        segment_lines(&max),
        ["02 00:00 12 s/push", "02 07:00 8 s/ceiling", "02 12:00 12 s/push"]
    );
    assert!(max.segments[2].origin.reason.contains("moved the other bound"));
}

#[test]
fn the_segment_of_an_instant_contains_it() {
    let world = Building::default().schedule("nodes", 1, vec![daily("9", "17", 5, 0)]).world();
    let series = series(&world, monday(), Field::Value);
    let value = |text| series.at(at(text)).and_then(number);
    assert_eq!(value("2026-03-02T08:59:59.999Z"), Some(1));
    assert_eq!(value("2026-03-02T09:00:00Z"), Some(5));
    assert_eq!(value("2026-03-03T00:00:00Z"), None);
    assert_eq!(value("2026-03-01T23:59:59Z"), None);
}

#[test]
fn narrowing_does_not_change_the_remaining_series() {
    let world = Building::default()
        .scaling("a", to_workload("one"), vec![rule("up", "0 8 * * *", 10)])
        .scaling("b", to_workload("two"), vec![rule("up", "0 9 * * *", 10)])
        .world();
    let mut forecast = Forecast::new(&world, week(), AssumedValues::new());
    let whole: Vec<_> = forecast.parts().collect();
    forecast.narrow(|target, _| target.name() == "two");
    assert_eq!(forecast.parts().collect::<Vec<_>>(), whole[1..]);
}

#[test]
fn nothing_to_forecast_means_no_series() {
    assert_eq!(all_series(&World::default(), week()), []);
}
