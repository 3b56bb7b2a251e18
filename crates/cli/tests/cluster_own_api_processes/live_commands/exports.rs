//! `almanac next`, `explain` and `forecast` over a cluster: the results equal those from a kubectl export of the
//! cluster.

use std::fs;
use std::path::Path;

use crate::live::{PRESENT, ROLLOUT, almanac, apply, ask_both, output_of, prepare, stderr, stdout};
use almanac_harness::{ControlPlaneOptions, Kubectl, OwnTest, TestResult, on_own_control_plane};
use anyhow::Context as _;
use serde_json::{Value, json};

/// The kinds of all objects that can affect a result, for an export by a user.
const EXPORTED: &str = "metricsproducers,horizontalautoscalers,scalablenodegroups,\
                        cronfederatedhpas,federatedhpas,hpa,deployments,statefulsets,replicasets,\
                        replicationcontrollers,cronjobs";

/// All output formats without locations, which differ between a file and a cluster.
const QUESTIONS: &[&[&str]] = &[
    &["next", "--from", PRESENT, "--for", "3d"],
    &["next", "--from", PRESENT, "--for", "3d", "-o", "json"],
    &["forecast", "--from", PRESENT, "--for", "3d"],
    &["forecast", "--from", PRESENT, "--for", "3d", "-o", "json"],
    &["forecast", "--from", PRESENT, "--for", "3d", "-o", "svg"],
    &["forecast", "--from", PRESENT, "--for", "3d", "-o", "csv"],
    &["when", "--from", PRESENT],
    &["when", "--from", PRESENT, "-o", "json"],
];

/// A `CronJob` with a time zone, and two in the zone of the kube-controller-manager. One of these two is suspended.
const CRON_JOBS: &str = r#"
apiVersion: batch/v1
kind: CronJob
metadata: {name: backup, labels: {team: blue}}
spec:
  schedule: "30 2 * * *"
  timeZone: Europe/Berlin
  jobTemplate:
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: report}
spec:
  schedule: "0 6 * * *"
  jobTemplate:
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: paused}
spec:
  schedule: "0 * * * *"
  suspend: true
  jobTemplate:
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}
"#;

/// Exports the objects with kubectl, and checks that the cluster and the export have the same results.
async fn assert_same_output(
    test: &OwnTest,
    kubectl: &Kubectl,
    scope: &[&str],
    further: &[&[&str]],
) -> TestResult {
    let exported = kubectl.run(&[&["get", EXPORTED, "-o", "yaml"], scope].concat()).await?;
    let file = test.plane.folder().join("exported.yaml");
    fs::write(&file, exported)?;
    let files = [file.display().to_string()];
    let kubeconfig = test.plane.kubeconfig();
    for question in QUESTIONS.iter().chain(further) {
        let live = ask_both(&kubeconfig, question, scope, &files).await?;
        assert!(!live.stdout.is_empty() && live.status.success(), "{}", stderr(&live));
    }
    Ok(())
}

#[test]
fn a_cluster_and_its_kubectl_export_give_the_same_output() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let kubectl = test.kubectl().await?;
        missing_crds_are_not_an_error(test).await?;
        prepare(&kubectl).await?;
        apply(&kubectl, "designs", CRON_JOBS).await?;
        let explain = |name| ["explain", name, "--at", PRESENT];
        let (shop, checkout, store) =
            (explain("deployment/shop"), explain("checkout"), explain("sts/store"));
        let shop_json = [&shop[..], &["-o", "json"]].concat();
        let scope = ["-n", "default"];
        assert_same_output(test, &kubectl, &scope, &[&shop, &shop_json, &checkout]).await?;
        assert_same_output(test, &kubectl, &["-n", "designs"], &[&shop, &store]).await?;
        assert_same_output(test, &kubectl, &["-A"], &[&checkout, &store]).await?;
        let kubeconfig = test.plane.kubeconfig();
        // A target that no rule has set keeps its replicas in the cluster.
        let report = output_of(&kubeconfig, &[&store[..], &["-n", "designs"]].concat()).await?;
        assert!(report.contains("StatefulSet.apps designs/store is 5\n"), "{report}");
        // A name selects the source if no flag does.
        let named = ["explain", "sts/designs/store", "--at", PRESENT];
        assert_eq!(output_of(&kubeconfig, &named).await?, report);
        cron_jobs_are_shown(&kubeconfig).await?;
        the_context_selects_the_namespace(test).await?;
        many_policies_are_read_in_pages(test, &kubectl).await?;
        apply(&kubectl, "default", ROLLOUT).await?;
        let report = output_of(&kubeconfig, &explain("rollout/front")).await?;
        assert!(
            report.contains("replicas of Rollout.example.org default/front is 7\n"),
            "{report}"
        );
        findings_show_the_text_of_the_object(test, &kubectl).await
    })
}

