//! Files that a directory scan skips without a note, and the output about objects that are neither policies nor
//! targets.

use serde_json::Value;

use crate::repositories::repository::{Repository, autoscaler, deployment, findings, policy};

#[test]
fn other_kinds_of_known_groups_are_skipped_and_a_slip_of_a_known_kind_is_a_warning() {
    let api_version = "cluster.open-cluster-management.io/v1beta1";
    let of_hub =
        |kind: &str| format!("apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a}}\n");
    let list = format!("[{{\"apiVersion\": \"{api_version}\", \"kind\": \"Restore\"}}]");
    let repository = Repository::new("kinds-of-known-groups")
        .file("backup.yaml", of_hub("BackupSchedule"))
        .file("broken.yaml", of_hub("Restore") + "\tspec: [\n")
        .file("list.json", list)
        .file("placement.yaml", of_hub("Placment"));
    let directory: &[&str] = &[];
    for arguments in [directory, &["backup.yaml", "placement.yaml"]] {
        let output = repository.run_json("validate", arguments);
        assert_eq!(findings(&output), ["mistyped-kind placement.yaml:2:7"], "{arguments:?}");
        assert_eq!(output["findings"][0]["fix"], "write kind: Placement");
    }
    repository.run(&["validate"]).assert_output(0, &["warning[mistyped-kind]"]);
}

#[test]
fn expectations_of_tests_are_skipped_in_a_directory_and_checked_if_named() {
    let expected = "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\nmetadata: {name: a}\n";
    let repository = Repository::new("expectations")
        .file("e2e/hours/00-install.yaml", policy("hours", "shop", 3))
        .file("e2e/hours/00-assert.yaml", expected)
        .file("e2e/hours/01-errors.yaml", expected)
        .file(
            "chainsaw/chainsaw-test.yaml",
            "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: a}\n",
        )
        .file("chainsaw/assert.yaml", expected)
        .file("chainsaw/hours-assert.yaml", expected)
        .file("plain/assert.yaml", expected);
    let output = repository.run_json("validate", &[]);
    assert_eq!(findings(&output), ["missing-field plain/assert.yaml:1:1"]);
    repository.run(&["validate", "--exclude", "plain"]).assert_output(
        0,
        &["checked 1 object in 1 file: no problems found", "skipped 5 files without a policy"],
    );
    let named = "e2e/hours/00-assert.yaml";
    let output = repository.run_json("validate", &[named]);
    assert_eq!(findings(&output), [format!("missing-field {named}:1:1")]);
}

#[test]
fn a_list_without_objects_is_skipped_in_a_directory() {
    let mappings = "- kind: Placement\n  plural: placements\n- {kind: CronFederatedHPA, group: autoscaling.karmada.io}\n\
                    - apiVersion: autoscaling.karmada.io/v1alpha1\n";
    let repository = Repository::new("mappings").file("mappings.yaml", mappings);
    assert_eq!(findings(&repository.run_json("validate", &[])), [""; 0]);
    let output = repository.run_json("validate", &["mappings.yaml"]);
    assert_eq!(findings(&output), ["not-an-object mappings.yaml:1:1"]);
}

#[test]
fn a_template_without_a_policy_or_an_autoscaler_is_not_noted() {
    let applications = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata:\n  \
                        labels: {cluster.open-cluster-management.io/placement: {{name}} }\n";
    let job =
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {{ .Values.spec }}\n";
    let repository = Repository::new("templates-of-others")
        .file("applications.yaml", applications)
        .file("job.yaml", job)
        .file("charts/jobs/Chart.yaml", "name: jobs\n")
        .file("charts/jobs/templates/job.yaml", job)
        .file("variables.yaml", job.replace("{{ .Values.spec }}", "{schedule: ${WHEN}: }"));
    let output = repository.run_json("validate", &[]);
    assert_eq!(findings(&output), [""; 0]);
    assert_eq!(output["notes"], Value::Null, "{output:#}");
    for named in ["applications.yaml", "job.yaml"] {
        let found = findings(&repository.run_json("validate", &[named]));
        assert!(found[0].starts_with("template "), "{found:?}");
    }
}

