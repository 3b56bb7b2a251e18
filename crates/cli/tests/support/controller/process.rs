//! Runs of `almanac controller`, and of other commands with a cluster.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use almanac_harness::{
    AuditedRequest, MemoryLimit, Observation, PATIENCE, Program, TestResult, await_condition,
};
use anyhow::{Context as _, Result, ensure};
use jiff::{SignedDuration, Timestamp};

use super::head_start;

/// The program under test.
pub(crate) const ALMANAC: &str = env!("CARGO_BIN_EXE_almanac");

/// The program of the agent or extender with this number, counted from 0. If `ALMANAC_OLDER` is set to the path of an
/// older version, every second program is that version, starting with the first.
pub(crate) fn mixed_program(number: usize) -> PathBuf {
    let older = std::env::var_os("ALMANAC_OLDER").filter(|_| number.is_multiple_of(2));
    older.map_or_else(|| ALMANAC.into(), PathBuf::from)
}

/// A run of `almanac controller` whose policy clock is ahead of the wall clock or lags. The memory limit is that of the
/// manifests.
pub(crate) struct Controller {
    pub(crate) program: Program,
    // Declared after the program, so that the directory outlives the program.
    pub(crate) limit: MemoryLimit,
    ahead: SignedDuration,
    started: Instant,
}

/// The memory limit of the container in the manifests, in bytes.
pub(crate) fn memory_in_the_manifests() -> Result<u64> {
    memory_in(include_str!("../../../../../deploy/almanac.yaml"))
}

/// The memory limit in another manifest.
pub(crate) fn memory_in(manifest: &str) -> Result<u64> {
    let (_, limit) = manifest.split_once("limits: {memory: ").context("no limit of memory")?;
    let (mebibytes, _) = limit.split_once("Mi}").context("a limit in other units")?;
    Ok(mebibytes.parse::<u64>()? << 20)
}

impl Controller {
    /// Starts the program without waiting.
    pub(crate) fn start(kubeconfig: &Path, instant: &str, further: &[&str]) -> Result<Self> {
        Self::start_within(memory_in_the_manifests()?, kubeconfig, instant, further)
    }

    /// Starts the program with another memory limit, in bytes.
    pub(crate) fn start_within(
        memory: u64,
        kubeconfig: &Path,
        instant: &str,
        further: &[&str],
    ) -> Result<Self> {
        let program = Path::new(ALMANAC);
        Self::start_command(program, "controller", memory, kubeconfig, instant, further)
    }

    /// Starts another command with a cluster.
    pub(crate) fn start_command(
        program: &Path,
        command: &str,
        memory: u64,
        kubeconfig: &Path,
        instant: &str,
        further: &[&str],
    ) -> Result<Self> {
        let instant: Timestamp = instant.parse()?;
        let ahead = instant.duration_since(Timestamp::now());
        let kubeconfig = kubeconfig.to_str().context("the path is text")?;
        let offset = format!("--clock-offset={ahead}");
        let mut arguments = vec![command, "--kubeconfig", kubeconfig, &offset];
        arguments.extend(["--log-format", "text", "--log-level", "debug"]);
        arguments.extend(further);
        let limit = MemoryLimit::new(memory);
        let program = limit.start_listening(program, &arguments, &[])?;
        Ok(Self { program, limit, ahead, started: Instant::now() })
    }

    /// Records the start-up time, and checks that the policy clock has not reached this instant.
    pub(crate) fn ensure_before(&self, instant: &str) -> TestResult {
        head_start::note(self.started.elapsed());
        self.ensure_still_before(instant)
    }

    /// Checks that the policy clock has not reached this instant.
    pub(crate) fn ensure_still_before(&self, instant: &str) -> TestResult {
        ensure!(
            self.now() < instant.parse()?,
            "this machine was too slow to be there before {instant}"
        );
        Ok(())
    }

    /// The current time of its policy clock.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::now().saturating_add(self.ahead).unwrap_or(Timestamp::MAX)
    }

    /// Waits until the policy clock has passed an instant.
    pub(crate) async fn await_clock(&self, instant: Timestamp) -> TestResult {
        let ahead = Duration::try_from(instant.duration_since(self.now())).unwrap_or_default();
        await_condition(&format!("the clock to show {instant}"), ahead + PATIENCE, async || {
            let now = self.now();
            Ok(Observation::from_bool(now > instant, now))
        })
        .await
    }

    /// The instant of the policy clock at which the API server responded to a write.
    pub(crate) fn time_of(&self, write: &AuditedRequest) -> Result<Timestamp> {
        let at: Timestamp = write.at.parse()?;
        Ok(at.checked_add(self.ahead)?)
    }

    /// Shuts the program down, and checks that it exits successfully.
    pub(crate) async fn stop(&self) -> TestResult {
        let status = self.program.stop().await?;
        ensure!(status.success(), "the controller ended with {status}: {}", self.program.log()?);
        Ok(())
    }

    /// Waits until the metrics of the program contain this line.
    pub(crate) async fn await_metric(&self, line: &str) -> TestResult {
        let metric = line.split(['{', ' ']).next().unwrap_or(line);
        await_condition(&format!("the metric {line}"), PATIENCE, async || {
            let actual = self.scrape(metric).await?;
            Ok(Observation::from_bool(actual.iter().any(|it| it == line), format!("{actual:?}")))
        })
        .await
    }

    /// Scrapes the process: the lines of a metric, without comments.
    pub(crate) async fn scrape(&self, metric: &str) -> Result<Vec<String>> {
        let (status, body) = self.program.get("/metrics").await?;
        ensure!(status == 200, "GET /metrics: {status}: {body}");
        Ok(body.lines().filter(|line| line.starts_with(metric)).map(str::to_owned).collect())
    }
}
