//! The permissions in the manifests are exactly those that the controllers need: no request is forbidden, and no
//! permission is unused.

mod some_namespaces;
mod unread_namespace;

use crate::harbor::{
    HARBOR, autoscaler, create, cron, metrics_producer, node_group, prepare, workload,
};
use crate::manifests::{NAMESPACE, arguments_of_the_deployment};
use crate::reading::{await_value, get};
use crate::rights::{compare, granted, requests_by, right, used};
use crate::running::{BOUNDARY, ROOT, await_metric, start};
use almanac_fixtures::{hub, objects};
use almanac_harness::{
    AuditedRequest, ControlPlaneOptions, Fault, FaultProxy, Injected, InjectedResponse, Kubectl,
    Observation, PATIENCE, TestResult, await_condition, on_own_control_plane,
};
use anyhow::{Context as _, ensure};
use http::{Method, StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// The service account of the controllers.
const ACCOUNT: &str = "system:serviceaccount:almanac-system:almanac";

const KARMADA: &str = "autoscaling.karmada.io/v1alpha1";
const KARPENTER: &str = "autoscaling.karpenter.sh/v1alpha1";

/// Targets of every kind in the manifests: name, `apiVersion`, kind, resource.
const TARGETS: [(&str, &str, &str, &str); 7] = [
    ("web", "apps/v1", "Deployment", "deployments.apps"),
    ("store", "apps/v1", "StatefulSet", "statefulsets.apps"),
    ("bare", "apps/v1", "ReplicaSet", "replicasets.apps"),
    ("old", "v1", "ReplicationController", "replicationcontrollers"),
    ("spot", KARPENTER, "ScalableNodeGroup", "scalablenodegroups.autoscaling.karpenter.sh"),
    (
        "bounds",
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers.v2.autoscaling",
    ),
    ("fleet", KARMADA, "FederatedHPA", "federatedhpas.autoscaling.karmada.io"),
];

fn is_autoscaler(kind: &str) -> bool {
    kind.ends_with("HPA") || kind.ends_with("Autoscaler")
}

fn target(name: &str, api_version: &str, kind: &str) -> Value {
    match kind {
        "ScalableNodeGroup" => node_group(name, "AWSEKSNodeGroup"),
        "FederatedHPA" => objects::federated_hpa(name, Some(1), 9),
        "HorizontalPodAutoscaler" => objects::horizontal_pod_autoscaler(name, Some(1), 9),
        _ => workload(name, api_version, kind),
    }
}

async fn create_everything(kubectl: &Kubectl) -> TestResult {
    let mut objects = vec![metrics_producer("hours"), workload("tide", "apps/v1", "Deployment")];
    objects.push(autoscaler("tide", "hours"));
    for (name, api_version, kind, _) in TARGETS {
        objects.push(target(name, api_version, kind));
        let setting = if is_autoscaler(kind) {
            json!({"targetMinReplicas": 4})
        } else {
            json!({"targetReplicas": 4})
        };
        objects.push(cron(name, api_version, kind, &setting));
    }
    create(kubectl, &objects).await
}

/// Waits until all actions of the boundary are done.
async fn await_everything(kubectl: &Kubectl) -> TestResult {
    for (name, _, kind, resource) in TARGETS {
        let field = if is_autoscaler(kind) { "/spec/minReplicas" } else { "/spec/replicas" };
        await_value(kubectl, &["-n", HARBOR, resource, name], field, &json!(4)).await?;
        let policy = ["-n", HARBOR, "cronfederatedhpa", name];
        let execution = "/status/executionHistories/0/successfulExecutions/0/scheduleTime";
        await_value(kubectl, &policy, execution, &json!(BOUNDARY)).await?;
    }
    let producer = ["-n", HARBOR, "metricsproducer", "hours"];
    let published = "/status/scheduledCapacity/currentValue";
    await_value(kubectl, &producer, published, &json!(7)).await?;
    let tide = ["-n", HARBOR, "deployments.apps", "tide"];
    await_value(kubectl, &tide, "/spec/replicas", &json!(7)).await?;
    let autoscaler = ["-n", HARBOR, "horizontalautoscaler", "tide"];
    await_value(kubectl, &autoscaler, "/status/desiredReplicas", &json!(7)).await?;
    let group = ["-n", HARBOR, "scalablenodegroup", "spot"];
    await_value(kubectl, &group, "/status/conditions/0/reason", &json!("Unsupported")).await?;
    for (name, ..) in TARGETS {
        let selector = format!("reason=ScaledByRule,regarding.name={name}");
        let events = ["-n", HARBOR, "events.events.k8s.io", "--field-selector", &selector];
        await_value(kubectl, &events, "/items/0/action", &json!("Scale")).await?;
    }
    Ok(())
}

/// Makes another field manager write first, so that the process must read each target again.
fn be_faster_once(proxy: &FaultProxy) -> [Injected; 7] {
    TARGETS.map(|(name, _, kind, _)| {
        let subresource = if is_autoscaler(kind) { "" } else { "/scale" };
        let (place, end) = (format!("/namespaces/{HARBOR}/"), format!("/{name}{subresource}"));
        let fault =
            Fault::respond(InjectedResponse::with(StatusCode::CONFLICT)).method(Method::PATCH);
        proxy.inject(fault.matching(move |request| {
            request.path.contains(&place)
                && request.path.ends_with(&end)
                && !request.path.contains("cronfederatedhpas")
        }))
    })
}

/// Deletes a target twice, which is reported twice.
async fn take_away_twice(kubectl: &Kubectl) -> TestResult {
    let (name, api_version, kind, resource) = TARGETS[0];
    let policy = ["-n", HARBOR, "cronfederatedhpa", name];
    let reason = "/status/conditions/1/reason";
    for _ in 0..2 {
        kubectl.run(&["-n", HARBOR, "delete", resource, name]).await?;
        await_value(kubectl, &policy, reason, &json!("TargetNotFound")).await?;
        create(kubectl, &[target(name, api_version, kind)]).await?;
        await_value(kubectl, &policy, reason, &json!("Armed")).await?;
    }
    let selector = format!("reason=TargetNotFound,regarding.name={name}");
    let events = ["-n", HARBOR, "events.events.k8s.io", "--field-selector", &selector];
    await_value(kubectl, &events, "/items/0/series/count", &json!(2)).await
}

#[test]
fn every_permission_is_used_and_no_other_is_needed() -> TestResult {
    let options = ControlPlaneOptions::api_only().audited_with_reads_of(ACCOUNT);
    on_own_control_plane(&options, async |test| {
        let kubectl = test.kubectl().await?;
        prepare(&kubectl).await?;
        kubectl.run(&["apply", "-f", &format!("{ROOT}/deploy")]).await?;
        create_everything(&kubectl).await?;
        let account = test.service_account(NAMESPACE, "almanac").await?;
        let proxy = FaultProxy::start(account.client()?)?;
        let conflicts = be_faster_once(&proxy);

        let arguments = arguments_of_the_deployment(&kubectl).await?;
        let controller = start(&arguments, &proxy.kubeconfig(), SignedDuration::from_secs(5))?;
        await_everything(&kubectl).await?;
        for (conflict, (name, ..)) in conflicts.iter().zip(TARGETS) {
            ensure!(conflict.taken() == 1, "{name} was written at the first attempt");
        }
        await_metric(&controller, "almanac_cron_fired_total 7").await?;
        take_away_twice(&kubectl).await?;
        await_metric(&controller, "almanac_leader 1").await?;
        let lease = ["-n", NAMESPACE, "lease", "almanac"];
        let transitions = get(&kubectl, &lease).await?["spec"]["leaseTransitions"].clone();
        ensure!(transitions == json!(0), "the lease was lost during the test: {transitions}");
        // The Lease is renewed before it is released, and a watch is in the log once it has ended.
        let renewals = proxy.requests().iter().filter(|it| it.is_for_lease()).count();
        ensure!(renewals > 2, "the lease was never renewed");
        ensure!(controller.stop().await?.success(), "it did not end well");
        drop(controller);

        let ours = requests_by(test, |it| it.user == ACCOUNT).await?;
        // The process gets other Leases only by their names.
        let is_own = |request: &&AuditedRequest| request.is_for_lease() && request.verb != "list";
        for request in ours.iter().filter(is_own) {
            assert_eq!(request.namespace, NAMESPACE, "{request}");
        }
        let used = used(&ours);
        let roles: [&[&str]; 2] =
            [&["clusterrole", "almanac"], &["-n", NAMESPACE, "role", "almanac-lease"]];
        compare(&used, &granted(&kubectl, &roles).await?);
        unlisted_permissions_are_denied(&kubectl).await
    })
}

const ESTABLISHED: [&str; 5] =
    ["wait", "--for=condition=Established", "crd", "--all", "--timeout=90s"];

/// A placement whose decisions are created, changed, relabeled and deleted.
async fn select_clusters(kubectl: &Kubectl) -> TestResult {
    let placement = ["-n", HARBOR, "placement", "web"];
    let selected = "/status/numberOfSelectedClusters";
    await_value(kubectl, &placement, selected, &json!(2)).await?;
    create(kubectl, &[hub::managed_cluster("c3")]).await?;
    await_value(kubectl, &placement, selected, &json!(3)).await?;
    let all = json!([{"groupName": "all", "groupClusterSelector": {}}]);
    for (strategy, pointer, expected) in [
        (json!({"clustersPerDecisionGroup": 1}), "2/decisionGroupIndex", json!(2)),
        (
            json!({"clustersPerDecisionGroup": null, "decisionGroups": all}),
            "0/decisionGroupName",
            json!("all"),
        ),
    ] {
        let spec = json!({"spec": {"decisionStrategy": {"groupStrategy": strategy}}}).to_string();
        let patch = ["-n", HARBOR, "patch", "placement", "web", "--type=merge", "-p", &spec];
        kubectl.run(&patch).await?;
        let pointer = format!("/status/decisionGroups/{pointer}");
        await_value(kubectl, &placement, &pointer, &expected).await?;
    }
    Ok(())
}

#[test]
fn every_permission_for_placements_is_used_and_no_other_is_needed() -> TestResult {
    let options = ControlPlaneOptions::api_only().audited_with_reads_of(ACCOUNT);
    on_own_control_plane(&options, async |test| {
        let kubectl = test.kubectl().await?;
        prepare(&kubectl).await?;
        for folder in ["deploy/hub-crds", "deploy", "deploy/placement"] {
            kubectl.run(&["apply", "--server-side", "-f", &format!("{ROOT}/{folder}")]).await?;
        }
        kubectl.run(&ESTABLISHED).await?;
        let placement = hub::placement("web", &json!({}));
        let mut objects = vec![hub::managed_cluster_set(), hub::managed_cluster_set_binding()];
        objects.extend(["c1", "c2"].map(hub::managed_cluster));
        create(&kubectl, &objects).await?;
        create(&kubectl, &[placement]).await?;
        // An equal placement in a namespace without bound clusters.
        kubectl.run(&["create", "namespace", "sea"]).await?;
        let unbound = hub::placement("web", &json!({})).to_string();
        kubectl.run_with_input(&["-n", "sea", "create", "-f", "-"], &unbound).await?;
        let account = test.service_account(NAMESPACE, "almanac").await?;
        let proxy = FaultProxy::start(account.client()?)?;
        // After a lost response, the controller reads the object of the write.
        let lost = proxy.inject(
            Fault::lose_response().method(Method::PATCH).path_contains("/placementdecisions/"),
        );
        let mut arguments = arguments_of_the_deployment(&kubectl).await?;
        arguments.retain(|it| !it.starts_with("--controllers="));
        arguments.push("--controllers=placement".to_owned());
        let controller = start(&arguments, &proxy.kubeconfig(), SignedDuration::ZERO)?;
        select_clusters(&kubectl).await?;
        let unbound = ["-n", "sea", "placement", "web"];
        await_value(&kubectl, &unbound, "/status/numberOfSelectedClusters", &json!(0)).await?;
        ensure!(lost.taken() == 1, "no response was lost");
        ensure!(controller.stop().await?.success(), "it did not end well");
        drop(controller);

        let ours = requests_by(test, |it| it.user == ACCOUNT).await?;
        let is_for_placements = |request: &&AuditedRequest| {
            request.group == "cluster.open-cluster-management.io"
                || (request.is_for_lease() && request.verb == "list")
        };
        let used = used(ours.iter().filter(is_for_placements));
        compare(&used, &granted(&kubectl, &[&["clusterrole", "almanac-placement"]]).await?);
        Ok(())
    })
}

async fn unlisted_permissions_are_denied(kubectl: &Kubectl) -> TestResult {
    let may = async |what: &[&str]| {
        let question = ["auth", "can-i", "--as", ACCOUNT];
        let arguments: Vec<&str> = question.iter().chain(what).copied().collect();
        kubectl.run(&arguments).await.is_ok_and(|output| output.trim() == "yes")
    };
    for granted in [
        &["list", "deployments.apps", "-A"][..],
        &["patch", "deployments.apps/web", "--subresource=scale", "-n", HARBOR],
        &["update", "leases.coordination.k8s.io/almanac", "-n", NAMESPACE],
    ] {
        assert!(may(granted).await, "{granted:?} is denied");
    }
    for denied in [
        &["get", "secrets", "-A"][..],
        &["list", "secrets", "-n", NAMESPACE],
        &["list", "pods", "-A"],
        &["create", "nodes"],
        &["list", "nodes"],
        &["patch", "scalablenodegroups.autoscaling.karpenter.sh", "-n", HARBOR],
        &["delete", "deployments.apps", "-n", HARBOR],
        &["patch", "deployments.apps", "-n", HARBOR],
        &["update", "deployments.apps/web", "--subresource=scale", "-n", HARBOR],
        &["patch", "cronfederatedhpas.autoscaling.karmada.io", "-n", HARBOR],
        &["delete", "cronfederatedhpas.autoscaling.karmada.io", "-n", HARBOR],
        &["update", "leases.coordination.k8s.io/other", "-n", NAMESPACE],
        &["create", "leases.coordination.k8s.io", "-n", HARBOR],
        &["create", "pods", "-n", NAMESPACE],
        &["escalate", "clusterroles.rbac.authorization.k8s.io"],
        &["impersonate", "users"],
    ] {
        assert!(!may(denied).await, "{denied:?} is allowed");
    }
    Ok(())
}

/// The first YAML block after a heading of a document.
fn yaml_after<'a>(document: &'a str, heading: &str) -> Option<&'a str> {
    let (_, section) = document.split_once(&format!("\n## {heading}\n"))?;
    let (_, block) = section.split_once("```yaml\n")?;
    Some(block.split_once("```")?.0)
}

