//! The controllers, the agent and the webhook with only the Roles of `deploy/namespaced`. They reconcile and check
//! everything in the listed namespaces. No request is about another namespace, the API server refuses none, and every
//! permission is used.

mod agent;
mod webhook;

use almanac_harness::{OwnTest, Program};

use super::*;
use crate::controller::condition;
use crate::documented::run_section;
use crate::manifests::arguments_of;

/// The page with the commands to apply the manifests, which this test runs.
const PAGE: &str = "docs/some-namespaces.md";

/// The namespaces that the manifests list, in addition to Almanac's namespace, and a namespace that is listed only
/// after a restart.
const SHOP: &str = "shop";
const WAREHOUSE: &str = "warehouse";
const SEA: &str = "sea";

/// A Deployment and a policy that scales the Deployment, and policies of both families that name a target. Their
/// targets exist only in another namespace. The API server drops their field `namespace`.
///
/// The other families can't name a target. A `MetricsProducer` changes nothing, and a `ScalableNodeGroup` is its own
/// target. A placement selects from the clusters that are bound to its namespace (`main.rs`), and a `ResourcePolicy`
/// pods of its namespace by labels (`cluster_own_processes/extender/scheduling.rs`). The `ConfigMap` of the agent
/// selects pods by labels in all listed namespaces, so the agent reads the `ConfigMap` in a single namespace.
async fn create_in(kubectl: &Kubectl, namespace: &str) -> TestResult {
    let setting = json!({"targetReplicas": 4});
    let mut reaching = cron("store", "apps/v1", "StatefulSet", &setting);
    reaching["spec"]["scaleTargetRef"]["namespace"] = json!(HARBOR);
    let mut scaling = autoscaler("tide", "hours");
    scaling["spec"]["scaleTargetRef"]["namespace"] = json!(HARBOR);
    let own = cron("boat", "apps/v1", "Deployment", &setting);
    let items = [workload("boat", "apps/v1", "Deployment"), own, reaching, scaling];
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let create = ["-n", namespace, "create", "--validate=ignore", "-f", "-"];
    kubectl.run_with_input(&create, &list).await?;
    Ok(())
}

async fn grant(kubectl: &Kubectl, namespace: &str) -> TestResult {
    let file = format!("{ROOT}/deploy/namespaced/rights.yaml");
    kubectl.run(&["-n", namespace, "apply", "-f", &file]).await?;
    Ok(())
}

/// The arguments of the manifest, for these namespaces.
async fn arguments(kubectl: &Kubectl, namespaces: &[&str]) -> anyhow::Result<Vec<String>> {
    let mut arguments = arguments_of_the_deployment(kubectl).await?;
    let listed = arguments.iter_mut().find(|it| it.starts_with("--namespaces="));
    *listed.context("the manifest lists no namespaces")? =
        format!("--namespaces={}", namespaces.join(","));
    Ok(arguments)
}

async fn boat_has(kubectl: &Kubectl, namespace: &str, replicas: u32) -> TestResult {
    let boat = ["-n", namespace, "deployment", "boat"];
    await_value(kubectl, &boat, "/spec/replicas", &json!(replicas)).await
}

/// Waits until a policy in the shop reports that its target does not exist.
async fn await_not_found(kubectl: &Kubectl, (kind, name): (&str, &str)) -> TestResult {
    await_condition(&format!("{kind} {name} to have no target"), PATIENCE, async || {
        let policy = get(kubectl, &["-n", SHOP, kind, name]).await?;
        let ready = condition(&policy["status"], "Ready");
        Ok(Observation::from_bool(ready[1] == "TargetNotFound", format!("{ready:?}")))
    })
    .await
}

/// Checks that no request of an account was refused. Each request must be about one of these namespaces, about the
/// account's Lease, or about the served kinds.
async fn requests_within(
    test: &OwnTest,
    account: &str,
    listed: &[&str],
) -> anyhow::Result<Vec<AuditedRequest>> {
    let all = requests_by(test, |it| it.user == account && right(it).is_some()).await?;
    for request in &all {
        let is_own_lease = request.is_for_lease() && request.namespace == NAMESPACE;
        let is_listed = listed.contains(&&*request.namespace);
        ensure!(is_own_lease || is_listed, "outside of {listed:?}: {request}");
    }
    Ok(all)
}

