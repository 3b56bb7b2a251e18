//! The part of a term that queries Prometheus for autoscalers.

use std::sync::Arc;

use almanac_engine::PolicyName;
use tokio_util::sync::CancellationToken;

use super::{Term, TermState};
use crate::cluster::Cluster;
use crate::horizontal_autoscaler::Sampler;
use crate::process::Options;
use crate::work_queue::WorkQueue;

/// The client of Prometheus limits the queries in flight, and is fair to namespaces. A limit here would not be fair.
const MAX_CONCURRENT_ROUNDS: usize = usize::MAX;

/// The part of a term that queries Prometheus.
pub(super) struct Sampling {
    pub(super) queue: Arc<WorkQueue>,
    sampler: Arc<Sampler>,
}

impl Term<'_> {
    /// The part that queries Prometheus; `None` without a Prometheus.
    pub(super) fn sampling(
        &self,
        cluster: &Arc<Cluster>,
        turns: &Arc<WorkQueue>,
    ) -> Option<Sampling> {
        let Options { queries, process, .. } = &self.process.options;
        let clock = &process.clock;
        let sampler = Sampler {
            prometheus: queries.prometheus.clone()?,
            period: queries.period,
            cluster: Arc::clone(cluster),
            turns: Arc::clone(turns),
            upstreams: self.process.upstreams.clone(),
            clock: clock.clone(),
            seed: process.seed,
        };
        let queue = Arc::new(WorkQueue::new(clock.clone()));
        Some(Sampling { queue, sampler: Arc::new(sampler) })
    }
}

/// Sends the queries of autoscalers.
pub(super) async fn query_prometheus(shared: Arc<TermState>, end: CancellationToken) {
    let Some(Sampling { queue, sampler }) = &shared.sampling else { return };
    let turn = |policy: PolicyName| {
        let sampler = Arc::clone(sampler);
        async move { sampler.sample(&policy).await }
    };
    queue.run(MAX_CONCURRENT_ROUNDS, None, end, |_| Vec::new(), turn).await;
}
