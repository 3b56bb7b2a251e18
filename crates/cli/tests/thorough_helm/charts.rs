//! Diffs of charts, and findings about charts that cannot be rendered.

use std::fs;

use serde_json::{Value, json};

use crate::running::commit;
use crate::{CART, CHART, PROD, SHOP, VALUES, diff, edited, repository};

const CHANGE: [&str; 2] = ["--git", "HEAD~1..HEAD"];

/// The fix for an unknown error.
const USUAL: &str = "correct it, or do not render it";

/// The targets with different values, with the maximum before and after.
fn peaks(report: &Value) -> Vec<(&str, Option<u64>, Option<u64>)> {
    let mut peaks = Vec::new();
    for it in report["differences"].as_array().unwrap() {
        let peak = |side: &str| it[side]["peak"].as_u64();
        peaks.push((it["target"]["name"].as_str().unwrap(), peak("before"), peak("after")));
    }
    peaks
}

#[test]
fn a_change_of_values_changes_the_forecast() {
    let values = edited(VALUES, "minimum: 1", "minimum: 4");
    let change = [(values.0, &*values.1), (PROD, "night: 3\nday: 40\n")];
    let folder = repository("values", &change);
    let cart = ("cart", Some(1), Some(4));
    for (chart, changed) in [
        ("charts/shop", vec![cart]),
        ("charts/shop=values-prod.yaml", vec![cart, ("shop", Some(10), Some(40))]),
    ] {
        let output = diff(&folder, &[&CHANGE[..], &["--helm", chart, "-o", "json"]].concat());
        let report = output.json();
        assert_eq!(peaks(&report), changed, "{report:#}");
        assert_eq!(
            (&report["findings"], &report["notes"]),
            (&json!([]), &Value::Null),
            "{report:#}"
        );
        assert_eq!(report["summary"]["compared"], 2, "{report:#}");
        assert_eq!(output.code, Some(0));
    }
    let rendered = ["--helm", "charts/shop=values-prod.yaml"];
    let text = diff(&folder, &[CHANGE, rendered].concat()).stdout;
    for line in [
        "HEAD~1 → HEAD: 2 of 2 values change; +3,019.2 pod-hours a week",
        "Rendered on both sides: helm template charts/shop --values charts/shop/values-prod.yaml.",
        "Deployment.apps default/shop: 10 → 40 replicas every day, 08:00 to 20:00",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    // A policy sets no image.
    commit(&folder, &[(SHOP, &edited(SHOP, "image: shop", "image: cart").1)]);
    let text = diff(&folder, &[CHANGE, rendered].concat()).stdout;
    assert!(text.contains("Nothing changes: 2 values compared"), "{text}");
}

#[test]
fn almanac_toml_of_the_old_side_lists_the_charts_to_render() {
    let folder = repository("settings", &[]);
    let settings = "[diff]\nhelm = [\"charts/shop=values.yaml,values-prod.yaml\"]\n";
    commit(&folder, &[("almanac.toml", settings)]);
    commit(&folder, &[(PROD, "night: 3\nday: 40\n")]);
    let report = diff(&folder, &[&CHANGE[..], &["-o", "json"]].concat()).json();
    assert_eq!(peaks(&report), [("shop", Some(10), Some(40))], "{report:#}");
    let rendered = "helm template charts/shop --values charts/shop/values.yaml --values charts/shop/values-prod.yaml";
    assert_eq!(report["rendered"], json!([rendered]));
    assert_eq!(
        (&report["notes"], &report["notCompared"]),
        (&Value::Null, &Value::Null),
        "{report:#}"
    );
}

/// A broken file of the chart, with a part of the error and the fix.
struct Broken {
    name: &'static str,
    edited: (&'static str, String),
    error: &'static str,
    fix: &'static str,
}

fn broken(name: &'static str, edited: (&'static str, String), error: &'static str) -> Broken {
    Broken { name, edited, error, fix: USUAL }
}

fn all_broken() -> Vec<Broken> {
    let redis =
        "1.0.0}\n- {name: redis, version: 20.1.0, repository: \"https://charts.example.com\"}";
    let lookup = "{{ (lookup \"apps/v1\" \"Deployment\" \"default\" \"shop\").spec.replicas }}";
    vec![
        Broken {
            fix: "add them with `helm dependency build`, and commit its charts/ directory",
            ..broken(
                "dependency",
                edited(CHART, "1.0.0}", redis),
                "failed to render it: found in Chart.yaml, but missing in charts/ directory: redis",
            )
        },
        broken(
            "required",
            edited(SHOP, "{{ .Values.day }}", "{{ required \"day is required\" .Values.noon }}"),
            "failed to render it: execution error at (shop/templates/shop.yaml:17:84): day is required",
        ),
        broken(
            "nothing",
            edited(SHOP, "{{ .Values.day }}", "{{ .Values.noon.replicas }}"),
            "shop/templates/shop.yaml:17:91: executing \"shop/templates/shop.yaml\" at \
             <.Values.noon.replicas>: nil pointer evaluating interface {}.replicas",
        ),
        broken(
            "syntax",
            edited(SHOP, "{{ .Values.day }}", "{{ .Values.day"),
            "parse error at (shop/templates/shop.yaml:17)",
        ),
        broken(
            "yaml",
            edited(SHOP, "rules:", "rules: ["),
            "YAML parse error on shop/templates/shop.yaml",
        ),
        broken(
            "subchart",
            edited(CART, "{{ .Values.minimum }}", "{{ fail \"no cart\" }}"),
            "execution error at (shop/charts/cart/templates/cart.yaml:7:84): no cart",
        ),
        broken("lookup", edited(SHOP, "{{ .Values.night }}", lookup), "nil pointer evaluating"),
        broken(
            "values",
            (PROD, "day: [\n".to_owned()),
            "failed to parse ./charts/shop/values-prod.yaml",
        ),
        broken(
            "kubernetes",
            edited(CHART, "name: shop", "name: shop\nkubeVersion: '>=1.99'"),
            "chart requires kubeVersion: >=1.99 which is incompatible with Kubernetes v1.36.0",
        ),
    ]
}

#[test]
fn a_chart_that_cannot_be_rendered_is_a_finding_with_the_file_and_the_fix() {
    for Broken { name, edited, error, fix } in all_broken() {
        let folder = repository(&format!("broken-{name}"), &[(edited.0, &edited.1)]);
        let chart = "charts/shop=values-prod.yaml";
        let options = ["--helm", chart, "-o", "json"];
        let output = diff(&folder, &[&CHANGE[..], &options].concat());
        let report = output.json();
        assert_eq!(output.code, Some(2), "{name}: {report:#}");
        assert_eq!(report["findings"].as_array().unwrap().len(), 1, "{name}: {report:#}");
        let finding = &report["findings"][0];
        let source = "helm template charts/shop --values charts/shop/values-prod.yaml";
        assert_eq!(
            (&finding["code"], &finding["file"]),
            (&"unreadable-file".into(), &source.into())
        );
        let message = finding["message"].as_str().unwrap();
        assert!(
            message.starts_with("failed to render it: ") && message.contains(error),
            "{name}: {message}"
        );
        assert!(!message.contains("--debug") && !message.contains("almanac-render-"), "{message}");
        assert_eq!(finding["fix"], fix, "{name}");
        assert_eq!(report["differences"], json!([]), "{name}");
        // On the old side, the problem is a note, which fails only if no change is allowed.
        let reverse = ["--git", "HEAD..HEAD~1"];
        let output = diff(&folder, &[&reverse[..], &options].concat());
        let report = output.json();
        assert_eq!((output.code, &report["findings"]), (Some(0), &json!([])), "{name}: {report:#}");
        let note = report["notes"][0].as_str().unwrap();
        let start = "charts/shop with charts/shop/values-prod.yaml of HEAD: failed to render it: ";
        assert!(
            note.starts_with(start) && note.contains(error) && note.ends_with(fix),
            "{name}: {note}"
        );
        let gate = diff(&folder, &[&reverse[..], &options, &["--fail-on-change"]].concat());
        assert_eq!(gate.code, Some(1), "{name}");
    }
}

#[test]
fn a_missing_values_file_is_reported_for_the_side_that_lacks_it() {
    let chart = ["--helm", "charts/shop=values-test.yaml"];
    let folder = repository("missing-values", &[]);
    let neither = diff(&folder, &[CHANGE, chart].concat());
    let text = neither.stderr;
    assert_eq!(neither.code, Some(2), "{text}");
    assert!(text.contains("--helm: neither side has charts/shop/values-test.yaml"), "{text}");
    assert!(text.contains("values files are named from the chart"), "{text}");
    commit(&folder, &[("charts/shop/values-test.yaml", "day: 20\n")]);
    let new = diff(&folder, &[CHANGE, chart].concat());
    let text = new.stdout;
    assert_eq!(new.code, Some(0), "{text}");
    assert!(
        text.contains(
            "note: charts/shop with charts/shop/values-test.yaml of HEAD~1: \
             charts/shop/values-test.yaml is not a file of this side; name an existing file"
        ),
        "{text}"
    );
    fs::remove_file(folder.join("charts/shop/values-test.yaml")).unwrap();
    commit(&folder, &[]);
    let gone = diff(&folder, &[&CHANGE[..], &chart, &["-o", "json"]].concat());
    let report = gone.json();
    let finding = &report["findings"][0];
    assert_eq!(gone.code, Some(2));
    assert_eq!(finding["message"], "charts/shop/values-test.yaml is not a file of this side");
    assert_eq!(finding["fix"], "name an existing file");
}

#[test]
fn lookup_returns_nothing_and_capabilities_are_those_of_helm() {
    let with_lookup = "{{ if lookup \"v1\" \"Namespace\" \"\" \"default\" }}99{{ else }}{{ .Values.day }}{{ end }}";
    let guarded = "{{ if .Capabilities.APIVersions.Has \"autoscaling.karmada.io/v1alpha1\" }}99{{ else }}30{{ end }}";
    let edit = edited(SHOP, "{{ .Values.day }}", with_lookup);
    let folder = repository("lookup", &[(edit.0, &edit.1)]);
    let same = diff(&folder, &[CHANGE, ["--helm", "charts/shop"]].concat());
    assert!(same.stdout.contains("Nothing changes: 2 values compared"), "{same:?}");
    commit(&folder, &[(SHOP, &edit.1.replace(with_lookup, guarded))]);
    let report =
        diff(&folder, &[&CHANGE[..], &["--helm", "charts/shop", "-o", "json"]].concat()).json();
    assert_eq!(peaks(&report), [("shop", Some(10), Some(30))], "{report:#}");
}
