//! The permissions in the manifest are those that an extender needs: nothing is forbidden, and none is unused.

use std::collections::BTreeSet;

use almanac_harness::{
    AuditLog, AuditedRequest, ControlPlaneOptions, TestResult, on_own_control_plane,
};
use anyhow::ensure;
use serde_json::json;

use crate::calling::call;
use crate::reading::await_value;
use crate::roles::{Right, compare, granted, right};
use crate::stage::{Stage, deployment, policy, unit_nodes};

const ACCOUNT: &str = "system:serviceaccount:almanac-scheduler:almanac-scheduler";

#[test]
fn the_manifest_grants_what_an_extender_uses_and_nothing_else() -> TestResult {
    let options = ControlPlaneOptions::whole().audited_with_reads_of(ACCOUNT);
    on_own_control_plane(&options, async |test| {
        let stage = Stage::set(test, &[unit_nodes("best", 1), unit_nodes("worst", 1)]).await?;
        stage.start_extender().await?;
        let units = |best| [("best", 2, Some(best)), ("worst", 1, None)];
        stage.govern(&policy("shop", "required", &units(2))).await?;
        stage.apply(&deployment("shop", 3)).await?;
        stage.await_spread("shop", &["best", "worst"], &[2, 1, 0]).await?;
        // Twice within a short time, which is one Event with a count.
        for best in [1, 2, 1] {
            stage.govern(&policy("shop", "required", &units(best))).await?;
            let over = if best == 1 { "True" } else { "False" };
            let of = ["resourcepolicy", "shop"];
            await_value(&stage.kubectl, &of, "/status/conditions/1/status", &json!(over)).await?;
        }
        let events = ["events.events.k8s.io", "--field-selector", "reason=TooManyPods"];
        await_value(&stage.kubectl, &events, "/items/0/series/count", &json!(2)).await?;
        // The one that stands by passes a call on, and has its token reviewed.
        let asked =
            r#"{"Pod":{"metadata":{"name":"y","namespace":"default","uid":"u"}},"NodeNames":[]}"#;
        let standby = 1 - stage.deciding().await?;
        let port = stage.extender(standby).scheduler_port.number();
        let answer = call(port, "/filter", asked, None).await?;
        ensure!(answer.status == 200, "{answer:?}");

        stage.stop().await?;

        let requests = AuditLog::of(&test.plane)?.requests(&test.client()).await?;
        // Kube-scheduler runs as the same account.
        let is_ours =
            |it: &&AuditedRequest| it.user == ACCOUNT && it.user_agent.starts_with("almanac/");
        let ours: Vec<_> = requests.iter().filter(is_ours).collect();
        let refused: Vec<_> = ours.iter().filter(|it| it.code == 403).collect();
        ensure!(refused.is_empty(), "refused: {refused:#?}");
        let used: BTreeSet<Right> = ours.iter().filter_map(|request| right(request)).collect();
        let roles: [&[&str]; 2] = [
            &["clusterrole", "almanac-extender"],
            &["-n", "almanac-scheduler", "role", "almanac-scheduler"],
        ];
        compare(&used, &granted(&stage.kubectl, &roles).await?);
        Ok(())
    })
}
