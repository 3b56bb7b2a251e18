//! One control plane for all tests of agents of single nodes. Each has a place of its own there, so that they do not
//! see each other. The first test sets the stage, and the last one clears it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak, mpsc};
use std::thread::{self, JoinHandle};

use almanac_harness::TestResult;
use anyhow::{Context as _, Result, bail, ensure};
use tokio::runtime;
use tokio::sync::oneshot;

use crate::controller::{Cluster, on_cluster};
use crate::place::Place;

/// The stage while some test is on it.
static STAGE: Mutex<Weak<Stage>> = Mutex::new(Weak::new());

struct Stage {
    cluster: Cluster,
    has_failed: AtomicBool,
    /// Told once nobody is on it any more, and whether all went well.
    clear: oneshot::Sender<bool>,
    holder: JoinHandle<TestResult>,
}

/// Runs a test in a namespace of this name, with so many nodes.
pub(crate) fn at_place(
    name: &str,
    nodes: usize,
    test: impl AsyncFnOnce(&Place) -> TestResult,
) -> TestResult {
    let stage = enter()?;
    let runtime = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let run = async {
        let place = Place::prepare(stage.cluster.for_another_test()?, name, nodes).await?;
        let outcome = test(&place).await;
        if outcome.is_err() {
            place.show_logs();
        }
        outcome
    };
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
            is_set.send(cluster.for_another_test()?)?;
            ensure!(cleared.await?, "a test on this stage failed");
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
