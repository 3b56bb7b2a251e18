//! The controller under measurement: starts it and reads its progress.

use std::path::Path;
use std::time::{Duration, Instant};

use almanac_harness::Program;
use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use jiff::{SignedDuration, Timestamp};

use crate::exposition::Exposition;
use crate::figures::{count, megabytes};
use crate::objects::offset_to_show;

/// The maximum wait, longer than any step on a busy machine.
const PATIENCE: Duration = Duration::from_mins(5);
/// The interval between two scrapes, which are expensive.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Options passed on to the controller.
#[derive(Args, Clone)]
pub(crate) struct WriteLimits {
    /// The writes that the controller may have in flight at the same time
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub(crate) writes_at_once: usize,

    /// The writes that the controller may start per second
    #[arg(long, value_name = "N")]
    pub(crate) writes_per_second: Option<f64>,

    /// The writes that the controller may start immediately after a quiet time
    #[arg(long, value_name = "N", requires = "writes_per_second")]
    pub(crate) write_burst: Option<u32>,
}

pub(crate) struct Controller {
    program: Program,
    began: Instant,
    offset: SignedDuration,
}

impl Controller {
    /// Starts the controller with a policy clock that shows that instant now.
    pub(crate) fn start(
        program: &Path,
        kubeconfig: &Path,
        shown: Timestamp,
        limits: &WriteLimits,
    ) -> Result<Self> {
        let offset = offset_to_show(shown);
        let mut arguments = vec![
            "controller".to_owned(),
            format!("--kubeconfig={}", kubeconfig.display()),
            "--leader-elect=false".to_owned(),
            format!("--clock-offset={offset}"),
            format!("--writes-at-once={}", limits.writes_at_once),
        ];
        if let Some(rate) = limits.writes_per_second {
            arguments.push(format!("--writes-per-second={rate}"));
        }
        if let Some(burst) = limits.write_burst {
            arguments.push(format!("--write-burst={burst}"));
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let began = Instant::now();
        let program = Program::start_listening(program, &arguments, &[])?;
        Ok(Self { program, began, offset })
    }

    /// The time since the start.
    pub(crate) fn age(&self) -> Duration {
        self.began.elapsed()
    }

    pub(crate) fn id(&self) -> Result<u32> {
        self.program.id().context("the controller does not run")
    }

    /// The system time at which the policy clock shows that instant.
    pub(crate) fn on_this_machine(&self, instant: Timestamp) -> Result<Timestamp> {
        Ok(instant.checked_sub(self.offset)?)
    }

    /// The current metrics of the controller.
    pub(crate) async fn metrics(&self) -> Result<Exposition> {
        let (status, body) = self.program.get("/metrics").await?;
        ensure!(status == 200, "the controller responded {status}: {body}");
        Ok(Exposition::read(&body, &["almanac_"]))
    }

    /// Waits until the metrics satisfy a condition; returns the time since the start.
    pub(crate) async fn await_metrics(
        &self,
        what: &str,
        mut are_so: impl FnMut(&Exposition) -> bool,
    ) -> Result<Duration> {
        let until = Instant::now() + PATIENCE;
        loop {
            // The controller does not listen immediately.
            if let Ok(metrics) = self.metrics().await
                && are_so(&metrics)
            {
                return Ok(self.age());
            }
            self.program.check_running()?;
            if Instant::now() > until {
                bail!("timed out after {PATIENCE:?} waiting for: {what}");
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }

    /// Waits until this many rules are armed.
    pub(crate) async fn await_armed(&self, rules: usize) -> Result<Duration> {
        let all = count(rules);
        self.await_metrics("all rules to be armed", |metrics| {
            metrics.sum("almanac_cron_rules_armed", &[]) >= all
        })
        .await
    }

    /// Waits until this many statuses have been written in total.
    pub(crate) async fn await_statuses(&self, statuses: f64) -> Result<Duration> {
        self.await_metrics("all statuses to be written", |metrics| {
            writes(metrics, "status") >= statuses
        })
        .await
    }

    pub(crate) fn resident_memory(&self) -> Result<u64> {
        self.program.resident_memory()
    }

    /// `41.2 MB, at most 50.1 MB`.
    pub(crate) fn memory(&self) -> Result<String> {
        let (now, most) = (self.program.resident_memory()?, self.program.peak_resident_memory()?);
        Ok(format!("{:.1} MB, at most {:.1} MB", megabytes(now), megabytes(most)))
    }

    /// Shuts the controller down and waits for its end.
    pub(crate) async fn stop(self) -> Result<()> {
        let ended = self.program.stop().await?;
        ensure!(ended.success(), "the controller ended with {ended}");
        Ok(())
    }
}

/// The number of successful writes of a purpose.
pub(crate) fn writes(metrics: &Exposition, purpose: &str) -> f64 {
    metrics.sum("almanac_writes_total", &[("purpose", purpose), ("code", "200")])
}
