//! The families of policies, and what each does besides deciding: its status, how it reports and counts what
//! has happened, and what it adds to turns.
//!
//! To add a family, add a field and an arm where one is chosen.

use std::sync::Arc;

use almanac_api::kinds::Kind;
use almanac_api::status::conditions::{ConditionReason, ConditionState, ConditionType};
use almanac_engine::{Family, Identity, PolicyName, Recorded};
use almanac_shell::clock::Clock;
use almanac_shell::event_log::{EventLog, ObjectReference};
use almanac_shell::lease::Switch;
use jiff::Timestamp;
use prometheus_client::registry::Registry;
use serde_json::Value;

use crate::cluster::{ClusterState, PolicyEntry};
use crate::cron_federated_hpa::CronFederatedHpas;
use crate::elsewhere::Elsewhere;
use crate::horizontal_autoscaler::HorizontalAutoscalers;
use crate::leadership::Leadership;
use crate::metrics_producer::MetricsProducers;
use crate::placement::{DecisionWriter, Placements};
use crate::status_writer::WriteMethod;
use crate::turn_hooks::TurnHooks;
use crate::upstream::Upstreams;

/// What a family does besides deciding.
pub(crate) trait FamilyController: Send + Sync {
    /// The status that an object should have; `None` before there is anything to report.
    fn compose(
        &self,
        state: &ClusterState,
        policy: &Identity,
        entry: &PolicyEntry,
        now: Timestamp,
    ) -> Option<Composed>;

    /// Reports and counts what has happened in a turn.
    fn report(&self, of: &ReportSubject, recorded: &[Recorded], events: &EventLog);
}

/// A status, and how it is written.
pub(crate) struct Composed {
    pub(crate) status: Value,
    pub(crate) condition_states: Vec<ConditionState>,
    pub(crate) method: WriteMethod,
}

impl Composed {
    /// Why the object needs attention, if it does.
    pub(crate) fn why_not_ready(&self) -> Option<ConditionReason> {
        let mut condition_states = self.condition_states.iter();
        let ready = condition_states.find(|it| it.about == ConditionType::Ready && !it.holds)?;
        Some(ready.reason)
    }
}

/// The subject of a report.
pub(crate) struct ReportSubject {
    /// The policy.
    pub(crate) policy: PolicyName,
    /// The object's UID.
    pub(crate) uid: Box<str>,
    /// Its target, if it has one.
    pub(crate) target: Option<Identity>,
    /// The last writer of the target, as far as known.
    pub(crate) changed_by: Option<Arc<str>>,
}

impl ReportSubject {
    /// The object that an Event is about.
    pub(crate) fn regarding(&self) -> ObjectReference {
        let kind = Kind::of_family(self.policy.family);
        ObjectReference {
            api_version: kind.api_version(),
            kind: kind.name(),
            namespace: self.policy.identity.namespace().to_owned(),
            name: self.policy.identity.name().to_owned(),
            uid: self.uid.to_string(),
        }
    }
}

/// The hooks of all families during a term.
pub(crate) struct Hooks {
    pub(crate) placements: DecisionWriter,
}

/// The hooks of a family that has none.
struct NoHooks;

impl TurnHooks for NoHooks {}

impl Hooks {
    /// The hooks of a family.
    pub(crate) fn of(&self, family: Family) -> &dyn TurnHooks {
        match family {
            Family::Placement => &self.placements,
            Family::ScheduledCapacity
            | Family::CronScaling
            | Family::MetricScaling
            | Family::QosLevels
            | Family::Units => &NoHooks,
        }
    }
}

/// All families. Their counters survive terms.
#[derive(Clone, Default)]
pub(crate) struct Families {
    schedules: MetricsProducers,
    rules: CronFederatedHpas,
    autoscalers: HorizontalAutoscalers,
    pub(crate) placements: Placements,
}

impl Families {
    /// The controller of a family.
    pub(crate) fn of(&self, family: Family) -> &dyn FamilyController {
        match family {
            Family::ScheduledCapacity => &self.schedules,
            Family::CronScaling => &self.rules,
            Family::MetricScaling => &self.autoscalers,
            Family::QosLevels | Family::Units => &Elsewhere,
            Family::Placement => &self.placements,
        }
    }

    /// Registers their counters and the metrics evaluated at the scrape.
    pub(crate) fn register(
        &self,
        registry: &mut Registry,
        leading: &Leadership,
        clock: &Clock,
        switch: &Switch,
        upstreams: &Upstreams,
    ) {
        MetricsProducers::register(registry, leading, clock, switch, upstreams);
        self.rules.register(registry, leading, clock, upstreams);
        self.autoscalers.register(registry, leading, clock, upstreams);
        self.placements.register(registry, leading, upstreams);
    }
}
