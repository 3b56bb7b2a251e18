//! A rule and an autoscaler of Almanac set the same target. Both name each other, and the rule reports that its value
//! was replaced, as for another field manager.

use almanac_harness::TestResult;
use serde_json::{Value, json};

use crate::autoscaler::autoscalers::{autoscale, await_replicas, schedule, scheduled};
use crate::controller::{AUTOSCALER, CRON, DEPLOYMENT, condition, cron, in_namespace, target};

const NOW: &str = "2026-11-30T09:10:30Z";

#[test]
fn a_rule_and_an_autoscaler_of_one_target_report_each_other() -> TestResult {
    in_namespace(async |cluster| {
        let home = cluster.home();
        schedule(cluster, "hours", 7).await?;
        autoscale(cluster, "shop", (2, &scheduled(cluster, "hours")), &Value::Null).await?;
        let rules = json!([{ "name": "often", "schedule": "* * * * *", "targetReplicas": 3 }]);
        let shop = target("apps/v1", "Deployment", "shop");
        cluster.create(CRON, home, &cron("rules", &shop, &rules)).await?;
        let controller = cluster.start_at(NOW, &["--query-period=2s"]).await?;
        await_replicas(cluster, (DEPLOYMENT, home, "shop"), 7).await?;

        let rule = format!("CronFederatedHPA.autoscaling.karmada.io {home}/rules");
        let autoscaler = format!("HorizontalAutoscaler.autoscaling.karpenter.sh {home}/shop");
        let named =
            format!("the target is also set by {rule}: set the target with only one policy");
        let is_named = |object: &Value| condition(&object["status"], "Ready")[2].ends_with(&named);
        cluster.await_object(AUTOSCALER, (home, "shop"), &named, is_named).await?;

        let event = format!(
            "Warning UndoneByAnotherWriter: rule often set replicas of Deployment.apps {home}/shop to 3; another \
             writer, {autoscaler}, has since set it to 7. That value is kept: {autoscaler} scales the \
             same target: scale it with only one of them"
        );
        cluster.await_event(home, "rules", &event).await?;
        let is_named = |status: &Value| {
            let [holds, reason, message] = condition(status, "Ready");
            [holds, reason] == ["False", "UndoneByAnotherWriter"]
                && message.contains(&format!("also set by {autoscaler}"))
        };
        cluster.await_status(home, "rules", "Ready=False UndoneByAnotherWriter", is_named).await?;
        controller.stop().await
    })
}
