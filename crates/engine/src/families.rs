//! The one place that knows all families: their common interface, and which of them to call.
//!
//! To add a family, add a variant to each enum here and an arm to each match on it; the compiler points at
//! every place. The implementations are in the families' own directories.

use std::sync::Arc;

use almanac_calendar::Zone;
use jiff::Timestamp;

use crate::answers::{EndedScore, ReplicasAskedFor, RuleExplanation, Unmatched};
use crate::beginning::{Beginning, RunStart};
use crate::cron_scaling::{self, CronRules};
use crate::metric_scaling::{self, Autoscalers};
use crate::other_writer::ExternalChange;
use crate::placement::{self, Placements};
use crate::qos_levels::{self, Levels};
use crate::scheduled_capacity::{self, Schedules};
use crate::schedules::RuleSchedule;
use crate::seam::FamilyState;
use crate::turn::{Closed, PolicyDecision};
use crate::units::{self, Units};
use crate::{
    Action, Family, Field, Footprint, Identity, Objects, Occurrence, Outcome, Presumption, Reach,
    Reason, Slim, TargetReference,
};

/// The questions that every family answers about its policies. An unknown identity gives an empty
/// answer.
pub(crate) trait Logic: Sync {
    /// The objects of the family, including invalid ones, in order.
    fn names<'w>(&self, world: &'w World) -> Box<dyn Iterator<Item = &'w Identity> + 'w>;

    /// What a policy reads and writes; `None` for an invalid one.
    fn footprint(&self, world: &World, policy: &Identity) -> Option<Footprint>;

    /// The object that has to be fetched before a policy's turn, if there is one.
    fn target(&self, world: &World, policy: &Identity) -> Option<TargetReference>;

    /// The time zones of its schedules, each with the name of its rule.
    fn zones(&self, world: &World, policy: &Identity) -> Vec<(Option<Arc<str>>, Zone)>;

    /// Its schedules, in the order of its rules; suspended rules too.
    fn schedules(&self, _: &World, _: &Identity) -> Vec<RuleSchedule> {
        Vec::new()
    }

    /// Whether what its policies set follows from the order in which rules came last, whatever came before.
    fn follows_schedules(&self) -> bool {
        false
    }

    /// Gathers and decides; `None` for an invalid policy.
    fn open(
        &self,
        world: &World,
        policy: &Identity,
        reach: &Reach,
        now: Timestamp,
    ) -> Option<OpenDecision>;

    /// Records that firings due up to then are not carried out, and does nothing else; `None` for a
    /// policy that is invalid or changes nothing by itself.
    fn skip_stopped(
        &self,
        world: &mut World,
        policy: &Identity,
        until: Timestamp,
        now: Timestamp,
    ) -> Option<Closed>;

    /// The verdict on every rule of a policy whose turns are taken until `now`, in the order of the
    /// spec, as far as `object` is concerned. That matters only if it sets something of several objects.
    fn explain(
        &self,
        world: &World,
        policy: &Identity,
        object: Option<&Identity>,
        now: Timestamp,
    ) -> Vec<RuleExplanation>;

    /// The selectors of a policy that select none of what is in the world, although there is some.
    fn unmatched(&self, _: &World, _: &Identity) -> Vec<Unmatched> {
        Vec::new()
    }

    /// The scores that a policy ranks by and that have ended.
    fn ended_scores(&self, _: &World, _: &Identity, _: Timestamp) -> Vec<EndedScore> {
        Vec::new()
    }

    /// Whether what is explained are parts of a value rather than rules that set it.
    fn explains_parts(&self) -> bool {
        false
    }

    /// Whether a policy decides otherwise once its decision is carried out, so that its last turn is what explains
    /// a value.
    fn feeds_back(&self) -> bool {
        false
    }

    /// What a policy would decide if it decided once more, where that is something else.
    fn decides_otherwise(&self, _: &World, _: &Identity, _: Timestamp) -> Option<RuleExplanation> {
        None
    }

    /// Whether what a policy sets holds since its rule fired last, even if the rule had set the same before.
    fn sets_by_firings(&self) -> bool {
        false
    }

    /// Whether a policy needs a turn because its target has changed.
    fn reacts_to_changes(&self, _: &World, _: &Identity, _: Timestamp) -> bool {
        false
    }

    /// What its turns take for granted when they are taken without a cluster.
    fn presumptions(&self, _: &World, _: &Identity) -> Vec<Presumption> {
        Vec::new()
    }

    /// The objects that a policy has another turn after if another one changes them.
    fn follows(&self, world: &World, policy: &Identity) -> Vec<Identity> {
        let target = self.target(world, policy);
        target.map(|reference| reference.target.identity().clone()).into_iter().collect()
    }

    /// How many replicas a policy may ever set of a workload, by each of its rules.
    fn asks_for(&self, _: &World, _: &Identity) -> Option<ReplicasAskedFor> {
        None
    }

    /// When a policy has another turn because another one has just changed what it follows; `None` when that
    /// does not matter to it.
    fn follows_target(&self, _: &World, _: &Identity, _: Timestamp) -> Option<Timestamp> {
        None
    }

    /// The policies of the family that may decide otherwise because this one has just set something.
    fn influenced_by(&self, _: &World, _: &Identity) -> Vec<Identity> {
        Vec::new()
    }

    /// Detects values of a policy that other writers have replaced; returns what is new.
    fn detect_undone(
        &self,
        _: &mut World,
        _: &Identity,
        _: &[ExternalChange],
        _: Timestamp,
    ) -> Vec<Recorded> {
        Vec::new()
    }

    /// Brings policies to where a run begins.
    fn begin(&self, world: &mut World, policies: &[&Identity], beginning: Beginning) -> RunStart;

    /// Until when the state of a policy is known; `None` when nothing is known.
    fn known_until(&self, world: &World, policy: &Identity) -> Option<Timestamp>;

    /// The slim form of a policy, with its memory.
    fn slim(&self, world: &World, policy: &Identity) -> Option<Slim>;

    /// Removes a policy.
    fn remove(&self, world: &mut World, policy: &Identity);
}

