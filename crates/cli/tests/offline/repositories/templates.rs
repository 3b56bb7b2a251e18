//! Charts, kustomizations and variables: a template of another program is named once, with the command that shows the
//! result. No program is started for files in a directory.

use serde_json::Value;

use crate::repositories::repository::{Repository, deployment, findings, policy};

fn template(name: &str) -> String {
    policy(name, "shop", 3).replace("targetReplicas: 3", "targetReplicas: {{ .Values.peak }}")
}

#[test]
fn a_chart_is_reported_once_with_the_command_to_pipe() {
    let repository = Repository::new("charts")
        .file("charts/shop/Chart.yaml", "apiVersion: v2\nname: shop\n")
        .file("charts/shop/values.yaml", "peak: 3\n")
        .file("charts/shop/templates/a.yaml", template("a"))
        .file(
            "charts/shop/templates/b.yaml",
            format!("{{{{- if .Values.b }}}}\n{}{{{{- end }}}}\n", policy("b", "shop", 3)),
        )
        .file("charts/shop/templates/c.yaml", policy("'{{ .Release.Name }}-c'", "shop", 3))
        .file("charts/other/Chart.yaml", "apiVersion: v2\nname: other\n")
        .file("charts/other/templates/service.yaml", "kind: {{ .Values.kind }}\n")
        .file("loose.yaml", template("loose"));
    let ran = repository.run(&["validate"]);
    ran.assert_output(
        0,
        &[
            "note: charts/shop is a Helm chart; to check the result: \
         helm template charts/shop | almanac validate -f -\n",
            "note: loose.yaml is a Helm template\n",
        ],
    );
    assert_eq!(ran.stderr.matches("note: ").count(), 2, "{}", ran.stderr);
    assert!(!ran.stdout.contains("note: "), "{}", ran.stdout);
    let report = repository.run_json("validate", &[]);
    assert_eq!(findings(&report), [""; 0]);
    assert_eq!(report["notes"][0]["about"], "helm-chart");
    assert_eq!(report["notes"][0]["path"], "charts/shop");
    repository.run(&["next", "-f", "."]).assert_output(0, &["| almanac next -f -"]);
}

#[test]
fn chart_templates_are_never_read_as_objects() {
    let repository = Repository::new("plain-templates")
        .file("charts/shop/Chart.yaml", "name: shop\n")
        .file("charts/shop/templates/hours.yaml", policy("hours", "shop", 3))
        .file("charts/shop/templates/more/shop.yaml", deployment("shop", 0))
        .file("charts/cart/Chart.yaml", "name: cart\n")
        .file("charts/cart/templates/hours.yaml", policy("hours", "shop", 3))
        .file("charts/cart/examples/templates/hours.yaml", policy("example", "cart", 3))
        .file("policies/hours.yaml", policy("hours", "shop", 3));
    let report = repository.run_json("validate", &[]);
    assert_eq!(findings(&report), [""; 0]);
    let paths: Vec<&str> =
        report["notes"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["charts/cart", "charts/shop"]);
    repository.run(&["validate"]).assert_output(0, &["checked 2 objects in 2 files: no problems"]);
}

#[test]
fn a_subchart_is_reported_as_part_of_its_chart() {
    let repository = Repository::new("subcharts")
        .file("shop/Chart.yaml", "name: shop\n")
        .file("shop/templates/a.yaml", template("a"))
        .file("shop/charts/cart/Chart.yaml", "name: cart\n")
        .file("shop/charts/cart/templates/b.yaml", template("b"))
        .file("shop/charts/cart/charts/deep/Chart.yaml", "name: deep\n")
        .file("shop/charts/cart/charts/deep/templates/c.yaml", policy("c", "shop", 3))
        // A chart in the directory of another chart is separate.
        .file("shop/beside/Chart.yaml", "name: beside\n")
        .file("shop/beside/templates/d.yaml", template("d"));
    let ran = repository.run(&["validate"]);
    ran.assert_output(0, &["note: shop is a Helm chart", "note: shop/beside is a Helm chart"]);
    assert_eq!(ran.stderr.matches("note: ").count(), 2, "{}", ran.stderr);
    assert!(!ran.stdout.contains("note: "), "{}", ran.stdout);
}

