//! The permissions in the manifest are exactly those that an extender needs: no request is forbidden, and no permission
//! is unused.

use almanac_harness::{AuditedRequest, OwnTest, TestResult};
use anyhow::ensure;
use serde_json::json;

use crate::controller::is_almanacs;
use crate::extender::calling::call;
use crate::extender::scene::Scene;
use crate::extender::stage::{ACCOUNT, Stage, deployment, policy};
use crate::reading::await_value;
use crate::rights::{compare, granted, requests_by, used};

/// Makes a leader and a standby use their permissions, on nodes of the units `best` and `worst`.
pub(crate) async fn use_rights(stage: &Stage, scene: &Scene) -> TestResult {
    let units = |best| [("best", 2, Some(best)), ("worst", 1, None)];
    scene.govern(&policy("used", "required", &units(2))).await?;
    scene.apply(&deployment("used", 3)).await?;
    scene.await_spread("used", &["best", "worst"], &[2, 1, 0]).await?;
    // Two equal occurrences within a short time result in one Event with a count.
    for best in [1, 2, 1] {
        scene.govern(&policy("used", "required", &units(best))).await?;
        let over = if best == 1 { "True" } else { "False" };
        let policy_path = ["resourcepolicy", "used"];
        await_value(&scene.kubectl, &policy_path, "/status/conditions/1/status", &json!(over))
            .await?;
    }
    let events = ["events.events.k8s.io", "--field-selector", "reason=TooManyPods"];
    await_value(&scene.kubectl, &events, "/items/0/series/count", &json!(2)).await?;
    // The standby forwards a request, and the leader has the standby's token reviewed.
    let request =
        r#"{"Pod":{"metadata":{"name":"y","namespace":"default","uid":"u"}},"NodeNames":[]}"#;
    let standby = 1 - stage.deciding().await?;
    let port = stage.extender(standby).scheduler_port.number();
    let response = call(port, "/filter", request, None).await?;
    ensure!(response.status == 200, "{response:?}");
    Ok(())
}

/// Compares the used permissions with the granted permissions, after the end of the replicas: the audit log then
/// contains their watches.
pub(crate) async fn compare_rights(test: &OwnTest, scene: &Scene) -> TestResult {
    // Kube-scheduler runs with the same account.
    let is_ours = |it: &AuditedRequest| it.user == ACCOUNT && is_almanacs(it);
    let used = used(&requests_by(test, is_ours).await?);
    let roles: [&[&str]; 2] = [
        &["clusterrole", "almanac-extender"],
        &["-n", "almanac-scheduler", "role", "almanac-scheduler"],
    ];
    compare(&used, &granted(&scene.kubectl, &roles).await?);
    Ok(())
}
