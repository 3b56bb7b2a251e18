//! The families of policies, and the tasks of each apart from deciding: its status, its Events and metrics, its
//! additions to turns, and its further watches.
//!
//! To add a family, add an arm where its controller is chosen.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_api::kinds::Kind;
use almanac_api::status::conditions::{ConditionReason, ConditionState, ConditionType};
use almanac_engine::{Family, Identity, PolicyName, Recorded};
use almanac_shell::clock::Clock;
use almanac_shell::event_log::{EventLog, ObjectReference};
use almanac_shell::lease::Switch;
use almanac_shell::writer::Writer;
use jiff::Timestamp;
use kube::Client;
use prometheus_client::registry::Registry;
use serde_json::Value;

use crate::cluster::{Cluster, ClusterState, PolicyEntry};
use crate::cron_federated_hpa::CronFederatedHpas;
use crate::horizontal_autoscaler::HorizontalAutoscalers;
use crate::leadership::Leadership;
use crate::metrics_producer::MetricsProducers;
use crate::placement::Placements;
use crate::runtime::RunningTerm;
use crate::status_writer::WriteMethod;
use crate::turn_hooks::TurnHooks;
use crate::upstream::Upstreams;
use crate::work_queue::WorkQueue;

/// The tasks of a family apart from deciding.
pub(crate) trait FamilyController: Send + Sync {
    /// The status that an object should have; `None` while the family has nothing to report.
    fn compose(
        &self,
        state: &ClusterState,
        policy: &Identity,
        entry: &PolicyEntry,
        now: Timestamp,
    ) -> Option<ComposedStatus>;

    /// Reports and counts the records of a turn.
    fn report(&self, subject: &ReportSubject, recorded: &[Recorded], events: &EventLog);

    /// Registers its counters and the metrics evaluated at the scrape.
    fn register(&self, registry: &mut Registry, scraped: &ScrapeInputs);

    /// The family's additions to turns during a term; `None` for a family without additions.
    fn hooks(
        &self,
        _: &Client,
        _: &Writer,
        _: &Arc<Cluster>,
        _: &Clock,
    ) -> Option<Box<dyn TurnHooks>> {
        None
    }

    /// Starts the watches of the further kinds that its policies read, apart from their own kind and their targets.
    fn follow(&self, _: &Arc<Cluster>, _: &Arc<WorkQueue>, _: &mut RunningTerm) {}
}

/// The inputs of metrics that are evaluated at the scrape.
#[derive(Clone, Debug)]
pub(crate) struct ScrapeInputs {
    pub(crate) leading: Leadership,
    pub(crate) clock: Clock,
    pub(crate) switch: Switch,
    pub(crate) upstreams: Upstreams,
}

impl ScrapeInputs {
    /// The known cluster; `None` if this process does not lead, or the family is left to its upstream controller.
    pub(crate) fn cluster_of(&self, family: Family) -> Option<Arc<Cluster>> {
        self.leading.cluster().filter(|_| self.upstreams.running(family).is_none())
    }
}

/// A status, and the method of its write.
pub(crate) struct ComposedStatus {
    pub(crate) status: Value,
    pub(crate) condition_states: Vec<ConditionState>,
    pub(crate) method: WriteMethod,
}

impl ComposedStatus {
    /// The reason that the object needs attention; `None` if it needs none.
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
    /// The target of the policy; `None` for a policy without a target.
    pub(crate) target: Option<Identity>,
    /// The field manager that last changed the target; `None` if it is unknown.
    pub(crate) changed_by: Option<Arc<str>>,
}

impl ReportSubject {
    /// The object that an Event is about.
    pub(crate) fn regarding(&self) -> ObjectReference {
        let kind = Kind::for_family(self.policy.family);
        ObjectReference {
            api_version: kind.api_version(),
            kind: kind.name(),
            namespace: self.policy.identity.namespace().to_owned(),
            name: self.policy.identity.name().to_owned(),
            uid: self.uid.to_string(),
        }
    }
}

/// The hooks of the families with additions to turns, during a term.
pub(crate) struct Hooks(BTreeMap<Family, Box<dyn TurnHooks>>);

/// The hooks of a family without additions to turns.
struct NoHooks;

impl TurnHooks for NoHooks {}

impl Hooks {
    /// The hooks of a family.
    pub(crate) fn for_family(&self, family: Family) -> &dyn TurnHooks {
        match self.0.get(&family) {
            Some(hooks) => hooks.as_ref(),
            None => &NoHooks,
        }
    }
}

/// The families that this process reconciles. Their counters survive terms.
#[derive(Clone)]
pub(crate) struct Families(BTreeMap<Family, Arc<dyn FamilyController>>);

impl Default for Families {
    fn default() -> Self {
        let all = Family::ALL.into_iter();
        Self(all.filter_map(|family| Some((family, controller_of(family)?))).collect())
    }
}

/// The controller of a family; `None` for a family that another process reconciles.
fn controller_of(family: Family) -> Option<Arc<dyn FamilyController>> {
    let controller: Arc<dyn FamilyController> = match family {
        Family::ScheduledCapacity => Arc::new(MetricsProducers),
        Family::CronScaling => Arc::<CronFederatedHpas>::default(),
        Family::MetricScaling => Arc::<HorizontalAutoscalers>::default(),
        Family::Placement => Arc::<Placements>::default(),
        Family::QosLevels | Family::Units => return None,
    };
    Some(controller)
}

impl Families {
    /// The controller of a family.
    pub(crate) fn get(&self, family: Family) -> Option<&dyn FamilyController> {
        self.0.get(&family).map(|it| &**it)
    }

    /// Registers the metrics of all families.
    pub(crate) fn register(&self, registry: &mut Registry, scraped: &ScrapeInputs) {
        self.0.values().for_each(|it| it.register(registry, scraped));
    }

    /// The families' additions to turns during a term.
    pub(crate) fn hooks(
        &self,
        client: &Client,
        writer: &Writer,
        cluster: &Arc<Cluster>,
        clock: &Clock,
    ) -> Hooks {
        let all = self.0.iter();
        let hooks = all
            .filter_map(|(family, it)| Some((*family, it.hooks(client, writer, cluster, clock)?)));
        Hooks(hooks.collect())
    }
}
