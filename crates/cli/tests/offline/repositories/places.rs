//! One policy in several directories is normal: each cluster is forecast with the objects it receives, and only objects
//! that one cluster would receive twice are a conflict.

use serde_json::Value;

use crate::repositories::repository::{
    PRESENT, Repository, autoscaler, deployment, findings, policy,
};

/// Two clusters with the same policy and separate targets, and a policy for both.
fn two_clusters(name: &str) -> Repository {
    Repository::new(name)
        .file("clusters/prod/hours.yaml", policy("hours", "shop", 40))
        .file("clusters/prod/shop.yaml", deployment("shop", 30))
        .file("clusters/staging/hours.yaml", policy("hours", "shop", 4))
        .file("clusters/staging/shop.yaml", deployment("shop", 2))
        .file("common/night.yaml", policy("night", "worker", 7))
}

/// `place target values` of every series.
fn series(report: &Value) -> Vec<String> {
    let one = |series: &Value| {
        let values =
            series["segments"].as_array().unwrap().iter().map(|it| it["value"].to_string());
        let values: Vec<String> = values.collect();
        let place = series["place"].as_str().unwrap_or("-");
        format!("{place} {} {}", series["target"]["name"].as_str().unwrap(), values.join(","))
    };
    report["series"].as_array().unwrap().iter().map(one).collect()
}

#[test]
fn each_cluster_is_forecast_separately_and_named_by_its_folder() {
    let repository = two_clusters("two-clusters");
    let report = repository.run_json("forecast", &["-f", ".", "--for", "1d"]);
    let expected = [
        "clusters/prod shop 40,1,40",
        "clusters/prod worker 7,1,7",
        "clusters/staging shop 4,1,4",
        "clusters/staging worker 7,1,7",
    ];
    assert_eq!(series(&report), expected);
    assert_eq!(findings(&report), [""; 0]);
    let shown = repository.run(&["forecast", "-f", ".", "--from", PRESENT]);
    shown.assert_output(0, &["\nIn clusters/prod\n", "\nIn clusters/staging\n"]);
    repository
        .run(&["validate"])
        .assert_output(0, &["5 objects in 5 files in 2 places: no problems found"]);
    for output in ["svg", "html"] {
        let drawn = repository.run(&["forecast", "-f", ".", "--from", PRESENT, "-o", output]);
        drawn.assert_output(0, &["clusters/staging"]);
    }
}

#[test]
fn next_and_explain_report_each_cluster() {
    let repository = two_clusters("next-and-why");
    let next = repository.run_json("next", &["-f", ".", "deployment/shop", "--count", "2"]);
    let items: Vec<(&Value, &Value)> =
        next["items"].as_array().unwrap().iter().map(|it| (&it["place"], &it["from"])).collect();
    let expected = [("clusters/prod", 40), ("clusters/staging", 4)];
    let expected = expected.map(|(place, from)| (Value::from(place), Value::from(from)));
    assert_eq!(items, expected.iter().map(|(place, from)| (place, from)).collect::<Vec<_>>());
    let explain = ["explain", "-f", ".", "deployment/shop", "--at", PRESENT];
    let report = repository.run(&[&explain[..], &["-o", "json"]].concat()).json();
    let answers = report["answers"].as_array().unwrap();
    let answers: Vec<_> = answers.iter().map(|it| (&it["place"], &it["value"])).collect();
    assert_eq!(answers, expected.iter().map(|(place, from)| (place, from)).collect::<Vec<_>>());
    repository.run(&explain).assert_output(0, &["In clusters/prod\n", "In clusters/staging\n"]);
}

#[test]
fn a_place_can_be_selected_by_its_folder() {
    let repository = two_clusters("one-place");
    let report =
        repository.run_json("forecast", &["-f", ".", "--for", "1d", "--place", "clusters/prod"]);
    assert_eq!(series(&report), ["- shop 40,1,40", "- worker 7,1,7"]);
    let validated = repository.run(&["validate", "--place", "clusters/staging"]);
    validated.assert_output(0, &["checked 3 objects"]);
    let wrong = repository.run(&["forecast", "-f", ".", "--place", "clusters/test"]);
    wrong.assert_output(2, &["--place: none of the files read is in this directory"]);
    repository
        .run(&["next", "--place", "clusters/prod"])
        .assert_output(2, &["applies to files only"]);
}

