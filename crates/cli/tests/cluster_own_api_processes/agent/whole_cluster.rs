//! `--node-name=*`: one elected replica for all pods, its successor, the stop annotation, and an additional agent of a
//! single node. Each test has a separate control plane.

use almanac_harness::{Component, Observation, PATIENCE, TestResult, await_condition};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::agent::test_namespace::{
    Agent, CLOSES, INSIDE, OPENS, POD, TestNamespace, daily, early, early_for_two, own, pod_object,
    policy, under,
};
use crate::controller::{LEASE, on_cluster};

const STOP: &str = "almanac.dev/stop";
const LEASE_NAME: &str = "almanac-agent";

/// Runs a test in a namespace with nodes on a separate control plane.
fn at_whole_cluster(
    nodes: usize,
    test: impl AsyncFnOnce(&TestNamespace, &almanac_harness::OwnTest) -> TestResult,
) -> TestResult {
    on_cluster(async |own, cluster| {
        let test_namespace =
            TestNamespace::prepare(cluster.for_another_test()?, "shop", nodes).await?;
        let outcome = test(&test_namespace, own).await;
        if outcome.is_err() {
            test_namespace.show_logs();
        }
        outcome
    })
}

/// Starts a replica for all nodes.
async fn start(test_namespace: &TestNamespace, instant: &str, identity: &str) -> Result<Agent> {
    test_namespace.start(instant, &["--node-name", "*", "--identity", identity]).await
}

async fn await_holder(test_namespace: &TestNamespace, identity: &str) -> TestResult {
    let holds = |lease: &Value| lease["spec"]["holderIdentity"] == identity;
    let what = format!("{identity} to hold it");
    test_namespace.cluster.await_object(LEASE, ("default", LEASE_NAME), &what, holds).await?;
    Ok(())
}

/// Creates a pod without a node.
async fn unbound_pod(test_namespace: &TestNamespace, name: &str) -> TestResult {
    let pod = pod_object(name, &json!({"app": "batch"}), &own("1"));
    test_namespace.cluster.create(POD, &test_namespace.name, &pod).await
}

#[test]
fn the_successor_of_a_killed_leader_applies_a_missed_boundary() -> TestResult {
    at_whole_cluster(2, async |test_namespace, _| {
        const BOUNDARY: &str = "2026-11-30T09:01:00Z";
        let (first_window, next_window) = (("09:00", "17:00"), ("09:01", "17:00"));
        test_namespace
            .configure(&[
                policy("night", first_window, "batch", -1),
                policy("next", next_window, "web", 2),
            ])
            .await?;
        let batch = json!({"app": "batch"});
        test_namespace.pod_with("zero", batch.clone(), own("1"), 0).await?;
        test_namespace.pod_with("one", batch, own(""), 1).await?;
        test_namespace.pod("web", "web", "1").await?;
        unbound_pod(test_namespace, "unbound").await?;
        let first = start(test_namespace, &early_for_two(BOUNDARY)?, "first").await?;
        await_holder(test_namespace, "first").await?;
        let second = start(test_namespace, &first.now().to_string(), "second").await?;
        let inside = || under("night", "-1", "1");
        let of_first = [
            ("zero", inside()),
            ("one", under("night", "-1", "")),
            ("unbound", inside()),
            ("web", own("1")),
        ];
        test_namespace.await_pods(&of_first).await?;
        first.await_done().await?;
        first.ensure_before(BOUNDARY)?;
        // The Lease outlasts the boundary.
        first.await_time("2026-11-30T09:00:52Z").await?;
        first.program.kill()?;
        first.ensure_still_before(BOUNDARY)?;
        test_namespace.edit("zero", Some("2")).await?;
        test_namespace.relabel("one", "nobodys").await?;
        test_namespace.pod("made", "batch", "0").await?;
        test_namespace
            .await_pods(&[
                ("zero", under("night", "-1", "2")),
                ("one", own("")),
                ("made", under("night", "-1", "0")),
                ("unbound", inside()),
                ("web", under("next", "2", "1")),
            ])
            .await?;
        await_holder(test_namespace, "second").await?;
        second.await_done().await?;
        test_namespace
            .ensure_written(&[("zero", 2), ("one", 2), ("made", 1), ("unbound", 1), ("web", 1)])
            .await?;
        second.stop().await
    })
}

