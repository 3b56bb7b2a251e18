//! Lists that change inside their windows, the lists of certain nodes, and the two `ConfigMaps`.

use almanac_harness::TestResult;
use serde_json::{Value, json};

use crate::agent::stage::at_place;
use crate::agent::test_namespace::{
    CONFIG_MAP, INSIDE, OF_THE_DESIGN, OF_VOLCANO, daily, own, policy, under,
};

/// A document with a global list.
fn global(policies: &[Value]) -> Value {
    json!({"globalConfig": {"timeBasedQoSPolicies": policies}})
}

#[test]
fn a_change_of_a_policy_inside_its_window_takes_effect_immediately() -> TestResult {
    at_place("changes", 1, async |test_namespace| {
        let apps = ["deleted", "disabled", "retargeted", "rewindowed", "reselected"];
        let policies = apps.map(|app| daily(app, app, -1));
        test_namespace.configure(&policies).await?;
        for app in apps {
            test_namespace.pod(app, app, "1").await?;
        }
        let agent = test_namespace.start(INSIDE, &[]).await?;
        let inside = apps.map(|app| (app, under(app, "-1", "1")));
        test_namespace.await_pods(&inside).await?;
        let mut disabled = policies[1].clone();
        disabled["enable"] = json!(false);
        let retargeted = daily("retargeted", "retargeted", 2);
        let rewindowed = policy("rewindowed", ("13:00", "17:00"), "rewindowed", -1);
        let reselected = daily("reselected", "nobody", -1);
        test_namespace.configure(&[disabled, retargeted, rewindowed, reselected]).await?;
        test_namespace
            .await_pods(&[
                ("deleted", own("1")),
                ("disabled", own("1")),
                ("retargeted", under("retargeted", "2", "1")),
                ("rewindowed", own("1")),
                ("reselected", own("1")),
            ])
            .await?;
        test_namespace.configure(&policies).await?;
        test_namespace.await_pods(&inside).await?;
        // A change of the order is a change, too.
        let both = |first: &Value, second: &Value| vec![first.clone(), second.clone()];
        let (one, other) = (daily("one", "deleted", 0), daily("other", "deleted", 2));
        test_namespace.configure(&both(&one, &other)).await?;
        test_namespace.await_pods(&[("deleted", under("one", "0", "1"))]).await?;
        test_namespace.configure(&both(&other, &one)).await?;
        test_namespace.await_pods(&[("deleted", under("other", "2", "1"))]).await?;
        agent.await_done().await?;
        test_namespace
            .ensure_written(&[
                ("deleted", 5),
                ("disabled", 4),
                ("retargeted", 4),
                ("rewindowed", 4),
                ("reselected", 4),
            ])
            .await?;
        agent.stop().await
    })
}

#[test]
fn policies_end_with_their_config_map_and_return_with_it() -> TestResult {
    at_place("gone", 1, async |test_namespace| {
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        test_namespace.pod("job", "batch", "1").await?;
        let agent = test_namespace.start(INSIDE, &[]).await?;
        let inside = [("job", under("night", "-1", "1"))];
        test_namespace.await_pods(&inside).await?;
        test_namespace.cluster.delete(CONFIG_MAP, &test_namespace.name, OF_THE_DESIGN).await?;
        test_namespace.await_pods(&[("job", own("1"))]).await?;
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        test_namespace.await_pods(&inside).await?;
        // No agent runs during the final deletion.
        agent.program.kill()?;
        test_namespace.cluster.delete(CONFIG_MAP, &test_namespace.name, OF_THE_DESIGN).await?;
        agent.program.start_again()?;
        test_namespace.await_pods(&[("job", own("1"))]).await?;
        agent.stop().await?;
        test_namespace.ensure_written(&[("job", 4)]).await
    })
}

#[test]
fn the_last_list_for_a_node_replaces_the_global_list() -> TestResult {
    at_place("node-lists", 1, async |test_namespace| {
        let only = |pool: &str| json!({"matchLabels": {"pool": pool}});
        let mut document = global(&[daily("global", "batch", -1)]);
        document["nodesConfig"] = json!([
            {"selector": only("big"), "timeBasedQoSPolicies": [daily("big", "batch", 0)]},
            {"selector": only("quiet"), "timeBasedQoSPolicies": []},
            // A ConfigMap with other keys changes nothing here.
            {"selector": {}, "evictingCPUHighWatermark": 80},
        ]);
        document["somebodyElses"] = json!({"timeBasedQoSPolicies": "whatever"});
        test_namespace.configure_with(&document).await?;
        test_namespace.pod("job", "batch", "1").await?;
        let agent = test_namespace.start(INSIDE, &[]).await?;
        let node = test_namespace.node(0)?;
        let of_global = under("global", "-1", "1");
        test_namespace.await_pods(&[("job", of_global.clone())]).await?;
        for (pool, expected) in [
            (Some("big"), under("big", "0", "1")),
            (Some("quiet"), own("1")),
            (Some("other"), of_global.clone()),
            (Some("big"), under("big", "0", "1")),
            (None, of_global),
        ] {
            test_namespace.nodes.relabel(node, "pool", pool).await?;
            test_namespace.await_pods(&[("job", expected)]).await?;
        }
        agent.await_done().await?;
        test_namespace.ensure_written(&[("job", 6)]).await?;
        agent.stop().await
    })
}

#[test]
fn the_config_map_of_the_design_takes_precedence_until_deleted() -> TestResult {
    at_place("two-maps", 1, async |test_namespace| {
        let of_volcano = global(&[daily("of-volcano", "batch", 2)]).to_string();
        test_namespace.write_config((&test_namespace.name, OF_VOLCANO), &of_volcano).await?;
        test_namespace.pod("job", "batch", "1").await?;
        let agent = test_namespace.start(INSIDE, &[]).await?;
        test_namespace.await_pods(&[("job", under("of-volcano", "2", "1"))]).await?;
        test_namespace.configure(&[daily("of-the-design", "batch", -1)]).await?;
        test_namespace.await_pods(&[("job", under("of-the-design", "-1", "1"))]).await?;
        let event = test_namespace.await_event(OF_VOLCANO, "Warning ConfigNotUsed: ").await?;
        assert!(event.contains(OF_THE_DESIGN), "{event}");
        // The ConfigMap of the design still takes precedence when unusable.
        test_namespace
            .write_config((&test_namespace.name, OF_THE_DESIGN), "globalConfig: [")
            .await?;
        agent.await_metric("almanac_qos_configs_rejected 1").await?;
        agent.await_done().await?;
        test_namespace.ensure_pods(&[("job", under("of-the-design", "-1", "1"))]).await?;
        test_namespace.cluster.delete(CONFIG_MAP, &test_namespace.name, OF_THE_DESIGN).await?;
        test_namespace.await_pods(&[("job", under("of-volcano", "2", "1"))]).await?;
        agent.await_metric("almanac_qos_configs_rejected 0").await?;
        test_namespace.cluster.delete(CONFIG_MAP, &test_namespace.name, OF_VOLCANO).await?;
        test_namespace.await_pods(&[("job", own("1"))]).await?;
        let events = test_namespace.cluster.events(&test_namespace.name, OF_VOLCANO).await?;
        assert_eq!(events.len(), 1, "{events:?}");
        test_namespace.ensure_written(&[("job", 4)]).await?;
        agent.stop().await
    })
}
