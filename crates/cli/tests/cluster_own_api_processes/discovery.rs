//! The discovery requests of the controller for target kinds.

use almanac_harness::{FaultProxy, Observation, PATIENCE, TestResult, await_condition};
use anyhow::ensure;
use serde_json::json;

use crate::controller::{CRON, Controller, condition, cron, in_namespace, target};

const NOW: &str = "2026-11-26T09:00:00Z";
const MANY: usize = 40;

#[test]
fn a_kind_is_discovered_once_however_many_policies_name_it() -> TestResult {
    in_namespace(async |cluster| {
        let home = cluster.home();
        let shop = target("example.com/v1", "Shop", "shop");
        let rules = json!([{"name": "up", "schedule": "0 3 * * *", "targetReplicas": 7}]);
        for number in 0..MANY {
            cluster.create(CRON, home, &cron(&format!("shop-{number}"), &shop, &rules)).await?;
        }
        let proxy = FaultProxy::start(cluster.client())?;
        let arguments = cluster.limited(&["--leader-elect=false"]);
        let controller = Controller::start(&proxy.kubeconfig(), NOW, &arguments)?;
        await_condition("every status to report the unknown kind", PATIENCE, async || {
            controller.program.check_running()?;
            let all = cluster.list(CRON, home).await?;
            let reasons = all.iter().map(|it| condition(&it["status"], "Active")[1]);
            let reporting = reasons.filter(|reason| *reason == "TargetUnknownKind").count();
            Ok(Observation::from_bool(reporting == MANY, reporting))
        })
        .await?;
        let requests = proxy.requests();
        let requests =
            requests.iter().filter(|it| it.path.starts_with("/apis/example.com")).count();
        ensure!(
            requests == 1,
            "{MANY} policies name the kind, and the process requested it {requests} times"
        );
        Ok(())
    })
}
