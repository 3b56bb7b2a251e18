//! The clock that policies follow.
//!
//! The clock is injected, so that a test can choose the time. Leases use another clock, see
//! [`crate::monotonic`].

use std::sync::Arc;
use std::time::Duration;

use almanac_api::policy_clock::PolicyClock;
use jiff::Timestamp;

/// The maximum length of a sleep: the wall clock may be set during a sleep, so it is checked again.
const RECHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The precision of timers.
const SHORTEST_SLEEP: Duration = Duration::from_millis(1);

/// Returns the current time, and sleeps until an instant.
#[derive(Clone)]
pub struct Clock {
    /// The clock of the machine and the API server.
    source: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// The setting of this clock relative to the system clock.
    setting: PolicyClock,
}

impl Clock {
    /// A clock with this setting relative to the system clock.
    #[must_use]
    pub fn system(setting: PolicyClock) -> Self {
        Self { source: Arc::new(Timestamp::now), setting }
    }

    /// A clock that returns the value of the function.
    pub fn from_fn(source: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { source: Arc::new(source), setting: PolicyClock::REAL }
    }

    /// The current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.setting.shown_at(self.real_now())
    }

    /// The current time by the clock of the machine and the API server.
    #[must_use]
    pub fn real_now(&self) -> Timestamp {
        (self.source)()
    }

    /// The setting of this clock relative to that of the API server.
    #[must_use]
    pub fn setting(&self) -> PolicyClock {
        self.setting
    }

    /// Waits until the clock shows the instant, or has been set past it.
    pub async fn sleep_until(&self, at: Timestamp) {
        loop {
            let remaining = at.duration_since(self.now());
            let Ok(remaining) = Duration::try_from(remaining) else { return };
            if remaining.is_zero() {
                return;
            }
            // At least the precision of timers, or the loop would spin.
            let remaining = (remaining / self.setting.rate()).max(SHORTEST_SLEEP);
            tokio::time::sleep(remaining.min(RECHECK_INTERVAL)).await;
        }
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Clock at {}", self.now())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use futures::FutureExt as _;
    use tokio::time::Instant;

    use super::*;

    fn settable() -> (Clock, Arc<AtomicI64>) {
        let shown = Arc::new(AtomicI64::new(0));
        let read = Arc::clone(&shown);
        let source =
            move || Timestamp::from_second(read.load(Ordering::SeqCst)).expect("an instant");
        (Clock::from_fn(source), shown)
    }

    #[tokio::test(start_paused = true)]
    async fn a_sleeper_wakes_soon_after_the_clock_was_set_past_its_instant() {
        let (clock, shown) = settable();
        let an_hour = Timestamp::from_second(3600).expect("an instant");
        let sleeper = tokio::spawn(async move { clock.sleep_until(an_hour).await });
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(!sleeper.is_finished());
        shown.store(3601, Ordering::SeqCst);
        tokio::time::timeout(Duration::from_secs(2), sleeper)
            .await
            .expect("the sleep ends in time")
            .expect("the task does not panic");
    }

    #[tokio::test(start_paused = true)]
    async fn an_instant_that_has_passed_is_not_waited_for() {
        let (clock, _) = settable();
        for second in [0, -1, -3600] {
            let at = Timestamp::from_second(second).expect("an instant");
            assert!(clock.sleep_until(at).now_or_never().is_some(), "waited for {at}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_fast_clock_shortens_a_sleep_by_its_rate() {
        let started = Instant::now();
        let source = move || Timestamp::UNIX_EPOCH + started.elapsed();
        let setting = PolicyClock::REAL.faster(Timestamp::UNIX_EPOCH, 60);
        let clock = Clock { source: Arc::new(source), setting };
        let at = Timestamp::from_second(90).expect("an instant");
        clock.sleep_until(at).await;
        assert!(clock.now() >= at, "woken early, at {}", clock.now());
        let slept = started.elapsed();
        assert!(slept < Duration::from_millis(1_510), "slept {slept:?}");
    }
}
