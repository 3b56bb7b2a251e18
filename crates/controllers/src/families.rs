//! The families of policies, and what each does besides deciding: its status, and how it reports and
//! counts what has happened.
//!
//! To add a family, add a field and an arm where one is chosen.
//! what is told and counted of what has happened.

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
use crate::leadership::Leadership;
use crate::metrics_producer::MetricsProducers;
use crate::status_writer::WriteMethod;

/// What a family does besides deciding.
pub(crate) trait FamilyController: Send + Sync {
    /// The status of an object as it is to be; nothing before there is anything to tell.
    fn compose(
        &self,
        state: &ClusterState,
        policy: &Identity,
        entry: &PolicyEntry,
        now: Timestamp,
    ) -> Option<Composed>;

    /// Tells and counts what has happened in a turn.
    fn report(&self, of: &ReportSubject, recorded: &[Recorded], events: &EventLog);
}

/// A status, and how it is written.
pub(crate) struct Composed {
    pub(crate) status: Value,
    pub(crate) condition_states: Vec<ConditionState>,
    pub(crate) method: WriteMethod,
}

impl Composed {
    /// Why the object needs somebody's attention, if it does.
    pub(crate) fn why_not_ready(&self) -> Option<ConditionReason> {
        let mut condition_states = self.condition_states.iter();
        let ready = condition_states.find(|it| it.about == ConditionType::Ready && !it.holds)?;
        Some(ready.reason)
    }
}

/// Whom something is told of.
pub(crate) struct ReportSubject {
    /// The policy.
    pub(crate) policy: PolicyName,
    /// The object's own id.
    pub(crate) uid: Box<str>,
    /// What it changes, if it has a target.
    pub(crate) target: Option<Identity>,
    /// Who has changed that last, as far as it is known.
    pub(crate) changed_by: Option<Box<str>>,
}

impl ReportSubject {
    /// Whom an Event is about.
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

/// All of them. What they count goes on across terms.
#[derive(Clone, Default)]
pub(crate) struct Families {
    schedules: MetricsProducers,
    rules: CronFederatedHpas,
}

impl Families {
    /// The one of a family.
    pub(crate) fn of(&self, family: Family) -> &dyn FamilyController {
        match family {
            Family::ScheduledCapacity => &self.schedules,
            Family::CronScaling => &self.rules,
        }
    }

    /// Adds to what is exported whatever they count, and whatever is evaluated when it is asked for.
    pub(crate) fn register(
        &self,
        registry: &mut Registry,
        leading: &Leadership,
        clock: &Clock,
        switch: &Switch,
    ) {
        MetricsProducers::register(registry, leading, clock, switch);
        self.rules.register(registry, leading, clock);
    }
}