#[test]
fn only_a_duplicate_in_one_cluster_is_a_conflict() {
    let repository = two_clusters("conflict")
        .file("clusters/prod/apps/hours.yaml", policy("hours", "shop", 50))
        .file("clusters/staging/more.yaml", policy("more", "worker", 9));
    let report = repository.run_json("validate", &[]);
    let found = findings(&report);
    assert_eq!(
        found,
        ["duplicate-object clusters/prod/hours.yaml:1:1", "two-writers common/night.yaml:6:3"]
            .map(String::from),
        "{report:#}"
    );
    let places: Vec<&Value> =
        report["findings"].as_array().unwrap().iter().map(|it| &it["place"]).collect();
    assert_eq!(places, ["clusters/prod/apps", "clusters/staging"]);
}

#[test]
fn two_autoscalers_of_one_workload_are_a_warning_only_within_one_cluster() {
    let apart = Repository::new("autoscalers-apart")
        .file("prod/web.yaml", deployment("web", 1) + "---\n" + &autoscaler("web", "web"))
        .file("test/web.yaml", deployment("web", 1) + "---\n" + &autoscaler("test-web", "web"));
    assert_eq!(findings(&apart.run_json("validate", &[])), [""; 0]);
    let together = Repository::new("autoscalers-together")
        .file("a/web.yaml", autoscaler("web", "web"))
        .file("b/web.yaml", autoscaler("web-2", "web"));
    assert_eq!(findings(&together.run_json("validate", &[])), ["two-writers b/web.yaml:6:3"]);
}

#[test]
fn the_settings_define_the_directories_of_places() {
    let settings = "[[place]]\nname = \"prod\"\ndirectories = [\"apps/*/prod\"]\n\
                    [[place]]\nname = \"test\"\ndirectories = [\"apps/*/test\"]\n";
    let repository = Repository::new("settings")
        .file("apps/shop/prod/hours.yaml", policy("shop", "shop", 40))
        .file("apps/shop/test/hours.yaml", policy("shop", "shop", 4))
        .file("apps/cart/prod/hours.yaml", policy("cart", "shop", 50))
        .file("apps/cart/test/hours.yaml", policy("cart", "cart", 5));
    // With the directories alone, each app of a cluster is a place, and conflicts between apps have no finding.
    let report = repository.run_json("validate", &[]);
    assert_eq!(findings(&report), [""; 0]);
    let repository = repository.file("almanac.toml", settings);
    let report = repository.run_json("validate", &[]);
    assert_eq!(findings(&report), ["two-writers apps/shop/prod/hours.yaml:6:3"]);
    assert_eq!(report["findings"][0]["place"], "prod");
    let forecast =
        repository.run_json("forecast", &["-f", "apps", "--for", "1h", "--place", "test"]);
    assert_eq!(series(&forecast), ["- cart 5", "- shop 4"]);
    let repository =
        repository.file("almanac.toml", "[[place]]\nname = \"prod\"\nfolder = \"a\"\n");
    repository.run(&["validate"]).assert_output(2, &["almanac.toml", "unknown field `folder`"]);
    let repository = repository
        .file("almanac.toml", "[[place]]\nname = \"prod\"\ndirectories = [\"nowhere\"]\n");
    repository
        .run(&["validate"])
        .assert_output(2, &["the place \"prod\": none of its directories exists"]);
}

#[test]
fn an_assumption_applies_in_every_place_that_has_its_object() {
    let repository = Repository::new("assumed")
        .file("prod/hours.yaml", policy("hours", "shop", 40).replace("0 8 * * *", "0 8 1 1 *"))
        .file("test/hours.yaml", policy("hours", "shop", 4).replace("0 8 * * *", "0 8 1 1 *"))
        .file("test/cart.yaml", policy("cart", "cart", 4));
    let arguments = ["-f", ".", "--for", "1h", "--assume", "deployment/cart.replicas=3"];
    let report = repository.run_json("forecast", &arguments);
    let output_text = report["assumptions"].to_string();
    assert!(
        output_text.contains("in test: replicas of Deployment.apps default/cart starts at 3"),
        "{output_text}"
    );
    let twice = [&arguments[..], &["--assume", "cart.replicas=4"]].concat();
    let twice = repository.run(&[&["forecast"], &twice[..]].concat());
    twice.assert_output(2, &["is already assumed to be 3"]);
}

#[test]
fn findings_shared_by_all_clusters_are_reported_once() {
    let repository = Repository::new("alike")
        .file("policies/hours.yaml", policy("hours", "shop", 40))
        .file("a/web.yaml", deployment("web", 1) + "---\n" + &autoscaler("web", "web"))
        .file("b/web.yaml", deployment("web", 1) + "---\n" + &autoscaler("web", "web"));
    assert_eq!(
        series(&repository.run_json("forecast", &["-f", ".", "--for", "1h"])),
        ["- shop 40"]
    );
}
