//! `--node-name=*`: one elected replica for all pods, its successor, the stop annotation, and the agent of a single
//! node in addition. Each test has a control plane of its own.

use almanac_harness::{Component, Observation, PATIENCE, TestResult, await_condition};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::agent::place::{
    Agent, CLOSES, INSIDE, OPENS, POD, Place, daily, early, early_for_two, own, pod_object, policy,
    under,
};
use crate::controller::{LEASE, on_cluster};

const STOP: &str = "almanac.dev/stop";
const LEASE_NAME: &str = "almanac-agent";

/// Runs a test in a namespace with nodes on a control plane of its own.
fn at_whole_cluster(
    nodes: usize,
    test: impl AsyncFnOnce(&Place, &almanac_harness::OwnTest) -> TestResult,
) -> TestResult {
    on_cluster(async |own, cluster| {
        let place = Place::prepare(cluster.for_another_test()?, "shop", nodes).await?;
        let outcome = test(&place, own).await;
        if outcome.is_err() {
            place.show_logs();
        }
        outcome
    })
}

/// Starts a replica for all nodes.
async fn start(place: &Place, instant: &str, identity: &str) -> Result<Agent> {
    place.start(instant, &["--node-name", "*", "--identity", identity]).await
}

async fn await_holder(place: &Place, identity: &str) -> TestResult {
    let holds = |lease: &Value| lease["spec"]["holderIdentity"] == identity;
    let what = format!("{identity} to hold it");
    place.cluster.await_object(LEASE, ("default", LEASE_NAME), &what, holds).await?;
    Ok(())
}

/// Makes a pod without a node.
async fn unbound_pod(place: &Place, name: &str) -> TestResult {
    let pod = pod_object(name, &json!({"app": "batch"}), &own("1"));
    place.cluster.create(POD, &place.name, &pod).await
}

#[test]
fn a_leader_killed_in_a_window_is_succeeded_by_one_that_catches_up_with_the_boundary_since()
-> TestResult {
    at_whole_cluster(2, async |place, _| {
        const BOUNDARY: &str = "2026-11-30T09:01:00Z";
        let (first_window, next_window) = (("09:00", "17:00"), ("09:01", "17:00"));
        place
            .configure(&[
                policy("night", first_window, "batch", -1),
                policy("next", next_window, "web", 2),
            ])
            .await?;
        let batch = json!({"app": "batch"});
        place.pod_with("zero", batch.clone(), own("1"), 0).await?;
        place.pod_with("one", batch, own(""), 1).await?;
        place.pod("web", "web", "1").await?;
        unbound_pod(place, "unbound").await?;
        let first = start(place, &early_for_two(BOUNDARY)?, "first").await?;
        await_holder(place, "first").await?;
        let second = start(place, &first.now().to_string(), "second").await?;
        let inside = || under("night", "-1", "1");
        let of_first = [
            ("zero", inside()),
            ("one", under("night", "-1", "")),
            ("unbound", inside()),
            ("web", own("1")),
        ];
        place.await_pods(&of_first).await?;
        first.await_done().await?;
        first.ensure_before(BOUNDARY)?;
        // Its lease outlasts the boundary.
        first.await_time("2026-11-30T09:00:52Z").await?;
        first.program.kill()?;
        first.ensure_still_before(BOUNDARY)?;
        place.edit("zero", Some("2")).await?;
        place.relabel("one", "nobodys").await?;
        place.pod("made", "batch", "0").await?;
        place
            .await_pods(&[
                ("zero", under("night", "-1", "2")),
                ("one", own("")),
                ("made", under("night", "-1", "0")),
                ("unbound", inside()),
                ("web", under("next", "2", "1")),
            ])
            .await?;
        await_holder(place, "second").await?;
        second.await_done().await?;
        place
            .ensure_written(&[("zero", 2), ("one", 2), ("made", 1), ("unbound", 1), ("web", 1)])
            .await?;
        second.stop().await
    })
}