#[test]
fn a_custom_kind_is_scaled_with_the_documented_permissions_and_another_reports_what_is_missing()
-> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let kubectl = test.kubectl().await?;
        // Kinds that the manifests do not list.
        let definition =
            |kind| objects::scalable_definition(["argoproj.io", "v1alpha1", kind], "Namespaced");
        create(&kubectl, &["Rollout", "Sail"].map(definition)).await?;
        prepare(&kubectl).await?;
        kubectl.run(&["apply", "-f", &format!("{ROOT}/deploy")]).await?;
        let document = std::fs::read_to_string(format!("{ROOT}/docs/controller.md"))?;
        let rights = yaml_after(&document, "Scale your own kinds").context("no rights in there")?;
        kubectl.run_with_input(&["apply", "-f", "-"], rights).await?;
        let setting = json!({"targetReplicas": 4});
        let mut all = Vec::new();
        for (name, kind) in [("front", "Rollout"), ("jib", "Sail")] {
            let api_version = "argoproj.io/v1alpha1";
            all.push(objects::scalable(api_version, kind, name, 1));
            all.push(cron(name, api_version, kind, &setting));
        }
        create(&kubectl, &all).await?;

        let account = test.service_account(NAMESPACE, "almanac").await?;
        let arguments = arguments_of_the_deployment(&kubectl).await?;
        let before = SignedDuration::from_secs(2);
        let _controller = start(&arguments, &account.kubeconfig(), before)?;
        let rollout = ["-n", HARBOR, "rollouts.argoproj.io", "front"];
        await_value(&kubectl, &rollout, "/spec/replicas", &json!(4)).await?;
        let policy = ["-n", HARBOR, "cronfederatedhpa", "jib"];
        let reason = "/status/conditions/1/reason";
        await_value(&kubectl, &policy, reason, &json!("TargetForbidden")).await?;
        let message = get(&kubectl, &policy).await?["status"]["conditions"][1]["message"].clone();
        let advice = format!(
            "grant {ACCOUNT} the verb \"get\" on the resource \"sails/scale\" of the API group \
             \"argoproj.io\" in the namespace \"{HARBOR}\""
        );
        ensure!(message.as_str().is_some_and(|it| it.contains(&advice)), "{message}");
        Ok(())
    })
}
