//! A stage: one control plane, and the programs on it, for all tests that can use the same state. The first test sets
//! up the stage, the last test clears it. The tests decide which programs run on the stage.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak, mpsc};
use std::thread::{self, JoinHandle};

use almanac_harness::TestResult;
use anyhow::{Context as _, Result, bail, ensure};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use crate::controller::Cluster;

/// A stage that the tests of a module share.
pub(crate) struct Stage {
    /// Sets the stage, keeps it until the last test has left, and clears it.
    hold: fn(Holder) -> TestResult,
    current: Mutex<Weak<RunningStage>>,
}

/// The stage for the code that sets it up.
pub(crate) struct Holder {
    is_set: mpsc::Sender<Cluster>,
    is_over: oneshot::Receiver<bool>,
}

/// A stage that at least one test uses.
struct RunningStage {
    cluster: Cluster,
    has_failed: AtomicBool,
    /// Receives whether all tests passed, once the last test has left.
    clear: oneshot::Sender<bool>,
    holder: JoinHandle<TestResult>,
}

impl Holder {
    /// Admits the tests, and returns once the last test has left. Fails if a test failed.
    pub(crate) async fn let_tests_in(self, cluster: &Cluster) -> TestResult {
        self.is_set.send(cluster.for_another_test()?)?;
        ensure!(self.is_over.await?, "a test on this stage failed");
        Ok(())
    }
}

impl Stage {
    pub(crate) const fn new(hold: fn(Holder) -> TestResult) -> Self {
        Self { hold, current: Mutex::new(Weak::new()) }
    }

    /// Runs a test next to the others on this stage.
    pub(crate) fn run(
        &self,
        runtime: &Runtime,
        test: impl AsyncFnOnce(Cluster) -> TestResult,
    ) -> TestResult {
        let running = self.enter()?;
        let run = async { test(running.cluster.for_another_test()?).await };
        let outcome = catch_unwind(AssertUnwindSafe(|| runtime.block_on(run)));
        if !matches!(outcome, Ok(Ok(()))) {
            running.has_failed.store(true, Ordering::SeqCst);
        }
        let cleared = leave(running);
        outcome.unwrap_or_else(|panic| resume_unwind(panic)).and(cleared)
    }

    fn enter(&self) -> Result<Arc<RunningStage>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = current.upgrade() {
            return Ok(running);
        }
        let (is_set, set) = mpsc::channel();
        let (clear, is_over) = oneshot::channel();
        let hold = self.hold;
        let holder = thread::spawn(move || hold(Holder { is_set, is_over }));
        let Ok(cluster) = set.recv() else {
            end(holder)?;
            bail!("the stage was not set");
        };
        let running =
            Arc::new(RunningStage { cluster, has_failed: AtomicBool::new(false), clear, holder });
        *current = Arc::downgrade(&running);
        Ok(running)
    }
}

fn leave(running: Arc<RunningStage>) -> TestResult {
    let Some(RunningStage { has_failed, clear, holder, .. }) = Arc::into_inner(running) else {
        return Ok(());
    };
    let has_failed = has_failed.into_inner();
    // If the thread of the stage has already ended, its result states the reason.
    let _ = clear.send(!has_failed);
    let ended = end(holder);
    // The failed test reports the failure.
    if has_failed { Ok(()) } else { ended.context("failed to clear the stage") }
}

fn end(holder: JoinHandle<TestResult>) -> TestResult {
    holder.join().unwrap_or_else(|panic| resume_unwind(panic))
}
