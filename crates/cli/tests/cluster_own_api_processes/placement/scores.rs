//! Scores that change, expire, or are missing.

use almanac_fixtures::hub;
use almanac_harness::TestResult;
use anyhow::ensure;
use jiff::SignedDuration;

use crate::placement::stage::{
    SCORE, await_end, await_selected, end_agreed, on_hub, place, prepare, ratio, score,
    score_for_now, start,
};

#[test]
fn a_changed_score_applies_immediately_and_a_missing_one_is_zero() -> TestResult {
    on_hub(async |_, cluster| {
        prepare(cluster, &["c1", "c2", "c3"]).await?;
        place(cluster, "web", 1, &[("default/cpuratio", 1)]).await?;
        let controller = start(cluster).await?;
        // No cluster has a score, so the name decides.
        await_selected(cluster, "web", &["c1"]).await?;
        ratio(cluster, "c1", -1).await?;
        await_selected(cluster, "web", &["c2"]).await?;
        ratio(cluster, "c3", 5).await?;
        await_selected(cluster, "web", &["c3"]).await?;
        score(cluster, "c3", &hub::scored(&[], None)).await?;
        await_selected(cluster, "web", &["c2"]).await?;
        cluster.delete(SCORE, "c1", "default").await?;
        await_selected(cluster, "web", &["c1"]).await?;
        end_agreed(cluster, &controller).await
    })
}

#[test]
fn a_score_ends_at_the_instant_of_its_expiry() -> TestResult {
    on_hub(async |_, cluster| {
        prepare(cluster, &["c1", "c2"]).await?;
        place(cluster, "web", 1, &[("default/cpuratio", 1)]).await?;
        let controller = start(cluster).await?;
        let end = score_for_now(cluster, "c1", 50).await?;
        ratio(cluster, "c2", 20).await?;
        let late = await_end(cluster, "web", end, (&["c1"], &["c2"])).await?;
        ensure!(late < SignedDuration::from_secs(10), "decided {late:#} after the score ended");
        end_agreed(cluster, &controller).await
    })
}
