//! A real API server accepts the CRDs, and with these CRDs alone rejects every object that a schema can reject. Almanac
//! rejects every object that the API server rejects, and the API server accepts every object that Almanac accepts.

mod units;

use std::path::Path;

use crate::written::{autoscaler, cron_for, cron_for_autoscaler, cron_for_workload, now, producer};
use almanac_api::checking::{CheckContext, Layout, check_everything};
use almanac_api::finding::Severity;
use almanac_api::reading::{Reading, Source, read_objects};
use almanac_harness::{
    ControlPlaneOptions, Kubectl, Observation, PATIENCE, TestResult, await_condition,
    on_own_control_plane,
};

/// The API server's response to an object, with only the CRDs.
enum Server {
    Accepts,
    /// Rejects the object, with a message that contains these words.
    Refuses(&'static str),
}
use Server::{Accepts, Refuses};

fn rule(fields: &str) -> String {
    format!("  - {{name: up, schedule: '30 8 * * 1-5', {fields}}}\n")
}

fn workload(fields: &str) -> String {
    cron_for_workload(&rule(fields))
}

fn bounds(fields: &str) -> String {
    cron_for_autoscaler(&rule(fields))
}

fn bounds_of_kubernetes(fields: &str) -> String {
    let reference = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, name: shop}";
    cron_for(reference, &rule(fields))
}

fn target(reference: &str) -> String {
    cron_for(reference, &rule("targetReplicas: 1"))
}

fn federated(spec: &str) -> String {
    format!(
        "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: FederatedHPA\nmetadata: {{name: a}}\nspec: {{scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: shop}}, {spec}}}\n"
    )
}

fn node_group(spec: &str) -> String {
    format!(
        "apiVersion: autoscaling.karpenter.sh/v1alpha1\nkind: ScalableNodeGroup\nmetadata: {{name: a}}\nspec: {{{spec}}}\n"
    )
}

/// Cron rules: the text, and the API server's response.
fn cron_cases() -> Vec<(String, Server)> {
    let good = workload("targetReplicas: 1");
    vec![
        (good.clone(), Accepts),
        (
            workload("targetReplicas: 0, suspend: null, timeZone: null, maxDelaySeconds: null"),
            Accepts,
        ),
        (
            workload(
                "targetReplicas: 2147483647, successfulHistoryLimit: null, failedHistoryLimit: 0",
            ),
            Accepts,
        ),
        (bounds("targetMinReplicas: 1, targetMaxReplicas: 1"), Accepts),
        (good.replace("name: up", "ruleName: up"), Refuses("the field is 'name', not 'ruleName'")),
        (good.replace("name: up, ", ""), Refuses("every rule needs a unique name")),
        (good.replace("name: up", "name: ''"), Refuses("every rule needs a unique name")),
        (
            good.replace("name: up", "name: 123456789-123456789-123456789-123"),
            Refuses("may not be more than 32"),
        ),
        (good.clone() + &rule("targetReplicas: 1"), Refuses("Duplicate value")),
        (good.replace("schedule: '30 8 * * 1-5', ", ""), Refuses("schedule: Required value")),
        (workload("targetReplicas: -1"), Refuses("greater than or equal to 0")),
        (workload("targetReplicas: 2147483648"), Refuses("targetReplicas")),
        (workload("targetReplicas: 1.5"), Refuses("must be of type integer")),
        (workload("targetReplicas: '1'"), Refuses("must be of type integer")),
        (workload("suspend: false"), Refuses("every rule for a workload needs targetReplicas")),
        (
            workload("targetReplicas: null"),
            Refuses("every rule for a workload needs targetReplicas"),
        ),
        (bounds("targetReplicas: 1"), Refuses("every rule for an autoscaler needs")),
        (
            bounds("targetMinReplicas: 3, targetMaxReplicas: 2"),
            Refuses("must not exceed targetMaxReplicas"),
        ),
        (
            workload("targetReplicas: 1, successfulHistoryLimit: 0"),
            Refuses("greater than or equal to 1"),
        ),
        (
            workload("targetReplicas: 1, failedHistoryLimit: 33"),
            Refuses("less than or equal to 32"),
        ),
        (workload("targetReplicas: 1, maxDelaySeconds: 0"), Refuses("greater than or equal to 1")),
        (workload("targetReplicas: 1, targetReplica: 2"), Refuses("unknown field")),
        (
            target("{apiVersion: app/v1, kind: Deployment, name: shop}"),
            Refuses("there is no 'app/v1', write 'apps/v1'"),
        ),
        (
            target(
                "{apiVersion: autoscaling.karmada.io/v1alpha1, kind: CronFederatedHPA, name: shop}",
            ),
            Refuses("only a FederatedHPA can be scaled"),
        ),
        (target("{apiVersion: apps/v1, name: shop}"), Refuses("kind: Required value")),
        (
            target("{apiVersion: apps/v1, kind: Deployment, name: ''}"),
            Refuses("should be at least 1 chars long"),
        ),
        (good.replace("name: shop\nspec", "name: Shop\nspec"), Refuses("metadata.name")),
        // Only the webhook checks the schedules themselves.
        (good.replace("30 8 * * 1-5", "nonsense"), Accepts),
        (workload("targetReplicas: 1, timeZone: CST"), Accepts),
        (workload("targetReplicas: 1, maxDelaySeconds: 2147483647"), Accepts),
    ]
}