#[test]
fn naming_only_the_templates_of_a_chart_names_the_chart() {
    let repository = Repository::new("templates-alone")
        .file("charts/my shop/Chart.yaml", "name: shop\n")
        .file("charts/my shop/templates/a.yaml", template("a"))
        .file("charts/my shop/templates/b/b.yaml", policy("b", "shop", 3));
    let command = "helm template 'charts/my shop' | almanac validate -f -";
    for path in ["charts/my shop/templates", "charts/my shop/templates/b"] {
        let report = repository.run_json("validate", &[path]);
        assert_eq!((findings(&report), &report["notes"][0]["command"]), (vec![], &command.into()));
        assert_eq!(report["notes"].as_array().map(Vec::len), Some(1), "{report:#}");
    }
}

#[test]
fn the_first_of_many_charts_are_listed_and_the_others_counted() {
    let mut repository = Repository::new("many-charts");
    for number in 0..40 {
        let chart = format!("charts/shop-{number:02}");
        repository = repository
            .file(&format!("{chart}/Chart.yaml"), "name: shop\n")
            .file(&format!("{chart}/templates/a.yaml"), template("a"));
    }
    let ran = repository.run(&["validate"]);
    ran.assert_output(0, &["note: charts/shop-04 is a Helm chart", "note: 35 more Helm charts\n"]);
    assert_eq!(repository.run_json("validate", &[])["notes"].as_array().map(Vec::len), Some(40));
}

#[test]
fn files_that_only_look_like_templates_are_skipped() {
    let description = "openapi: 3.0.0\nservers:\n- url: {{host}}/v1\ncomponents:\n  schemas:\n    Hours:\n      \
                       x-kubernetes-group-version-kind:\n      - {group: autoscaling.karmada.io, kind: \
                       CronFederatedHPA, version: v1alpha1}\n      properties:\n        apiVersion: {type: \
                       string}\n        kind: {type: string}\n";
    let repository = Repository::new("no-templates")
        .file("api/openapi.yaml", description)
        .file("dashboards/hours.json", "{\"legend\": \"{{instance}} CronFederatedHPA\", }\n")
        .file(
            "drafts/a.yaml",
            "a: [\n# kind: CronFederatedHPA\n# apiVersion: autoscaling.karmada.io/v1alpha1\n",
        );
    repository.run(&["validate"]).assert_output(
        0,
        &[
            "checked 0 objects in 0 files: nothing to check",
            "skipped 3 files without a policy or its target",
        ],
    );
    assert_eq!(repository.run_json("validate", &[])["notes"], Value::Null);
    repository.run(&["validate", "api/openapi.yaml"]).assert_output(1, &["error[syntax]"]);
}

#[test]
fn variables_to_be_substituted_are_reported_with_the_command_to_pipe() {
    let text =
        policy("hours", "shop", 3).replace("targetReplicas: 3", "targetReplicas: \"${PEAK}\"");
    let repository = Repository::new("variables").file("hours.yaml", &text);
    repository.run(&["validate"]).assert_output(
        0,
        &["note: hours.yaml has variables to substitute; to check the result: \
         envsubst < hours.yaml | almanac validate -f -"],
    );
    let report = repository.run_json("forecast", &["-f", ".", "--for", "1h"]);
    assert_eq!(report["series"].as_array().map(Vec::len), Some(0));
    // GNU's envsubst does not support defaults.
    let repository = repository.file("our hours.yaml", text.replace("${PEAK}", "${PEAK:=3}"));
    repository.run(&["validate"]).assert_output(
        0,
        &["check the result: flux envsubst < 'our hours.yaml' | almanac validate -f -"],
    );
}

