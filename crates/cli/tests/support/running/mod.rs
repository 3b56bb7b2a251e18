//! The controllers as programs outside the control plane, with a policy clock just before a boundary.

use std::path::Path;

use almanac_harness::{Observation, PATIENCE, Program, TestResult, await_condition};
use anyhow::ensure;
use jiff::{SignedDuration, Timestamp};

pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// The instant of all actions in these tests, by the policy clock.
pub(crate) const BOUNDARY: &str = "2027-03-02T09:00:00Z";

/// Starts the binary with these arguments, on a clock set relative to the boundary.
pub(crate) fn start(
    arguments: &[String],
    kubeconfig: &Path,
    before_boundary: SignedDuration,
) -> anyhow::Result<Program> {
    start_at(arguments, kubeconfig, BOUNDARY.parse::<Timestamp>()? - before_boundary)
}

/// Starts the program with this instant as the current time of the policy clock.
pub(crate) fn start_at(
    arguments: &[String],
    kubeconfig: &Path,
    now: Timestamp,
) -> anyhow::Result<Program> {
    let offset = now.duration_since(Timestamp::now());
    let kubeconfig = kubeconfig.display().to_string();
    let offset = format!("--clock-offset={offset:#}");
    let mut all: Vec<&str> = arguments.iter().map(String::as_str).collect();
    all.extend(["--kubeconfig", &kubeconfig, &offset]);
    Program::start_listening(env!("CARGO_BIN_EXE_almanac").as_ref(), &all, &[])
}

/// Waits until a metric of the binary has this value.
pub(crate) async fn await_metric(program: &Program, line: &str) -> TestResult {
    await_condition(&format!("the metric {line:?}"), PATIENCE, async || {
        let (status, text) = program.get("/metrics").await?;
        ensure!(status == 200, "{status}: {text}");
        Ok(Observation::from_bool(text.lines().any(|it| it == line), text))
    })
    .await
}
