//! Random directories: the result of `diff` for two of them is exactly the difference of their two forecasts, as
//! JSON, recomputed here by a comparison at every boundary of either. The comparison starts once the values that the
//! old version has left have no effect any more.
//!
//! `ALMANAC_DIFF_WORLDS` is the number of pairs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use almanac_fixtures::trials;
use fastrand::Rng;
use serde_json::Value;

use crate::diff::running::{almanac, sides};
use crate::running::{list, word};

/// No rule fires at half a minute.
const FROM: &str = "2026-11-22T23:00:30Z";

/// An instant after every rule has fired: each fires within a week, or on the 13th.
const FIRED: &str = "2026-12-20T00:00:00Z";

const ZONES: [&str; 4] = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"];

/// A few policies over a few targets.
fn policies(random: &mut Rng) -> String {
    let mut all = String::new();
    let mut schedules = BTreeSet::new();
    for number in 0..random.u32(1..5) {
        let (target, kind) = (random.u32(0..3), random.u32(0..3));
        if kind == 0 {
            // Two policies of one name would both be unusable, and not compared.
            if !schedules.insert(target) {
                continue;
            }
            let (from, to) = (random.u32(0..12), random.u32(12..24));
            let zone = random.choice(ZONES).unwrap();
            write!(
                all,
                "apiVersion: autoscaling.karpenter.sh/v1alpha1\nkind: MetricsProducer\n\
                 metadata: {{name: nodes-{target}}}\nspec:\n  schedule:\n    timezone: {zone}\n    \
                 defaultReplicas: {}\n    behaviors:\n    \
                 - {{replicas: {}, start: {{hours: {from}}}, end: {{hours: {to}}}}}\n---\n",
                random.u32(0..3),
                random.u32(3..9),
            )
            .unwrap();
            continue;
        }
        let autoscaler = kind == 1;
        let (version, of) = if autoscaler {
            ("autoscaling/v2", "HorizontalPodAutoscaler")
        } else {
            ("apps/v1", "Deployment")
        };
        write!(
            all,
            "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\n\
             metadata: {{name: cron-{number}}}\nspec:\n  \
             scaleTargetRef: {{apiVersion: {version}, kind: {of}, name: shop-{target}}}\n  rules:\n"
        )
        .unwrap();
        for rule in 0..random.u32(1..4) {
            let weekday = ["*", "1-5", "6"][random.usize(0..3)];
            let day = if random.u32(0..9) == 0 { "13" } else { "*" };
            let (minute, hour) = (random.u32(0..60), random.u32(0..24));
            let zone = random.choice(ZONES).unwrap();
            let field = match (autoscaler, random.bool()) {
                (false, _) => "targetReplicas",
                (true, true) => "targetMinReplicas",
                (true, false) => "targetMaxReplicas",
            };
            let value =
                if field == "targetMaxReplicas" { random.u32(5..9) } else { random.u32(1..5) };
            writeln!(
                all,
                "  - {{name: r{rule}, schedule: \"{minute} {hour} {day} * {weekday}\", timeZone: {zone}, {field}: {value}}}"
            )
            .unwrap();
        }
        all += "---\n";
    }
    all
}

type Key = String;

/// Every series of a forecast by its object and field: its segments, each with start, end and value.
fn series(reported: &Value) -> BTreeMap<Key, Vec<(String, String, Value)>> {
    let of = |series: &Value| {
        let text = |it: &Value| word(it).to_owned();
        let segment = |it: &Value| (text(&it["from"]), text(&it["to"]), it["value"].clone());
        (key(series), list(&series["segments"]).iter().map(segment).collect())
    };
    list(&reported["series"]).iter().map(of).collect()
}

fn key(of: &Value) -> Key {
    format!("{} {}", of["target"], of["field"])
}

fn value_at(segments: Option<&Vec<(String, String, Value)>>, at: &str) -> Option<Value> {
    let segment = segments?.iter().find(|(from, to, _)| from.as_str() <= at && at < to.as_str());
    Some(segment.unwrap().2.clone())
}

/// The value at an instant; `None` if absent or unknown.
fn known_value_at(segments: Option<&Vec<(String, String, Value)>>, at: &str) -> Option<Value> {
    value_at(segments, at).filter(|value| !value.is_null())
}

/// Compares the differences with the forecasts from when all rules have fired. Until then, the new version has the
/// values that the old version has left.
fn assert_differences(seed: u64, old: &Value, new: &Value, diff: &Value) -> usize {
    let (old, new) = (series(old), series(new));
    let reported: BTreeMap<Key, &Value> =
        list(&diff["differences"]).iter().map(|it| (key(it), it)).collect();
    let keys: BTreeSet<&Key> = old.keys().chain(new.keys()).collect();
    assert_eq!(diff["summary"]["compared"], keys.len(), "seed {seed}");
    let mut different = 0;
    for key in &keys {
        let (before, after) = (old.get(*key), new.get(*key));
        let is_state = key.ends_with("\"value\"");
        let (since, left) =
            if is_state { (FROM, None) } else { (FIRED, known_value_at(before, FROM)) };
        let starts =
            [before, after].into_iter().flatten().flatten().map(|(from, ..)| from.as_str());
        let boundaries: BTreeSet<&str> = starts.chain([since]).filter(|at| *at >= since).collect();
        let stretches = reported.get(*key).map_or(&[][..], |it| list(&it["stretches"]));
        let mut is_different = false;
        for at in boundaries {
            let expected = [known_value_at(before, at), known_value_at(after, at).or(left.clone())];
            let found = stretches.iter().find(|it| word(&it["from"]) <= at && at < word(&it["to"]));
            let value = |it: &Value, side: &str| {
                it.get(side).map(|it| it["value"].clone()).filter(|it| !it.is_null())
            };
            let reported = found.map(|it| ["before", "after"].map(|side| value(it, side)));
            is_different |= expected[0] != expected[1];
            let expected = Some(expected).filter(|it| it[0] != it[1]);
            assert_eq!(reported, expected, "seed {seed}: {key} at {at}");
        }
        assert!(reported.contains_key(*key) || !is_different, "seed {seed}: {key}");
        if !is_state && before.is_some() {
            let at_once = stretches.iter().find(|it| it["from"] == FROM);
            assert_eq!(at_once, None, "seed {seed}: {key} is taken over as it is");
        }
        different += usize::from(is_different);
    }
    assert!(reported.keys().all(|it| keys.contains(it)), "seed {seed}");
    different
}

#[test]
fn the_differences_match_the_two_forecasts() {
    let count = trials::size("ALMANAC_DIFF_WORLDS", 12, 300);
    let first = trials::seed("random folders");
    let mut different = 0;
    for seed in first..first + count {
        let mut random = Rng::with_seed(seed);
        let (old, new) = (policies(&mut random), policies(&mut random));
        let folder =
            sides(&format!("random-{}", seed - first), &[("a.yaml", &old)], &[("a.yaml", &new)]);
        let forecast = |side| {
            let arguments = ["forecast", "-f", side, "--from", FROM, "--for", "35d", "-o", "json"];
            almanac(&folder, &arguments).json()
        };
        let diff =
            |old, new| almanac(&folder, &["diff", old, new, "--from", FROM, "-o", "json"]).json();
        different +=
            assert_differences(seed, &forecast("old"), &forecast("new"), &diff("old", "new"));
        let same = diff("new", "new");
        assert_eq!(same["differences"], Value::Array(Vec::new()), "seed {seed}");
    }
    assert!(different > 0, "nothing differed");
}