#[test]
fn no_pod_is_written_while_stopped_and_all_are_updated_after_a_resume() -> TestResult {
    at_whole_cluster(1, async |test_namespace, _| {
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        test_namespace.pod("job", "batch", "1").await?;
        test_namespace.pod("moved", "batch", "1").await?;
        let agent = start(test_namespace, INSIDE, "only").await?;
        let inside = || under("night", "-1", "1");
        test_namespace.await_pods(&[("job", inside()), ("moved", inside())]).await?;
        let mark = async |value: Option<&str>| {
            let patch = json!({"metadata": {"annotations": {STOP: value}}});
            test_namespace.cluster.patch(LEASE, "default", LEASE_NAME, &patch).await
        };
        mark(Some("wrong values")).await?;
        agent.await_metric("almanac_stopped 1").await?;
        test_namespace.pod("made", "batch", "1").await?;
        test_namespace.relabel("moved", "web").await?;
        let pending = async |agent: &Agent| {
            agent.await_metric("almanac_qos_levels_pending 1").await?;
            agent.await_metric("almanac_qos_restores_pending 1").await
        };
        pending(&agent).await?;
        // A restart makes no difference.
        agent.program.kill()?;
        agent.program.start_again()?;
        await_condition("the successor to know what it would do", PATIENCE, async || {
            pending(&agent).await?;
            Ok(Observation::Holds(()))
        })
        .await?;
        agent.await_metric("almanac_stopped 1").await?;
        test_namespace
            .ensure_pods(&[("job", inside()), ("moved", inside()), ("made", own("1"))])
            .await?;
        test_namespace.ensure_written(&[("job", 1), ("moved", 1)]).await?;
        mark(None).await?;
        test_namespace
            .await_pods(&[("made", inside()), ("moved", own("1")), ("job", inside())])
            .await?;
        test_namespace.ensure_written(&[("job", 1), ("moved", 2), ("made", 1)]).await?;
        agent.stop().await
    })
}

#[test]
fn agents_of_one_node_and_of_all_nodes_write_once_with_the_same_settings() -> TestResult {
    at_whole_cluster(2, async |test_namespace, _| {
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        let pods = test_namespace.many_pods("batch", 20).await?;
        test_namespace.pod_with("elsewhere", json!({"app": "batch"}), own("1"), 1).await?;
        let all = start(test_namespace, &early_for_two(OPENS)?, "all").await?;
        let one = test_namespace.start(&all.now().to_string(), &[]).await?;
        one.await_done().await?;
        all.ensure_before(OPENS)?;
        let names: Vec<&str> = pods.iter().map(|pod| &**pod).chain(["elsewhere"]).collect();
        let expected = |levels: Value| -> Vec<_> {
            names.iter().map(|name| (*name, levels.clone())).collect()
        };
        let times = |times| -> Vec<_> { names.iter().map(|name| (*name, times)).collect() };
        test_namespace.await_pods(&expected(under("night", "-1", "1"))).await?;
        for (target, level, writes) in [(-1, "-1", 1), (2, "2", 2)] {
            test_namespace.configure(&[daily("night", "batch", target)]).await?;
            test_namespace.await_pods(&expected(under("night", level, "1"))).await?;
            for agent in [&all, &one] {
                agent.await_done().await?;
            }
            test_namespace.ensure_written(&times(writes)).await?;
        }
        for agent in [&all, &one] {
            agent.stop().await?;
        }
        test_namespace.ensure_pods(&expected(under("night", "2", "1"))).await
    })
}

#[test]
fn an_api_server_killed_at_a_boundary_only_delays_it() -> TestResult {
    at_whole_cluster(1, async |test_namespace, own_test| {
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        test_namespace.pod("job", "batch", "1").await?;
        let agents = [
            start(test_namespace, &early_for_two(CLOSES)?, "all").await?,
            test_namespace.start(&early(CLOSES)?, &["--node-name", "nobodys"]).await?,
        ];
        test_namespace.await_pods(&[("job", under("night", "-1", "1"))]).await?;
        agents[0].await_done().await?;
        agents[0].ensure_before(CLOSES)?;
        // The Lease does not expire before the boundary.
        agents[0].await_time("2026-11-30T16:59:54Z").await?;
        own_test.plane.kill(Component::ApiServer)?;
        agents[0].ensure_still_before(CLOSES)?;
        agents[0].await_time("2026-11-30T17:00:01Z").await?;
        own_test.plane.restart(Component::ApiServer).await?;
        test_namespace.await_pods(&[("job", own("1"))]).await?;
        test_namespace.ensure_written(&[("job", 2)]).await?;
        for agent in &agents {
            ensure!(agent.program.is_running(), "the agent has ended: {}", agent.program.log()?);
            agent.stop().await?;
        }
        Ok(())
    })
}
