//! Placements in a forecast of files: a score that expires, and the explanation of every candidate.

use std::path::Path;

use serde_json::{Value, json};

use crate::forecast::running::{almanac, folder_with, segments};
use crate::running::{list, word};

const API: &str = "cluster.open-cluster-management.io";

/// An object of a hub: its version and kind, its metadata, and its other fields.
fn object(version: &str, kind: &str, metadata: &str, rest: &str) -> String {
    format!("---\napiVersion: {API}/{version}\nkind: {kind}\nmetadata: {{{metadata}}}\n{rest}\n")
}

/// A placement of the namespace `shop` for one cluster, with more fields of its spec.
fn placement(metadata: &str, more: &str) -> String {
    let metadata = format!("{metadata}, namespace: shop");
    object("v1beta1", "Placement", &metadata, &format!("spec: {{numberOfClusters: 1{more}}}"))
}

/// Prioritizers without any built-in one.
fn exactly(configurations: &str) -> String {
    format!(", prioritizerPolicy: {{mode: Exact, configurations: [{configurations}]}}")
}

/// The coordinate of a score of the object `default`.
fn by_score(name: &str) -> String {
    format!("scoreCoordinate: {{type: AddOn, addOn: {{resourceName: default, scoreName: {name}}}}}")
}

/// The clusters that the namespace `shop` may select.
fn fleet() -> String {
    let binding = "name: fleet, namespace: shop";
    object("v1beta2", "ManagedClusterSet", "name: fleet", "spec: {}")
        + &object("v1beta2", "ManagedClusterSetBinding", binding, "spec: {clusterSet: fleet}")
}

/// A cluster of the fleet with a score, and the expiry of the score.
fn cluster(name: &str, spec: &str, (score, value): (&str, i32), until: &str) -> String {
    let metadata = format!("name: {name}, labels: {{{API}/clusterset: fleet}}");
    let of_score = format!("name: default, namespace: {name}, uid: a");
    let status = format!("status: {{{until}scores: [{{name: {score}, value: {value}}}]}}");
    object("v1", "ManagedCluster", &metadata, spec)
        + &object("v1alpha1", "AddOnPlacementScore", &of_score, &status)
}

/// A placement that selects one cluster by a score, and two clusters. The score of the better cluster expires at
/// noon.
fn hub() -> String {
    let taint = "spec: {taints: [{key: gone, effect: NoSelect}]}";
    let until = "validUntil: '2026-11-23T12:00:00Z', ";
    [
        placement("name: web", &exactly(&format!("{{{}}}", by_score("cpuratio")))),
        fleet(),
        cluster("east", "spec: {}", ("cpuratio", 88), until),
        cluster("north", taint, ("cpuratio", 99), ""),
        cluster("west", "spec: {}", ("cpuratio", 40), ""),
    ]
    .concat()
}

/// The forecast from midnight on.
fn day(folder: &Path) -> Value {
    let arguments =
        ["forecast", "-f", "hub.yaml", "--from", "2026-11-23", "--for", "1d", "-o", "json"];
    almanac(folder, &arguments).json()
}

/// The explanation of a placement in the namespace `shop`, an hour before noon.
fn explained(folder: &Path, name: &str, further: &[&str]) -> Value {
    let (placement, at) = (format!("Placement/shop/{name}"), "2026-11-23T11:00:00Z");
    let usual = ["explain", "-f", "hub.yaml", &placement, "--at", at, "-o", "json"];
    almanac(folder, &[&usual[..], further].concat()).json()
}

/// The findings of one code in the hub, by a validation.
fn findings(folder: &Path, code: &str) -> Vec<Value> {
    let report = almanac(folder, &["validate", "-f", "hub.yaml", "-o", "json"]).json();
    list(&report["findings"]).iter().filter(|it| it["code"] == code).cloned().collect()
}

#[test]
fn the_selected_cluster_changes_when_a_score_expires() {
    let folder = folder_with("placements", &[("hub.yaml", &hub())]);
    let report = day(&folder);
    let series = &report["series"][0];
    assert_eq!(series["field"], "clusters");
    assert_eq!(series["target"]["kind"], "Placement");
    let (east, west) = (json!(["east"]), json!(["west"]));
    assert_eq!(
        segments(series),
        [("2026-11-23T00:00:00Z", &east), ("2026-11-23T12:00:00Z", &west)]
    );
    assert_eq!(series["segments"][1]["policy"]["rule"], "AddOn/default/cpuratio");
}

