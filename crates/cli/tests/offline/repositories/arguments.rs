//! Arguments of a question: names that are patterns, namespaces and labels, in files as in a cluster.

use serde_json::Value;

use crate::repositories::repository::{PRESENT, Repository, findings, policy};

fn shops(name: &str) -> Repository {
    let in_namespace = |text: String, namespace: &str, labels: &str| {
        let metadata = format!("metadata:\n  namespace: {namespace}\n  labels: {{{labels}}}\n");
        text.replace("metadata:\n", &metadata)
    };
    Repository::new(name)
        .file("a.yaml", in_namespace(policy("shop-a", "shop-a", 3), "prod", "team: blue"))
        .file("b.yaml", in_namespace(policy("shop-b", "shop-b", 4), "prod", "team: red"))
        .file("c.yaml", in_namespace(policy("cart", "cart", 5), "test", "team: red, tier: back"))
        .file("d.yaml", policy("none", "none", 6))
}

fn targets(repository: &Repository, arguments: &[&str]) -> Vec<String> {
    let output =
        repository.run_json("forecast", &[&["-f", ".", "--for", "1h"], arguments].concat());
    let name = |it: &Value| {
        let target = &it["target"];
        format!("{}/{}", target["namespace"].as_str().unwrap(), target["name"].as_str().unwrap())
    };
    output["series"].as_array().unwrap().iter().map(name).collect()
}

#[test]
fn a_namespace_and_labels_narrow_files_as_they_narrow_a_cluster() {
    let repository = shops("narrowed");
    assert_eq!(targets(&repository, &["-n", "prod"]), ["prod/none", "prod/shop-a", "prod/shop-b"]);
    assert_eq!(targets(&repository, &["-l", "team=red"]), ["prod/shop-b", "test/cart"]);
    assert_eq!(targets(&repository, &["-l", "team in (red), !tier"]), ["prod/shop-b"]);
    assert_eq!(targets(&repository, &["-n", "test", "-l", "tier"]), ["test/cart"]);
    let next = repository.run_json("next", &["-f", ".", "-l", "tier=back", "--count", "1"]);
    assert_eq!(next["items"][0]["policy"]["name"], "cart");
    repository
        .run(&["forecast", "-f", ".", "-l", "="])
        .assert_output(2, &["--selector", "not a label selector"]);
    let wrong = ["explain", "-f", ".", "cart", "-l", "team=blue"];
    repository.run(&wrong).assert_output(2, &["no policy or target matches"]);
}

#[test]
fn findings_are_narrowed_by_namespace_and_labels_too() {
    let wrong = |text: String| text.replace("0 8 * * *", "0 8 * *");
    let repository = shops("narrowed-findings");
    let labeled = "metadata:\n  namespace: test\n  labels: {team: red}\n";
    let repository = repository
        .file("e.yaml", wrong(policy("e", "e", 1)).replace("metadata:\n", labeled))
        .file("f.yaml", wrong(policy("f", "f", 1)));
    let found = |arguments: &[&str]| findings(&repository.run_json("validate", arguments));
    assert_eq!(found(&[]), ["schedule e.yaml:10:28", "schedule f.yaml:8:28"]);
    assert_eq!(found(&["-n", "prod"]), ["schedule f.yaml:8:28"]);
    assert_eq!(found(&["-l", "team=red"]), ["schedule e.yaml:10:28"]);
}

#[test]
fn files_are_checked_for_the_version_of_kubernetes_that_is_stated() {
    let text = policy("queue", "queue", 0)
        .replace("apps/v1, kind: Deployment", "autoscaling/v2, kind: HorizontalPodAutoscaler")
        .replace("targetReplicas", "targetMinReplicas");
    let repository = Repository::new("kubernetes-version").file("a.yaml", text);
    let of_version = |command: &'static str, version: &'static str| {
        repository.run(&[command, "-f", ".", "--kubernetes-version", version])
    };
    repository.run(&["validate"]).assert_output(1, &["0 needs Kubernetes 1.37 or newer"]);
    for command in ["validate", "lint"] {
        of_version(command, "1.36").assert_output(1, &["0 needs Kubernetes 1.37 or newer"]);
        of_version(command, "1.37").assert_output(0, &["info[out-of-range]", "Karmada"]);
    }
    for command in ["forecast", "next"] {
        of_version(command, "v1.37.2").assert_output(0, &["minReplicas"]);
    }
    of_version("validate", "new").assert_output(2, &["--kubernetes-version", "write it as 1.37"]);
    repository
        .run(&["next", "--kubernetes-version", "1.37"])
        .assert_output(2, &["applies to files only"]);
}

#[test]
fn only_selected_objects_are_counted() {
    let keda = |name: &str, metadata: &str| {
        format!(
            "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {{name: {name}, {metadata}}}\n\
             spec: {{triggers: [{{type: cron}}]}}\n"
        )
    };
    let repository = shops("counts")
        .file("keda.yaml", keda("k", "namespace: prod, labels: {team: red}"))
        .file("other.yaml", keda("o", "namespace: test"));
    let counted = |arguments: &[&str]| {
        let stdout = repository.run(&[&["validate"], arguments].concat()).stdout;
        let lines =
            stdout.lines().filter(|it| it.starts_with("checked") || it.starts_with("skipped"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let notes = "checked 4 objects in 6 files: 2 notes in 2 files";
    assert_eq!(counted(&[]), [notes], "what is reported is not skipped");
    let skipped =
        |what: &str| format!("skipped {what} without a policy or its target, or not requested");
    assert_eq!(
        counted(&["-n", "prod"]),
        ["checked 3 objects in 4 files: 1 note in 1 file", &skipped("2 files and 2 objects")]
    );
    assert_eq!(
        counted(&["-l", "team=blue"]),
        ["checked 1 object in 1 file: no problems found", &skipped("5 files and 5 objects")]
    );
    assert_eq!(
        counted(&["-l", "team=green"]),
        ["checked 0 objects in 0 files: nothing to check", &skipped("6 files and 6 objects")]
    );
}

#[test]
fn names_may_be_patterns() {
    let repository = shops("patterns");
    assert_eq!(targets(&repository, &["shop-*"]), ["prod/shop-a", "prod/shop-b"]);
    assert_eq!(targets(&repository, &["deploy/t*/*"]), ["test/cart"]);
    let explain = ["explain", "-f", ".", "deploy/shop-?", "--at", PRESENT, "-o", "json"];
    let output = repository.run(&explain).json();
    let values: Vec<&Value> =
        output["answers"].as_array().unwrap().iter().map(|it| &it["value"]).collect();
    assert_eq!(values, [3, 4]);
}

#[test]
fn a_path_in_place_of_a_name_is_an_error_with_the_right_flag() {
    let repository = shops("paths").file("policies/e.yaml", policy("e", "e", 1));
    let repository = repository.file("our policies/e.yaml", policy("e", "e", 1));
    for (path, quoted) in [("a.yaml", "a.yaml"), ("./our policies", "'./our policies'")] {
        let ran = repository.run(&["diff", "a.yaml", "b.yaml", "--only", path]);
        ran.assert_output(2, &[&format!("to read it, write -f {quoted}")]);
    }
    let ran = repository.run(&["forecast", "-f", "a.yaml", "policies"]);
    ran.assert_output(2, &["the name is a path: to read it, write -f policies"]);
}
