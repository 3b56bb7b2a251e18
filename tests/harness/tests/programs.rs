//! The figures of a program that runs during a test. The program here is a shell, which needs no cluster.

use std::path::Path;
use std::time::Duration;

use almanac_harness::{Observation, PATIENCE, Program, TestResult, await_condition};
use anyhow::ensure;

#[tokio::test]
async fn cpu_use_is_measured_and_stays_flat_while_a_program_is_paused() -> TestResult {
    let endless = ["-c", "while :; do :; done"];
    let program = Program::start(Path::new("/bin/sh"), &endless, &[])?;
    let enough = Duration::from_millis(200);
    await_condition("processor time to be used", PATIENCE, async || {
        let used = program.processor_time()?;
        Ok(Observation::from_bool(used >= enough, format!("{used:?}")))
    })
    .await?;
    program.pause()?;
    let paused_at = program.processor_time()?;
    assert!(program.is_running());
    let (now, peak) = (program.resident_memory()?, program.peak_resident_memory()?);
    ensure!(now > 100_000 && now <= peak && peak < 100_000_000, "{now} of {peak} bytes");
    assert_eq!(program.processor_time()?, paused_at);
    program.resume()?;
    await_condition("processor time to be used again", PATIENCE, async || {
        let used = program.processor_time()?;
        Ok(Observation::from_bool(used > paused_at, format!("{used:?}")))
    })
    .await?;
    program.kill()?;
    assert!(program.processor_time().is_err(), "a dead program has figures");
    Ok(())
}
