//! Steps of a day, drawn by pixels.

use std::sync::Arc;

use almanac_engine::{Family, Identity, PolicyName, Value};
use almanac_forecast::{Origin, Segment, Series, Writer};
use jiff::SignedDuration;

use super::*;
use crate::forecast::agreeing::Drawn;
use crate::forecast::drawn::blocks;
use crate::forecast::kinds::{self, view};
use crate::forecast::svg;

/// Values of a day, each with its duration in minutes.
fn series(values: impl Iterator<Item = (i64, Option<Value>)>) -> Series {
    let mut one = kinds::series("Deployment", "shop", vec![(0, None)]);
    let template = one.segments.remove(0);
    let mut at = template.from;
    for (minutes, value) in values {
        let to = (at + SignedDuration::from_mins(minutes)).min(template.to);
        let origin = Arc::clone(&template.origin);
        one.segments.push(Segment { from: at, to, value, origin });
        at = to;
    }
    one
}

fn numbers(minutes: i64, numbers: &[u32]) -> Series {
    let all = numbers.iter().cycle().take(usize::try_from(24 * 60 / minutes).unwrap());
    series(all.map(|it| (minutes, Some(Value::Number(*it)))))
}

#[test]
fn three_successive_narrow_steps_are_drawn_by_pixels_and_wide_ones_are_not() {
    let lengths = [600, 5, 5, 600, 5, 5, 5, 220];
    let values = lengths.iter().zip(0..).map(|(it, number)| (*it, Some(Value::Number(number))));
    let series = series(values);
    let blocks = blocks(&series);
    let described = |piece: &Piece<'_, '_>| match piece {
        Piece::One(_) => 1,
        Piece::Many(stretches) => stretches.len(),
    };
    let pieces: Vec<usize> =
        pieces(view(), 6, &blocks[0].stretches).iter().map(described).collect();
    assert_eq!(pieces, [1, 1, 1, 1, 3, 1]);
}

#[test]
fn the_narrower_of_too_many_steps_are_drawn_by_pixels() {
    // Three wide steps, and thirty steps of twenty minutes, each ten pixels wide.
    let series = series((0..33).map(|it| {
        let minutes = if it % 11 == 0 { 240 } else { 20 };
        (minutes, Some(Value::Number(it)))
    }));
    let blocks = blocks(&series);
    let count = |most| pieces(view(), most, &blocks[0].stretches).len();
    assert_eq!([count(33), count(32), count(3), count(2), count(0)], [33, 6, 6, 6, 6]);
}

/// The legend of a day with two alternating rules, each with its own level.
fn legend_of_levels(minutes: i64) -> Vec<(String, String)> {
    let levels = ["low", "high"].into_iter().cycle();
    let levels = levels.take(usize::try_from(24 * 60 / minutes).unwrap());
    let mut series = series(levels.map(|it| (minutes, Some(Value::text(it)))));
    for (segment, rule) in series.segments.iter_mut().zip(["night", "day"].into_iter().cycle()) {
        let name = Identity::new("", "ConfigMap", "default", "levels");
        let policy = PolicyName::new(Family::QosLevels, name);
        let writer = Some(Writer { policy, rule: Some(Arc::from(rule)) });
        let origin = Origin { writer, reason: "".into(), moves_other_bound: false };
        segment.origin = Arc::new(origin);
    }
    let drawn = Drawn::for_series(&series);
    legend(view(), 6, &blocks(&series), &Styles::for_series(&drawn))
}

#[test]
fn the_legend_names_only_drawn_rules_and_pixels() {
    let named = |(class, name): (&str, &str)| (class.to_owned(), name.to_owned());
    let [night, day] = [("rule0", "night"), ("rule1", "day")].map(named);
    let mixed = named(("at-most", "more than one value in a pixel"));
    assert_eq!(legend_of_levels(6 * 60), [night.clone(), day.clone()]);
    assert_eq!(legend_of_levels(1), std::slice::from_ref(&mixed), "no pixel is of one rule");
    assert_eq!(legend_of_levels(12), [night, day, mixed]);
}

#[test]
fn the_axis_and_the_bars_are_those_of_steps() {
    let is_near = |one: f64, tenths: i64| {
        (one * 10.0 - f64::from(i32::try_from(tenths).unwrap())).abs() < 0.01
    };
    assert!(is_near(svg::LENGTH, i64::from(PIXELS) * TENTHS) && is_near(svg::LEFT, LEFT));
    assert!(is_near(super::super::BAR, BAR));
}

#[test]
fn a_day_of_minutes_is_one_area_up_to_the_highest_and_one_up_to_the_lowest() {
    let series = numbers(1, &[2, 8]);
    let blocks = blocks(&series);
    let grid = Grid::new(view(), &blocks[0].stretches);
    let within = grid.pixels(&blocks[0].stretches);
    assert_eq!((within.len(), grid.from, grid.to), (728, 160, 7440));
    let heights = within.iter().map(|(pixel, within)| {
        let stretches = &blocks[0].stretches[within.clone()];
        assert_eq!((least(stretches), most(stretches)), (2, 8));
        (grid.edges(*pixel).1, rise(least(stretches), 8))
    });
    assert_eq!(outline(grid.from, 100.0, heights), "M16 100v-14h728v14z");
}

#[test]
fn tenths_are_as_short_as_can_be() {
    let texts = [0, 7, -7, 10, -25, 7280].map(|it| Tenths(it).to_string());
    assert_eq!(texts, ["0", ".7", "-.7", "1", "-2.5", "728"]);
}
