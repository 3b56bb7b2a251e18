//! An unusable list: the last valid list stays in effect. Without a valid list, the agent changes nothing.

use almanac_harness::TestResult;
use anyhow::ensure;
use serde_json::json;

use crate::agent::stage::at_place;
use crate::agent::test_namespace::{AFTER, INSIDE, OF_THE_DESIGN, daily, own, under};

/// A list whose second policy has an invalid time, at the tenth line.
const BAD: &str = r#"globalConfig:
  timeBasedQoSPolicies:
  - name: night
    startTime: "10:00"
    endTime: "11:00"
    selector: {matchLabels: {app: batch}}
    targetQoSLevel: 2
  - name: day
    # There are 24 hours.
    startTime: "25:00"
    endTime: "17:00"
    selector: {matchLabels: {app: web}}
    targetQoSLevel: 1
"#;

#[test]
fn an_invalid_list_is_reported_once_and_the_last_valid_list_stays_in_effect() -> TestResult {
    at_place("bad-list", 2, async |test_namespace| {
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        test_namespace.pod("before", "batch", "1").await?;
        let second = ["--node-name", test_namespace.node(1)?];
        let agents = [
            test_namespace.start(INSIDE, &[]).await?,
            test_namespace.start(INSIDE, &second).await?,
        ];
        let inside = || under("night", "-1", "1");
        test_namespace.await_pods(&[("before", inside())]).await?;
        test_namespace.write_config((&test_namespace.name, OF_THE_DESIGN), BAD).await?;
        for agent in &agents {
            agent.await_metric("almanac_qos_configs_rejected 1").await?;
            agent.await_metric("almanac_qos_config_rejections_total 1").await?;
        }
        test_namespace.pod("since", "batch", "1").await?;
        test_namespace.await_pods(&[("before", inside()), ("since", inside())]).await?;
        let event = test_namespace.await_event(OF_THE_DESIGN, "Warning ConfigRejected: ").await?;
        let [place_of_it, message, then] = [
            "config.yaml, line 10: globalConfig.timeBasedQoSPolicies[1].startTime: ",
            "Invalid value: \"25:00\": ",
            "the last valid policies stay in force",
        ];
        ensure!(
            event.contains(place_of_it) && event.contains(message) && event.ends_with(then),
            "{event}"
        );
        // After a valid list, the same mistake is reported again.
        test_namespace.configure(&[daily("night", "batch", 2)]).await?;
        test_namespace.await_pods(&[("since", under("night", "2", "1"))]).await?;
        for agent in &agents {
            agent.await_metric("almanac_qos_configs_rejected 0").await?;
            agent.stop().await?;
        }
        let writes = test_namespace.cluster.writes().await?;
        let created = writes.iter().filter(|it| {
            it.resource == "events"
                && it.namespace == test_namespace.name
                && it.code == 201
                && it.verb == "create"
                && it.name.starts_with(OF_THE_DESIGN)
        });
        ensure!(created.count() == 1, "{writes:?}");
        test_namespace.ensure_written(&[("before", 2), ("since", 2)]).await
    })
}

#[test]
fn an_agent_that_starts_with_an_invalid_list_changes_nothing() -> TestResult {
    at_place("bad-start", 1, async |test_namespace| {
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        test_namespace.pod("under", "batch", "1").await?;
        test_namespace.pod("moved", "batch", "").await?;
        let agent = test_namespace.start(INSIDE, &[]).await?;
        let inside = [("under", under("night", "-1", "1")), ("moved", under("night", "-1", ""))];
        test_namespace.await_pods(&inside).await?;
        agent.stop().await?;
        test_namespace.write_config((&test_namespace.name, OF_THE_DESIGN), BAD).await?;
        test_namespace.pod("new", "batch", "1").await?;
        test_namespace.relabel("moved", "web").await?;
        for instant in [INSIDE, AFTER] {
            let agent = test_namespace.start(instant, &[]).await?;
            agent.await_metric("almanac_qos_configs_rejected 1").await?;
            agent.await_done().await?;
            test_namespace.pod(&format!("made-{}", &instant[11..13]), "batch", "0").await?;
            agent.await_done().await?;
            agent.stop().await?;
        }
        let event = test_namespace.await_event(OF_THE_DESIGN, "Warning ConfigRejected: ").await?;
        let then = "no valid policies are known, so the pods under them are unchanged";
        ensure!(event.ends_with(then), "{event}");
        test_namespace.ensure_pods(&inside).await?;
        test_namespace
            .ensure_pods(&[("new", own("1")), ("made-12", own("0")), ("made-18", own("0"))])
            .await?;
        test_namespace.ensure_written(&[("under", 1), ("moved", 1)]).await?;
        let agent = test_namespace.start(AFTER, &[]).await?;
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        test_namespace.await_pods(&[("under", own("1")), ("moved", own(""))]).await?;
        agent.stop().await
    })
}

#[test]
fn an_invalid_list_does_not_affect_other_lists() -> TestResult {
    at_place("lists-apart", 2, async |test_namespace| {
        let good = daily("night", "batch", -1);
        let mut bad = good.clone();
        bad["targetQoSLevel"] = json!(7);
        let pool = |pool: &str| json!({"matchLabels": {"pool": pool}});
        let document = |global: &serde_json::Value, of_node: &serde_json::Value| {
            json!({
                "globalConfig": {"timeBasedQoSPolicies": [global]},
                "nodesConfig": [{"selector": pool("own"), "timeBasedQoSPolicies": [of_node]}],
            })
        };
        test_namespace.nodes.relabel(test_namespace.node(1)?, "pool", Some("own")).await?;
        let batch = json!({"app": "batch"});
        test_namespace.pod_with("global", batch.clone(), own("1"), 0).await?;
        test_namespace.pod_with("of-node", batch, own("1"), 1).await?;
        test_namespace.configure_with(&document(&bad, &good)).await?;
        let second = ["--node-name", test_namespace.node(1)?];
        let agents = [
            test_namespace.start(INSIDE, &[]).await?,
            test_namespace.start(INSIDE, &second).await?,
        ];
        // The global list has never been valid; the list of the node is.
        test_namespace.await_pods(&[("of-node", under("night", "-1", "1"))]).await?;
        for agent in &agents {
            agent.await_metric("almanac_qos_configs_rejected 1").await?;
            agent.await_done().await?;
        }
        test_namespace.ensure_pods(&[("global", own("1"))]).await?;
        let event = test_namespace.await_event(OF_THE_DESIGN, "Warning ConfigRejected: ").await?;
        ensure!(event.contains("globalConfig.timeBasedQoSPolicies[0].targetQoSLevel: "), "{event}");
        // The reverse: the valid list applies, and the invalid list keeps its old state.
        let mut retargeted = good.clone();
        retargeted["targetQoSLevel"] = json!(2);
        test_namespace.configure_with(&document(&retargeted, &bad)).await?;
        test_namespace.await_pods(&[("global", under("night", "2", "1"))]).await?;
        for agent in &agents {
            agent.await_metric("almanac_qos_config_rejections_total 2").await?;
            agent.await_done().await?;
            agent.stop().await?;
        }
        test_namespace.ensure_pods(&[("of-node", under("night", "-1", "1"))]).await?;
        test_namespace.ensure_written(&[("global", 1), ("of-node", 1)]).await
    })
}