impl Family {
    pub(crate) fn logic(self) -> &'static dyn Logic {
        match self {
            Family::ScheduledCapacity => &Schedules,
            Family::CronScaling => &CronRules,
            Family::MetricScaling => &Autoscalers,
            Family::QosLevels => &Levels,
            Family::Placement => &Placements,
            Family::Units => &Units,
        }
    }
}

/// All objects, by their identity, and all policies.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// The objects that policies act on and look at.
    pub objects: Objects,
    /// Policies that publish a number by schedule.
    pub scheduled_capacity: FamilyState<Schedules>,
    /// Policies that set replicas or bounds by cron rules.
    pub cron_scaling: FamilyState<CronRules>,
    /// Policies that set replicas by the answers to queries; beside them the answers, and who gives them.
    pub metric_scaling: FamilyState<Autoscalers>,
    /// Policies that set the QoS levels of pods, and how the agent of the cluster runs that carries them out. Callers
    /// insert an empty entry once the `ConfigMap` is known to be absent, and remove it before the first policy.
    pub qos_levels: FamilyState<Levels>,
    /// Policies that select clusters.
    pub placement: FamilyState<Placements>,
    /// Policies for units of nodes.
    pub units: FamilyState<Units>,
}

/// The decision made at the opening of a turn, with its policy.
#[derive(Clone, Debug)]
pub enum OpenDecision {
    /// For a policy that publishes a number by schedule.
    ScheduledCapacity(
        PolicyDecision<scheduled_capacity::ScheduledCapacity, scheduled_capacity::Decision>,
    ),
    /// For a policy that sets replicas or bounds by cron rules.
    CronScaling(PolicyDecision<cron_scaling::CronScaling, cron_scaling::Decision>),
    /// For a policy that sets replicas by the answers to queries.
    MetricScaling(PolicyDecision<metric_scaling::MetricScaling, metric_scaling::Decision>),
    /// For a policy that sets the levels of pods.
    QosLevels(PolicyDecision<qos_levels::QosLevels, qos_levels::Decision>),
    /// For a policy that selects clusters.
    Placement(PolicyDecision<placement::Placement, placement::Decision>),
    /// For a policy for units of nodes.
    Units(PolicyDecision<units::ResourcePolicy, units::Decision>),
}

