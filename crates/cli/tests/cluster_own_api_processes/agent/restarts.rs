//! Agents that are killed or shut down, and others that take over: all state is on the pods.

use almanac_harness::{Observation, PATIENCE, TestResult, await_condition};
use anyhow::ensure;

use crate::agent::place::{AFTER, INSIDE, POD, daily, own, under};
use crate::agent::stage::at_place;

#[test]
fn a_restart_inside_the_window_writes_nothing_again_and_one_after_it_restores() -> TestResult {
    at_place("restarts", 1, async |place| {
        place.configure(&[daily("night", "batch", -1)]).await?;
        for name in ["kept", "edited", "moved", "deleted"] {
            place.pod(name, "batch", "1").await?;
        }
        let agent = place.start(INSIDE, &[]).await?;
        let inside = || under("night", "-1", "1");
        let all = ["kept", "edited", "moved", "deleted"].map(|name| (name, inside()));
        place.await_pods(&all).await?;
        for _ in 0..2 {
            agent.program.kill()?;
            agent.program.start_again()?;
            agent.program.await_ready().await?;
            agent.await_done().await?;
        }
        place.ensure_written(&all.clone().map(|(name, _)| (name, 1))).await?;
        // While no agent runs, everything changes. The policy's level is not treated as a user's, nor a user's as the
        // policy's.
        agent.program.kill()?;
        place.configure(&[daily("dusk", "batch", 2)]).await?;
        place.edit("edited", Some("0")).await?;
        place.relabel("moved", "web").await?;
        place.cluster.delete(POD, &place.name, "deleted").await?;
        place.pod("made", "batch", "").await?;
        agent.program.start_again()?;
        place
            .await_pods(&[
                ("kept", under("dusk", "2", "1")),
                ("edited", under("dusk", "2", "0")),
                ("moved", own("1")),
                ("made", under("dusk", "2", "")),
            ])
            .await?;
        agent.program.kill()?;
        let after = place.start(AFTER, &[]).await?;
        place.await_pods(&[("kept", own("1")), ("edited", own("0")), ("made", own(""))]).await?;
        after.await_done().await?;
        place
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
fn an_agent_that_is_shut_down_amid_many_pods_leaves_the_others_to_its_successor() -> TestResult {
    at_place("shutdown", 1, async |place| {
        place.configure(&[daily("night", "batch", -1)]).await?;
        let pods = place.many_pods("batch", 60).await?;
        let slowly = ["--writes-at-once", "2", "--writes-per-second", "2", "--write-burst", "1"];
        let agent = place.start(INSIDE, &slowly).await?;
        await_condition("some pods to be written", PATIENCE, async || {
            let written = place.written().await?.len();
            Ok(Observation::of(written >= 5, format!("{written} are")))
        })
        .await?;
        agent.stop().await?;
        let by_the_first = place.written().await?;
        ensure!(by_the_first.len() < pods.len(), "nothing was left to be done");
        let inside = || under("night", "-1", "1");
        for (name, levels) in place.levels_in(&place.name).await? {
            let expected = if by_the_first.contains_key(&name) { inside() } else { own("1") };
            ensure!(levels == expected, "{name}: {levels}");
        }
        let log = agent.program.log()?;
        ensure!(!log.contains("shut down before all work was finished"), "{log}");
        let successor = place.start(INSIDE, &[]).await?;
        successor.await_done().await?;
        let all: Vec<_> = pods.iter().map(|pod| (&**pod, inside())).collect();
        place.await_pods(&all).await?;
        let once: Vec<_> = pods.iter().map(|pod| (&**pod, 1)).collect();
        place.ensure_written(&once).await?;
        successor.stop().await
    })
}
