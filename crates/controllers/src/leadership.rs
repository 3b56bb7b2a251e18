//! The cluster state of this process while it is the leader, for scrapes.

use std::sync::{Arc, Mutex, PoisonError};

use almanac_shell::lease::Fence;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::gauge::ConstGauge;

use crate::cluster::Cluster;

/// The fence and the cluster state of the current term; `None` unless this process leads.
pub(crate) struct Leadership<State = Cluster> {
    term: Arc<Mutex<Option<CurrentTerm<State>>>>,
}

struct CurrentTerm<State> {
    fence: Fence,
    cluster: Arc<State>,
}

impl<State> Clone for Leadership<State> {
    fn clone(&self) -> Self {
        Self { term: Arc::clone(&self.term) }
    }
}

impl<State> Default for Leadership<State> {
    fn default() -> Self {
        Self { term: Arc::default() }
    }
}

impl<State> Leadership<State> {
    /// Starts a term, once all lists are complete.
    pub(crate) fn start(&self, fence: Fence, cluster: Arc<State>) {
        *self.lock() = Some(CurrentTerm { fence, cluster });
    }

    /// Ends the term; returns its state.
    pub(crate) fn end(&self) -> Option<Arc<State>> {
        self.lock().take().map(|term| term.cluster)
    }

    /// The state, while leading.
    pub(crate) fn cluster(&self) -> Option<Arc<State>> {
        let term = self.lock();
        term.as_ref().filter(|term| term.fence.is_open()).map(|term| Arc::clone(&term.cluster))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<CurrentTerm<State>>> {
        self.term.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<State> std::fmt::Debug for Leadership<State> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Leadership({})", self.cluster().is_some())
    }
}

impl<State: Send + Sync + 'static> Collector for Leadership<State> {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let leads = ConstGauge::new(i64::from(self.cluster().is_some()));
        let (name, help) = ("almanac_leader", "Whether this process is the leader (1) or not (0)");
        leads.encode(encoder.encode_descriptor(name, help, None, leads.metric_type())?)
    }
}
