//! One control plane and one controller for all tests that look at the same boundary. Crossing it
//! takes both, and ten seconds; a dozen tests need not do it a dozen times.
//!
//! The objects for the boundary and their expected results are up to the tests. The first test sets
//! the stage, and the last one clears it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak, mpsc};
use std::thread::{self, JoinHandle};

use almanac_harness::TestResult;
use anyhow::{Context as _, Result, bail, ensure};
use tokio::runtime;
use tokio::sync::oneshot;

use crate::controller::{Cluster, on_cluster};
use crate::{bounds, one_boundary};

const BEFORE: &str = "2026-11-30T09:02:55Z";
pub(crate) const BOUNDARY: &str = "2026-11-30T09:03:00Z";
pub(crate) const TOMORROW: &str = "2026-12-01T09:03:00Z";
pub(crate) const NAMESPACE: &str = "shop";

/// The stage while some test is on it.
static STAGE: Mutex<Weak<Stage>> = Mutex::new(Weak::new());

struct Stage {
    cluster: Cluster,
    has_failed: AtomicBool,
    /// Told once nobody is on it any more, and whether all went well.
    clear: oneshot::Sender<bool>,
    holder: JoinHandle<TestResult>,
}

/// Runs a test beside the others of this stage.
pub(crate) fn on_stage(test: impl AsyncFnOnce(&Cluster) -> TestResult) -> TestResult {
    let stage = enter()?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let run = async { test(&stage.cluster.for_another_test()?).await };
    let outcome = catch_unwind(AssertUnwindSafe(|| runtime.block_on(run)));
    if !matches!(outcome, Ok(Ok(()))) {
        stage.has_failed.store(true, Ordering::SeqCst);
    }
    let cleared = leave(stage);
    outcome.unwrap_or_else(|panic| resume_unwind(panic)).and(cleared)
}

fn enter() -> Result<Arc<Stage>> {
    let mut current = STAGE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(stage) = current.upgrade() {
        return Ok(stage);
    }
    let (is_set, set) = mpsc::channel();
    let (clear, cleared) = oneshot::channel();
    let holder = thread::spawn(move || {
        on_cluster(async |_, cluster| {
            cluster.namespace(NAMESPACE).await?;
            one_boundary::prepare(cluster).await?;
            bounds::prepare(cluster).await?;
            let controller = cluster.start_at(BEFORE, &[]).await?;
            is_set.send(cluster.for_another_test()?)?;
            ensure!(cleared.await?, "a test on this stage failed");
            // Whatever was still to be written is written by then.
            controller.stop().await?;
            let writes = cluster.target_writes().await?;
            let writes = writes.iter().filter(|write| write.resource == "deployments");
            let mut names: Vec<_> = writes.map(|write| &*write.name).collect();
            names.sort_unstable();
            assert_eq!(names, one_boundary::WRITTEN);
            Ok(())
        })
    });
    let Ok(cluster) = set.recv() else {
        end(holder)?;
        bail!("the stage was not set");
    };
    let stage = Arc::new(Stage { cluster, has_failed: AtomicBool::new(false), clear, holder });
    *current = Arc::downgrade(&stage);
    Ok(stage)
}

fn leave(stage: Arc<Stage>) -> TestResult {
    let Some(Stage { has_failed, clear, holder, .. }) = Arc::into_inner(stage) else {
        return Ok(());
    };
    let has_failed = has_failed.into_inner();
    // When nobody listens, its end says why.
    let _ = clear.send(!has_failed);
    let ended = end(holder);
    // Whoever failed says so itself.
    if has_failed { Ok(()) } else { ended.context("failed to clear the stage") }
}

fn end(holder: JoinHandle<TestResult>) -> TestResult {
    holder.join().unwrap_or_else(|panic| resume_unwind(panic))
}