#[test]
fn every_candidate_is_explained_with_its_scores_or_its_exclusion() {
    let folder = folder_with("placement-explained", &[("hub.yaml", &hub())]);
    let report = explained(&folder, "web", &[]);
    assert_eq!(report["value"], json!(["east"]));
    assert_eq!(report["next"], json!({ "at": "2026-11-23T12:00:00Z", "value": ["west"] }));
    assert_eq!(report["groups"], json!([{ "index": 0, "name": "", "clusters": ["east"] }]));
    assert_eq!(report["decisions"], json!([{ "name": "web-decision-1", "clusters": ["east"] }]));
    let reasons = list(&report["reasons"]);
    let verdicts: Vec<_> =
        reasons.iter().map(|it| (word(&it["rule"]), word(&it["verdict"]))).collect();
    assert_eq!(verdicts, [("east", "won"), ("west", "lost"), ("north", "excluded")]);
    assert_eq!(reasons[0]["total"], 88);
    let score = json!([{ "of": "AddOn/default/cpuratio", "raw": 88, "weight": 1 }]);
    assert_eq!(reasons[0]["scores"], score);
    assert_eq!(reasons[2]["because"], "gone:NoSelect is not tolerated");
}

/// The hub, with a placement that selects by an expression instead.
fn hub_by(expression: &str) -> String {
    let (before, after) = (
        hub(),
        "  predicates:\n  - requiredClusterSelector:\n      celSelector:\n        celExpressions:",
    );
    let (start, rest) = before.split_once("spec: {numberOfClusters").unwrap();
    let (_, rest) = rest.split_once("---").unwrap();
    format!("{start}spec:\n{after}\n        - {expression}\n---{rest}")
}

const BUSY: &str =
    "managedCluster.scores('default').exists(s, s.name == 'cpuratio' && s.value > 50)";

#[test]
fn the_selection_changes_when_a_score_of_an_expression_expires() {
    let folder = folder_with("placement-expression", &[("hub.yaml", &hub_by(BUSY))]);
    let report = day(&folder);
    let (series, noon) = (&report["series"][0], "2026-11-23T12:00:00Z");
    let (east, none) = (json!(["east"]), json!([]));
    assert_eq!(segments(series), [("2026-11-23T00:00:00Z", &east), (noon, &none)]);
    assert_eq!(series["segments"][1]["policy"]["rule"], "AddOn/default");
    let next = ["next", "-f", "hub.yaml", "--from", "2026-11-23", "-o", "json"];
    let report = almanac(&folder, &next).json();
    assert_eq!(report["items"][0]["at"], noon);
    let question =
        ["explain", "-f", "hub.yaml", "Placement/shop/web", "--at", "2026-11-23T13:00:00Z"];
    let assumed = ["--assume", "addonplacementscore/west/default.cpuratio=60", "-o", "json"];
    let report = almanac(&folder, &[&question[..], &assumed].concat()).json();
    assert_eq!(report["value"], json!(["west"]));
    let expected = format!(
        "no predicate matches: the expression {BUSY} is false; AddOnPlacementScore default was valid until \
         2026-11-23T12:00:00Z, so it has no scores"
    );
    assert_eq!(report["reasons"][1]["because"], expected);
}

#[test]
fn a_score_can_be_assumed_for_an_object_with_a_computed_name() {
    let computed = "managedCluster.scores('us' + 'age').exists(s, s.value > 50)";
    let folder = folder_with("placement-computed", &[("hub.yaml", &hub_by(computed))]);
    let assumed = ["--assume", "addonplacementscore/west/usage.load=60"];
    assert_eq!(explained(&folder, "web", &assumed)["value"], json!(["west"]));
    let endless = ["--assume", "addonplacementscore/west/usage.validUntil=never"];
    almanac(
        &folder,
        &[&["explain", "-f", "hub.yaml", "Placement/shop/web"], &endless[..]].concat(),
    )
    .assert_stderr(&["west/usage does not exist, so its scores cannot expire"]);
}

#[test]
fn an_unusable_expression_is_reported_at_its_location() {
    let folder = folder_with(
        "placement-no-expression",
        &[("hub.yaml", &hub_by("managedCluster.metadata.nam() == 'x'"))],
    );
    let found = &findings(&folder, "expression")[0];
    assert_eq!((found["file"].as_str(), found["line"].as_u64()), (Some("hub.yaml"), Some(10)));
    let field = "spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]";
    assert_eq!(found["field"], field);
    let message = word(&found["message"]);
    assert!(message.ends_with("there is no function nam, at column 28"), "{message}");
}