#[test]
fn while_everything_is_stopped_no_pod_is_written_and_afterwards_each_is_as_it_should_be()
-> TestResult {
    at_whole_cluster(1, async |place, _| {
        place.configure(&[daily("night", "batch", -1)]).await?;
        place.pod("job", "batch", "1").await?;
        place.pod("moved", "batch", "1").await?;
        let agent = start(place, INSIDE, "only").await?;
        let inside = || under("night", "-1", "1");
        place.await_pods(&[("job", inside()), ("moved", inside())]).await?;
        let mark = async |value: Option<&str>| {
            let patch = json!({"metadata": {"annotations": {STOP: value}}});
            place.cluster.patch(LEASE, "default", LEASE_NAME, &patch).await
        };
        mark(Some("wrong values")).await?;
        agent.await_metric("almanac_stopped 1").await?;
        place.pod("made", "batch", "1").await?;
        place.relabel("moved", "web").await?;
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
        place.ensure_pods(&[("job", inside()), ("moved", inside()), ("made", own("1"))]).await?;
        place.ensure_written(&[("job", 1), ("moved", 1)]).await?;
        mark(None).await?;
        place.await_pods(&[("made", inside()), ("moved", own("1")), ("job", inside())]).await?;
        place.ensure_written(&[("job", 1), ("moved", 2), ("made", 1)]).await?;
        agent.stop().await
    })
}

#[test]
fn agents_of_one_node_and_of_all_nodes_write_once_with_the_same_settings() -> TestResult {
    at_whole_cluster(2, async |place, _| {
        place.configure(&[daily("night", "batch", -1)]).await?;
        let pods = place.many_pods("batch", 20).await?;
        place.pod_with("elsewhere", json!({"app": "batch"}), own("1"), 1).await?;
        let all = start(place, &early_for_two(OPENS)?, "all").await?;
        let one = place.start(&all.now().to_string(), &[]).await?;
        one.await_done().await?;
        all.ensure_before(OPENS)?;
        let names: Vec<&str> = pods.iter().map(|pod| &**pod).chain(["elsewhere"]).collect();
        let expected = |levels: Value| -> Vec<_> {
            names.iter().map(|name| (*name, levels.clone())).collect()
        };
        let times = |times| -> Vec<_> { names.iter().map(|name| (*name, times)).collect() };
        place.await_pods(&expected(under("night", "-1", "1"))).await?;
        for (target, level, writes) in [(-1, "-1", 1), (2, "2", 2)] {
            place.configure(&[daily("night", "batch", target)]).await?;
            place.await_pods(&expected(under("night", level, "1"))).await?;
            for agent in [&all, &one] {
                agent.await_done().await?;
            }
            place.ensure_written(&times(writes)).await?;
        }
        for agent in [&all, &one] {
            agent.stop().await?;
        }
        place.ensure_pods(&expected(under("night", "2", "1"))).await
    })
}

#[test]
fn an_api_server_that_is_killed_at_a_boundary_only_delays_it() -> TestResult {
    at_whole_cluster(1, async |place, own_test| {
        place.configure(&[daily("night", "batch", -1)]).await?;
        place.pod("job", "batch", "1").await?;
        let agents = [
            start(place, &early_for_two(CLOSES)?, "all").await?,
            place.start(&early(CLOSES)?, &["--node-name", "nobodys"]).await?,
        ];
        place.await_pods(&[("job", under("night", "-1", "1"))]).await?;
        agents[0].await_done().await?;
        agents[0].ensure_before(CLOSES)?;
        // The lease is not lost before the boundary.
        agents[0].await_time("2026-11-30T16:59:54Z").await?;
        own_test.plane.kill(Component::ApiServer)?;
        agents[0].ensure_still_before(CLOSES)?;
        agents[0].await_time("2026-11-30T17:00:01Z").await?;
        own_test.plane.restart(Component::ApiServer).await?;
        place.await_pods(&[("job", own("1"))]).await?;
        place.ensure_written(&[("job", 2)]).await?;
        for agent in &agents {
            ensure!(agent.program.is_running(), "it has ended: {}", agent.program.log()?);
            agent.stop().await?;
        }
        Ok(())
    })
}
