//! `explain`, `next` and `forecast` report known values and invalid objects.

use serde_json::Value;

use crate::forecast::running::{
    BROKEN, PRESENT, SHOP, almanac, cron, folder_with, forecast, segments,
};
use crate::running::{list, word};

/// A usable and an unusable rule.
const HALF_BROKEN: &str = cron!(
    "half",
    "other",
    r#"name: never, schedule: "0 8 * *", targetReplicas: 10"#,
    r#"name: daily, schedule: "0 9 * * *", targetReplicas: 4"#
);

/// A policy without a usable part.
const HOPELESS: &str = r#"
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: hopeless}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: DaemonSet, name: agent}
  rules:
  - {name: daily, schedule: "0 9 * * *", targetReplicas: 4}
"#;

fn explain(name: &str, texts: &[(&str, &str)], subject: &str) -> (Value, Option<i32>, String) {
    let folder = folder_with(name, texts);
    let arguments = ["explain", "-f", ".", subject, "--at", PRESENT];
    let shown = almanac(&folder, &arguments).stdout;
    let output = almanac(&folder, &[&arguments[..], &["-o", "json"]].concat());
    (output.json(), output.code, shown)
}

/// All rules as `rule verdict`.
fn verdicts(explanation: &Value) -> Vec<String> {
    let report =
        |it: &Value| format!("{} {}", it["rule"].as_str().unwrap_or("-"), word(&it["verdict"]));
    list(&explanation["reasons"]).iter().map(report).collect()
}

#[test]
fn a_rule_that_cannot_be_used_is_explained_with_its_finding() {
    let (report, code, shown) = explain("half", &[("a.yaml", HALF_BROKEN)], "half");
    assert_eq!(code, Some(1));
    assert_eq!(verdicts(&report), ["never error", "daily won"]);
    let because = word(&report["reasons"][0]["because"]);
    assert!(because.contains("five fields, this has four"), "{because}");
    assert_eq!(
        (&report["value"], report["findings"].as_array().map(Vec::len)),
        (&4.into(), Some(1))
    );
    assert_eq!(report["findings"][0]["line"], 8);
    assert!(shown.contains("! error     never") && shown.contains("--> a.yaml:8:"), "{shown}");
}

#[test]
fn an_object_without_a_usable_rule_is_explained_with_the_current_value() {
    let target =
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: other}\nspec: {replicas: 6}\n";
    let files = [("a.yaml", BROKEN), ("b.yaml", target)];
    let (report, code, _) = explain("only-broken", &files, "broken");
    assert_eq!((code, verdicts(&report)), (Some(1), vec!["never error".to_owned()]));
    assert_eq!(report["value"], 6);
    let (report, code, _) = explain("only-broken-by-target", &files, "deployment/other");
    assert_eq!((code, &report["policy"]["name"]), (Some(1), &"broken".into()));
    let (report, _, _) = explain("unknown-broken", &[("a.yaml", BROKEN)], "broken");
    assert_eq!(report["value"], Value::Null);
}

#[test]
fn an_unusable_object_is_still_explained() {
    let (report, code, shown) = explain("hopeless", &[("a.yaml", HOPELESS)], "hopeless");
    assert_eq!((code, verdicts(&report)), (Some(1), vec!["- error".to_owned()]));
    assert_eq!(report["value"], Value::Null);
    assert!(shown.contains("a DaemonSet runs once per node"), "{shown}");
}

#[test]
fn next_includes_findings_in_json_too() {
    let folder = folder_with("next-findings", &[("a.yaml", SHOP), ("b.yaml", BROKEN)]);
    let arguments = ["next", "-f", ".", "--from", PRESENT, "-o", "json"];
    let report = almanac(&folder, &arguments).ended(1).json();
    assert_eq!(report["findings"][0]["code"], "schedule");
    assert_eq!(report["items"].as_array().map(Vec::len), Some(10));
}

#[test]
fn a_target_of_an_unknown_kind_is_read_from_its_file() {
    let rollout = "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: shop}\n\
                   spec: {replicas: 7}\n";
    let policy = SHOP
        .replace("apps/v1, kind: Deployment", "argoproj.io/v1alpha1, kind: Rollout")
        .replace("targetReplicas: 10", "targetReplicas: 10, suspend: true")
        .replace("targetReplicas: 2", "targetReplicas: 2, suspend: true");
    let folder = folder_with("rollout", &[("a.yaml", &policy), ("b.yaml", rollout)]);
    let report = forecast(&folder, &["-o", "json"]).json();
    assert_eq!(report["series"][0]["segments"][0]["value"], 7);
    assert_eq!(report["series"][0]["target"]["apiVersion"], "argoproj.io/v1alpha1");
    assert_eq!(report["assumptions"], Value::Array(vec![]));
}

