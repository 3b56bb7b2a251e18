//! The memory that the regular expressions of an autoscaler keep, counted in bytes that are not freed. The tests of the
//! family of autoscalers check which queries are refused.

use almanac_api::checking::{CheckContext, CheckedObject, check_json};
use almanac_api::kinds::Kind;
use almanac_fixtures::{at, objects};
use serde_json::{Value, json};

use crate::{ALLOCATOR, alone};

const NOW: &str = "2026-11-20T12:00:00Z";
/// The maximum memory that an object may keep, including its other parts.
const MAX_KEPT: usize = 2_000_000;
/// The maximum memory that is allocated for an object, freed or not. The total exceeds the peak.
const MAX_ALLOCATED: usize = 64_000_000;

fn autoscaler(queries: &[String]) -> Value {
    let metric = |query: &String| json!({ "prometheus": { "query": query, "target": { "type": "Value", "value": "1" } } });
    json!({
        "apiVersion": objects::KARPENTER, "kind": "HorizontalAutoscaler",
        "metadata": { "name": "shop", "namespace": "default" },
        "spec": {
            "scaleTargetRef": objects::target("apps/v1", "Deployment", "shop"),
            "minReplicas": 0, "maxReplicas": 9,
            "metrics": queries.iter().map(metric).collect::<Vec<_>>(),
        },
    })
}

/// A query with as many different patterns as fit.
fn query(patterns: impl Iterator<Item = String>) -> String {
    let mut query = "max(karpenter_scheduled_capacity{name=~\"a\"".to_owned();
    for pattern in patterns {
        let matcher = format!(",name=~\"{pattern}\"");
        if query.len() + matcher.len() > 4_094 {
            break;
        }
        query.push_str(&matcher);
    }
    query + "})"
}

/// A different word of letters for each number.
fn word(number: usize) -> String {
    let letter = |digit: usize| char::from(b'a' + u8::try_from(digit % 26).unwrap_or_default());
    [letter(number / 676), letter(number / 26), letter(number)].iter().collect()
}

/// Queries of thirty-two metrics, the maximum of the schema.
fn hostile() -> Vec<(&'static str, Vec<String>)> {
    type OfNumber = fn(usize) -> String;
    let all: [(&str, OfNumber); 6] = [
        ("repetitions", |number| format!("[a-{}]{{1000}}", word(number))),
        ("nested repetitions", |number| format!("([a-b]{{100}}{}){{10}}", word(number))),
        ("letters", word),
        ("classes of Unicode", |number| format!("{}\\\\pL", word(number))),
        ("letters beyond ASCII", |number| format!("{}(ü|ж|語){{9}}", word(number))),
        ("letters of either case", |number| format!("(?i){}", word(number))),
    ];
    let queries = |of: OfNumber| {
        let metric = |metric: usize| query((metric * 500..).map(of));
        (0..32).map(metric).collect::<Vec<_>>()
    };
    all.into_iter().map(|(what, of)| (what, queries(of))).collect()
}

/// The result of checking an object, the bytes that it keeps, and the bytes that were allocated.
fn checked(queries: &[String]) -> (CheckedObject, usize, usize) {
    let object = autoscaler(queries);
    let context = CheckContext::new("default", at(NOW));
    let before = ALLOCATOR.stats();
    let checked = check_json(Kind::HorizontalAutoscaler, object, context);
    let spent = ALLOCATOR.stats() - before;
    (checked, spent.bytes_allocated.saturating_sub(spent.bytes_deallocated), spent.bytes_allocated)
}

#[test]
fn the_patterns_of_an_object_keep_less_than_two_megabytes() {
    let _alone = alone();
    // Creates the tables that are created once per process.
    checked(&["up".to_owned()]);
    // As many patterns as allowed, and a pattern of the maximum size.
    for text in [
        query((0..99).map(|number| format!("{}.*", word(number)))),
        query(std::iter::once("[a-z]{900}".to_owned())),
    ] {
        let (object, kept, _) = checked(&[text]);
        assert_eq!(object.findings, []);
        assert!((10_000..MAX_KEPT).contains(&kept), "{kept}");
    }
    let mut too_much = Vec::new();
    for (what, queries) in hostile() {
        for count in [1, 32] {
            let (_checked, kept, allocated) = checked(&queries[..count]);
            println!("{count} queries of {what}: {kept} bytes kept, {allocated} allocated");
            if kept > MAX_KEPT || allocated > MAX_ALLOCATED {
                too_much.push((what, count, kept, allocated));
            }
        }
    }
    assert!(too_much.is_empty(), "{too_much:?}");
}