/// Bounds of 0.
fn zero_cases() -> Vec<(String, Server)> {
    vec![
        (bounds("targetMinReplicas: 0"), Refuses("0 needs a HorizontalPodAutoscaler")),
        (
            workload("targetReplicas: 1, targetMinReplicas: 0"),
            Refuses("0 needs a HorizontalPodAutoscaler"),
        ),
        (bounds_of_kubernetes("targetMinReplicas: 0"), Accepts),
        (bounds_of_kubernetes("targetMinReplicas: -1"), Refuses("greater than or equal to 0")),
        (bounds_of_kubernetes("targetMaxReplicas: 0"), Refuses("greater than or equal to 1")),
    ]
}

/// Schedules.
fn metrics_producer_cases() -> Vec<(String, Server)> {
    let schedule = "{defaultReplicas: 0, behaviors: [{replicas: 1, start: {hours: 9}, end: {hours: '17', days: '1,2'}}]}";
    vec![
        (producer(schedule), Accepts),
        (producer(schedule).replace("schedule:", "scheduleSpec:"), Accepts),
        (producer("{defaultReplicas: 0, behaviors: [], timezone: null}"), Accepts),
        (
            producer(schedule) + &format!("  scheduleSpec: {schedule}\n"),
            Refuses("two names for the same field"),
        ),
        (producer("{defaultReplicas: -1, behaviors: []}"), Refuses("greater than or equal to 0")),
        (producer("{behaviors: []}"), Refuses("defaultReplicas: Required value")),
        (producer("{defaultReplicas: 1}"), Refuses("behaviors: Required value")),
        (
            producer("{defaultReplicas: 1, behaviors: [{replicas: 1, start: {}}]}"),
            Refuses("end: Required value"),
        ),
        (
            producer(
                "{defaultReplicas: 1, behaviors: [{replicas: 1, start: {hours: [9]}, end: {}}]}",
            ),
            Refuses("hours"),
        ),
        (
            producer("{defaultReplicas: 1, behaviors: [{replicas: 1, start: {hour: 9}, end: {}}]}"),
            Refuses("unknown field"),
        ),
        (
            producer(
                "{defaultReplicas: 1, behaviors: [{replicas: 1, start: {weekdays: Mon-Fri}, end: {}}]}",
            ),
            Accepts,
        ),
        (producer("{}").replace("schedule: {}", "queue: {type: AWSSQSQueue, id: q}"), Accepts),
    ]
}

/// Autoscalers and node groups.
fn autoscaler_cases() -> Vec<(String, Server)> {
    let metric = |value: &str| {
        autoscaler(&format!(
            "minReplicas: 0, maxReplicas: 3, metrics: [{{prometheus: {{query: x, target: {{type: Value, value: {value}}}}}}}]"
        ))
    };
    vec![
        (metric("4"), Accepts),
        (metric("500m"), Accepts),
        (
            autoscaler("minReplicas: 4, maxReplicas: 3"),
            Refuses("minReplicas must not exceed maxReplicas"),
        ),
        (autoscaler("maxReplicas: 3"), Refuses("minReplicas: Required value")),
        (metric("4").replace("type: Value", "type: Average"), Refuses("Unsupported value")),
        (
            autoscaler(
                "minReplicas: 0, maxReplicas: 1, behavior: {scaleDown: {stabilizationWindowSeconds: 3601}}",
            ),
            Refuses("less than or equal to 3600"),
        ),
        (
            autoscaler(
                "minReplicas: 0, maxReplicas: 1, behavior: {scaleDown: {selectPolicy: Maximum}}",
            ),
            Refuses("Unsupported value"),
        ),
        (
            autoscaler(
                "minReplicas: 0, maxReplicas: 1, behavior: {scaleDown: {policies: [{type: Pods, value: 1, periodSeconds: 1801}]}}",
            ),
            Refuses("less than or equal to 1800"),
        ),
        (federated("maxReplicas: 1"), Accepts),
        (
            federated(
                "minReplicas: 1, maxReplicas: 2, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]",
            ),
            Accepts,
        ),
        (
            federated("minReplicas: 2, maxReplicas: 1"),
            Refuses("minReplicas must not exceed maxReplicas"),
        ),
        (federated("minReplicas: 2"), Refuses("maxReplicas: Required value")),
        (node_group("type: AWSEKSNodeGroup, id: arn"), Accepts),
        (
            node_group("type: AWSEKSNodeGroup, id: arn, replicas: -1"),
            Refuses("greater than or equal to 0"),
        ),
        (node_group("type: AWSEKSNodeGroup"), Refuses("id: Required value")),
    ]
}

