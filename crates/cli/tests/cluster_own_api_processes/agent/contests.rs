//! Two agents set different levels of the same pod. Both write at growing intervals, report the contention, and stop
//! immediately when they agree.

use std::time::Duration;

use almanac_harness::{
    FaultProxy, Observation, PATIENCE, RecordedRequest, TestResult, await_condition,
};
use anyhow::ensure;
use jiff::{SignedDuration, Timestamp};

use crate::agent::stage::at_place;
use crate::agent::test_namespace::{Agent, CLOSES, INSIDE, TestNamespace, daily, own, under};
use crate::controller::head_start;

/// An agent, and a proxy that records its requests.
struct Contestant {
    // Declared before the proxy, so that the agent ends first.
    agent: Agent,
    proxy: FaultProxy,
}

impl Contestant {
    async fn start(
        test_namespace: &TestNamespace,
        instant: &str,
        further: &[&str],
    ) -> anyhow::Result<Self> {
        let proxy = FaultProxy::start(test_namespace.cluster.client())?;
        let agent = test_namespace.start_behind(&proxy, instant, further).await?;
        Ok(Self { agent, proxy })
    }

    /// The writes of this agent to the pod.
    fn writes(&self) -> Vec<RecordedRequest> {
        let mut writes = self.proxy.writes();
        writes.retain(|it| it.path.ends_with("/pods/job") && it.status == Some(200));
        writes
    }

    async fn await_writes(&self, count: usize) -> TestResult {
        await_condition(&format!("{count} writes"), PATIENCE, async || {
            let writes = self.writes().len();
            Ok(Observation::from_bool(writes >= count, format!("{writes} so far")))
        })
        .await
    }

    /// Checks the intervals: three writes follow immediately, then the intervals double.
    fn ensure_ever_rarer(&self) -> TestResult {
        let at: Vec<_> = self.writes().iter().map(|write| write.at).collect();
        let pauses: Vec<Duration> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for (seconds, pause) in [1, 2, 4].into_iter().zip(&pauses[3..]) {
            ensure!(*pause >= Duration::from_secs(seconds), "{pauses:?}");
        }
        Ok(())
    }
}

#[test]
fn agents_with_different_level_formats_write_at_growing_intervals() -> TestResult {
    at_place("forms", 1, async |test_namespace| {
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        test_namespace.pod("job", "batch", "1").await?;
        // The window closes during the contention.
        let closes: Timestamp = CLOSES.parse()?;
        let instant = closes - SignedDuration::from_secs(60) - head_start() * 2;
        let numbers = Contestant::start(test_namespace, &instant.to_string(), &[]).await?;
        let now = numbers.agent.now().to_string();
        let names =
            Contestant::start(test_namespace, &now, &["--qos-level-format", "name"]).await?;
        for contestant in [&numbers, &names] {
            contestant.await_writes(7).await?;
            contestant.agent.await_metric("almanac_qos_contested_total 1").await?;
        }
        test_namespace
            .await_event("job", "Warning LevelContested: another program keeps changing")
            .await?;
        names.agent.await_clock(closes).await?;
        test_namespace.await_pods(&[("job", own("1"))]).await?;
        for contestant in [&numbers, &names] {
            contestant.ensure_ever_rarer()?;
            contestant.agent.await_done().await?;
            contestant.agent.stop().await?;
        }
        test_namespace.ensure_pods(&[("job", own("1"))]).await
    })
}

#[test]
fn agents_with_different_config_maps_contend_for_a_pod_until_one_ends() -> TestResult {
    at_place("namespaces", 1, async |test_namespace| {
        let elsewhere = "namespaces-elsewhere";
        test_namespace.cluster.namespace(elsewhere).await?;
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        test_namespace.pod("job", "batch", "1").await?;
        let first = Contestant::start(test_namespace, INSIDE, &[]).await?;
        let flags = ["--config-namespace", elsewhere];
        let second = Contestant::start(test_namespace, INSIDE, &flags).await?;
        for contestant in [&first, &second] {
            contestant.await_writes(7).await?;
            contestant.ensure_ever_rarer()?;
        }
        test_namespace.await_event("job", "Warning LevelContested: ").await?;
        second.agent.stop().await?;
        test_namespace.await_pods(&[("job", under("night", "-1", "1"))]).await?;
        first.agent.await_done().await?;
        test_namespace.ensure_pods(&[("job", under("night", "-1", "1"))]).await?;
        // The desired level changes, and the agents do not wait for the interval.
        test_namespace.configure(&[]).await?;
        test_namespace.await_pods(&[("job", own("1"))]).await?;
        first.agent.stop().await
    })
}