#[test]
fn too_many_expressions_are_reported_at_the_first_excess_one() {
    let many = vec!["'true'"; 101].join("\n        - ");
    let folder = folder_with("placement-many-expressions", &[("hub.yaml", &hub_by(&many))]);
    let all = findings(&folder, "expression");
    let [found] = &all[..] else { panic!("{all:#?}") };
    assert_eq!((found["file"].as_str(), found["line"].as_u64()), (Some("hub.yaml"), Some(110)));
    let field = "spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[100]";
    assert_eq!(found["field"], field);
    let message = word(&found["message"]);
    assert!(message.ends_with("a placement has at most 100 expressions"), "{message}");
}

#[test]
fn each_cluster_that_an_expression_excludes_has_a_reason() {
    let claims = "managedCluster.status.clusterClaims";
    let expression = format!(
        "{claims}.all(a, {claims}.all(b, {claims}.all(c, a.name + b.name + c.name != 'xxx')))"
    );
    let clusters = [("few", vec!["w"]), ("three", vec!["x"]), ("wide", vec!["z"; 100])];
    let clusters = clusters.map(|(name, claims)| {
        let claims: Vec<String> =
            claims.iter().map(|it| format!("{{name: {it}, value: a}}")).collect();
        let metadata = format!("name: {name}, uid: a, labels: {{{API}/clusterset: fleet}}");
        let status = format!("status: {{clusterClaims: [{}]}}", claims.join(", "));
        object("v1", "ManagedCluster", &metadata, &status)
    });
    let text = hub_by(&expression) + &clusters.concat();
    let folder = folder_with("placement-why-not", &[("hub.yaml", &text)]);
    let report = explained(&folder, "web", &[]);
    assert_eq!(report["value"], json!(["few"]));
    let why = |cluster: &str| {
        let reason = list(&report["reasons"]).iter().find(|it| it["rule"] == cluster).unwrap();
        word(&reason["because"])
    };
    assert!(why("three").ends_with("is false"), "{}", why("three"));
    assert!(why("wide").ends_with("it would take more than 100000 steps"), "{}", why("wide"));
    let missing = "has no result: there is no \"clusterClaims\"";
    assert!(why("east").ends_with(missing), "{}", why("east"));
}

#[test]
fn an_assumed_score_applies_to_every_command_and_is_listed() {
    let folder = folder_with("placement-assumed", &[("hub.yaml", &hub())]);
    let run = |command: &[&str], assumed: &[&str]| {
        let assumed = assumed.iter().flat_map(|it| ["--assume", *it]);
        let period: Vec<_> = command.iter().copied().chain(assumed).collect();
        almanac(&folder, &period)
    };
    let assumed = ["--assume", "addonplacementscore/west/default.cpuratio=89"];
    let report = explained(&folder, "web", &assumed);
    assert_eq!((&report["value"], &report["reasons"][0]["total"]), (&json!(["west"]), &json!(89)));
    let assumed =
        "cpuratio of AddOnPlacementScore.cluster.open-cluster-management.io west/default is 89";
    assert_eq!(report["assumptions"], json!([assumed]));
    // With the same score for every cluster, the name decides.
    let assumed = ["--assume", "addonplacementscore/default.cpuratio=-7"];
    let report = explained(&folder, "web", &assumed);
    let totals = [&report["reasons"][0]["total"], &report["reasons"][1]["total"]];
    assert_eq!((&report["value"], totals), (&json!(["east"]), [&json!(-7), &json!(-7)]));

    let next = ["next", "-f", "hub.yaml", "--from", "2026-11-23", "--for", "3d", "-o", "json"];
    let at = |assumed: &[&str]| run(&next, assumed).json()["items"][0]["at"].clone();
    assert_eq!(at(&[]), "2026-11-23T12:00:00Z");
    let expected = "2026-11-24T00:30:00Z";
    assert_eq!(at(&["addonplacementscore/east/default.validUntil=2026-11-24T00:30Z"]), expected);
    assert_eq!(at(&["addonplacementscore/east/default.validUntil=never"]), json!(null));
    let forecast =
        ["forecast", "-f", "hub.yaml", "--from", "2026-11-23", "--for", "1d", "-o", "json"];
    let report =
        run(&forecast, &["addonplacementscore/e*/default.validUntil=2026-11-23T18:00Z"]).json();
    assert_eq!(report["series"][0]["segments"][1]["from"], "2026-11-23T18:00:00Z");
}

