//! One control plane and one controller for all tests of the same boundary. A boundary requires both, and takes ten
//! seconds, so a dozen tests share it.
//!
//! The tests define the objects for the boundary and their expected results.

use almanac_harness::TestResult;
use tokio::runtime;

use crate::controller::{Cluster, on_cluster};
use crate::on_time::{bounds, one_boundary};
use crate::stage::{Holder, Stage};

const BEFORE: &str = "2026-11-30T09:02:55Z";
pub(crate) const BOUNDARY: &str = "2026-11-30T09:03:00Z";
pub(crate) const TOMORROW: &str = "2026-12-01T09:03:00Z";
pub(crate) const NAMESPACE: &str = "shop";

static STAGE: Stage = Stage::new(hold);

/// Runs a test next to the others of this stage.
pub(crate) fn on_stage(test: impl AsyncFnOnce(&Cluster) -> TestResult) -> TestResult {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    STAGE.run(&runtime, async |cluster| test(&cluster).await)
}

fn hold(holder: Holder) -> TestResult {
    on_cluster(async |_, cluster| {
        cluster.namespace(NAMESPACE).await?;
        one_boundary::prepare(cluster).await?;
        bounds::prepare(cluster).await?;
        let controller = cluster.start_at(BEFORE, &[]).await?;
        holder.let_tests_in(cluster).await?;
        // All remaining writes are done by then.
        controller.stop().await?;
        let writes = cluster.target_writes().await?;
        let writes = writes.iter().filter(|write| write.resource == "deployments");
        let mut names: Vec<_> = writes.map(|write| &*write.name).collect();
        names.sort_unstable();
        assert_eq!(names, one_boundary::WRITTEN);
        Ok(())
    })
}
