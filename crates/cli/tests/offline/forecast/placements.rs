//! Placements in a forecast of files: a score that expires, and the explanation of every candidate.

use serde_json::json;

use crate::forecast::running::{almanac, folder_with, json as as_json, text};

const API: &str = "cluster.open-cluster-management.io";

/// A placement that selects one cluster by a score, and two clusters; the score of the better one ends at noon.
fn hub() -> String {
    let object = |version: &str, kind: &str, metadata: &str, rest: &str| {
        format!(
            "---\napiVersion: {API}/{version}\nkind: {kind}\nmetadata: {{{metadata}}}\n{rest}\n"
        )
    };
    let score =
        "{scoreCoordinate: {type: AddOn, addOn: {resourceName: default, scoreName: cpuratio}}}";
    let spec = format!(
        "spec: {{numberOfClusters: 1, prioritizerPolicy: {{mode: Exact, configurations: [{score}]}}}}"
    );
    let mut text = object("v1beta1", "Placement", "name: web, namespace: shop", &spec);
    text += &object("v1beta2", "ManagedClusterSet", "name: fleet", "spec: {}");
    let binding = "name: fleet, namespace: shop";
    text += &object("v1beta2", "ManagedClusterSetBinding", binding, "spec: {clusterSet: fleet}");
    let taint = "spec: {taints: [{key: gone, effect: NoSelect}]}";
    for (name, value, until, spec) in [
        ("east", 88, "validUntil: '2026-11-23T12:00:00Z', ", "spec: {}"),
        ("north", 99, "", taint),
        ("west", 40, "", "spec: {}"),
    ] {
        let metadata = format!("name: {name}, labels: {{{API}/clusterset: fleet}}");
        text += &object("v1", "ManagedCluster", &metadata, spec);
        let metadata = format!("name: default, namespace: {name}, uid: a");
        let status = format!("status: {{{until}scores: [{{name: cpuratio, value: {value}}}]}}");
        text += &object("v1alpha1", "AddOnPlacementScore", &metadata, &status);
    }
    text
}

#[test]
fn a_cluster_comes_and_goes_at_the_instant_at_which_a_score_expires() {
    let folder = folder_with("placements", &[("hub.yaml", &hub())]);
    let period = ["--from", "2026-11-23", "--for", "1d", "-o", "json"];
    let told = as_json(&almanac(&folder, &[&["forecast", "-f", "hub.yaml"], &period[..]].concat()));
    let series = &told["series"][0];
    assert_eq!(series["field"], "clusters");
    assert_eq!(series["target"]["kind"], "Placement");
    let segments: Vec<_> = series["segments"].as_array().unwrap().iter().collect();
    let values: Vec<_> = segments.iter().map(|it| (&it["from"], &it["value"])).collect();
    let (start, noon) = (json!("2026-11-23T00:00:00Z"), json!("2026-11-23T12:00:00Z"));
    assert_eq!(values, [(&start, &json!(["east"])), (&noon, &json!(["west"]))]);
    assert_eq!(segments[1]["policy"]["rule"], "AddOn/default/cpuratio");
}

