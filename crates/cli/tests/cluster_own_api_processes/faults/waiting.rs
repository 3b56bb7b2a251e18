//! Queued writes under the default limits, while the API server is slow and users change their
//! policies.

use almanac_harness::{Fault, Observation, PATIENCE, TestResult, await_condition};
use anyhow::ensure;
use http::Method;
use serde_json::json;

use crate::controller::{CRON, Cluster, head_start, in_namespace};
use crate::faults::replica::{
    ALONE, BEFORE, Replica, await_all_armed, await_missed, prepare, replicas,
};

/// The default number of concurrent writes, and a queue of that number less two.
const AT_ONCE: usize = 32;
const WAITING: usize = 30;
/// The allowed delay of a firing, in seconds. The API server takes longer.
const IN_TIME: u32 = 5;

/// The user's change of a policy while its write waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    Edit,
    Suspend,
    Nothing,
    Delete,
}

impl Change {
    async fn make(self, cluster: &Cluster, name: &str) -> TestResult {
        let spec = match self {
            Self::Edit => {
                json!({"rules": [{"name": "up", "schedule": "0 10 * * *", "targetReplicas": 7}]})
            }
            Self::Suspend => {
                let policy = cluster.get(CRON, cluster.home(), name).await?;
                let mut rules = policy["spec"]["rules"].clone();
                rules[0]["suspend"] = json!(true);
                json!({ "rules": rules })
            }
            Self::Nothing => return Ok(()),
            Self::Delete => return cluster.delete(CRON, cluster.home(), name).await,
        };
        cluster.patch(CRON, cluster.home(), name, &json!({ "spec": spec })).await?;
        Ok(())
    }
}

#[test]
fn a_queued_write_is_checked_again_before_it_is_sent() -> TestResult {
    in_namespace(async |cluster| {
        let names: Vec<String> = (0..AT_ONCE + WAITING).map(|it| format!("shop-{it}")).collect();
        for name in &names {
            prepare(cluster, name, Some(IN_TIME)).await?;
        }
        let replica = Replica::start(cluster, head_start() * 2, ALONE)?;
        await_all_armed(cluster, &names).await?;
        let hangs = Fault::hang().method(Method::PATCH).path_contains("/scale").always();
        let hangs = replica.proxy.inject(hangs);
        replica.ensure_before_firing()?;
        hangs.await_taken(AT_ONCE).await?;
        let waiting: Vec<&String> =
            names.iter().filter(|name| replica.scalings(name).is_empty()).collect();
        ensure!(waiting.len() == WAITING, "{} wait", waiting.len());

        let changes = [Change::Edit, Change::Suspend, Change::Nothing, Change::Delete];
        let pairs = || waiting.iter().zip(changes.iter().cycle());
        for (name, change) in pairs() {
            change.make(cluster, name).await?;
        }
        await_seen(cluster, &replica).await?;
        replica.await_after_firing(i64::from(IN_TIME) + 1).await?;
        ensure!(hangs.taken() == AT_ONCE, "more writes were sent");
        hangs.release();

        for (name, _) in pairs().filter(|(_, change)| **change == Change::Nothing) {
            await_missed(cluster, name).await?;
        }
        await_none_waiting(&replica).await?;
        for (name, change) in pairs() {
            ensure!(replica.scalings(name).is_empty(), "{name} was sent after {change:?}");
            ensure!(replicas(cluster, name).await? == u64::from(BEFORE), "{name} was scaled");
        }
        replica.controller.limit.check(&replica.controller.program)?;
        replica.controller.program.check_running()
    })
}

/// Waits until the process has observed all changes so far: an unusable object is created last.
async fn await_seen(cluster: &Cluster, replica: &Replica) -> TestResult {
    let rules = json!([{"name": "up", "schedule": "nonsense", "targetReplicas": 1}]);
    let target = crate::controller::target("apps/v1", "Deployment", "shop-0");
    let last = crate::controller::cron("last", &target, &rules);
    cluster.create(CRON, cluster.home(), &last).await?;
    await_condition("the last change to be seen", PATIENCE, async || {
        let samples = replica.controller.scrape("almanac_objects_not_ready{").await?;
        let is_seen = samples.iter().any(|line| line.contains("NoUsableRule"));
        Ok(Observation::from_bool(is_seen, format!("{samples:?}")))
    })
    .await
}

async fn await_none_waiting(replica: &Replica) -> TestResult {
    await_condition("nothing to wait to be written", PATIENCE, async || {
        let samples = replica.controller.scrape("almanac_writes_waiting{").await?;
        Ok(Observation::from_bool(
            samples.iter().all(|line| line.ends_with(" 0")),
            format!("{samples:?}"),
        ))
    })
    .await
}