#[test]
fn an_assumption_that_is_not_a_score_of_a_placement_is_an_error() {
    let folder = folder_with("placement-assumed-wrongly", &[("hub.yaml", &hub())]);
    for (assumed, expected) in [
        ("addonplacementscore/west/default.cpu=1", "no placement reads cpu of"),
        ("addonplacementscore/south/default.cpuratio=1", "for an existing cluster"),
        ("addonplacementscore/west/default.cpuratio=101", "a number from -100 to 100"),
        ("addonplacementscore/west/default.cpuratio", "a number from -100 to 100"),
        ("addonplacementscore/west/default.validUntil=soon", "not a valid time"),
        ("placement/web.clusters=3", "the scores of an addonplacementscore"),
    ] {
        almanac(&folder, &["forecast", "-f", "hub.yaml", "--assume", assumed])
            .assert_stderr(&[expected]);
    }
    let first = ["--assume", "addonplacementscore/west/default.cpuratio=1"];
    let second = ["--assume", "addonplacementscore/default.cpuratio=2"];
    almanac(&folder, &[&["next", "-f", "hub.yaml"][..], &first, &second].concat())
        .assert_stderr(&["west/default is already assumed"]);
}

/// Two placements that each select one of two clusters: `p` by Balance and Steady, `q` by a score that is higher for
/// east.
fn rivals() -> String {
    [
        placement("name: p", ""),
        placement("name: q", &exactly(&format!("{{{}}}", by_score("cpu")))),
        fleet(),
        cluster("east", "spec: {}", ("cpu", 90), ""),
        cluster("west", "spec: {}", ("cpu", 10), ""),
    ]
    .concat()
}

#[test]
fn a_balancing_placement_is_evaluated_again_after_another_placement_selects() {
    let folder = folder_with("placement-rivals", &[("hub.yaml", &rivals())]);
    let report = day(&folder);
    let (start, east, west) = ("2026-11-23T00:00:00Z", json!(["east"]), json!(["west"]));
    assert_eq!(segments(&report["series"][0]), [(start, &west)]);
    assert_eq!(segments(&report["series"][1]), [(start, &east)]);
    let assumptions = report["assumptions"].to_string();
    assert!(assumptions.contains("shop/p has no decisions yet"), "{assumptions}");
    assert!(!assumptions.contains("decided again"), "{assumptions}");
    assert!(!assumptions.contains("shop/q"), "{assumptions}");
    let report = explained(&folder, "p", &[]);
    assert_eq!(report["value"], json!(["west"]));
    let reasons = list(&report["reasons"]);
    assert_eq!((reasons.len(), &reasons[0]["rule"]), (2, &json!("west")));
    assert_eq!((&reasons[0]["total"], &reasons[1]["total"]), (&json!(100), &json!(0)));
}

#[test]
fn a_placement_whose_decision_alternates_is_reported() {
    let restless = rivals().replace(
        "metadata: {name: p, namespace: shop}\nspec: {numberOfClusters: 1}",
        "metadata: {name: p, namespace: shop}\nspec: {numberOfClusters: 1, prioritizerPolicy: {mode: \
         Exact, configurations: [{scoreCoordinate: {builtIn: Steady}, weight: -1}]}}",
    );
    let folder = folder_with("placement-restless", &[("hub.yaml", &restless)]);
    let explain = ["explain", "-f", "hub.yaml", "Placement/shop/p"];
    almanac(&folder, &explain).assert_stdout(&[
        "clusters is east",
        "inactive  the placement",
        "the next decision selects west",
    ]);
}

#[test]
fn a_set_that_is_defined_twice_has_unknown_clusters_so_the_selection_stays() {
    let metadata =
        format!("name: q-decision-1, namespace: shop, uid: a, labels: {{{API}/placement: q}}");
    let status = "status: {decisions: [{clusterName: west, reason: ''}]}";
    let decision = object("v1beta1", "PlacementDecision", &metadata, status);
    let set = object("v1beta2", "ManagedClusterSet", "name: fleet", "");
    let folder = folder_with("placement-twice", &[("hub.yaml", &(rivals() + &decision + &set))]);
    almanac(&folder, &["explain", "-f", "hub.yaml", "Placement/shop/q"])
        .assert_stdout(&["clusters is west", "the selector of its set fleet cannot be used"]);
}