/// Checks that all requests of an account were within these namespaces, and used exactly the permissions of these
/// Roles.
async fn uses_only_its_permissions(
    (test, kubectl): (&OwnTest, &Kubectl),
    account: &str,
    listed: &[&str],
    roles: &[(&str, &str)],
) -> TestResult {
    let ours = requests_within(test, account, listed).await?;
    let used = used(&ours);
    let roles: Vec<_> =
        roles.iter().map(|(namespace, name)| ["-n", *namespace, "role", *name]).collect();
    let roles: Vec<&[&str]> = roles.iter().map(|role| &role[..]).collect();
    compare(&used, &granted(kubectl, &roles).await?);
    Ok(())
}

async fn stop(program: Program) -> TestResult {
    ensure!(program.stop().await?.success(), "it did not end well");
    Ok(())
}

async fn the_controllers_reconcile_the_listed_namespaces(
    test: &OwnTest,
    kubectl: &Kubectl,
) -> TestResult {
    run_section(test, kubectl, (PAGE, "Install it")).await?;
    grant(kubectl, HARBOR).await?;
    create_everything(kubectl).await?;
    for namespace in [SHOP, SEA] {
        create_in(kubectl, namespace).await?;
    }
    let account = test.service_account(NAMESPACE, "almanac").await?;
    let proxy = FaultProxy::start(account.client()?)?;
    let conflicts = be_faster_once(&proxy);
    let before = SignedDuration::from_secs(5);
    let listed = arguments(kubectl, &[HARBOR, SHOP]).await?;
    let controller = start(&listed, &proxy.kubeconfig(), before)?;
    await_everything(kubectl).await?;
    boat_has(kubectl, SHOP, 4).await?;
    ensure!(conflicts.iter().all(|it| it.taken() == 1), "not every target was looked at again");
    for (kind, name) in [("cronfederatedhpa", "store"), ("horizontalautoscaler", "tide")] {
        await_not_found(kubectl, (kind, name)).await?;
    }
    take_away_twice(kubectl).await?;
    stop(controller).await?;
    boat_has(kubectl, SEA, 1).await?;
    let untouched = get(kubectl, &["-n", SEA, "cronfederatedhpa", "boat"]).await?;
    ensure!(untouched["status"].is_null(), "{}", untouched["status"]);
    let roles = [(HARBOR, "almanac"), (NAMESPACE, "almanac-lease")];
    uses_only_its_permissions((test, kubectl), ACCOUNT, &[HARBOR, SHOP], &roles).await?;

    // Another list, after a restart: before the boundary, so that the new list takes effect in time.
    grant(kubectl, SEA).await?;
    let listed = arguments(kubectl, &[SHOP, SEA]).await?;
    let controller = start(&listed, &account.kubeconfig(), before)?;
    boat_has(kubectl, SEA, 4).await?;
    stop(controller).await?;
    requests_within(test, ACCOUNT, &[HARBOR, SHOP, SEA]).await?;
    Ok(())
}

#[test]
fn roles_alone_suffice_to_reconcile_only_the_listed_namespaces() -> TestResult {
    let accounts = [ACCOUNT, agent::ACCOUNT, webhook::ACCOUNT];
    let options = accounts
        .into_iter()
        .fold(ControlPlaneOptions::api_only(), ControlPlaneOptions::audited_with_reads_of);
    on_own_control_plane(&options, async |test| {
        let kubectl = test.kubectl().await?;
        prepare(&kubectl).await?;
        for namespace in [SHOP, WAREHOUSE, SEA] {
            kubectl.run(&["create", "namespace", namespace]).await?;
        }
        the_controllers_reconcile_the_listed_namespaces(test, &kubectl).await?;
        agent::sets_the_levels_of_listed_pods(test, &kubectl).await?;
        webhook::checks_what_is_listed(test, &kubectl).await
    })
}