fn we_refuse(text: &str) -> Vec<String> {
    let mut reading = Reading::default();
    read_objects(&mut reading, Source::new("f", text));
    let context = CheckContext::new("default", now());
    let findings = check_everything(&reading, context, &Layout::default()).findings;
    findings
        .iter()
        .filter(|placed| placed.finding.severity() == Severity::Error)
        .map(|placed| placed.finding.to_string())
        .collect()
}

async fn install(kubectl: &Kubectl) -> TestResult {
    for folder in ["crds", "hub-crds", "units-crds"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(folder);
        kubectl.run(&["apply", "--server-side", "-f", &folder.display().to_string()]).await?;
    }
    await_condition("the definitions are established", PATIENCE, async || {
        let path =
            "jsonpath={range .items[*]}{.status.conditions[?(@.type=='Established')].status} {end}";
        let found = kubectl.run(&["get", "crd", "-o", path]).await?;
        let established = found.matches("True").count() == 12;
        Ok(Observation::from_bool(established, found))
    })
    .await?;
    let path = "jsonpath={.items[*].status.conditions[?(@.type=='NonStructuralSchema')].message}";
    assert_eq!(kubectl.run(&["get", "crd", "-o", path]).await?, "");
    // An API server requires no approval by Kubernetes for any of the groups.
    let path = "jsonpath={.items[*].status.conditions[?(@.type=='KubernetesAPIApprovalPolicyConformant')]}";
    assert_eq!(kubectl.run(&["get", "crd", "-o", path]).await?, "");
    Ok(())
}

#[test]
fn the_api_server_and_almanac_agree_on_all_that_a_schema_can_express() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let kubectl = test.kubectl().await?;
        install(&kubectl).await?;
        kubectl.run(&["create", "namespace", "xxx"]).await?;
        let mut differences = Vec::new();
        let cases = [
            cron_cases(),
            zero_cases(),
            metrics_producer_cases(),
            autoscaler_cases(),
            units::cases(),
        ];
        for (text, expected) in cases.into_iter().flatten() {
            let created =
                kubectl.run_with_input(&["create", "--dry-run=server", "-f", "-"], &text).await;
            let refusal = created.err().map(|error| format!("{error:#}"));
            let ours = we_refuse(&text);
            let fits = match (&expected, &refusal) {
                (Accepts, None) => true,
                (Refuses(words), Some(said)) => said.contains(words) && !ours.is_empty(),
                _ => false,
            };
            if !fits {
                differences.push(format!("{text}server: {refusal:?}\nwe: {ours:?}\n"));
            }
        }
        assert!(
            differences.is_empty(),
            "{} differences:\n{}",
            differences.len(),
            differences.join("\n")
        );
        examples_are_accepted(&kubectl).await?;
        columns_and_scale(&kubectl).await
    })
}

async fn examples_are_accepted(kubectl: &Kubectl) -> TestResult {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").display().to_string();
    for namespace in ["shop", "volcano-system"] {
        kubectl.run(&["create", "namespace", namespace]).await?;
    }
    let apply = ["apply", "--server-side", "--dry-run=server", "--recursive", "-f", &folder];
    let applied = kubectl.run(&apply).await?;
    assert!(applied.lines().count() > 10, "{applied}");
    Ok(())
}

async fn columns_and_scale(kubectl: &Kubectl) -> TestResult {
    let cron = workload("targetReplicas: 1");
    kubectl.run_with_input(&["apply", "--server-side", "-f", "-"], &cron).await?;
    let table = kubectl.run(&["get", "cronfhpa", "shop"]).await?;
    let header: Vec<_> = table.lines().next().unwrap_or_default().split_whitespace().collect();
    let expected = ["NAME", "REFERENCE-KIND", "REFERENCE-NAME", "NEXT", "LAST", "READY", "AGE"];
    assert_eq!(header, expected);
    assert!(kubectl.run(&["get", "karmada-io"]).await?.contains("cronfederatedhpa"));
    let stored = "jsonpath={.spec.rules[0].suspend} {.spec.rules[0].failedHistoryLimit}";
    assert_eq!(kubectl.run(&["get", "cronfhpa", "shop", "-o", stored]).await?, "false 3");
    units::columns(kubectl).await?;
    let group = node_group("type: AWSEKSNodeGroup, id: arn, replicas: 1");
    kubectl.run_with_input(&["apply", "--server-side", "-f", "-"], &group).await?;
    kubectl.run(&["scale", "sng", "a", "--replicas", "3"]).await?;
    assert_eq!(kubectl.run(&["get", "sng", "a", "-o", "jsonpath={.spec.replicas}"]).await?, "3");
    Ok(())
}
