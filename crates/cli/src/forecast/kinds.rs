//! Series with values of every kind for the tests of the outputs, and the files with the expected
//! outputs.

use std::path::Path;
use std::sync::Arc;
use std::{env, fs};

use almanac_calendar::Zone;
use almanac_engine::{Family, Field, Identity, PolicyName, Value};
use almanac_forecast::{Origin, Period, Segment, Series, Writer};
use jiff::{SignedDuration, Timestamp};

use super::question::View;

/// A day in UTC.
pub(super) fn view() -> View {
    let from: Timestamp = "2026-03-02T00:00:00Z".parse().unwrap();
    let period = Period::new(from, from + SignedDuration::from_hours(24)).unwrap();
    View { period, zone: Zone::utc() }
}

pub(super) fn series_of_every_kind() -> Vec<Series> {
    let number = |number| Some(Value::Number(number));
    let text = |text| Some(Value::text(text));
    let clusters: Vec<String> = (0..20).map(|number| format!("cluster-{number:02}")).collect();
    let clusters =
        |from: usize, to: usize| Some(Value::names(clusters[from..to].iter().map(String::as_str)));
    vec![
        series("Deployment", "shop", vec![(0, None), (6, number(10)), (18, number(3))]),
        series(
            "Pod",
            "web",
            vec![
                (0, None),
                (2, text("best-effort")),
                (8, text("guaranteed")),
                (9, text("burstable")),
                (20, text("best-effort")),
            ],
        ),
        series(
            "Placement",
            "shop",
            vec![
                (0, None),
                (3, Some(Value::names(["west", "east"]))),
                (9, Some(Value::names(["a-cluster-with-a-long-name", "east"]))),
                (18, Some(Value::names([]))),
                (21, Some(Value::names(["west"]))),
            ],
        ),
        series("Placement", "wide", vec![(0, clusters(0, 5)), (8, clusters(3, 20))]),
        series(
            "ResourcePolicy",
            "pools",
            vec![
                (0, None),
                (4, Some(Value::numbers([("spot", 3), ("on-demand", 5)]))),
                (10, Some(Value::numbers([("spot", 6), ("on-demand", 5)]))),
                (16, Some(Value::numbers([("on-demand", 12)]))),
                (22, Some(Value::numbers([]))),
            ],
        ),
    ]
}

/// Names that would be something else in XML, in JSON or in a script, or that are too long to fit.
pub(super) fn hostile_series() -> Vec<Series> {
    let script = "</script><script>alert(\"it's\")</script>";
    let quotes = "a \"b\" & 'c' \\ \u{1}";
    let long = &*"x-".repeat(200);
    let text = |text| Some(Value::text(text));
    let numbers = Some(Value::numbers([(script, 1), (quotes, 2), (long, 3)]));
    vec![
        series("Pod", "web", vec![(0, text(script)), (8, text(quotes)), (16, text(long))]),
        series(
            "Placement",
            "shop",
            vec![(0, Some(Value::names([script, quotes]))), (12, Some(Value::names([long])))],
        ),
        series("ResourcePolicy", "pools", vec![(0, numbers)]),
    ]
}

/// A series with these values, each from an hour on.
pub(super) fn series(kind: &str, name: &str, values: Vec<(i64, Option<Value>)>) -> Series {
    let View { period, .. } = view();
    let at = |hour: i64| period.from() + SignedDuration::from_hours(hour);
    let ends: Vec<i64> = values.iter().skip(1).map(|(from, _)| *from).chain([24]).collect();
    let segment = |((from, value), to): ((i64, Option<Value>), i64)| Segment {
        from: at(from),
        to: at(to),
        origin: Arc::new(origin(value.is_some(), from)),
        value,
    };
    Series {
        target: Identity::new("example.com", kind, "default", name),
        field: Field::Value,
        segments: values.into_iter().zip(ends).map(segment).collect(),
    }
}

fn origin(is_set: bool, hour: i64) -> Origin {
    if !is_set {
        let reason = "unknown; no rule has set it yet".into();
        return Origin { writer: None, reason, moves_other_bound: false };
    }
    let object = Identity::new("example.com", "Policy", "default", "hours");
    let policy = PolicyName::new(Family::CronScaling, object);
    let writer = Some(Writer { policy, rule: Some(Arc::from(format!("from-{hour}"))) });
    Origin { writer, reason: format!("at {hour}:00").into(), moves_other_bound: false }
}

/// Compares the output with an expected file of the program's tests.
#[track_caller]
pub(super) fn assert_written_down(name: &str, found: &str) {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/offline/forecast/expected").join(name);
    if env::var_os("ALMANAC_UPDATE").is_some() {
        fs::write(&path, found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{name} differs; ALMANAC_UPDATE=1 rewrites it. Found:\n{found}");
}