#[test]
fn every_candidate_is_explained_with_its_scores_or_what_excludes_it() {
    let folder = folder_with("placement-explained", &[("hub.yaml", &hub())]);
    let at = ["--at", "2026-11-23T11:00:00Z", "-o", "json"];
    let question = ["explain", "-f", "hub.yaml", "Placement/shop/web"];
    let told = as_json(&almanac(&folder, &[&question[..], &at].concat()));
    assert_eq!(told["value"], json!(["east"]));
    assert_eq!(told["next"], json!({ "at": "2026-11-23T12:00:00Z", "value": ["west"] }));
    assert_eq!(told["groups"], json!([{ "index": 0, "name": "", "clusters": ["east"] }]));
    assert_eq!(told["decisions"], json!([{ "name": "web-decision-1", "clusters": ["east"] }]));
    let reasons = told["reasons"].as_array().unwrap();
    let verdicts: Vec<_> = reasons.iter().map(|it| (&it["rule"], &it["verdict"])).collect();
    let [east, west, north] = [("east", "won"), ("west", "lost"), ("north", "excluded")]
        .map(|(rule, verdict)| (json!(rule), json!(verdict)));
    let expected = [&east, &west, &north].map(|(rule, verdict)| (rule, verdict));
    assert_eq!(verdicts, expected);
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
fn what_an_expression_selects_changes_when_a_score_expires_that_it_reads() {
    let folder = folder_with("placement-expression", &[("hub.yaml", &hub_by(BUSY))]);
    let period = ["--from", "2026-11-23", "--for", "1d", "-o", "json"];
    let told = as_json(&almanac(&folder, &[&["forecast", "-f", "hub.yaml"], &period[..]].concat()));
    let segments = told["series"][0]["segments"].as_array().unwrap();
    let values: Vec<_> = segments.iter().map(|it| (&it["from"], &it["value"])).collect();
    let (start, noon) = (json!("2026-11-23T00:00:00Z"), json!("2026-11-23T12:00:00Z"));
    assert_eq!(values, [(&start, &json!(["east"])), (&noon, &json!([]))]);
    assert_eq!(segments[1]["policy"]["rule"], "AddOn/default");
    let next = ["next", "-f", "hub.yaml", "--from", "2026-11-23", "-o", "json"];
    let told = as_json(&almanac(&folder, &next));
    assert_eq!(told["items"][0]["at"], noon);
    let question =
        ["explain", "-f", "hub.yaml", "Placement/shop/web", "--at", "2026-11-23T13:00:00Z"];
    let assumed = ["--assume", "addonplacementscore/west/default.cpuratio=60", "-o", "json"];
    let told = as_json(&almanac(&folder, &[&question[..], &assumed].concat()));
    assert_eq!(told["value"], json!(["west"]));
    assert_eq!(
        told["reasons"][1]["because"],
        format!(
            "no predicate matches: the expression {BUSY} is false; AddOnPlacementScore default was valid until \
             2026-11-23T12:00:00Z, so it has no scores"
        )
    );
}

#[test]
fn a_score_is_assumed_of_an_object_that_an_expression_names_by_what_it_computes() {
    let computed = "managedCluster.scores('us' + 'age').exists(s, s.value > 50)";
    let folder = folder_with("placement-computed", &[("hub.yaml", &hub_by(computed))]);
    let explain =
        ["explain", "-f", "hub.yaml", "Placement/shop/web", "--at", "2026-11-23T11:00:00Z"];
    let run = |assumed: &str| {
        almanac(&folder, &[&explain[..], &["--assume", assumed, "-o", "json"]].concat())
    };
    let told = as_json(&run("addonplacementscore/west/usage.load=60"));
    assert_eq!(told["value"], json!(["west"]));
    let refused = run("addonplacementscore/west/usage.validUntil=never");
    let why = text(&refused.stderr);
    assert!(why.contains("west/usage, so it has no scores that could end"), "{why}");
}

#[test]
fn an_expression_that_cannot_be_used_is_found_where_it_stands() {
    let folder = folder_with(
        "placement-no-expression",
        &[("hub.yaml", &hub_by("managedCluster.metadata.nam() == 'x'"))],
    );
    let run = almanac(&folder, &["validate", "-f", "hub.yaml", "-o", "json"]);
    let told: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let found = told["findings"].as_array().unwrap().iter().find(|it| it["code"] == "expression");
    let found = found.unwrap_or_else(|| panic!("{told}"));
    assert_eq!((found["file"].as_str(), found["line"].as_u64()), (Some("hub.yaml"), Some(10)));
    let field = "spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]";
    assert_eq!(found["field"], field);
    let message = found["message"].as_str().unwrap();
    assert!(message.ends_with("there is no function nam, at column 28"), "{message}");
}

#[test]
fn too_many_expressions_are_found_at_the_first_one_too_many() {
    let many = vec!["'true'"; 101].join("\n        - ");
    let folder = folder_with("placement-many-expressions", &[("hub.yaml", &hub_by(&many))]);
    let run = almanac(&folder, &["validate", "-f", "hub.yaml", "-o", "json"]);
    let told: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let found = told["findings"].as_array().unwrap().iter().filter(|it| it["code"] == "expression");
    let found: Vec<_> = found.collect();
    assert_eq!(found.len(), 1, "{told}");
    assert_eq!((&found[0]["file"], &found[0]["line"]), (&json!("hub.yaml"), &json!(110)));
    let field = "spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[100]";
    assert_eq!(found[0]["field"], field);
    let message = found[0]["message"].as_str().unwrap();
    assert!(message.ends_with("a placement has at most 100 expressions"), "{message}");
}

#[test]
fn each_cluster_that_an_expression_does_not_select_says_why() {
    let claims = "managedCluster.status.clusterClaims";
    let expression = format!(
        "{claims}.all(a, {claims}.all(b, {claims}.all(c, a.name + b.name + c.name != 'xxx')))"
    );
    let clusters = [("few", vec!["w"]), ("three", vec!["x"]), ("wide", vec!["z"; 100])];
    let clusters = clusters.map(|(name, claims)| {
        let claims: Vec<String> =
            claims.iter().map(|it| format!("{{name: {it}, value: a}}")).collect();
        format!(
            "---\napiVersion: {API}/v1\nkind: ManagedCluster\nmetadata: {{name: {name}, uid: a, labels: \
             {{{API}/clusterset: fleet}}}}\nstatus: {{clusterClaims: [{}]}}\n",
            claims.join(", ")
        )
    });
    let text = hub_by(&expression) + &clusters.concat();
    let folder = folder_with("placement-why-not", &[("hub.yaml", &text)]);
    let question = ["explain", "-f", "hub.yaml", "Placement/shop/web", "-o", "json"];
    let told = as_json(&almanac(&folder, &question));
    assert_eq!(told["value"], json!(["few"]));
    let why = |cluster: &str| {
        let mut reasons = told["reasons"].as_array().unwrap().iter();
        let reason = reasons.find(|it| it["rule"] == cluster).unwrap();
        reason["because"].as_str().unwrap().to_owned()
    };
    assert!(why("three").ends_with("is false"), "{}", why("three"));
    assert!(why("wide").ends_with("it would take more than 100000 steps"), "{}", why("wide"));
    let missing = "has no result: there is no \"clusterClaims\"";
    assert!(why("east").ends_with(missing), "{}", why("east"));
}

#[test]
fn an_assumed_score_counts_in_every_command_and_is_told_as_an_assumption() {
    let folder = folder_with("placement-assumed", &[("hub.yaml", &hub())]);
    let run = |command: &[&str], assumed: &[&str]| {
        let assumed = assumed.iter().flat_map(|it| ["--assume", *it]);
        let period: Vec<_> = command.iter().copied().chain(assumed).collect();
        almanac(&folder, &period)
    };
    let explain = ["explain", "-f", "hub.yaml", "Placement/shop/web", "--at", "2026-11-23T11:00Z"];
    let explain = [&explain[..], &["-o", "json"]].concat();
    let told = as_json(&run(&explain, &["addonplacementscore/west/default.cpuratio=89"]));
    assert_eq!((&told["value"], &told["reasons"][0]["total"]), (&json!(["west"]), &json!(89)));
    let assumed =
        "cpuratio of AddOnPlacementScore.cluster.open-cluster-management.io west/default is 89";
    assert_eq!(told["assumptions"], json!([assumed]));
    // Of every cluster: it is the name that decides then.
    let told = as_json(&run(&explain, &["addonplacementscore/default.cpuratio=-7"]));
    let totals = [&told["reasons"][0]["total"], &told["reasons"][1]["total"]];
    assert_eq!((&told["value"], totals), (&json!(["east"]), [&json!(-7), &json!(-7)]));

    let next = ["next", "-f", "hub.yaml", "--from", "2026-11-23", "--for", "3d", "-o", "json"];
    let at = |assumed: &[&str]| as_json(&run(&next, assumed))["items"][0]["at"].clone();
    assert_eq!(at(&[]), "2026-11-23T12:00:00Z");
    assert_eq!(
        at(&["addonplacementscore/east/default.validUntil=2026-11-24T00:30Z"]),
        "2026-11-24T00:30:00Z"
    );
    assert_eq!(at(&["addonplacementscore/east/default.validUntil=never"]), json!(null));
    let forecast =
        ["forecast", "-f", "hub.yaml", "--from", "2026-11-23", "--for", "1d", "-o", "json"];
    let told =
        as_json(&run(&forecast, &["addonplacementscore/e*/default.validUntil=2026-11-23T18:00Z"]));
    assert_eq!(told["series"][0]["segments"][1]["from"], "2026-11-23T18:00:00Z");
}

#[test]
fn an_assumption_that_no_placement_reads_or_that_is_no_score_is_an_error() {
    let folder = folder_with("placement-assumed-wrongly", &[("hub.yaml", &hub())]);
    for (assumed, expected) in [
        ("addonplacementscore/west/default.cpu=1", "no placement reads cpu of"),
        ("addonplacementscore/south/default.cpuratio=1", "for a cluster that is there"),
        ("addonplacementscore/west/default.cpuratio=101", "a number from -100 to 100"),
        ("addonplacementscore/west/default.cpuratio", "a number from -100 to 100"),
        ("addonplacementscore/west/default.validUntil=soon", "not a valid time"),
        ("placement/web.clusters=3", "the scores of an addonplacementscore"),
    ] {
        let told = almanac(&folder, &["forecast", "-f", "hub.yaml", "--assume", assumed]);
        let told = text(&told.stderr);
        assert!(told.contains(expected), "{assumed}: {told}");
    }
    let twice =
        ["addonplacementscore/west/default.cpuratio=1", "addonplacementscore/default.cpuratio=2"];
    let twice = twice.iter().flat_map(|it| ["--assume", *it]);
    let told =
        almanac(&folder, &["next", "-f", "hub.yaml"].into_iter().chain(twice).collect::<Vec<_>>());
    assert!(text(&told.stderr).contains("west/default is already assumed"), "{told:?}");
}

/// Two placements for one of two clusters each: `p` by Balance and Steady, `q` by a score by which east is better.
fn rivals() -> String {
    let object = |version: &str, kind: &str, metadata: &str, rest: &str| {
        format!(
            "---\napiVersion: {API}/{version}\nkind: {kind}\nmetadata: {{{metadata}}}\n{rest}\n"
        )
    };
    let mut text =
        object("v1beta1", "Placement", "name: p, namespace: shop", "spec: {numberOfClusters: 1}");
    let score = "{scoreCoordinate: {type: AddOn, addOn: {resourceName: default, scoreName: cpu}}}";
    let spec = format!(
        "spec: {{numberOfClusters: 1, prioritizerPolicy: {{mode: Exact, configurations: [{score}]}}}}"
    );
    text += &object("v1beta1", "Placement", "name: q, namespace: shop", &spec);
    text += &object("v1beta2", "ManagedClusterSet", "name: fleet", "spec: {}");
    let binding = "name: fleet, namespace: shop";
    text += &object("v1beta2", "ManagedClusterSetBinding", binding, "spec: {clusterSet: fleet}");
    for (name, value) in [("east", 90), ("west", 10)] {
        let metadata = format!("name: {name}, labels: {{{API}/clusterset: fleet}}");
        text += &object("v1", "ManagedCluster", &metadata, "spec: {}");
        let metadata = format!("name: default, namespace: {name}, uid: a");
        let status = format!("status: {{scores: [{{name: cpu, value: {value}}}]}}");
        text += &object("v1alpha1", "AddOnPlacementScore", &metadata, &status);
    }
    text
}

#[test]
fn a_placement_that_balances_is_decided_again_when_another_one_has_selected() {
    let folder = folder_with("placement-rivals", &[("hub.yaml", &rivals())]);
    let period = ["--from", "2026-11-23", "--for", "1d", "-o", "json"];
    let told = as_json(&almanac(&folder, &[&["forecast", "-f", "hub.yaml"], &period[..]].concat()));
    let values = |index: usize| {
        let segments = told["series"][index]["segments"].as_array().unwrap();
        segments.iter().map(|it| it["value"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((values(0), values(1)), (vec![json!(["west"])], vec![json!(["east"])]));
    let assumptions = told["assumptions"].to_string();
    assert!(assumptions.contains("shop/p has no decisions yet"), "{assumptions}");
    assert!(!assumptions.contains("decided again"), "{assumptions}");
    assert!(!assumptions.contains("shop/q"), "{assumptions}");
    let explain = ["explain", "-f", "hub.yaml", "Placement/shop/p", "-o", "json"];
    let told = as_json(&almanac(&folder, &explain));
    assert_eq!(told["value"], json!(["west"]));
    let reasons = told["reasons"].as_array().unwrap();
    assert_eq!((reasons.len(), &reasons[0]["rule"]), (2, &json!("west")));
    assert_eq!((&reasons[0]["total"], &reasons[1]["total"]), (&json!(100), &json!(0)));
}

#[test]
fn a_placement_that_is_decided_otherwise_each_time_says_so() {
    let restless = rivals().replace(
        "metadata: {name: p, namespace: shop}\nspec: {numberOfClusters: 1}",
        "metadata: {name: p, namespace: shop}\nspec: {numberOfClusters: 1, prioritizerPolicy: {mode: \
         Exact, configurations: [{scoreCoordinate: {builtIn: Steady}, weight: -1}]}}",
    );
    let folder = folder_with("placement-restless", &[("hub.yaml", &restless)]);
    let explain = ["explain", "-f", "hub.yaml", "Placement/shop/p"];
    let told = text(&almanac(&folder, &explain).stdout);
    assert!(told.contains("clusters is east"), "{told}");
    assert!(told.contains("inactive  the placement"), "{told}");
    assert!(told.contains("when it is decided next, it selects west"), "{told}");
}

#[test]
fn a_set_that_is_written_twice_has_nobody_knows_which_clusters_so_what_is_selected_stays() {
    let decision = format!(
        "---\napiVersion: {API}/v1beta1\nkind: PlacementDecision\nmetadata: {{name: q-decision-1, namespace: \
         shop, uid: a, labels: {{{API}/placement: q}}}}\nstatus: {{decisions: [{{clusterName: west, reason: \
         ''}}]}}\n"
    );
    let set = format!(
        "---\napiVersion: {API}/v1beta2\nkind: ManagedClusterSet\nmetadata: {{name: fleet}}\n"
    );
    let folder = folder_with("placement-twice", &[("hub.yaml", &(rivals() + &decision + &set))]);
    let told = almanac(&folder, &["explain", "-f", "hub.yaml", "Placement/shop/q"]);
    let told = text(&told.stdout);
    assert!(told.contains("clusters is west"), "{told}");
    assert!(told.contains("the selector of its set fleet cannot be used"), "{told}");
}

#[test]
fn what_comes_next_names_the_score_and_the_clusters() {
    let folder = folder_with("placement-next", &[("hub.yaml", &hub())]);
    let next = almanac(&folder, &["next", "-f", "hub.yaml", "--from", "2026-11-23"]);
    let told = text(&next.stdout);
    assert!(told.contains("AddOn/default/cpuratio selects; clusters east → west"), "{told}");
}

/// Placements of one cluster in the namespace `shop`, each with an annotation or none and its built-in scores; and two
/// clusters, of which the second has the higher score `cpu`.
fn balancing(placements: &[(&str, &str, &[&str])]) -> String {
    let mut objects = Vec::new();
    for (name, annotations, scores) in placements {
        let scores = scores.iter().map(|score| match *score {
            "cpu" => "{weight: 1, scoreCoordinate: {type: AddOn, addOn: {resourceName: default, scoreName: cpu}}}".to_owned(),
            built_in => format!("{{weight: 1, scoreCoordinate: {{builtIn: {built_in}}}}}"),
        });
        let scores = scores.collect::<Vec<_>>().join(", ");
        objects.push(format!(
            "apiVersion: {API}/v1beta1\nkind: Placement\n\
             metadata: {{name: {name}, namespace: shop, annotations: {{{annotations}}}}}\n\
             spec: {{numberOfClusters: 1, prioritizerPolicy: {{mode: Exact, configurations: [{scores}]}}}}\n"
        ));
    }
    objects.push(format!(
        "apiVersion: {API}/v1beta2\nkind: ManagedClusterSet\nmetadata: {{name: fleet}}\nspec: {{}}\n"
    ));
    objects.push(format!(
        "apiVersion: {API}/v1beta2\nkind: ManagedClusterSetBinding\n\
         metadata: {{name: fleet, namespace: shop}}\nspec: {{clusterSet: fleet}}\n"
    ));
    for (name, cpu) in [("east", 0), ("west", 60)] {
        objects.push(format!(
            "apiVersion: {API}/v1\nkind: ManagedCluster\n\
             metadata: {{name: {name}, labels: {{{API}/clusterset: fleet}}}}\nspec: {{}}\n"
        ));
        objects.push(format!(
            "apiVersion: {API}/v1alpha1\nkind: AddOnPlacementScore\n\
             metadata: {{name: default, namespace: {name}, uid: a}}\n\
             status: {{scores: [{{name: cpu, value: {cpu}}}]}}\n"
        ));
    }
    objects.join("---\n")
}

#[test]
fn a_placement_that_is_disabled_holds_up_no_other() {
    let disabled = "cluster.open-cluster-management.io/experimental-scheduling-disable: 'true'";
    let text = balancing(&[
        ("p", disabled, &["Balance"]),
        ("q", "", &["Steady"]),
        ("r", "", &["Balance", "Steady"]),
    ]);
    let folder = folder_with("placement-disabled", &[("hub.yaml", &text)]);
    let question =
        ["explain", "-f", "hub.yaml", "Placement/shop/r", "--at", "2026-11-23T11:00:00Z"];
    let told = as_json(&almanac(&folder, &[&question[..], &["-o", "json"]].concat()));
    assert_eq!(told["value"], json!(["west"]));
}

#[test]
fn whoever_another_placement_wakes_comes_after_those_whose_turn_has_come() {
    let text = balancing(&[
        ("a", "", &["Balance", "Steady"]),
        ("b", "", &["Balance"]),
        ("c", "", &["Balance", "cpu"]),
        ("d", "", &["Balance", "Steady"]),
    ]);
    let folder = folder_with("placement-order", &[("hub.yaml", &text)]);
    let selected = |name: &str| {
        let subject = format!("Placement/shop/{name}");
        let question = ["explain", "-f", "hub.yaml", &subject, "--at", "2026-11-23T11:00:00Z"];
        as_json(&almanac(&folder, &[&question[..], &["-o", "json"]].concat()))["value"].clone()
    };
    let [a, b, c, d] = ["a", "b", "c", "d"].map(selected);
    assert_eq!([a, b, c, d], ["east", "west", "west", "east"].map(|it| json!([it])));
}

#[test]
fn what_is_selected_without_clusters_in_the_files_is_unknown_in_every_output() {
    let hub = hub();
    let without = hub.split("---\n").filter(|it| !it.contains("kind: ManagedCluster\n"));
    let without: Vec<&str> = without.collect();
    let folder = folder_with("placement-unknown", &[("hub.yaml", &without.join("---\n"))]);
    let output = |format: &str| {
        let command = ["forecast", "-f", "hub.yaml", "--from", "2026-11-23", "--for", "1d"];
        almanac(&folder, &[&command[..], &["-o", format]].concat())
    };
    let told = as_json(&output("json"));
    let [segment] = &**told["series"][0]["segments"].as_array().unwrap() else { panic!("{told}") };
    assert_eq!(segment["value"], json!(null));
    assert_eq!(segment["reason"], "unknown: there is no ManagedCluster in the files");
    let assumed = "Placement.cluster.open-cluster-management.io shop/web has an unknown selection: there is no \
                   ManagedCluster in the files";
    assert_eq!(told["assumptions"], json!([assumed]));
    let shown = text(&output("text").stdout);
    assert!(shown.contains("unknown ┤") && !shown.contains("none"), "{shown}");
    let table = text(&output("csv").stdout);
    assert!(
        table.contains(",,,,,unknown: there is no ManagedCluster in the files,\r\n"),
        "{table}"
    );
    for format in ["svg", "html"] {
        let picture = text(&output(format).stdout);
        assert!(picture.contains("unknown: there is no ManagedCluster"), "{format}");
    }
    let explain = ["explain", "-f", "hub.yaml", "placement/web", "--at", "2026-11-23"];
    let said = text(&almanac(&folder, &explain).stdout);
    assert!(said.contains("clusters is unknown\n"), "{said}");
    assert!(said.contains("unknown: there is no ManagedCluster in the files"), "{said}");
    assert!(!said.contains("Nothing changes"), "{said}");
    let next = ["next", "-f", "hub.yaml", "--from", "2026-11-23"];
    assert!(text(&almanac(&folder, &next).stdout).contains(assumed));
}
