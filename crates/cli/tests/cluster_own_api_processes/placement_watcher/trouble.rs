//! The failures of the controller while the hub changes: requests that fail, are lost or late, connections that end,
//! and the process stalled or killed in between.

use std::time::Duration;

use almanac_harness::{
    Fault, FaultProxy, Injected, InjectedResponse, Observation, PATIENCE, TestResult,
    await_condition,
};
use almanac_second_scheduler::Decision;
use fastrand::Rng;
use http::{Method, StatusCode};

use crate::controller::Controller;
use crate::placement_watcher::watcher::{ByPlacement, Watcher};

/// The failures during some rounds.
pub(crate) struct Trouble {
    what: FailureKind,
    /// The round of an immediate failure; `None` for other failures.
    at: usize,
    injected: Option<Injected>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FailureKind {
    Nothing,
    Failed,
    Lost,
    Refused,
    Late,
    Cut,
    Stalled,
    Killed,
    KilledWhileWriting,
}

impl Trouble {
    /// A random failure.
    pub(crate) fn begin(rng: &mut Rng, proxy: &FaultProxy) -> Self {
        let all = [
            FailureKind::Nothing,
            FailureKind::Failed,
            FailureKind::Lost,
            FailureKind::Refused,
            FailureKind::Late,
            FailureKind::Cut,
            FailureKind::Stalled,
            FailureKind::Killed,
            FailureKind::KilledWhileWriting,
        ];
        let what = all[rng.usize(0..all.len())];
        let codes = [
            StatusCode::CONFLICT,
            StatusCode::INTERNAL_SERVER_ERROR,
            StatusCode::SERVICE_UNAVAILABLE,
            StatusCode::FORBIDDEN,
        ];
        let fault = match what {
            FailureKind::Nothing
            | FailureKind::Cut
            | FailureKind::Stalled
            | FailureKind::Killed => None,
            FailureKind::Failed => {
                Some(Fault::respond(InjectedResponse::with(codes[rng.usize(0..codes.len())])))
            }
            FailureKind::Lost => Some(Fault::lose_response()),
            FailureKind::Refused => Some(Fault::refuse()),
            FailureKind::Late => Some(Fault::delay(Duration::from_millis(rng.u64(50..300)))),
            FailureKind::KilledWhileWriting => Some(Fault::hang()),
        };
        let (skipped, times) = (rng.usize(0..4), rng.usize(1..4));
        let times = if what == FailureKind::KilledWhileWriting { 1 } else { times };
        let injected =
            fault.map(|fault| proxy.inject(spoiling_writes(fault, skipped).times(times)));
        Self { what, at: rng.usize(0..10), injected }
    }

    /// A short name of the failure.
    pub(crate) fn name(&self) -> String {
        format!("{:?}", self.what)
    }

    /// Injects an immediate failure in its round.
    pub(crate) async fn strike(
        &self,
        round: usize,
        proxy: &FaultProxy,
        controller: &Controller,
    ) -> TestResult {
        if round == self.at && self.what == FailureKind::Cut {
            proxy.cut_all().await;
        }
        if round == self.at && self.what == FailureKind::Stalled {
            controller.program.pause()?;
        }
        if round == self.at && self.what == FailureKind::Killed {
            controller.program.kill()?;
            controller.program.start_again()?;
        }
        Ok(())
    }

    /// Ends the failure after all changes. If the process must be killed during a write, the kill happens here,
    /// provided that a write is pending.
    pub(crate) async fn end(
        &self,
        watcher: &Watcher,
        expected: &ByPlacement<Vec<Decision>>,
        controller: &Controller,
    ) -> TestResult {
        if self.what == FailureKind::Stalled {
            controller.program.resume()?;
        }
        let Some(injected) = &self.injected else { return Ok(()) };
        if self.what == FailureKind::KilledWhileWriting {
            await_condition("a write, or nothing left to write", PATIENCE, async || {
                let is_over = injected.taken() > 0 || watcher.has(expected).unwrap_or(true);
                Ok(Observation::from_bool(is_over, "neither"))
            })
            .await?;
            controller.program.kill()?;
            controller.program.start_again()?;
            injected.release();
        }
        injected.withdraw();
        Ok(())
    }
}

/// Applies a fault only to writes of decisions, after this number of writes.
fn spoiling_writes(fault: Fault, skipped: usize) -> Fault {
    let matches = std::sync::atomic::AtomicUsize::new(0);
    fault.matching(move |request| {
        let is_write = [Method::POST, Method::PATCH, Method::DELETE].contains(&request.method)
            && request.path.contains("/placementdecisions");
        is_write && matches.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= skipped
    })
}
