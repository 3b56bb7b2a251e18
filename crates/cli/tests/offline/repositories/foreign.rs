//! Other projects that scale by the clock: their objects are recognized, and reported where they scale the target of
//! a policy.

use serde_json::Value;

use crate::repositories::repository::{Repository, autoscaler, deployment, findings, policy};

/// A `ScaledObject` of KEDA with a trigger of this type.
fn keda(name: &str, target: &str, trigger: &str) -> String {
    format!(
        "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {{name: {name}}}\n\
         spec: {{scaleTargetRef: {{name: {target}}}, triggers: [{{type: {trigger}}}]}}\n"
    )
}

fn annotated(text: &str, annotations: &str) -> String {
    text.replace("metadata:\n", &format!("metadata:\n  annotations: {{{annotations}}}\n"))
}

#[test]
fn policies_of_other_projects_are_reported_without_failing() {
    let repository = Repository::new("foreign")
        .file("cron.yaml", keda("a", "shop", "cron"))
        .file("kafka.yaml", keda("b", "cart", "kafka"))
        .file(
            "ali.yaml",
            "apiVersion: autoscaling.alibabacloud.com/v1beta1\n\
                           kind: CronHorizontalPodAutoscaler\nmetadata: {name: a}\n",
        )
        .file(
            "sleep.yaml",
            "apiVersion: kube-green.com/v1alpha1\nkind: SleepInfo\nmetadata: {name: a}\n",
        );
    let output = repository.run_json("validate", &[]);
    let expected = ["ali.yaml", "cron.yaml", "sleep.yaml"];
    assert_eq!(findings(&output), expected.map(|file| format!("foreign-policy {file}:2:7")));
    repository
        .run(&["validate"])
        .assert_output(0, &["is a cron policy for KEDA; Almanac does not apply it"]);
    repository.run(&["validate", "--fail-on", "info"]).assert_output(1, &["3 notes"]);
}

#[test]
fn the_annotations_of_kube_downscaler_are_a_policy() {
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shops\n";
    let repository = Repository::new("downscaler")
        .file("web.yaml", annotated(&deployment("web", 3), "downscaler/uptime: always"))
        .file("hpa.yaml", annotated(&autoscaler("a", "b"), "downscaler/downscale-period: never"))
        .file("namespace.yaml", annotated(namespace, "downscaler/downtime: never"))
        .file(
            "excluded.yaml",
            annotated(
                &deployment("excluded", 3),
                "downscaler/uptime: always, downscaler/exclude: \"true\"",
            ),
        )
        .file(
            "other.yaml",
            annotated(&deployment("other", 3), "downscaler/original-replicas: \"3\""),
        );
    let output = repository.run_json("validate", &[]);
    let expected = ["hpa.yaml:4:46", "namespace.yaml:4:38", "web.yaml:4:36"];
    assert_eq!(findings(&output), expected.map(|place| format!("foreign-policy {place}")));
    assert_eq!(output["findings"][2]["field"], "metadata.annotations[downscaler/uptime]");
    repository
        .run(&["validate"])
        .assert_output(0, &["the annotation is a policy for kube-downscaler"]);
}

#[test]
fn a_trigger_that_starts_jobs_gets_no_advice_about_scaling() {
    let job = "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: a\nspec: {schedule: '*/5 * * * *'}\n";
    let scaled = keda("b", "b", "cron").replace("ScaledObject", "ScaledJob");
    let repository = Repository::new("foreign-jobs")
        .file("job.yaml", annotated(job, "downscaler/uptime: always"))
        .file("scaled.yaml", scaled);
    let output = repository.run_json("lint", &[]);
    assert_eq!(
        findings(&output),
        ["foreign-policy job.yaml:4:36", "foreign-policy scaled.yaml:2:7"]
    );
    let fixes: Vec<&str> =
        output["findings"].as_array().unwrap().iter().filter_map(|it| it["fix"].as_str()).collect();
    assert!(
        fixes[0].contains("may skip a start") && fixes[1].contains("use a CronJob"),
        "{fixes:?}"
    );
}