#[test]
fn the_next_event_names_the_score_and_the_clusters() {
    let folder = folder_with("placement-next", &[("hub.yaml", &hub())]);
    almanac(&folder, &["next", "-f", "hub.yaml", "--from", "2026-11-23"])
        .assert_stdout(&["AddOn/default/cpuratio selects; clusters east → west"]);
}

/// Placements that each select one cluster in the namespace `shop`, with optional annotations and scores; and two
/// clusters. The second cluster has the higher score `cpu`.
fn balancing(placements: &[(&str, &str, &[&str])]) -> String {
    let of = |(name, annotations, scores): &(&str, &str, &[&str])| {
        let scores = scores.iter().map(|score| match *score {
            "cpu" => format!("{{weight: 1, {}}}", by_score("cpu")),
            built_in => format!("{{weight: 1, scoreCoordinate: {{builtIn: {built_in}}}}}"),
        });
        let metadata = format!("name: {name}, annotations: {{{annotations}}}");
        placement(&metadata, &exactly(&scores.collect::<Vec<_>>().join(", ")))
    };
    let placements: String = placements.iter().map(of).collect();
    let (east, west) =
        (cluster("east", "spec: {}", ("cpu", 0), ""), cluster("west", "spec: {}", ("cpu", 60), ""));
    [placements, fleet(), east, west].concat()
}

#[test]
fn a_disabled_placement_delays_no_other() {
    let disabled = "cluster.open-cluster-management.io/experimental-scheduling-disable: 'true'";
    let text = balancing(&[
        ("p", disabled, &["Balance"]),
        ("q", "", &["Steady"]),
        ("r", "", &["Balance", "Steady"]),
    ]);
    let folder = folder_with("placement-disabled", &[("hub.yaml", &text)]);
    assert_eq!(explained(&folder, "r", &[])["value"], json!(["west"]));
}

#[test]
fn a_placement_requeued_by_another_runs_after_those_already_due() {
    let text = balancing(&[
        ("a", "", &["Balance", "Steady"]),
        ("b", "", &["Balance"]),
        ("c", "", &["Balance", "cpu"]),
        ("d", "", &["Balance", "Steady"]),
    ]);
    let folder = folder_with("placement-order", &[("hub.yaml", &text)]);
    let selected = ["a", "b", "c", "d"].map(|name| explained(&folder, name, &[])["value"].clone());
    assert_eq!(selected, ["east", "west", "west", "east"].map(|it| json!([it])));
}

#[test]
fn without_clusters_the_selection_is_unknown_in_every_output() {
    let hub = hub();
    let without = hub.split("---\n").filter(|it| !it.contains("kind: ManagedCluster\n"));
    let without: Vec<&str> = without.collect();
    let folder = folder_with("placement-unknown", &[("hub.yaml", &without.join("---\n"))]);
    let output = |format: &str| {
        let command = ["forecast", "-f", "hub.yaml", "--from", "2026-11-23", "--for", "1d"];
        almanac(&folder, &[&command[..], &["-o", format]].concat())
    };
    let report = output("json").json();
    let [segment] = list(&report["series"][0]["segments"]) else { panic!("{report}") };
    assert_eq!(segment["value"], json!(null));
    assert_eq!(segment["reason"], "unknown: there is no ManagedCluster in the files");
    let assumed = "Placement.cluster.open-cluster-management.io shop/web has an unknown selection: there is no \
                   ManagedCluster in the files";
    assert_eq!(report["assumptions"], json!([assumed]));
    let shown = output("text").stdout;
    assert!(shown.contains("unknown ┤") && !shown.contains("none"), "{shown}");
    output("csv").assert_stdout(&[",,,,,unknown: there is no ManagedCluster in the files,\r\n"]);
    for format in ["svg", "html"] {
        output(format).assert_stdout(&["unknown: there is no ManagedCluster"]);
    }
    let explain = ["explain", "-f", "hub.yaml", "placement/web", "--at", "2026-11-23"];
    let stdout = almanac(&folder, &explain).stdout;
    assert!(stdout.contains("clusters is unknown\n"), "{stdout}");
    assert!(stdout.contains("unknown: there is no ManagedCluster in the files"), "{stdout}");
    assert!(!stdout.contains("Nothing changes"), "{stdout}");
    almanac(&folder, &["next", "-f", "hub.yaml", "--from", "2026-11-23"]).assert_stdout(&[assumed]);
}
