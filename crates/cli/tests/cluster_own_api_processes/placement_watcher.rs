//! A watch of `PlacementDecision`s on a real API server. At least one decision always contains each cluster that stays
//! selected, in spite of changes, failures and kills. The expected selection is that of the second scheduler.
//! `ALMANAC_WATCHER_ROUNDS` is the number of rounds of changes.

use crate::placement::stage;

mod changes;
mod trouble;
mod watcher;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use almanac_fixtures::{hub, trials};
use almanac_harness::{FaultProxy, PATIENCE, TestResult};
use anyhow::{Context as _, ensure};
use fastrand::Rng;
use jiff::Timestamp;
use serde_json::json;

use crate::controller::Controller;
use changes::Mirror;
use stage::{ALONE, DECISION, GROUP, NAMESPACE, on_hub, prepare};
use trouble::Trouble;
use watcher::Watcher;

/// The number of consecutive rounds, after which the test waits for all changes.
const ROUNDS_AT_ONCE: u64 = 10;

#[test]
fn a_cluster_that_stays_selected_is_never_missing_under_changes_and_faults() -> TestResult {
    on_hub(async |test, cluster| {
        let rounds = trials::size("ALMANAC_WATCHER_ROUNDS", 1_000, 10_000);
        let seed = trials::seed(&format!("{rounds} rounds of changes"));
        let mut rng = Rng::with_seed(seed);
        let mut mirror = Mirror::create(cluster).await?;
        let proxy = FaultProxy::start(test.client())?;
        let now = Timestamp::now().to_string();
        let controller = Controller::start(&proxy.kubeconfig(), &now, ALONE)?;
        let watcher = Watcher::start(cluster).await?;
        watcher.await_decided(&mirror.decided()?).await?;
        let (started, mut stayed, mut troubles) = (Instant::now(), 0, BTreeMap::new());
        for _ in 0..rounds / ROUNDS_AT_ONCE {
            let planned = mirror.plan(&mut rng, ROUNDS_AT_ONCE)?;
            stayed += planned.stay.values().map(BTreeSet::len).sum::<usize>();
            watcher.require(planned.stay);
            let trouble = Trouble::begin(&mut rng, &proxy);
            for (index, round) in planned.rounds.iter().enumerate() {
                for change in round {
                    change.make(cluster).await?;
                }
                trouble.strike(index, &proxy, &controller).await?;
            }
            trouble.end(&watcher, &mirror.decided()?, &controller).await?;
            *troubles.entry(trouble.name()).or_insert(0_u32) += 1;
            watcher.await_decided(&mirror.decided()?).await?;
        }
        eprintln!(
            "{stayed} clusters stayed, {} events, {troubles:?}, {:.0} s",
            watcher.events(),
            started.elapsed().as_secs_f64()
        );
        let windows = usize::try_from(rounds / ROUNDS_AT_ONCE)?;
        ensure!(stayed >= 20 * windows, "hardly any cluster stayed selected: {stayed}");
        controller.stop().await
    })
}

#[test]
fn a_watcher_detects_a_cluster_that_is_removed_before_it_is_added_again() -> TestResult {
    on_hub(async |_, cluster| {
        prepare(cluster, &[]).await?;
        let decide = async |number: u8, clusters: &[&str]| -> TestResult {
            let name = format!("web-decision-{number}");
            let decisions = clusters.iter().map(|it| json!({ "clusterName": it, "reason": "" }));
            let status = json!({ "decisions": decisions.collect::<Vec<_>>() });
            cluster.patch_status(DECISION, NAMESPACE, &name, &status).await
        };
        for number in [1, 2] {
            let name = format!("web-decision-{number}");
            let mut decision = hub::hub_object("v1beta1", "PlacementDecision", &name, &json!({}));
            decision.as_object_mut().map(|fields| fields.remove("spec"));
            decision["metadata"]["labels"] = json!({ format!("{GROUP}/placement"): "web" });
            cluster.create(DECISION, NAMESPACE, &decision).await?;
        }
        decide(1, &["c1", "c2"]).await?;
        let watcher = Watcher::start(cluster).await?;
        watcher.require([("web".to_owned(), ["c2".to_owned()].into())].into());
        decide(2, &["c2"]).await?;
        decide(1, &["c1"]).await?;
        watcher.await_in("web-decision-1", &["c1"]).await?;
        decide(2, &[]).await?;
        decide(1, &["c1", "c2"]).await?;
        let missed = watcher.await_in("web-decision-1", &["c1", "c2"]).await;
        let failure = missed.err().context("the missing cluster was not detected")?.to_string();
        ensure!(failure.contains("web lacks {\"c2\"} after"), "{failure}");
        Ok(())
    })
}
