//! The switch that stops all writes: an annotation on the Lease, which the leader reads every two seconds
//! anyway.
//!
//! The switch needs no additional permission and no additional request, and a leader cannot miss it: a leader that has
//! not read the current Lease cannot renew it, and its fence closes. The callers implement the effect of the
//! stop.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::gauge::ConstGauge;
use tokio::sync::Notify;

use crate::clock::Clock;

/// The annotation that stops all writes while it is set. Its value is the reason.
pub const STOP: &str = "almanac.dev/stop";

/// The value of the annotation that does not stop writes.
const NOT_STOPPED: &str = "false";

/// The clock was wrong at the resumption if it now is behind that instant by more than this.
const MAX_CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(5);

/// The state of the switch, according to the Lease as last read. Copies share one state.
#[derive(Clone)]
pub struct Switch {
    inner: Arc<Inner>,
}

struct Inner {
    clock: Clock,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    stop_state: StopState,
    /// The reason for the stop, as written in the annotation.
    why: Option<String>,
}

/// The state of the switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StopState {
    /// No stop is known.
    #[default]
    NeverStopped,
    /// All writes are stopped.
    Stopped,
    /// All writes were stopped until this instant, by the policy clock.
    Resumed(Timestamp),
}

impl StopState {
    /// The end of the last stop, or the current time during a stop; `None` if no stop is known.
    #[must_use]
    pub fn stopped_until(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::NeverStopped => None,
            Self::Stopped => Some(now),
            Self::Resumed(at) if at.duration_since(now) > MAX_CLOCK_SKEW => None,
            Self::Resumed(at) => Some(at),
        }
    }
}

impl Switch {
    /// A switch without a known stop. The clock dates the resumption.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        let state = Mutex::default();
        Self { inner: Arc::new(Inner { clock, state, changed: Notify::new() }) }
    }

    /// The current state.
    #[must_use]
    pub fn stop_state(&self) -> StopState {
        self.lock().stop_state
    }

    /// Whether everything is stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop_state() == StopState::Stopped
    }

    /// Waits for a change of the state. Supports one waiter at a time.
    pub async fn changed(&self) {
        self.inner.changed.notified().await;
    }

    /// The value of the annotation as last read; `None` if it is not set.
    pub(super) fn reason(&self) -> Option<String> {
        self.lock().why.clone()
    }

    /// Updates the state from the current value of the annotation.
    pub fn update(&self, why: Option<&str>) {
        let why = why.filter(|why| *why != NOT_STOPPED);
        let mut state = self.lock();
        match (state.stop_state == StopState::Stopped, why) {
            (false, Some(why)) => {
                tracing::warn!(
                    why,
                    "stopped: no target is changed until the annotation is removed"
                );
                state.stop_state = StopState::Stopped;
            }
            (true, None) => {
                tracing::warn!("resumed; firings due while stopped are skipped");
                state.stop_state = StopState::Resumed(self.inner.clock.now());
            }
            (true, Some(_)) | (false, None) => return,
        }
        state.why = why.map(str::to_owned);
        self.inner.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Switch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Switch({:?})", self.stop_state())
    }
}

impl Collector for Switch {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let stopped = ConstGauge::new(i64::from(self.is_stopped()));
        let (name, help) = ("almanac_stopped", "Whether everything is stopped (1) or not (0)");
        stopped.encode(encoder.encode_descriptor(name, help, None, stopped.metric_type())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(instant: &str) -> Timestamp {
        instant.parse().expect("an instant")
    }

    fn switch() -> Switch {
        Switch::new(Clock::from_fn(|| at("2026-11-20T09:00:00Z")))
    }

    #[test]
    fn any_value_of_the_annotation_except_false_stops_everything() {
        for (annotation, stops) in
            [("true", true), ("", true), ("Ann: wrong values", true), ("false", false)]
        {
            let switch = switch();
            switch.update(Some(annotation));
            assert_eq!(switch.is_stopped(), stops, "{annotation:?}");
        }
    }

    #[test]
    fn removing_the_annotation_resumes_from_that_instant() {
        let switch = switch();
        switch.update(None);
        assert_eq!(switch.stop_state(), StopState::NeverStopped);
        switch.update(Some("true"));
        switch.update(None);
        switch.update(None);
        assert_eq!(switch.stop_state(), StopState::Resumed(at("2026-11-20T09:00:00Z")));
    }

    #[test]
    fn a_clock_that_ran_ahead_when_resuming_keeps_nothing_stopped() {
        let now = at("2026-11-20T09:00:00Z");
        let until = |at: Timestamp| StopState::Resumed(at).stopped_until(now);
        assert_eq!(until(at("2026-12-20T09:00:00Z")), None);
        assert_eq!(until(at("2026-11-20T09:00:08Z")), Some(at("2026-11-20T09:00:08Z")));
        assert_eq!(StopState::Stopped.stopped_until(now), Some(now));
    }
}
