//! Every bound, at its edge and beyond it: the verdict of the API server, and ours.

use almanac_harness::{Kubectl, TestResult};

use super::{API, object, on_a_hub, placement};
use crate::written::check;
use almanac_api::finding::Severity;

/// The expected result for an object.
enum Verdict {
    /// The API server and Almanac accept the object.
    Accepted,
    /// The API server rejects the object with a message that contains these words, and Almanac rejects the object too.
    Rejected(&'static str),
    /// No schema can express the mistake: the API server accepts the object, and Almanac reports an error with this
    /// code.
    LeftToUs(&'static str),
}
use Verdict::{Accepted, LeftToUs, Rejected};

fn error_codes(text: &str) -> Vec<String> {
    let (_, _, findings) = check(text);
    let errors = findings.iter().filter(|it| it.finding.severity() == Severity::Error);
    errors.map(|it| format!("{} {}", it.finding.code, it.finding)).collect()
}

/// The difference between a verdict and the expected one, if any.
async fn difference(
    kubectl: &Kubectl,
    command: &[&str],
    (text, expected): &(String, Verdict),
) -> Option<String> {
    let refusal = kubectl.run_with_input(command, text).await.err().map(|it| format!("{it:#}"));
    let ours = error_codes(text);
    let fits = match (expected, &refusal) {
        (Accepted, None) => ours.is_empty(),
        (LeftToUs(code), None) => ours.iter().any(|it| it.starts_with(*code)),
        (Rejected(words), Some(said)) => said.contains(words) && !ours.is_empty(),
        _ => false,
    };
    (!fits).then(|| format!("{text}server: {refusal:?}\nwe: {ours:?}\n"))
}

async fn compare(
    kubectl: &Kubectl,
    command: &[&str],
    cases: impl IntoIterator<Item = (String, Verdict)>,
) {
    let mut differences = Vec::new();
    for case in cases {
        differences.extend(difference(kubectl, command, &case).await);
    }
    let count = differences.len();
    assert!(differences.is_empty(), "{count} differences:\n{}", differences.join("\n"));
}

#[test]
fn the_api_server_and_almanac_agree_on_all_that_a_schema_can_express() -> TestResult {
    on_a_hub(async |kubectl| {
        let cases = [selection(), scores(), tolerations(), groups(), hub()].into_iter().flatten();
        compare(kubectl, &["create", "--dry-run=server", "-f", "-"], cases).await;
        statuses(kubectl).await
    })
}

fn selection() -> Vec<(String, Verdict)> {
    let requirement = |of: &str, requirement: &str| {
        placement(&format!(
            "{{predicates: [{{requiredClusterSelector: {{{of}: {{matchExpressions: [{requirement}]}}}}}}]}}"
        ))
    };
    let labels = |labels: &str| {
        placement(&format!(
            "{{predicates: [{{requiredClusterSelector: {{labelSelector: {{matchLabels: {labels}}}}}}}]}}"
        ))
    };
    let spread = |constraint: &str, times: usize| {
        let constraints = vec![constraint; times].join(", ");
        placement(&format!("{{spreadPolicy: {{spreadConstraints: [{constraints}]}}}}"))
    };
    let constraint = "{topologyKey: zone, topologyKeyType: Claim}";
    vec![
        (placement("{}"), Accepted),
        (placement("{}").replace("spec: {}", ""), Rejected("spec: Required value")),
        (placement("{numberOfCluster: 1}"), Rejected("unknown field")),
        (placement("{numberOfClusters: 0}"), Accepted),
        (placement("{numberOfClusters: 2147483647}"), Accepted),
        (placement("{numberOfClusters: null, clusterSets: null, tolerations: null}"), Accepted),
        (placement("{numberOfClusters: -1}"), Rejected("greater than or equal to 0")),
        (placement("{numberOfClusters: 2147483648}"), Rejected("numberOfClusters")),
        (placement("{numberOfClusters: 1.5}"), Rejected("must be of type integer")),
        (placement("{numberOfClusters: '1'}"), Rejected("must be of type integer")),
        (placement("{clusterSets: [a, b]}"), Accepted),
        (placement("{clusterSets: [1]}"), Rejected("must be of type string")),
        (placement("{clusterSets: [null]}"), Rejected("must be of type string")),
        (requirement("labelSelector", "{key: a, operator: In, values: [b]}"), Accepted),
        (requirement("claimSelector", "{key: a, operator: Exists}"), Accepted),
        (requirement("labelSelector", "{operator: Exists}"), Rejected("key: Required value")),
        (requirement("claimSelector", "{key: a}"), Rejected("operator: Required value")),
        (requirement("labelSelector", "{key: a, operator: Is}"), LeftToUs("unsupported-value")),
        (requirement("claimSelector", "{key: a, operator: In}"), LeftToUs("missing-field")),
        (requirement("labelSelector", "{key: -, operator: Exists}"), LeftToUs("selector")),
        (labels("{a: b}"), Accepted),
        (labels("{a: 1}"), Rejected("must be of type string")),
        (labels("{a: null}"), LeftToUs("wrong-type")),
        (placement("{sortBy: Score}"), Accepted),
        (placement("{sortBy: Name}"), Rejected("Unsupported value")),
        (placement("{scoreRateLimit: 90s}"), Accepted),
        (placement("{scoreRateLimit: 1d}"), Rejected("should match")),
        (placement("{scoreRateLimit: ''}"), Rejected("should match")),
        (spread(constraint, 8), Accepted),
        (spread(constraint, 9), Rejected("must have at most 8 items")),
        (spread("{topologyKey: zone, topologyKeyType: Zone}", 1), Rejected("Unsupported value")),
        (spread("{topologyKey: -zone, topologyKeyType: Label}", 1), Rejected("should match")),
        (spread("{topologyKey: zone}", 1), Rejected("topologyKeyType: Required value")),
        (
            spread(&constraint.replace('}', ", maxSkew: 0}"), 1),
            Rejected("greater than or equal to 1"),
        ),
        (
            spread(&constraint.replace('}', ", maxSkew: 1, whenUnsatisfiable: DoNotSchedule}"), 1),
            Accepted,
        ),
        (
            spread(&constraint.replace('}', ", whenUnsatisfiable: Never}"), 1),
            Rejected("Unsupported value"),
        ),
    ]
}

fn scores() -> Vec<(String, Verdict)> {
    let policy = |policy: &str| placement(&format!("{{prioritizerPolicy: {policy}}}"));
    let listed = |list: &str| policy(&format!("{{configurations: [{list}]}}"));
    let coordinate = |coordinate: &str| listed(&format!("{{scoreCoordinate: {coordinate}}}"));
    let add_on = |resource: &str, score: &str| {
        format!(
            "{{scoreCoordinate: {{type: AddOn, addOn: {{resourceName: {resource}, scoreName: {score}}}}}}}"
        )
    };
    let many = |count: usize| {
        let items: Vec<_> = (0..count).map(|it| add_on("default", &format!("score{it}"))).collect();
        listed(&items.join(", "))
    };
    let (longest, longer) = ("n".repeat(253), "n".repeat(254));
    let twice = "each score has one weight";
    let mut cases = vec![
        (policy("{mode: Exact}"), Accepted),
        (policy("{mode: ''}"), Accepted),
        (policy("{mode: null, configurations: null}"), Accepted),
        (policy("{mode: exact}"), Rejected("Unsupported value")),
        (coordinate("{type: BuiltIn, builtIn: Steady}"), Accepted),
        (coordinate("{type: BuildIn, buildIn: Steady}"), Accepted),
        (coordinate("{type: '', builtIn: '', buildIn: Steady}"), Accepted),
        (coordinate("{type: null, builtIn: Steady}"), Accepted),
        (coordinate("{type: Builtin, builtIn: Steady}"), Rejected("Unsupported value")),
        (coordinate("{builtIn: Spread}"), Rejected("Unsupported value")),
        (coordinate("{buildIn: Random}"), Rejected("Unsupported value")),
        (coordinate("{}"), LeftToUs("missing-field")),
        (coordinate("{type: AddOn}"), LeftToUs("missing-field")),
        (coordinate("{type: AddOn, addOn: {resourceName: a}}"), Rejected("scoreName: Required")),
        (coordinate("{type: AddOn, addOn: {scoreName: a}}"), Rejected("resourceName: Required")),
        (listed("{name: Steady}"), Accepted),
        (listed("{name: Steadfast}"), Rejected("Unsupported value")),
        (listed("{name: ''}"), LeftToUs("missing-field")),
        (listed("{weight: 1}"), Rejected("the score of the weight")),
        (listed("{name: Steady, weight: -10}, {name: Balance, weight: 10}"), Accepted),
        (listed("{name: Steady, weight: null}"), Accepted),
        (listed("{name: Steady, weight: -11}"), Rejected("greater than or equal to -10")),
        (listed("{name: Steady, weight: 11}"), Rejected("less than or equal to 10")),
        (listed(&add_on(&longest, &longest)), Accepted),
        (listed(&add_on(&longer, "a")), Rejected("may not be more than 253")),
        (listed(&add_on("a", &longer)), Rejected("may not be more than 253")),
        (listed(&add_on("''", "a")), LeftToUs("missing-field")),
        (many(64), Accepted),
        (many(65), Rejected("must have at most 64 items")),
        (listed(&[add_on("a", "b"), add_on("a", "c"), add_on("c", "b")].join(", ")), Accepted),
        (listed(&[add_on("a", "b"), add_on("a", "b")].join(", ")), Rejected(twice)),
    ];
    let steady = ["{name: Steady}", "{name: Balance, scoreCoordinate: {builtIn: Steady}}"];
    let older = [
        "{scoreCoordinate: {buildIn: Steady}}",
        "{scoreCoordinate: {builtIn: Steady, buildIn: Balance}}",
    ];
    for one in steady {
        for other in older {
            cases.push((listed(&format!("{one}, {other}")), Rejected(twice)));
        }
        cases.push((listed(&format!("{one}, {{name: Balance}}")), Accepted));
    }
    for name in ["Balance", "Steady", "ResourceAllocatableCPU", "ResourceAllocatableMemory"] {
        cases.push((coordinate(&format!("{{builtIn: {name}}}")), Accepted));
    }
    cases
}

fn tolerations() -> Vec<(String, Verdict)> {
    let tolerates = |fields: &str| placement(&format!("{{tolerations: [{{{fields}}}]}}"));
    let key = |key: &str| tolerates(&format!("key: {key}, value: a"));
    let value = |length: usize| tolerates(&format!("key: a, value: {}", "v".repeat(length)));
    vec![
        (tolerates("operator: Exists"), Accepted),
        (tolerates("operator: null, key: a"), Accepted),
        (tolerates("key: a, effect: PreferNoSelect, tolerationSeconds: -1"), Accepted),
        (tolerates("key: a, effect: null, tolerationSeconds: null"), Accepted),
        (tolerates("key: a, effect: NoExecute"), Rejected("Unsupported value")),
        (tolerates("key: a, effect: ''"), Rejected("Unsupported value")),
        (tolerates("key: a, tolerationSeconds: 1.5"), Rejected("must be of type integer")),
        (key("example.com/gpu"), Accepted),
        (key(&"k".repeat(316)), Accepted),
        (key(&"k".repeat(317)), Rejected("may not be more than 316")),
        (key("''"), Rejected("should match")),
        (key("-gpu"), Rejected("should match")),
        (key("Example.com/gpu"), Rejected("should match")),
        (value(1024), Accepted),
        (value(1025), Rejected("may not be more than 1024")),
        (tolerates("operator: Like, key: a"), LeftToUs("unsupported-value")),
        (tolerates("operator: Exists, value: a"), LeftToUs("unsupported-value")),
        (tolerates("value: a"), LeftToUs("missing-field")),
    ]
}

fn groups() -> Vec<(String, Verdict)> {
    let strategy =
        |it: &str| placement(&format!("{{decisionStrategy: {{groupStrategy: {{{it}}}}}}}"));
    let size = |size: &str| strategy(&format!("clustersPerDecisionGroup: {size}"));
    let name = |name: &str| {
        strategy(&format!("decisionGroups: [{{groupName: {name}, groupClusterSelector: {{}}}}]"))
    };
    let mut cases = vec![
        (strategy("decisionGroups: [{groupName: ab}]"), Rejected("Required value")),
        (strategy("decisionGroups: [{groupClusterSelector: {}}]"), Rejected("Required value")),
        (name("ab"), Accepted),
        (name(&"g".repeat(63)), Accepted),
        (size("-1"), LeftToUs("out-of-range")),
        (size("'10'"), LeftToUs("out-of-range")),
        (size("1.5"), Rejected("clustersPerDecisionGroup")),
        (placement("{decisionStrategy: {groupStrategy: null}}"), Accepted),
    ];
    for accepted in ["1", "0", "2147483647", "1%", "100%", "null"] {
        cases.push((size(accepted), Accepted));
    }
    for rejected in ["0%", "101%", "010%", "25.5%", "many", "''"] {
        cases.push((size(rejected), Rejected("should match")));
    }
    for rejected in ["a", "''", "a-", &"g".repeat(64)] {
        cases.push((name(rejected), Rejected("should match")));
    }
    cases
}

/// Objects that placements select from.
fn hub() -> Vec<(String, Verdict)> {
    let cluster = |spec: &str| object("v1", "ManagedCluster", "c", &format!("spec: {spec}"));
    let taint = |fields: &str| cluster(&format!("{{taints: [{{{fields}}}]}}"));
    let set = |version: &str, spec: &str| {
        object(version, "ManagedClusterSet", "gold", &format!("spec: {spec}"))
    };
    let binding = |spec: &str| {
        object("v1beta2", "ManagedClusterSetBinding", "gold", &format!("spec: {spec}"))
    };
    let namespaces = |list: &str| set("v1beta2", &format!("{{managedNamespaces: [{list}]}}"));
    let mut cases = vec![
        (object("v1", "ManagedCluster", "c", ""), Accepted),
        (cluster("{hubAcceptsClient: true, leaseDurationSeconds: 0}"), Accepted),
        (cluster("{hubAcceptsClient: 'true'}"), Rejected("must be of type boolean")),
        (cluster("{leaseDurationSeconds: 2147483648}"), Rejected("leaseDurationSeconds")),
        (cluster("{managedClusterClientConfigs: [{url: a, caBundle: aGk=}]}"), Accepted),
        (cluster("{managedClusterClientConfigs: [{caBundle: aGk=}]}"), Rejected("url: Required")),
        (cluster("{managedClusterClientConfigs: [{url: a, caBundle: '%'}]}"), Rejected("byte")),
        (taint("key: a, effect: NoSelect, timeAdded: null"), Accepted),
        (taint("key: a, effect: NoSelectIfNew, timeAdded: '2026-01-01T00:00:00Z'"), Accepted),
        (taint("key: a, effect: NoSelect, timeAdded: '2026-01-01'"), Rejected("date-time")),
        (
            taint("key: a, effect: NoSelect, timeAdded: '2026-02-30T00:00:00Z'"),
            Rejected("date-time"),
        ),
        (taint("key: a"), Rejected("effect: Required value")),
        (taint("effect: NoSelect"), Rejected("key: Required value")),
        (taint("key: a, effect: NoExecute"), Rejected("Unsupported value")),
        (taint("key: a_, effect: NoSelect"), Rejected("should match")),
        (taint(&format!("key: a, effect: NoSelect, value: {}", "v".repeat(1024))), Accepted),
        (
            taint(&format!("key: a, effect: NoSelect, value: {}", "v".repeat(1025))),
            Rejected("may not be more than 1024"),
        ),
        (namespaces("{name: a}, {name: b}"), Accepted),
        (namespaces("{name: a}, {name: a}"), Rejected("Duplicate value")),
        (namespaces("{name: A}"), Rejected("should match")),
        (namespaces(&format!("{{name: {}}}", "n".repeat(64))), Rejected("may not be more than 63")),
        (binding("{clusterSet: gold}"), Accepted),
        (binding("{clusterSet: silver}"), Rejected("a binding has the name of the set")),
        (binding("{clusterSet: ''}"), Rejected("should be at least 1 chars long")),
        (binding("{}"), Rejected("clusterSet: Required value")),
        (
            object("v1beta2", "ManagedClusterSetBinding", "gold", ""),
            Rejected("spec: Required value"),
        ),
        (object("v1beta1", "PlacementDecision", "d", "spec: {}"), Rejected("unknown field")),
        (object("v1alpha1", "AddOnPlacementScore", "s", "spec: {}"), Rejected("unknown field")),
    ];
    for version in ["v1beta1", "v1beta2"] {
        cases.push((object(version, "ManagedClusterSet", "gold", ""), Accepted));
        for kind in ["ExclusiveClusterSetLabel", "LegacyClusterSetLabel", "LabelSelector", "null"] {
            let spec = format!("{{clusterSelector: {{selectorType: {kind}}}}}");
            cases.push((set(version, &spec), Accepted));
        }
        let by_name = "{clusterSelector: {selectorType: Label}}";
        cases.push((set(version, by_name), Rejected("Unsupported value")));
        let operator = "{clusterSelector: {selectorType: LabelSelector, labelSelector: {matchExpressions: [{key: a, operator: Is}]}}}";
        cases.push((set(version, operator), LeftToUs("unsupported-value")));
    }
    cases
}

/// Checks statuses, which an API server accepts only through the status subresource.
async fn statuses(kubectl: &Kubectl) -> TestResult {
    let score = |status: &str| {
        object("v1alpha1", "AddOnPlacementScore", "default", &format!("status: {status}"))
    };
    let cluster = |status: &str| object("v1", "ManagedCluster", "c", &format!("status: {status}"));
    let decisions = |status: &str| {
        let metadata = format!("d, labels: {{{API}/placement: web}}");
        object("v1beta1", "PlacementDecision", &metadata, &format!("status: {status}"))
    };
    for text in [score("{}"), cluster("{}"), decisions("{decisions: []}")] {
        kubectl.run_with_input(&["create", "-f", "-"], &text).await?;
    }
    let value = |value: &str| score(&format!("{{scores: [{{name: a, value: {value}}}]}}"));
    let cases = [
        (value("-100"), Accepted),
        (value("100"), Accepted),
        (value("-101"), Rejected("greater than or equal to -100")),
        (value("101"), Rejected("less than or equal to 100")),
        (value("1.5"), Rejected("must be of type integer")),
        (value("null"), Rejected("must be of type integer")),
        (score("{scores: [{name: a}], validUntil: null}"), Rejected("must be of type string")),
        (score("{scores: [{name: a}], validUntil: '2026-01-01T00:00:00Z'}"), Accepted),
        (score("{scores: [{value: 1}]}"), Rejected("name")),
        (score("{scores: [{name: a}, {name: a}]}"), Rejected("duplicate")),
        (score("{scores: [], validUntil: tomorrow}"), Rejected("date-time")),
        (cluster("{allocatable: {cpu: 1500m, memory: 4}}"), Accepted),
        (cluster("{allocatable: {cpu: many}}"), Rejected("should match")),
        (decisions("{decisions: [{clusterName: a, reason: ''}]}"), Accepted),
    ];
    let apply = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--subresource=status",
        "--dry-run=server",
        "-f",
        "-",
    ];
    compare(kubectl, &apply, cases).await;
    Ok(())
}