#[test]
fn a_version_that_kubernetes_has_removed_is_named_in_a_directory_too() {
    let job = "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: a}\n\
               spec: {schedule: \"0 3 * * *\", timeZone: Etc/UTC}\n";
    let old = autoscaler("web", "web").replace("autoscaling/v2", "autoscaling/v2beta2");
    let repository =
        Repository::new("removed-versions").file("job.yaml", job).file("web.yaml", old);
    let output = repository.run_json("validate", &[]);
    assert_eq!(
        findings(&output),
        ["removed-version job.yaml:1:13", "removed-version web.yaml:1:13"]
    );
    assert_eq!(output["findings"][0]["fix"], "write apiVersion: batch/v1");
    repository
        .run(&["validate"])
        .assert_output(0, &["Kubernetes 1.26 removed this version of HorizontalPodAutoscaler"]);
}

#[test]
fn a_target_of_a_mistyped_kind_or_a_removed_version_is_found_in_any_file() {
    let shop = deployment("shop", 1);
    let repository = Repository::new("near-kinds")
        .file("policies/hours.yaml", policy("hours", "shop", 3))
        .file("apps/shop.yaml", shop.replace("kind: Deployment", "kind: Deploymnt"))
        .file("apps/cart.yaml", deployment("cart", 1).replace("Deployment", "Deploymnt"))
        .file("old/shop.yaml", shop.replace("apps/v1", "extensions/v1beta1"))
        .file("old/cart.yaml", deployment("cart", 1).replace("apps/v1", "apps/v1beta2"))
        .file("jobs/night.yaml", "apiVersion: batch/v1\nkind: Cronjob\nmetadata: {name: a}\n");
    let output = repository.run_json("validate", &[]);
    let expected = [
        "mistyped-kind apps/shop.yaml:2:7",
        "mistyped-kind jobs/night.yaml:2:7",
        "removed-version old/shop.yaml:1:13",
    ];
    assert_eq!(findings(&output), expected);
    let named = repository.run_json("validate", &["apps/cart.yaml", "old/cart.yaml"]);
    let expected = ["mistyped-kind apps/cart.yaml:2:7", "removed-version old/cart.yaml:1:13"];
    assert_eq!(findings(&named), expected);
}

#[test]
fn a_target_of_nearly_the_same_name_is_found_in_any_file() {
    let repository = |name: &str| {
        Repository::new(name)
            .file("policies/hours.yaml", policy("hours", "shop-frontend", 3))
            .file("apps/cart.yaml", deployment("cart", 1))
    };
    let alone = repository("near-names-none");
    assert_eq!(findings(&alone.run_json("validate", &[])), [""; 0]);
    let near = repository("near-names").file("apps/shop.yaml", deployment("shop-front", 2));
    let output = near.run_json("validate", &[]);
    assert_eq!(findings(&output), ["no-such-target policies/hours.yaml:6:65"]);
    assert_eq!(output["findings"][0]["fix"], "write shop-front if that is meant");
    near.run(&["validate"]).assert_output(0, &["checked 1 object in 1 file: 1 warning in 1 file"]);
    let there = near.file("apps/frontend.yaml", deployment("shop-frontend", 2));
    assert_eq!(findings(&there.run_json("validate", &[])), [""; 0]);
    let broken = deployment("shop-front", 2).replace("  name", "\tname");
    let broken = repository("near-names-broken").file("apps/shop.yaml", broken);
    assert_eq!(findings(&broken.run_json("validate", &[])), [""; 0]);
}

#[test]
fn a_target_is_looked_for_in_its_own_cluster() {
    let mut repository = Repository::new("near-names-of-places");
    for (cluster, target) in [("prod", "shop-frontend"), ("staging", "shop-front")] {
        repository = repository
            .file(&format!("clusters/{cluster}/hours.yaml"), policy("hours", "shop-frontend", 3))
            .file(&format!("clusters/{cluster}/shop.yaml"), deployment(target, 2));
    }
    let output = repository.run_json("validate", &[]);
    assert_eq!(findings(&output), ["no-such-target clusters/staging/hours.yaml:6:65"]);
    assert_eq!(output["findings"][0]["place"], "clusters/staging");
}
