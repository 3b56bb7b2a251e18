//! A program beside a test: its life, its words, its port and its figures. The programs here are
//! shells, which need no cluster.

use std::path::Path;
use std::time::Duration;

use almanac_harness::{Observation, PATIENCE, Program, TestResult, await_condition};
use anyhow::{Context as _, ensure};

const SHELL: &str = "/bin/sh";

fn shell(script: &str) -> anyhow::Result<Program> {
    Program::start(Path::new(SHELL), &["-c", script], &[("TIDE", "high water")])
}

#[tokio::test]
async fn a_program_that_is_asked_to_end_ends_with_a_status_of_its_own() -> TestResult {
    let program = shell(r#"trap 'exit 7' TERM; echo "$TIDE"; while :; do sleep 0.05; done"#)?;
    program.await_log("high water").await?;
    assert!(program.is_running());
    assert_eq!(program.stop().await?.code(), Some(7));
    assert!(!program.is_running());
    assert_eq!(program.id(), None);
    assert!(program.stop().await.is_err(), "it was stopped twice");
    Ok(())
}

#[tokio::test]
async fn a_killed_program_can_be_started_again_and_its_log_goes_on() -> TestResult {
    let program = shell("echo here is $$; exec sleep 600")?;
    program.await_log("here is").await?;
    let first = program.id().context("it runs")?;
    assert!(program.start_again().is_err(), "it was started twice");
    program.kill()?;
    assert!(!program.is_running());
    program.start_again()?;
    let second = program.id().context("it runs")?;
    program.await_log(&format!("here is {second}")).await?;
    assert!(program.log()?.contains(&format!("here is {first}")));
    Ok(())
}

#[tokio::test]
async fn waiting_for_words_ends_when_the_program_ends_without_them() -> TestResult {
    let program = shell("echo the anchor drags; exit 3")?;
    let error = program.await_log("the anchor holds").await.expect_err("it never says so");
    let said = format!("{error:#}");
    assert!(said.contains("exited with 3") && said.contains("the anchor drags"), "{said}");
    // That its end was noticed there already takes nothing from whoever asks later.
    assert_eq!(program.await_end().await?.code(), Some(3));
    assert_eq!(program.await_end().await?.code(), Some(3));
    Ok(())
}

#[tokio::test]
async fn a_program_that_ends_before_it_is_ready_is_reported_with_its_log() -> TestResult {
    let told = ["-c", "echo no water under the keel: $1 $2; exit 4", "sh"];
    let program = Program::start_listening(Path::new(SHELL), &told, &[])?;
    let address = program.address()?;
    let error = program.await_ready().await.expect_err("it never is");
    let said = format!("{error:#}");
    assert!(said.contains(&format!("keel: --listen {address}")), "{said}");
    Ok(())
}

#[tokio::test]
async fn a_program_that_burns_the_processor_is_seen_to_and_not_while_it_is_paused() -> TestResult {
    let program = shell("while :; do :; done")?;
    let enough = Duration::from_millis(200);
    await_condition("processor time to be used", PATIENCE, async || {
        let used = program.processor_time()?;
        Ok(Observation::of(used >= enough, format!("{used:?}")))
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
        Ok(Observation::of(used > paused_at, format!("{used:?}")))
    })
    .await?;
    program.kill()?;
    assert!(program.processor_time().is_err(), "a dead program has figures");
    Ok(())
}
