//! Agents that are killed or shut down, and their successors: the pods contain all state.

use almanac_harness::{Observation, PATIENCE, TestResult, await_condition};
use anyhow::ensure;

use crate::agent::stage::at_place;
use crate::agent::test_namespace::{AFTER, INSIDE, POD, daily, own, under};

#[test]
fn a_restart_in_the_window_repeats_no_write_and_a_later_restart_restores() -> TestResult {
    at_place("restarts", 1, async |test_namespace| {
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        for name in ["kept", "edited", "moved", "deleted"] {
            test_namespace.pod(name, "batch", "1").await?;
        }
        let agent = test_namespace.start(INSIDE, &[]).await?;
        let inside = || under("night", "-1", "1");
        let all = ["kept", "edited", "moved", "deleted"].map(|name| (name, inside()));
        test_namespace.await_pods(&all).await?;
        for _ in 0..2 {
            agent.program.kill()?;
            agent.program.start_again()?;
            agent.program.await_ready().await?;
            agent.await_done().await?;
        }
        test_namespace.ensure_written(&all.clone().map(|(name, _)| (name, 1))).await?;
        // While no agent runs, everything changes. The agent does not treat a policy's level as a user's, nor a user's
        // as a policy's.
        agent.program.kill()?;
        test_namespace.configure(&[daily("dusk", "batch", 2)]).await?;
        test_namespace.edit("edited", Some("0")).await?;
        test_namespace.relabel("moved", "web").await?;
        test_namespace.cluster.delete(POD, &test_namespace.name, "deleted").await?;
        test_namespace.pod("made", "batch", "").await?;
        agent.program.start_again()?;
        test_namespace
            .await_pods(&[
                ("kept", under("dusk", "2", "1")),
                ("edited", under("dusk", "2", "0")),
                ("moved", own("1")),
                ("made", under("dusk", "2", "")),
            ])
            .await?;
        agent.program.kill()?;
        let after = test_namespace.start(AFTER, &[]).await?;
        test_namespace
            .await_pods(&[("kept", own("1")), ("edited", own("0")), ("made", own(""))])
            .await?;
        after.await_done().await?;
        test_namespace
            .ensure_written(&[
                ("kept", 3),
                ("edited", 3),
                ("moved", 2),
                ("deleted", 1),
                ("made", 2),
            ])
            .await?;
        after.stop().await
    })
}

#[test]
fn a_successor_changes_the_pods_that_a_stopped_agent_left() -> TestResult {
    at_place("shutdown", 1, async |test_namespace| {
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        let pods = test_namespace.many_pods("batch", 60).await?;
        let slowly = ["--writes-at-once", "2", "--writes-per-second", "2", "--write-burst", "1"];
        let agent = test_namespace.start(INSIDE, &slowly).await?;
        await_condition("some pods to be written", PATIENCE, async || {
            let count = test_namespace.writes_by_pod().await?.len();
            Ok(Observation::from_bool(count >= 5, format!("{count} pods are written")))
        })
        .await?;
        agent.stop().await?;
        let by_the_first = test_namespace.writes_by_pod().await?;
        ensure!(by_the_first.len() < pods.len(), "nothing was left to be done");
        let inside = || under("night", "-1", "1");
        for (name, levels) in test_namespace.levels_in(&test_namespace.name).await? {
            let expected = if by_the_first.contains_key(&name) { inside() } else { own("1") };
            ensure!(levels == expected, "{name}: {levels}");
        }
        let log = agent.program.log()?;
        ensure!(!log.contains("shut down before all work was finished"), "{log}");
        let successor = test_namespace.start(INSIDE, &[]).await?;
        successor.await_done().await?;
        let all: Vec<_> = pods.iter().map(|pod| (&**pod, inside())).collect();
        test_namespace.await_pods(&all).await?;
        let once: Vec<_> = pods.iter().map(|pod| (&**pod, 1)).collect();
        test_namespace.ensure_written(&once).await?;
        successor.stop().await
    })
}
