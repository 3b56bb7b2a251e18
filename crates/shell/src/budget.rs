//! Limits the number of writes in flight and the rate of their start, and chooses the waiting writes that go
//! first.
//!
//! At the top of the hour thousands of writes are due in the same second. Writes that change capacity go before
//! writes that record the change, and these before Events.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The purpose of a write, most urgent first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Urgency {
    /// A change of capacity or of a priority.
    Capacity,
    /// The record of a finished action.
    Status,
    /// A report.
    Event,
}

impl Urgency {
    const ALL: [Self; 3] = [Self::Capacity, Self::Status, Self::Event];

    /// The name of the purpose in the metrics.
    pub(crate) fn purpose(self) -> &'static str {
        match self {
            Self::Capacity => "capacity",
            Self::Status => "status",
            Self::Event => "event",
        }
    }
}

/// The limits on writes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WriteLimits {
    /// The maximum number of writes in flight.
    pub at_once: usize,
    /// The writes that may start per second, sustained; `None` for unlimited.
    pub per_second: Option<f64>,
    /// The writes that may start immediately after a quiet time, if there is a sustained limit.
    pub burst: u32,
}

impl Default for WriteLimits {
    /// Limits only the writes in flight: the API server itself reports that it is
    /// overloaded, and the write is retried later.
    fn default() -> Self {
        Self { at_once: 32, per_second: None, burst: 1 }
    }
}

/// Grants permits to write.
#[derive(Clone)]
pub struct WriteBudget {
    shared: Arc<BudgetInner>,
}

struct BudgetInner {
    limits: WriteLimits,
    state: Mutex<State>,
}

struct State {
    under_way: usize,
    tokens: f64,
    counted_at: Instant,
    /// The waiting writes by urgency, then in order of arrival.
    waiting: BTreeMap<(Urgency, u64), oneshot::Sender<Permit>>,
    came: u64,
    /// Whether a task is running that grants permits when tokens become available.
    is_awaited: bool,
}

/// Permission for one write in flight. Dropping the permit returns it.
pub struct Permit {
    /// `None` after the return.
    place: Option<Arc<BudgetInner>>,
}

impl WriteBudget {
    /// A budget with these limits.
    #[must_use]
    pub fn new(limits: WriteLimits) -> Self {
        let state = State {
            under_way: 0,
            tokens: f64::from(limits.burst.max(1)),
            counted_at: Instant::now(),
            waiting: BTreeMap::new(),
            came: 0,
            is_awaited: false,
        };
        Self { shared: Arc::new(BudgetInner { limits, state: Mutex::new(state) }) }
    }

    /// Waits for a permit.
    pub async fn permit(&self, urgency: Urgency) -> Permit {
        loop {
            let (sender, receiver) = oneshot::channel();
            {
                let mut state = self.shared.lock();
                state.came += 1;
                let place = (urgency, state.came);
                state.waiting.insert(place, sender);
                self.shared.give_out(&mut state);
            }
            // The sender is dropped only after it has sent.
            if let Ok(permit) = receiver.await {
                return permit;
            }
        }
    }

    /// The number of waiting writes.
    #[must_use]
    pub fn waiting(&self) -> usize {
        Urgency::ALL.into_iter().map(|urgency| self.waiting_for(urgency)).sum()
    }

    fn waiting_for(&self, urgency: Urgency) -> usize {
        let state = self.shared.lock();
        let of_it = state.waiting.range((urgency, 0)..=(urgency, u64::MAX));
        // Abandoned waiters are skipped when it would be their turn.
        of_it.filter(|(_, sender)| !sender.is_closed()).count()
    }
}

impl std::fmt::Debug for WriteBudget {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "WriteBudget({} waiting)", self.waiting())
    }
}

