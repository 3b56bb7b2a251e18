//! Requests while the webhook is killed, or does not respond.

use almanac_harness::{Observation, PATIENCE, TestResult, await_condition};

use crate::webhook::desk::{Desk, at_the_desk, await_refusal, cron};

async fn await_applied(desk: &Desk<'_>, name: &str, is_done: bool) -> TestResult {
    let what = format!("{name} to be {}", if is_done { "applied" } else { "refused" });
    await_condition(&what, PATIENCE, async || {
        let applied = desk.apply(&cron(name, "0 8 * * *")).await?;
        Ok(Observation::from_bool(applied.is_done == is_done, applied.stderr))
    })
    .await
}

/// With the failure policy of the manifest, all objects pass; with `Fail`, none does.
async fn both_policies_hold(desk: &Desk<'_>, how: &str) -> TestResult {
    let wrong = desk.apply(&cron(&format!("wrong-{how}"), "0 0 * *")).await?;
    assert!(wrong.is_done, "{how}: {}", wrong.stderr);
    desk.set_failure_policy("Fail").await?;
    await_applied(desk, &format!("right-{how}"), false).await?;
    let refused = desk.apply(&cron(&format!("right-{how}"), "0 8 * * *")).await?;
    assert!(refused.stderr.contains("policies.almanac.dev"), "{how}: {}", refused.stderr);
    desk.set_failure_policy("Ignore").await
}

#[test]
fn without_a_response_everything_passes_unless_configured_otherwise() -> TestResult {
    at_the_desk(&[], async |desk| {
        await_refusal(desk).await?;
        desk.webhook.pause()?;
        both_policies_hold(desk, "slow").await?;
        desk.webhook.resume()?;
        await_refusal(desk).await?;
        desk.webhook.kill()?;
        both_policies_hold(desk, "killed").await?;
        desk.webhook.start_again()?;
        desk.webhook.await_ready().await?;
        await_refusal(desk).await
    })
}