#[test]
fn an_explicitly_named_template_is_an_error_with_a_fix() {
    let variables = policy("v", "shop", 3).replace("0 8 * * *", "${WHEN:=0 8 * * *}");
    let repository = Repository::new("named-templates")
        .file("helm.yaml", template("a"))
        .file("my shop/Chart.yaml", "name: shop\n")
        .file("my shop/templates/hours.yaml", template("b"))
        .file("variables.yaml", variables);
    let named = ["-f", "helm.yaml", "-f", "my shop/templates/hours.yaml", "-f", "variables.yaml"];
    let fixes = |report: &Value| {
        let fixes = report["findings"].as_array().unwrap().iter().map(|it| it["fix"].as_str());
        fixes.map(|fix| fix.unwrap().to_owned()).collect::<Vec<_>>()
    };
    let report = repository.run_json("validate", &named);
    let expected = [
        "template helm.yaml:8:57",
        "template my shop/templates/hours.yaml:8:57",
        "template variables.yaml:8:28",
    ];
    assert_eq!(findings(&report), expected);
    let expected = [
        "check the result: helm template CHART | almanac validate -f -",
        "check the result: helm template 'my shop' | almanac validate -f -",
        "check the result: flux envsubst < variables.yaml | almanac validate -f -",
    ];
    assert_eq!(fixes(&report), expected);
    let report = repository.run_json("next", &named);
    assert_eq!(fixes(&report)[1], "check the result: helm template 'my shop' | almanac next -f -");
    repository.run(&["validate", "helm.yaml"]).assert_output(1, &["error[template]"]);
}

fn kustomized(name: &str) -> Repository {
    let patch = "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\nmetadata: {name: hours}\n\
                 spec: {scaleTargetRef: {name: cart}}\n";
    Repository::new(name)
        .file("base/kustomization.yaml", "resources: [hours.yaml]\n")
        .file("base/hours.yaml", policy("hours", "shop", 3))
        .file(
            "overlays/prod/kustomization.yaml",
            "resources: [../../base]\npatches: [{path: more.yaml}]\n",
        )
        .file("overlays/prod/more.yaml", patch)
        .file("overlays/test/kustomization.yml", "resources: [../../base]\nnamePrefix: test-\n")
        .file("overlays/same/kustomization.yaml", "resources: [../../base]\n")
        .file("web/kustomization.yaml", "namePrefix: web-\nresources: [web.yaml]\n")
        .file("web/web.yaml", deployment("web", 1))
}

#[test]
fn a_kustomization_that_changes_a_policy_is_reported_and_its_patches_are_not_objects() {
    let repository = kustomized("kustomizations");
    let ran = repository.run(&["validate"]);
    ran.assert_output(0, &[
        "checked 1 object in 1 file: no problems found",
        "note: overlays/prod is a kustomization that changes its resources; to check the result: \
         almanac validate -k overlays/prod\n",
        "note: overlays/test is a kustomization",
    ]);
    assert_eq!(ran.stderr.matches("note: ").count(), 2, "{}", ran.stderr);
    assert!(!ran.stdout.contains("note: "), "{}", ran.stdout);
}

#[test]
fn the_changes_of_a_component_are_reported_at_the_overlays_that_include_it() {
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n";
    let repository = kustomized("components")
        .file("components/deep/kustomization.yaml", format!("{component}nameSuffix: -deep\n"))
        .file(
            "components/night/kustomization.yaml",
            format!("{component}components: [../deep]\nresources: [night.yaml]\n"),
        )
        .file("components/night/night.yaml", policy("night", "worker", 3))
        .file("components/plain/kustomization.yaml", component)
        .file(
            "overlays/east/kustomization.yaml",
            "resources: [../../base]\ncomponents: [../../components/night]\n",
        )
        .file(
            "overlays/west/kustomization.yaml",
            "resources: [../../base]\ncomponents: [../../components/plain]\n",
        );
    let report = repository.run_json("validate", &[]);
    assert_eq!(findings(&report), [""; 0]);
    let notes = report["notes"].as_array().unwrap();
    let paths: Vec<&str> = notes.iter().map(|it| it["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["overlays/east", "overlays/prod", "overlays/test"]);
}

#[test]
fn no_program_is_started_for_the_contents_of_a_folder() {
    let repository = kustomized("no-programs");
    let mut command = repository.command(&["validate"]);
    let output = command.env("PATH", "/nowhere").output().unwrap();
    crate::repositories::repository::Ran::from_output(&output)
        .assert_output(0, &["no problems found"]);
    let mut command = repository.command(&["validate", "-k", "base"]);
    let output = command.env("PATH", "/nowhere").output().unwrap();
    crate::repositories::repository::Ran::from_output(&output)
        .assert_output(2, &["failed to build the kustomization \"base\"", "failed to run kubectl"]);
}