#[test]
fn no_forecast_starts_with_a_lower_bound_above_the_upper_one() {
    let scaled = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\n\
                  spec: {minReplicas: 1, maxReplicas: 10, \
                  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n";
    let policy = r#"
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, name: web}
  rules:
  - {name: never, schedule: "0 8 1 1 *", targetMinReplicas: 2, suspend: true}
"#;
    let folder = folder_with("crossed", &[("a.yaml", policy), ("b.yaml", scaled)]);
    let assume = ["-o", "json", "--assume", "hpa/web.minReplicas=50"];
    let report = forecast(&folder, &assume).json();
    let values = list(&report["series"]).iter().map(|it| &it["segments"][0]["value"]);
    assert_eq!(values.collect::<Vec<_>>(), [50, 50]);
    assert!(report["assumptions"].to_string().contains("to fit the other bound"), "{report:#}");
    let crossed = [&assume[..], &["--assume", "hpa/web.maxReplicas=20"]].concat();
    forecast(&folder, &crossed).ended(2).assert_stderr(&["minReplicas 50 is above maxReplicas 20"]);
}

#[test]
fn an_instant_out_of_range_is_reported() {
    let folder = folder_with("beyond", &[("a.yaml", SHOP)]);
    let at = |instant| almanac(&folder, &["explain", "-f", ".", "shop", "--at", instant]);
    at("9999-12-30T23:00:00Z").ended(2).assert_stderr(&["to 9999-12-30T22:00:00Z"]);
    at("9999-12-30T22:00:00Z").ended(0);
}

#[test]
fn the_values_of_an_exported_object_apply() {
    let exported = r#"
apiVersion: v1
kind: List
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: shop, creationTimestamp: "2026-11-01T00:00:00Z"}
  spec: {replicas: 6}
- apiVersion: autoscaling.karmada.io/v1alpha1
  kind: CronFederatedHPA
  metadata: {name: shop-hours, generation: 1, creationTimestamp: "2026-11-20T09:30:00Z"}
  spec:
    scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}
    rules:
    - {name: open, schedule: "0 8 * * *", targetReplicas: 10}
    - {name: close, schedule: "0 20 * * *", targetReplicas: 2}
"#;
    let folder = folder_with("exported", &[("a.yaml", exported)]);
    let report = forecast(&folder, &["-o", "json", "--for", "1d"]).json();
    let segments = segments(&report["series"][0]).into_iter();
    let values: Vec<&Value> = segments.map(|(_, value)| value).collect();
    // No controller ran at the opening at eight, so the existing value stays until the evening.
    assert_eq!(values, [6, 2, 10]);
    assert_eq!(report["assumptions"], Value::Array(vec![]));
    let behind = ["-o", "json", "--from", "2026-11-19T12:00:00Z", "--for", "1d"];
    let report = almanac(&folder, &[&["forecast", "-f", "."][..], &behind].concat()).json();
    assert!(report["assumptions"].to_string().contains("replayed from the rules"), "{report:#}");
}

/// A namespace with the ignore annotation, in a separate file.
const MARKED: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: shop, annotations: {almanac.dev/ignore: "until the sale is over"}}
"#;

const IN_SHOP: &str = cron!(
    "till, namespace: shop",
    "till",
    r#"name: daily, schedule: "0 9 * * *", targetReplicas: 4"#
);

#[test]
fn a_policy_in_a_marked_namespace_is_explained_as_exempt_and_not_forecast() {
    let files = [("namespace.yaml", MARKED), ("till.yaml", IN_SHOP), ("shop.yaml", SHOP)];
    let (report, code, _) = explain("marked", &files, "till");
    assert_eq!((code, verdicts(&report)), (Some(0), vec!["daily excluded".to_owned()]));
    let because = word(&report["reasons"][0]["because"]);
    let why = "the namespace of the object is marked with almanac.dev/ignore";
    assert!(because.ends_with(why), "{because}");
    let folder = folder_with("marked-forecast", &files);
    let output = forecast(&folder, &["--for", "2d", "-o", "json"]);
    let assumed = output.json()["assumptions"].clone();
    let output_text =
        format!("CronFederatedHPA.autoscaling.karmada.io shop/till is not applied: {why}");
    assert!(assumed.as_array().unwrap().contains(&output_text.clone().into()), "{assumed:#}");
    assert!(
        !output.stdout.replace(&output_text, "").contains("till"),
        "the exempt policy is in the forecast"
    );
}

#[test]
fn kube_system_is_exempt_unless_other_namespaces_are_named() {
    let in_system = IN_SHOP.replace("namespace: shop", "namespace: kube-system");
    let folder = folder_with("system", &[("till.yaml", &in_system)]);
    let explained = |more: &[&str]| {
        let arguments = ["explain", "-f", ".", "till", "--at", PRESENT, "-o", "json"];
        verdicts(&almanac(&folder, &[&arguments[..], more].concat()).json())
    };
    assert_eq!(explained(&[]), ["daily excluded"]);
    assert_ne!(explained(&["--exempt-namespaces=other"]), ["daily excluded"]);
    assert_ne!(explained(&["--exempt-namespaces="]), ["daily excluded"]);
}
