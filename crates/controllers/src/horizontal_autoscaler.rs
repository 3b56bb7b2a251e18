//! `HorizontalAutoscaler`: sets the replicas of its target by the results of queries.
//!
//! This module composes the status; `sampler` queries Prometheus, `report` turns records into Events and log lines, and
//! `metrics` publishes them.

mod metrics;
mod report;
mod sampler;
mod slow_queries;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use almanac_api::status::TargetProblem;
use almanac_api::status::conditions::{conditions, exempt_conditions};
use almanac_api::status::horizontal_autoscaler::{Decided, condition_states, write};
use almanac_engine::metric_scaling::{Answerer, Memory, SampleProblem, Settings, decide, gather};
use almanac_engine::{Exempt, Family, Identity, PolicyName, Reach, Recorded, Unreachable, World};
use almanac_shell::event_log::EventLog;
use almanac_shell::prometheus::Prometheus;
use jiff::{SignedDuration, Timestamp};
use prometheus_client::registry::Registry;

use self::metrics::{AutoscalerGauges, AutoscalerMetrics};
pub(crate) use self::sampler::Sampler;
pub(crate) use self::slow_queries::SlowQueries;
use crate::cluster::{ClusterState, PolicyEntry, name_rivals};
use crate::families::{ComposedStatus, FamilyController, ReportSubject, ScrapeInputs};
use crate::status_writer::WriteMethod;

/// The queries of autoscalers.
#[derive(Clone)]
pub struct Queries {
    /// The Prometheus to query; without one, only queries over Almanac's own metrics have results.
    pub prometheus: Option<Prometheus>,
    /// The interval of each query.
    pub period: SignedDuration,
    /// The relative difference between a value and its metric target that changes nothing.
    pub tolerance: f64,
}

impl Default for Queries {
    /// The defaults, without a Prometheus.
    fn default() -> Self {
        let Settings { query_period, tolerance, .. } = Settings::default();
        Self { prometheus: None, period: query_period, tolerance }
    }
}

/// A sample that is older than this many periods is not used. Samples may be some minutes old: an autoscaler may have
/// many queries, and they run one after the other.
const OLDEST_PERIODS: i32 = 3;
const OLDEST: SignedDuration = SignedDuration::from_mins(3);

impl Queries {
    /// The settings for all autoscalers of this process.
    pub(crate) fn settings(&self) -> Settings {
        let Self { prometheus, period, tolerance } = self;
        let (query_period, tolerance) = (*period, *tolerance);
        let answerer = if prometheus.is_some() { Answerer::Prometheus } else { Answerer::Almanac };
        let oldest = prometheus.is_some().then(|| OLDEST.max(query_period * OLDEST_PERIODS));
        Settings { answerer, oldest, query_period, tolerance }
    }
}

/// The controller side of autoscalers.
#[derive(Default)]
pub(crate) struct HorizontalAutoscalers {
    metrics: AutoscalerMetrics,
}

/// The decision of an autoscaler at this instant, as in its turns; `None` for an autoscaler that is invalid or exempt.
fn with_decision<Seen>(
    world: &World,
    policy: &Identity,
    entry: &PolicyEntry,
    now: Timestamp,
    see: impl FnOnce(&Decided<'_>) -> Seen,
) -> Option<Seen> {
    let target = world.metric_scaling.policies.get(policy)?.policy.as_deref()?.target.identity();
    let reach = reach(target, entry);
    let input = gather(world.view(), policy, &reach, now)?;
    let decision = decide(&input, now);
    Some(see(&Decided { input: &input, decision: &decision }))
}

/// The parts of a target that are known to be unavailable. A target can be readable even if changing it is forbidden.
fn reach(target: &Identity, entry: &PolicyEntry) -> Reach {
    let why = match (&entry.unreadable, entry.problem.as_deref()) {
        (Some(why), _) => Unreachable::Unknown(Arc::from(&**why)),
        (None, Some(problem)) if !entry.is_not_writable && *problem != TargetProblem::NotFound => {
            Unreachable::Forbidden(Arc::from(problem.message(target)))
        }
        _ => return Reach::everything(),
    };
    Reach::without(target.clone(), why)
}

impl FamilyController for HorizontalAutoscalers {
    fn compose(
        &self,
        state: &ClusterState,
        policy: &Identity,
        entry: &PolicyEntry,
        now: Timestamp,
    ) -> Option<ComposedStatus> {
        let object = state.world.metric_scaling.policies.get(policy)?;
        let target = object.policy.as_deref().map(|checked| checked.target.identity());
        let generation = entry.revision.generation();
        let nothing = Memory::default();
        let memory = object.memory.as_ref();
        let composed = |decided: Option<&Decided<'_>>| {
            // Before its first turn, or its first samples, an autoscaler has nothing to report.
            let is_waiting = decided.is_some_and(|it| {
                memory.is_none() || it.input.samples.contains(&Err(SampleProblem::NotAsked))
            });
            if is_waiting {
                return None;
            }
            let mut condition_states =
                match Exempt::for_policy(&state.world.objects.exempt, policy, target) {
                    Some(exempt) => exempt_conditions(exempt).into(),
                    None => condition_states(&entry.findings, entry.problem.as_deref(), decided),
                };
            let name = PolicyName::new(Family::MetricScaling, policy.clone());
            name_rivals(&mut condition_states, &state.rivals(&name));
            let conditions =
                conditions(&entry.recorded.conditions(), &condition_states, generation, now);
            let status = write(memory.unwrap_or(&nothing), decided, conditions, generation);
            // A status is plain data, so serialization cannot fail.
            let status = serde_json::to_value(&status).ok()?;
            let method = WriteMethod::ServerSideApply(status.clone());
            Some(ComposedStatus { status, condition_states, method })
        };
        match with_decision(&state.world, policy, entry, now, |decided| composed(Some(decided))) {
            Some(composed) => composed,
            None => composed(None),
        }
    }

    fn register(&self, registry: &mut Registry, scraped: &ScrapeInputs) {
        self.metrics.register(registry);
        registry.register_collector(Box::new(AutoscalerGauges(scraped.clone())));
    }

    fn report(&self, subject: &ReportSubject, recorded: &[Recorded], events: &EventLog) {
        for recorded in recorded {
            if let Recorded::MetricScaling(recorded) = recorded {
                self.metrics.count(recorded);
                report::report(subject, recorded, events);
            }
        }
    }
}
