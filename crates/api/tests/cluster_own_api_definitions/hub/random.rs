//! Random placements, most of them wrong in some way: the API server accepts a placement exactly if Almanac reports no
//! error that a schema can express.

use almanac_api::finding::{Code, Severity};
use almanac_fixtures::trials;
use almanac_harness::TestResult;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

use super::{API, on_a_hub};
use crate::written::check;

/// One of the good values mostly, and sometimes one of the bad ones.
fn mostly(good: Vec<Value>, bad: Vec<Value>) -> impl Strategy<Value = Value> {
    prop_oneof![12 => select(good), 1 => select(bad)]
}

/// A map of some of these fields.
fn some_of(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let optional = fields.into_iter().map(|(name, value)| {
        prop_oneof![
            6 => Just(None),
            8 => value.prop_map(Some),
            1 => Just(Some(Value::Null)),
        ]
        .prop_map(move |value| value.map(|it| (name.to_owned(), it)))
    });
    let all = optional.collect::<Vec<_>>();
    all.prop_map(|fields| Value::Object(fields.into_iter().flatten().collect::<Map<_, _>>()))
        .boxed()
}

/// A list of such items.
fn list_of(item: BoxedStrategy<Value>, most: usize) -> BoxedStrategy<Value> {
    let items = prop_oneof![30 => item, 1 => Just(Value::Null)];
    vec(items, 0..most).prop_map(Value::Array).boxed()
}

fn texts(good: &[&str], bad: &[&str]) -> BoxedStrategy<Value> {
    let values = |texts: &[&str]| texts.iter().map(|it| json!(it)).collect::<Vec<_>>();
    let mut bad = values(bad);
    bad.push(json!(7));
    mostly(values(good), bad).boxed()
}

fn numbers(good: &[i64], bad: &[i64]) -> BoxedStrategy<Value> {
    let values = |numbers: &[i64]| numbers.iter().map(|it| json!(it)).collect::<Vec<_>>();
    let mut bad = values(bad);
    bad.extend([json!("3"), json!(1.5)]);
    mostly(values(good), bad).boxed()
}

fn selector() -> BoxedStrategy<Value> {
    let requirement = || {
        some_of(vec![
            ("key", texts(&["a", "b.c/d"], &["-"])),
            ("operator", texts(&["In", "NotIn", "Exists", "DoesNotExist"], &["Is", ""])),
            ("values", list_of(texts(&["x", "y", ""], &["-"]), 3)),
        ])
    };
    let labels = some_of(vec![("a", texts(&["x"], &["-"])), ("b", texts(&["y"], &[" "]))]);
    some_of(vec![
        (
            "labelSelector",
            some_of(vec![("matchLabels", labels), ("matchExpressions", list_of(requirement(), 2))]),
        ),
        ("claimSelector", some_of(vec![("matchExpressions", list_of(requirement(), 2))])),
    ])
}

fn configuration() -> BoxedStrategy<Value> {
    const NAMES: [&str; 5] =
        ["Balance", "Steady", "ResourceAllocatableCPU", "ResourceAllocatableMemory", ""];
    let name = || texts(&NAMES, &["Spread"]);
    let part = || texts(&["a", "b", "c", "d"], &["", &"n".repeat(254)]);
    let complete = (part(), part())
        .prop_map(|(resource, score)| json!({ "resourceName": resource, "scoreName": score }));
    let add_on = prop_oneof![
        5 => complete,
        1 => some_of(vec![("resourceName", part()), ("scoreName", part())]),
    ];
    let kinds = ["BuiltIn", "BuildIn", "AddOn", "AddOn", ""];
    let coordinate = some_of(vec![
        ("type", texts(&kinds, &["Addon"])),
        ("builtIn", name()),
        ("buildIn", name()),
        ("addOn", add_on.boxed()),
    ]);
    some_of(vec![
        ("name", name()),
        ("scoreCoordinate", coordinate),
        ("weight", numbers(&[-10, 0, 1, 10], &[-11, 11])),
    ])
}

fn specs() -> impl Strategy<Value = Value> {
    let toleration = some_of(vec![
        ("key", texts(&["a", "b.c/d"], &["", "-", &"k".repeat(317)])),
        ("operator", texts(&["Exists", "Equal"], &["Like", ""])),
        ("value", texts(&["", "x"], &[&"v".repeat(1025)])),
        ("effect", texts(&["NoSelect", "NoSelectIfNew", "PreferNoSelect"], &["", "NoExecute"])),
        ("tolerationSeconds", numbers(&[-1, 0, 300], &[])),
    ]);
    let group = some_of(vec![
        ("groupName", texts(&["canary", "ab"], &["a", "", "a-"])),
        ("groupClusterSelector", selector()),
    ]);
    let sizes = [json!(0), json!(10), json!("25%"), json!("100%")].to_vec();
    let size =
        mostly(sizes, [json!(-1), json!("10"), json!("0%"), json!("many"), json!(1.5)].to_vec());
    let constraint = some_of(vec![
        ("topologyKey", texts(&["zone"], &["-", ""])),
        ("topologyKeyType", texts(&["Label", "Claim"], &["Zone"])),
        ("maxSkew", numbers(&[1, 2], &[0])),
        ("whenUnsatisfiable", texts(&["DoNotSchedule", "ScheduleAnyway"], &["Never"])),
    ]);
    some_of(vec![
        ("clusterSets", list_of(texts(&["gold", ""], &[]), 3)),
        ("numberOfClusters", numbers(&[0, 1, 2_147_483_647], &[-1, 2_147_483_648])),
        ("predicates", list_of(some_of(vec![("requiredClusterSelector", selector())]), 2)),
        (
            "prioritizerPolicy",
            some_of(vec![
                ("mode", texts(&["Additive", "Exact", ""], &["exact"])),
                ("configurations", list_of(configuration(), 4)),
            ]),
        ),
        ("spreadPolicy", some_of(vec![("spreadConstraints", list_of(constraint, 2))])),
        ("tolerations", list_of(toleration, 3)),
        (
            "decisionStrategy",
            some_of(vec![(
                "groupStrategy",
                some_of(vec![
                    ("clustersPerDecisionGroup", size.boxed()),
                    ("decisionGroups", list_of(group, 2)),
                ]),
            )]),
        ),
        ("sortBy", texts(&["ClusterName", "Score"], &["Name", ""])),
        ("scoreRateLimit", texts(&["1m", "90s"], &["1d", ""])),
        ("clusterset", prop_oneof![20 => Just(Value::Null), 1 => Just(json!("a"))].boxed()),
    ])
    .prop_map(|mut spec| {
        // An unknown field is rarely added.
        if let Some(fields) =
            spec.as_object_mut().filter(|it| it.get("clusterset") == Some(&Value::Null))
        {
            fields.remove("clusterset");
        }
        spec
    })
}