/// The warnings of two writers: the location, the place and the message of each.
fn two_writers(output: &Value) -> Vec<String> {
    let output = output["findings"].as_array().unwrap().iter();
    let of_two = output.filter(|it| it["code"] == "two-writers");
    let one = |it: &Value| {
        let text = |key: &str| it[key].as_str().unwrap_or("-").to_owned();
        format!("{} {}: {}", text("file"), text("place"), text("message"))
    };
    of_two.map(one).collect()
}

#[test]
fn a_target_that_another_project_scales_too_has_two_writers() {
    let ali = "apiVersion: autoscaling.alibabacloud.com/v1beta1\nkind: CronHorizontalPodAutoscaler\n\
               metadata: {name: ali}\nspec: {scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}}\n";
    let of_db = policy("db-hours", "db", 3).replace("kind: Deployment", "kind: StatefulSet");
    let repository = Repository::new("foreign-writers")
        .file("shop.yaml", policy("shop-hours", "shop", 3))
        .file("keda.yaml", keda("shop", "shop", "cron"))
        .file("cart.yaml", policy("cart-hours", "cart", 3))
        .file("queue.yaml", keda("cart", "cart", "kafka"))
        .file("db.yaml", of_db)
        .file("ali.yaml", ali)
        .file("web.yaml", policy("web-hours", "web", 3))
        .file("web-itself.yaml", annotated(&deployment("web", 3), "downscaler/uptime: always"))
        // Only this policy scales the first target, and no Almanac policy scales the second target.
        .file("alone.yaml", policy("alone", "alone", 3))
        .file("theirs.yaml", keda("theirs", "theirs", "cron"))
        .file("job.yaml", keda("job", "alone", "cron").replace("ScaledObject", "ScaledJob"));
    let output = repository.run_json("validate", &[]);
    let message = |target: &str, writer: &str| {
        format!("{target} is already scaled by {writer}; each undoes the other's work")
    };
    let expected = [
        format!(
            "cart.yaml -: {}",
            message(
                "Deployment.apps default/cart",
                "ScaledObject.keda.sh default/cart, at queue.yaml:1"
            )
        ),
        format!(
            "db.yaml -: {}",
            message(
                "StatefulSet.apps default/db",
                "CronHorizontalPodAutoscaler.autoscaling.alibabacloud.com default/ali, at ali.yaml:1"
            )
        ),
        format!(
            "shop.yaml -: {}",
            message(
                "Deployment.apps default/shop",
                "ScaledObject.keda.sh default/shop, at keda.yaml:1"
            )
        ),
        format!(
            "web.yaml -: {}",
            message("Deployment.apps default/web", "kube-downscaler, at web-itself.yaml:1")
        ),
    ];
    assert_eq!(two_writers(&output), expected);
    assert!(two_writers(&repository.run_json("forecast", &["-f", ".", "--for", "1h"])).len() == 4);
}

#[test]
fn a_target_scaled_by_another_project_in_another_cluster_is_not_a_conflict() {
    let repository = Repository::new("foreign-places")
        .file("prod/hours.yaml", policy("hours", "shop", 3))
        .file("prod/keda.yaml", keda("shop", "cart", "cron"))
        .file("staging/hours.yaml", policy("hours", "shop", 3))
        .file("staging/keda.yaml", keda("shop", "shop", "cron"));
    let output = repository.run_json("validate", &[]);
    let found = two_writers(&output);
    assert!(found.len() == 1 && found[0].starts_with("staging/hours.yaml staging: "), "{found:?}");
    // Copies of an object separate clusters, also for objects of other projects.
    let repository = Repository::new("foreign-separates")
        .file("prod/hours.yaml", policy("hours", "shop", 3))
        .file("dev/keda.yaml", keda("shop", "shop", "cron"))
        .file("test/keda.yaml", keda("shop", "shop", "cron"));
    repository.run(&["validate"]).assert_output(0, &["in 2 places: 2 warnings and 2 notes"]);
}
