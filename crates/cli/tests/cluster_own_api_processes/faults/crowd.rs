//! Many rules fire in the same minute. The audit log has one write of each target, one status of each policy, and no
//! other write.
//!
//! `ALMANAC_CROWD` is the number of policies.

use std::collections::BTreeMap;

use almanac_fixtures::trials::{announce, size};
use almanac_harness::{AuditedRequest, Observation, TestResult, await_condition};
use anyhow::ensure;
use jiff::SignedDuration;

use crate::controller::{Cluster, head_start, on_cluster};
use crate::faults::replica::{ALONE, NAMESPACE, Replica, await_all_armed, prepare};

/// The time limit to arm and to apply ten thousand rules.
const LONG: std::time::Duration = std::time::Duration::from_mins(10);

fn policies() -> usize {
    size("ALMANAC_CROWD", 30, 10_000)
}

/// The writes, except those of the lease and of Events.
async fn writes(cluster: &Cluster) -> anyhow::Result<Vec<AuditedRequest>> {
    let mut writes = cluster.writes().await?;
    writes.retain(|it| !it.is_for_lease() && it.resource != "events");
    Ok(writes)
}

/// The number of writes of each object, by subresource.
fn tally(writes: &[AuditedRequest]) -> BTreeMap<(&str, &str, &str), usize> {
    let mut tally = BTreeMap::new();
    for it in writes {
        *tally.entry((&*it.resource, &*it.subresource, &*it.name)).or_default() += 1;
    }
    tally
}

#[test]
fn rules_of_one_minute_write_each_target_and_each_status_once() -> TestResult {
    on_cluster(async |_, cluster| {
        let names: Vec<String> = (0..policies()).map(|number| format!("crowd-{number}")).collect();
        for name in &names {
            prepare(cluster, name, None).await?;
        }
        // All rules are armed before the firing.
        let arming = SignedDuration::from_secs(i64::try_from(names.len() / 40)?);
        let before = head_start() * 2 + arming;
        let replica = Replica::start(cluster, before, ALONE)?;
        await_all_armed(cluster, &names).await?;
        replica.ensure_before_firing()?;
        let armed = writes(cluster).await?.len();
        ensure!(armed == names.len(), "{armed} writes to arm {} policies", names.len());
        await_condition("all to be applied", LONG, async || {
            let count = writes(cluster).await?.len() - armed;
            Ok(Observation::from_bool(count >= 2 * names.len(), count))
        })
        .await?;
        // Any other write would follow within seconds.
        replica.await_after_firing(30).await?;
        let all = writes(cluster).await?;
        let tally = tally(&all[armed..]);
        let surplus: Vec<_> = tally.iter().filter(|(_, count)| **count != 1).collect();
        ensure!(surplus.is_empty(), "written more than once: {surplus:?}");
        for name in &names {
            for (resource, subresource) in
                [("deployments", "scale"), ("cronfederatedhpas", "status")]
            {
                let count = tally.get(&(resource, subresource, name));
                ensure!(
                    count == Some(&1),
                    "{resource}/{subresource} {NAMESPACE}/{name}: {count:?}"
                );
            }
        }
        ensure!(tally.len() == 2 * names.len(), "other writes: {tally:?}");
        announce(&format!("{} rules at one minute: {} writes", names.len(), tally.len()));
        replica.controller.program.check_running()
    })
}