/// `CronJobs` by name, by label, and in the zone of the controller-manager.
async fn cron_jobs_are_shown(kubeconfig: &Path) -> TestResult {
    let next = ["next", "--from", PRESENT, "--for", "1d", "-n", "designs"];
    let report = output_of(kubeconfig, &[&next[..], &["cronjob/backup"]].concat()).await?;
    assert!(report.starts_with("Fri 2026-11-27 02:30 +01:00"), "{report}");
    assert_eq!(report.matches("starts a Job").count(), 1, "{report}");
    assert_eq!(
        output_of(kubeconfig, &[&next[..], &["cronjob/*", "-l", "team=blue"]].concat()).await?,
        report
    );
    let zone = ["cj/report", "--cron-job-zone", "Asia/Tokyo"];
    let report = output_of(kubeconfig, &[&next[..], &zone].concat()).await?;
    assert!(report.contains("06:00 +09:00") && report.contains("taken as Asia/Tokyo"), "{report}");
    let when = ["when", "cj/designs/backup", "--from", PRESENT, "--count", "1"];
    let report = output_of(kubeconfig, &when).await?;
    assert!(report.contains("Starts a Job at 02:30 every day (Europe/Berlin)"), "{report}");
    let forecast = ["forecast", "--from", PRESENT, "-n", "designs", "-o", "json"];
    let report: Value = serde_json::from_str(&output_of(kubeconfig, &forecast).await?)?;
    assert_eq!(report["occurrences"].as_array().map(Vec::len), Some(14), "{report:#}");
    Ok(())
}

/// Missing CRDs are not an error, and no output mentions kinds that the cluster does not serve.
async fn missing_crds_are_not_an_error(test: &OwnTest) -> TestResult {
    let output = almanac(&test.plane.kubeconfig(), &["next", "--from", PRESENT]).await?;
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), "nothing happens in this period\n");
    let note = "note: no policies found in namespace default; use -n for another namespace, or -A for \
         all\n";
    assert_eq!(stderr(&output), note);
    Ok(())
}

async fn the_context_selects_the_namespace(test: &OwnTest) -> TestResult {
    let admin = test.plane.kubeconfig();
    let mut kubeconfig: Value = serde_json::from_str(&fs::read_to_string(&admin)?)?;
    let mut context = kubeconfig["contexts"][0].clone();
    context["name"] = json!("elsewhere");
    context["context"]["namespace"] = json!("designs");
    let contexts = kubeconfig["contexts"].as_array_mut().context("there are no contexts")?;
    contexts.push(context);
    let path = test.plane.folder().join("elsewhere.kubeconfig");
    fs::write(&path, kubeconfig.to_string())?;
    let question = ["next", "--from", PRESENT, "--for", "3d"];
    let by_flag = output_of(&admin, &[&question[..], &["-n", "designs"]].concat()).await?;
    let by_context =
        output_of(&path, &[&question[..], &["--context", "elsewhere"]].concat()).await?;
    let path = path.display().to_string();
    let flags = ["--kubeconfig", &path, "--context", "elsewhere"];
    let by_file = output_of(Path::new("/dev/null"), &[&question[..], &flags].concat()).await?;
    assert_eq!((&by_context, &by_file), (&by_flag, &by_flag));
    assert_ne!(output_of(&admin, &question).await?, by_flag);
    Ok(())
}

/// More policies than a page contains, more targets than are requested one by one, and most of the targets missing.
async fn many_policies_are_read_in_pages(test: &OwnTest, kubectl: &Kubectl) -> TestResult {
    let policies = (0..520).map(|number| {
        json!({
            "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
            "metadata": {"name": format!("policy-{number}")},
            "spec": {
                "scaleTargetRef":
                    {"apiVersion": "apps/v1", "kind": "Deployment", "name": format!("shop-{number}")},
                "rules": [{"name": "a", "schedule": "0 8 * * *", "targetReplicas": 3, "suspend": true}],
            },
        })
    });
    let mut items: Vec<Value> = policies.collect();
    for number in [3, 300] {
        let labels = json!({"app": "shop"});
        let containers = json!([{"name": "shop", "image": "registry.k8s.io/pause:3.10"}]);
        items.push(json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": format!("shop-{number}")},
            "spec": {
                "replicas": 6, "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
            },
        }));
    }
    kubectl.run(&["create", "namespace", "many"]).await?;
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    apply(kubectl, "many", &list.to_string()).await?;
    let explain = ["explain", "deployment/shop-300", "--at", PRESENT];
    assert_same_output(test, kubectl, &["-n", "many"], &[&explain]).await?;
    let report =
        output_of(&test.plane.kubeconfig(), &[&explain[..], &["-n", "many"]].concat()).await?;
    assert!(report.contains("Deployment.apps many/shop-300 is 6\n"), "{report}");
    kubectl.run(&["delete", "namespace", "many", "--wait=false"]).await?;
    Ok(())
}

/// The API server admits mistakes that only an evaluation of the schedules shows.
async fn findings_show_the_text_of_the_object(test: &OwnTest, kubectl: &Kubectl) -> TestResult {
    let bad = ROLLOUT.split("---").nth(1).context("there are two objects")?;
    let bad = bad.replace("0 8 * * *", "0 8 * *").replace("front-hours", "broken");
    apply(kubectl, "designs", &bad).await?;
    let question = ["next", "--from", PRESENT, "-n", "designs"];
    let output = almanac(&test.plane.kubeconfig(), &question).await?;
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let printed = stdout(&output);
    let export = kubectl.run(&["get", "cronfhpa", "broken", "-n", "designs", "-o", "yaml"]).await?;
    let line = export
        .lines()
        .position(|line| line.contains("0 8 * *\"") || line.contains("schedule: 0 8"));
    let line = line.context("the schedule is in a line of its own")? + 1;
    let place = format!("--> CronFederatedHPA/designs/broken:{line}:");
    assert!(
        printed.contains(&place) && printed.contains("schedule: 0 8 * *"),
        "{place}\n{printed}"
    );
    Ok(())
}