impl Collector for WriteBudget {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let (name, help) =
            ("almanac_writes_waiting", "Writes waiting for the write budget, by purpose");
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for urgency in Urgency::ALL {
            let waiting = i64::try_from(self.waiting_for(urgency)).unwrap_or(i64::MAX);
            let labels = [("purpose", urgency.purpose())];
            ConstGauge::new(waiting).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

impl BudgetInner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Grants permits to waiting writes, as far as the limits allow.
    fn give_out(self: &Arc<Self>, state: &mut State) {
        self.count_tokens(state);
        while state.under_way < self.limits.at_once.max(1) && !state.waiting.is_empty() {
            if self.limits.per_second.is_some() {
                if state.tokens < 1.0 {
                    self.await_token(state);
                    return;
                }
                state.tokens -= 1.0;
            }
            let Some((_, sender)) = state.waiting.pop_first() else { return };
            state.under_way += 1;
            if let Err(mut unwanted) = sender.send(Permit { place: Some(Arc::clone(self)) }) {
                // The waiting write was canceled.
                unwanted.place = None;
                state.under_way -= 1;
                state.tokens += 1.0;
            }
        }
    }

    fn count_tokens(&self, state: &mut State) {
        let Some(per_second) = self.limits.per_second else { return };
        let now = Instant::now();
        let gained = now.duration_since(state.counted_at).as_secs_f64() * per_second;
        state.tokens = (state.tokens + gained).min(f64::from(self.limits.burst.max(1)));
        state.counted_at = now;
    }

    fn await_token(self: &Arc<Self>, state: &mut State) {
        if std::mem::replace(&mut state.is_awaited, true) {
            return;
        }
        let per_second = self.limits.per_second.unwrap_or(1.0).max(0.001);
        let pause = Duration::from_secs_f64((1.0 - state.tokens).max(0.0) / per_second);
        let shared = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            let mut state = shared.lock();
            state.is_awaited = false;
            shared.give_out(&mut state);
        });
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some(shared) = self.place.take() else { return };
        let mut state = shared.lock();
        state.under_way -= 1;
        shared.give_out(&mut state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process_metrics::tests::exported;

    fn limits(at_once: usize, per_second: Option<f64>, burst: u32) -> WriteBudget {
        WriteBudget::new(WriteLimits { at_once, per_second, burst })
    }

    #[tokio::test(start_paused = true)]
    async fn capacity_goes_before_statuses_and_statuses_before_events() {
        let budget = limits(1, None, 1);
        let first = budget.permit(Urgency::Event).await;
        let (sender, mut order) = tokio::sync::mpsc::unbounded_channel();
        for urgency in [Urgency::Event, Urgency::Status, Urgency::Capacity, Urgency::Status] {
            let (budget, sender) = (budget.clone(), sender.clone());
            tokio::spawn(async move {
                let _permit = budget.permit(urgency).await;
                sender.send(urgency).expect("send to the waiting receiver");
            });
            tokio::task::yield_now().await;
        }
        drop((first, sender));
        let mut came = Vec::new();
        while let Some(urgency) = order.recv().await {
            came.push(urgency);
        }
        let expected = [Urgency::Capacity, Urgency::Status, Urgency::Status, Urgency::Event];
        assert_eq!(came, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_writes_are_counted_by_purpose_and_abandoned_ones_are_not() {
        let budget = limits(1, None, 1);
        let _held = budget.permit(Urgency::Event).await;
        let short = Duration::from_secs(1);
        let gave_up = tokio::time::timeout(short, budget.permit(Urgency::Capacity)).await;
        assert!(gave_up.is_err());
        let waits = budget.permit(Urgency::Capacity);
        tokio::pin!(waits);
        assert!(futures::poll!(&mut waits).is_pending());
        let text = exported(|registry| registry.register_collector(Box::new(budget.clone())));
        for line in ["{purpose=\"capacity\"} 1", "{purpose=\"status\"} 0", "{purpose=\"event\"} 0"]
        {
            assert!(text.contains(&format!("\nalmanac_writes_waiting{line}\n")), "{text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn after_the_burst_writes_start_at_the_rate() {
        let budget = limits(1000, Some(40.0), 60);
        let begin = Instant::now();
        for _ in 0..1000 {
            drop(budget.permit(Urgency::Capacity).await);
        }
        let took = begin.elapsed().as_secs_f64();
        assert!((took - 23.5).abs() < 0.2, "(1000 - 60) / 40 seconds expected, {took} measured");
    }

    #[tokio::test(start_paused = true)]
    async fn writes_in_flight_stay_within_the_limit() {
        let budget = limits(3, None, 1);
        let held = [
            budget.permit(Urgency::Status).await,
            budget.permit(Urgency::Status).await,
            budget.permit(Urgency::Status).await,
        ];
        let short = Duration::from_secs(1);
        let fourth = tokio::time::timeout(short, budget.permit(Urgency::Capacity)).await;
        assert!(fourth.is_err(), "no permit was free");
        drop(held);
        // The abandoned write has kept no permit.
        for _ in 0..10 {
            drop(budget.permit(Urgency::Capacity).await);
        }
        assert_eq!(budget.waiting(), 0);
    }
}