impl OpenDecision {
    pub(crate) fn actions(&self) -> &[Action] {
        match self {
            OpenDecision::ScheduledCapacity(open) => &open.decision.actions,
            OpenDecision::CronScaling(open) => &open.decision.actions,
            OpenDecision::MetricScaling(open) => &open.decision.actions,
            OpenDecision::QosLevels(open) => &open.decision.actions,
            OpenDecision::Placement(open) => &open.decision.actions,
            OpenDecision::Units(open) => &open.decision.actions,
        }
    }

    /// Takes the actions out; settling the turn only needs their outcomes.
    pub(crate) fn take_actions(&mut self) -> Vec<Action> {
        match self {
            OpenDecision::ScheduledCapacity(open) => std::mem::take(&mut open.decision.actions),
            OpenDecision::CronScaling(open) => std::mem::take(&mut open.decision.actions),
            OpenDecision::MetricScaling(open) => std::mem::take(&mut open.decision.actions),
            OpenDecision::QosLevels(open) => std::mem::take(&mut open.decision.actions),
            OpenDecision::Placement(open) => std::mem::take(&mut open.decision.actions),
            OpenDecision::Units(open) => std::mem::take(&mut open.decision.actions),
        }
    }

    pub(crate) fn deadline(&self) -> Option<Timestamp> {
        match self {
            OpenDecision::ScheduledCapacity(_)
            | OpenDecision::MetricScaling(_)
            | OpenDecision::QosLevels(_)
            | OpenDecision::Placement(_)
            | OpenDecision::Units(_) => None,
            OpenDecision::CronScaling(open) => cron_scaling::deadline(&open.policy, &open.decision),
        }
    }

    pub(crate) fn close(
        self,
        world: &mut World,
        policy: &Identity,
        outcomes: &[Outcome],
        opened_at: Timestamp,
        now: Timestamp,
    ) -> Closed {
        match self {
            OpenDecision::ScheduledCapacity(open) => {
                scheduled_capacity::close(world, policy, open, outcomes, opened_at)
            }
            OpenDecision::CronScaling(open) => {
                cron_scaling::close(world, policy, open, outcomes, opened_at, now)
            }
            OpenDecision::MetricScaling(open) => {
                metric_scaling::close(world, policy, open, outcomes, opened_at, now)
            }
            OpenDecision::QosLevels(open) => qos_levels::close(open, outcomes, opened_at),
            OpenDecision::Placement(open) => {
                placement::close(world, policy, open, outcomes, opened_at)
            }
            OpenDecision::Units(open) => units::close(world, policy, &open, opened_at),
        }
    }
}

/// Why a policy set a value, in the terms of its family.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EffectReason {
    /// A policy that publishes a number by schedule.
    ScheduledCapacity(Reason<scheduled_capacity::Cause>),
    /// A policy that sets replicas or bounds by cron rules.
    CronScaling(Reason<cron_scaling::Cause>),
    /// A policy that sets replicas by the answers to queries.
    MetricScaling(Reason<metric_scaling::Cause>),
    /// A policy that sets the levels of pods.
    QosLevels(Reason<qos_levels::Cause>),
    /// A policy that selects clusters.
    Placement(Reason<placement::Cause>),
    /// A policy for units of nodes.
    Units(Reason<units::Cause>),
}

impl EffectReason {
    /// The rule that set it by name, and why as a line for a person. `None` when the world does not
    /// have the policy as it was.
    #[must_use]
    pub fn render(&self, world: &World, policy: &Identity) -> Option<(Option<Arc<str>>, String)> {
        match self {
            EffectReason::ScheduledCapacity(reason) => {
                scheduled_capacity::describe(world, policy, reason)
            }
            EffectReason::CronScaling(reason) => cron_scaling::describe(world, policy, reason),
            EffectReason::MetricScaling(reason) => metric_scaling::describe(world, policy, reason),
            EffectReason::QosLevels(reason) => qos_levels::describe(world, policy, reason),
            EffectReason::Placement(reason) => placement::describe(world, policy, reason),
            EffectReason::Units(reason) => units::describe(world, policy, reason),
        }
    }