/// The errors of a placement that a schema can express.
fn errors_of_its_schema(text: &str, spec: &Value) -> Vec<String> {
    let (_, _, findings) = check(text);
    let errors =
        findings.iter().map(|it| &it.finding).filter(|it| it.severity() == Severity::Error);
    let of_schema = errors.filter(|it| {
        let field = it.field.to_string();
        let found = it.message.as_str();
        !match it.code {
            Code::Selector | Code::Expression => true,
            // An API server drops a label without a value, and selects more than was meant.
            Code::WrongType => field.contains(".matchLabels.") && found.ends_with("not nothing"),
            Code::UnsupportedValue => {
                field.ends_with(".operator")
                    || found.starts_with("Forbidden") && field.ends_with("].value")
            }
            Code::MissingField => {
                let of_score = field.ends_with(".builtIn") && !names_no_score(&field, spec);
                let of_add_on = field.ends_with(".addOn") || found.ends_with("must not be empty");
                let of_taint = field.contains("tolerations") && field.ends_with("].key");
                let of_selector = field.ends_with(".values");
                of_score || of_add_on || of_taint || of_selector
            }
            Code::OutOfRange if field.ends_with("clustersPerDecisionGroup") => {
                let size = &spec["decisionStrategy"]["groupStrategy"]["clustersPerDecisionGroup"];
                size.is_i64() || size == "10"
            }
            _ => false,
        }
    });
    of_schema.map(ToString::to_string).collect()
}

/// Whether the configuration around a field has neither a coordinate nor a name.
fn names_no_score(field: &str, spec: &Value) -> bool {
    let position = field.split("configurations[").nth(1).and_then(|it| it.split(']').next());
    let position: usize = position.and_then(|it| it.parse().ok()).unwrap_or_default();
    let item = &spec["prioritizerPolicy"]["configurations"][position];
    item["scoreCoordinate"].is_null() && item["name"].is_null()
}

#[test]
fn any_placement_is_accepted_exactly_when_its_schema_has_no_errors() -> TestResult {
    let count = trials::size("ALMANAC_WRITTEN_PLACEMENTS", 300_usize, 3_000);
    let seed = trials::seed("written placements");
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    let strategy = specs();
    let mut placements = Vec::new();
    for position in 0..count {
        let tree = strategy.new_tree(&mut runner).expect("no strategy rejects a value");
        let placement = json!({
            "apiVersion": format!("{API}/v1beta1"),
            "kind": "Placement",
            "metadata": { "name": format!("p{position}") },
            "spec": tree.current(),
        });
        placements.push(placement);
    }
    on_a_hub(async |kubectl| {
        let texts: Vec<String> = placements.iter().map(|it| format!("{it:#}")).collect();
        let created = kubectl.run_with_input(&["create", "-f", "-"], &texts.join("\n---\n")).await;
        let refusals = created.err().map(|it| format!("{it:#}")).unwrap_or_default();
        let names = "jsonpath={range .items[*]}{.metadata.name} {end}";
        let accepted = kubectl.run(&["get", "placements", "-o", names]).await?;
        let accepted: Vec<&str> = accepted.split_whitespace().collect();
        let mut differences = Vec::new();
        for (placement, text) in placements.iter().zip(&texts) {
            let name = placement["metadata"]["name"].as_str().unwrap_or_default();
            let ours = errors_of_its_schema(text, &placement["spec"]);
            if accepted.contains(&name) != ours.is_empty() {
                let quoted = format!("\"{name}\" is invalid");
                let refusal = refusals.lines().skip_while(|it| !it.contains(&quoted));
                let refusal: Vec<&str> = refusal.take(4).collect();
                differences.push(format!("{text}\nserver: {refusal:?}\nwe: {ours:?}\n"));
            }
        }
        let (both, all) = (accepted.len(), count);
        assert!(
            differences.is_empty(),
            "{} differences, {both} of {all} accepted; again with ALMANAC_SEED={seed}:\n{}",
            differences.len(),
            differences.join("\n")
        );
        assert!(all < 100 || both * 10 > all && both * 10 < all * 9, "{both} of {all} accepted");
        Ok(())
    })
}
