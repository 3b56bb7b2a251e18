//! The controllers with the Roles of `deploy/namespaced` and nothing else: what is in the listed namespaces is carried
//! out, no request is about another one, none is refused, and every right is used.

use almanac_harness::OwnTest;

use super::*;

/// A listed namespace beside the one with everything, and one that is listed only after a restart.
const PIER: &str = "pier";
const SEA: &str = "sea";

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/namespaced");

/// A Deployment and a policy that scales it, and a policy for a target that only another namespace has. Its field
/// `namespace` is one that the API server drops.
async fn create_in(kubectl: &Kubectl, namespace: &str) -> TestResult {
    let setting = json!({"targetReplicas": 4});
    let mut reaching = cron("store", "apps/v1", "StatefulSet", &setting);
    reaching["spec"]["scaleTargetRef"]["namespace"] = json!(HARBOUR);
    let own = cron("boat", "apps/v1", "Deployment", &setting);
    let items = [workload("boat", "apps/v1", "Deployment"), own, reaching];
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let create = ["-n", namespace, "create", "--validate=ignore", "-f", "-"];
    kubectl.run_with_input(&create, &list).await?;
    Ok(())
}

async fn grant(kubectl: &Kubectl, namespace: &str) -> TestResult {
    let file = format!("{FOLDER}/rights.yaml");
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

/// No request so far was refused, and each was about one of these namespaces, but for the lease, and for which kinds
/// there are.
async fn ours_within(test: &OwnTest, listed: &[&str]) -> anyhow::Result<Vec<AuditedRequest>> {
    let mut ours = AuditLog::of(&test.plane)?.requests(&test.client()).await?;
    ours.retain(|request| request.user == ACCOUNT && right(request).is_some());
    for request in &ours {
        ensure!(request.code != 403, "refused: {request}");
        let is_own_lease = request.is_for_lease() && request.namespace == NAMESPACE;
        let is_listed = listed.contains(&&*request.namespace);
        ensure!(is_own_lease || is_listed, "outside of {listed:?}: {request}");
    }
    Ok(ours)
}

#[test]
fn with_roles_alone_the_listed_namespaces_are_carried_out_and_nothing_else_is_seen() -> TestResult {
    let options = ControlPlaneOptions::api_only().audited_with_reads_of(ACCOUNT);
    on_own_control_plane(&options, async |test| {
        let kubectl = test.kubectl().await?;
        prepare(&kubectl).await?;
        for namespace in [NAMESPACE, PIER, SEA] {
            kubectl.run(&["create", "namespace", namespace]).await?;
        }
        for namespace in [HARBOUR, PIER] {
            grant(&kubectl, namespace).await?;
        }
        kubectl.run(&["apply", "-f", &format!("{FOLDER}/almanac.yaml")]).await?;
        create_everything(&kubectl).await?;
        for namespace in [PIER, SEA] {
            create_in(&kubectl, namespace).await?;
        }
        let account = test.service_account(NAMESPACE, "almanac").await?;
        let proxy = FaultProxy::start(account.client().await?)?;
        let conflicts = be_faster_once(&proxy);
        let listed = arguments(&kubectl, &[HARBOUR, PIER]).await?;
        let before = SignedDuration::from_secs(5);
        let controller = start(&listed, &proxy.kubeconfig(), before)?;
        await_everything(&kubectl).await?;
        boat_has(&kubectl, PIER, 4).await?;
        ensure!(conflicts.iter().all(|it| it.taken() == 1), "not every target was looked at again");
        let reaching = ["-n", PIER, "cronfederatedhpa", "store"];
        let reason = "/status/conditions/1/reason";
        await_value(&kubectl, &reaching, reason, &json!("TargetNotFound")).await?;
        take_away_twice(&kubectl).await?;
        ensure!(controller.stop().await?.success(), "it did not end well");
        drop(controller);
        boat_has(&kubectl, SEA, 1).await?;
        let untouched = get(&kubectl, &["-n", SEA, "cronfederatedhpa", "boat"]).await?;
        ensure!(untouched["status"].is_null(), "{}", untouched["status"]);
        let ours = ours_within(test, &[HARBOUR, PIER]).await?;
        let used: BTreeSet<Right> = ours.iter().filter_map(right).collect();
        let roles: [&[&str]; 2] =
            [&["-n", HARBOUR, "role", "almanac"], &["-n", NAMESPACE, "role", "almanac-lease"]];
        compare(&used, &granted(&kubectl, &roles).await?);

        // Another list, after a restart: before the boundary, so that it is not too late.
        grant(&kubectl, SEA).await?;
        let listed = arguments(&kubectl, &[PIER, SEA]).await?;
        let controller = start(&listed, &account.kubeconfig(), before)?;
        boat_has(&kubectl, SEA, 4).await?;
        ensure!(controller.stop().await?.success(), "it did not end well");
        drop(controller);
        ours_within(test, &[HARBOUR, PIER, SEA]).await?;
        Ok(())
    })
}