    /// Whether the other bound of an autoscaler had to make way for the one that was set.
    #[must_use]
    pub fn moves_other_bound(&self) -> bool {
        match self {
            EffectReason::CronScaling(reason) => {
                reason.cause == cron_scaling::Cause::MovedOtherBound
            }
            EffectReason::ScheduledCapacity(_)
            | EffectReason::MetricScaling(_)
            | EffectReason::QosLevels(_)
            | EffectReason::Placement(_)
            | EffectReason::Units(_) => false,
        }
    }

    /// The same reason without the instants between which it holds.
    #[must_use]
    pub fn without_span(self) -> EffectReason {
        match self {
            EffectReason::ScheduledCapacity(reason) => {
                EffectReason::ScheduledCapacity(reason.without_span())
            }
            EffectReason::CronScaling(reason) => EffectReason::CronScaling(reason.without_span()),
            EffectReason::MetricScaling(reason) => {
                EffectReason::MetricScaling(reason.without_span())
            }
            EffectReason::QosLevels(reason) => EffectReason::QosLevels(reason.without_span()),
            EffectReason::Placement(reason) => EffectReason::Placement(reason.without_span()),
            EffectReason::Units(reason) => EffectReason::Units(reason.without_span()),
        }
    }
}

/// Something that happened to a policy: the source of Events, metrics and logs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Recorded {
    /// To one that publishes a number by schedule.
    ScheduledCapacity(scheduled_capacity::Recorded),
    /// To one that sets replicas or bounds by cron rules.
    CronScaling(cron_scaling::Recorded),
    /// To one that sets replicas by the answers to queries.
    MetricScaling(metric_scaling::Recorded),
    /// To a pod whose level a policy sets.
    QosLevels(qos_levels::Recorded),
    /// To a policy that selects clusters.
    Placement(placement::Recorded),
    /// To a policy for units of nodes.
    Units(units::Recorded),
}

impl Recorded {
    /// The field that another writer has undone, if that is what happened.
    #[must_use]
    pub fn undone(&self) -> Option<Field> {
        match self {
            Recorded::CronScaling(cron_scaling::Recorded::Undone { field, .. }) => Some(*field),
            Recorded::MetricScaling(metric_scaling::Recorded::Undone { .. }) => {
                Some(Field::Replicas)
            }
            Recorded::CronScaling(_)
            | Recorded::ScheduledCapacity(_)
            | Recorded::MetricScaling(_)
            | Recorded::QosLevels(_)
            | Recorded::Placement(_)
            | Recorded::Units(_) => None,
        }
    }

    /// The rule that fired while another one decided, if that is what happened.
    #[must_use]
    pub fn superseded(&self) -> Option<Arc<str>> {
        let Recorded::CronScaling(recorded) = self else { return None };
        let (occurrence, rule) = recorded.occurrence()?;
        rule.filter(|_| occurrence == Occurrence::Superseded)
    }

    /// The object it happened to, if the policy sets something of several objects.
    #[must_use]
    pub fn object(&self) -> Option<&Identity> {
        match self {
            Recorded::QosLevels(recorded) => Some(&recorded.pod),
            Recorded::CronScaling(_)
            | Recorded::ScheduledCapacity(_)
            | Recorded::MetricScaling(_)
            | Recorded::Placement(_)
            | Recorded::Units(_) => None,
        }
    }

    /// What happened to which rule; `None` for an intermediate step.
    #[must_use]
    pub fn occurrence(
        &self,
        world: &World,
        policy: &Identity,
    ) -> Option<(Occurrence, Option<Arc<str>>)> {
        match self {
            Recorded::ScheduledCapacity(recorded) => recorded.named_occurrence(world, policy),
            Recorded::CronScaling(recorded) => recorded.occurrence(),
            Recorded::MetricScaling(recorded) => recorded.occurrence(),
            Recorded::QosLevels(recorded) => recorded.occurrence(),
            Recorded::Placement(recorded) => Some(recorded.occurrence(world, policy)),
            Recorded::Units(recorded) => Some(recorded.occurrence()),
        }
    }
}
