//! Waits for a condition instead of for a fixed time. The caller supplies the condition.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::Instant;

/// The deadline for a condition that ought to hold within a second or two. It is long because the
/// machine may be busy with other things; a test that passes never waits for it.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// The delay between two attempts is a twentieth of the time waited so far, within these bounds.
const MIN_DELAY: Duration = Duration::from_millis(50);
const MAX_DELAY: Duration = Duration::from_millis(250);
/// The delay is also at least as long as the last attempt, up to this limit: slow attempts leave the processors to the
/// control plane.
const MAX_DELAY_AFTER_SLOW: Duration = Duration::from_millis(500);

/// The result of one attempt.
#[derive(Debug)]
pub enum Observation<T> {
    /// The condition holds; the test continues with the value.
    Holds(T),
    /// The condition does not hold yet; the string describes the current state.
    NotYet(String),
}

impl Observation<()> {
    /// `Holds` when the condition is true; else `NotYet` with the observed state.
    pub fn from_bool(holds: bool, seen: impl std::fmt::Display) -> Self {
        if holds { Self::Holds(()) } else { Self::NotYet(seen.to_string()) }
    }
}

/// Checks repeatedly until the condition holds, at most for `deadline`.
///
/// A failed check counts as `NotYet`: the API server may be down on purpose.
/// After the timeout, the error names the condition and the result of the last check.
pub async fn await_condition<T>(
    what: &str,
    deadline: Duration,
    mut look: impl AsyncFnMut() -> Result<Observation<T>>,
) -> Result<T> {
    let begun = Instant::now();
    let until = begun + deadline;
    let mut last = String::from("nothing yet");
    loop {
        let attempt = Instant::now();
        // A request to a stopped server may never get a response, so a check ends with the
        // deadline too.
        match tokio::time::timeout_at(until, look()).await {
            Ok(Ok(Observation::Holds(value))) => return Ok(value),
            Ok(Ok(Observation::NotYet(seen))) => last = seen,
            Ok(Err(error)) => last = format!("{error:#}"),
            Err(_) => bail!(
                "no response in time while waiting {deadline:?} for: {what}; before that: {last}"
            ),
        }
        let by_cost = attempt.elapsed().min(MAX_DELAY_AFTER_SLOW);
        let pause = (begun.elapsed() / 20).clamp(MIN_DELAY, MAX_DELAY).max(by_cost);
        if Instant::now() + pause >= until {
            bail!("timed out after {deadline:?} waiting for: {what}; last seen: {last}");
        }
        tokio::time::sleep(pause).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_condition_that_never_holds_ends_with_the_last_observation() {
        let mut looks = 0;
        let error =
            await_condition::<()>("the tide to turn", Duration::from_millis(200), async || {
                looks += 1;
                Ok(Observation::NotYet(format!("ebb {looks}")))
            })
            .await
            .expect_err("the condition cannot hold");
        let message = error.to_string();
        assert!(message.contains("the tide to turn"), "{message}");
        assert!(message.contains(&format!("ebb {looks}")), "{message}");
    }

    #[tokio::test]
    async fn an_unanswered_observation_ends_at_the_deadline() {
        let error = await_condition::<()>("an answer", Duration::from_millis(100), async || {
            std::future::pending().await
        })
        .await
        .expect_err("the condition cannot hold");
        assert!(error.to_string().contains("an answer"), "{error}");
    }
}
