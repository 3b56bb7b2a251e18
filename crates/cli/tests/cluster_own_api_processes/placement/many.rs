//! Many clusters with many scores: the resource usage of a process.

use almanac_fixtures::hub;
use almanac_fixtures::trials::size;
use almanac_harness::TestResult;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use serde_json::json;

use crate::placement::stage::{
    ALONE, CLUSTER, NAMESPACE, PLACEMENT, SCORE, await_selected, ensure_agreed, on_hub, place,
    prepare, ratio,
};

/// The usual number of clusters.
const CLUSTERS: usize = 150;
/// The maximum number of concurrent requests of the test.
const AT_ONCE: usize = 16;

#[test]
fn a_change_of_one_score_among_many_moves_the_selection_with_two_writes() -> TestResult {
    on_hub(async |_, cluster| {
        let count = size("ALMANAC_CLUSTERS", CLUSTERS, 10_000);
        prepare(cluster, &[]).await?;
        let created = stream::iter(0..count).map(|number| async move {
            let name = format!("c{number:05}");
            cluster.create(CLUSTER, "", &hub::managed_cluster(&name)).await?;
            ratio(cluster, &name, 10).await
        });
        created.buffer_unordered(AT_ONCE).try_collect::<Vec<()>>().await?;
        let all = hub::placement("all", &json!({}));
        cluster.create(PLACEMENT, NAMESPACE, &all).await?;
        place(cluster, "web", 1, &[("default/cpuratio", 1)]).await?;
        let begun = Timestamp::now();
        let controller = cluster.start_at(&begun.to_string(), ALONE).await?;
        eprintln!("{count} clusters: ready after {:#}", Timestamp::now().duration_since(begun));
        await_selected(cluster, "web", &["c00000"]).await?;
        for number in [count / 2, count - 1] {
            let name = format!("c{number:05}");
            ratio(cluster, &name, 20 + i64::from(number == count - 1)).await?;
            await_selected(cluster, "web", &[&name]).await?;
        }
        for metric in
            ["process_resident_memory_bytes", "process_cpu_seconds_total", "almanac_placement_lag"]
        {
            eprintln!("{:?}", controller.scrape(metric).await?);
        }
        let score = cluster.get(SCORE, "c00000", "default").await?;
        anyhow::ensure!(!score.is_null(), "the scores are still there");
        if count == CLUSTERS {
            ensure_agreed(cluster).await?;
        }
        controller.stop().await
    })
}
