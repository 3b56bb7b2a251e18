//! The one module that lists all families: the state of each in a world, its own types, and the dispatch to it.
//!
//! To add a family, add a line to each list here; the compiler points at every one. The behavior of a family is in
//! its own directory. `world`, `turn` and `beginning` combine the results, and name no family.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cron_scaling::{self, CronRules};
use crate::metric_scaling::{self, Autoscalers};
use crate::placement::{self, ClusterSet, HubObject, Placements};
use crate::qos_levels::{self, Levels, Node, Pod};
use crate::scheduled_capacity::{self, Schedules};
use crate::seam::{
    FamilyState, Happened, InfluenceLimit, ObjectOf, Peers, PolicyFamily, PolicyObject, Publisher,
    PublishesNumber, ReasonText, View, ViewMut,
};
use crate::units::{self, UnitObject, Units};
use crate::{Autoscaler, Family, Field, Identity, Objects, Reason, Workload};

/// All objects, by their identity, and all policies.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// The objects that policies change and read.
    pub objects: Objects,
    /// Policies that publish a number by schedule.
    pub scheduled_capacity: FamilyState<Schedules>,
    /// Policies that set replicas or bounds by cron rules.
    pub cron_scaling: FamilyState<CronRules>,
    /// Policies that set replicas by samples of queries, with the samples and their sources.
    pub metric_scaling: FamilyState<Autoscalers>,
    /// Policies that set the QoS levels of pods, and the settings of the agent that applies them. Callers insert an
    /// empty entry once the `ConfigMap` is known to be absent, and remove it before the first policy.
    pub qos_levels: FamilyState<Levels>,
    /// Policies that select clusters.
    pub placement: FamilyState<Placements>,
    /// Policies for units of nodes.
    pub units: FamilyState<Units>,
}

/// The reason for a value, in the terms of its family.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EffectReason {
    /// A policy that publishes a number by schedule.
    ScheduledCapacity(Reason<scheduled_capacity::Cause>),
    /// A policy that sets replicas or bounds by cron rules.
    CronScaling(Reason<cron_scaling::Cause>),
    /// A policy that sets replicas by samples of queries.
    MetricScaling(Reason<metric_scaling::Cause>),
    /// A policy that sets the levels of pods.
    QosLevels(Reason<qos_levels::Cause>),
    /// A policy that selects clusters.
    Placement(Reason<placement::Cause>),
    /// A policy for units of nodes.
    Units(Reason<units::Cause>),
}

/// Something that happened to a policy: the source of Events, metrics and logs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Recorded {
    /// An event of a policy that publishes a number by schedule.
    ScheduledCapacity(scheduled_capacity::Recorded),
    /// An event of a policy that sets replicas or bounds by cron rules.
    CronScaling(cron_scaling::Recorded),
    /// An event of a policy that sets replicas by samples of queries.
    MetricScaling(metric_scaling::Recorded),
    /// A change of a pod whose level a policy sets.
    QosLevels(qos_levels::Recorded),
    /// An event of a policy that selects clusters.
    Placement(placement::Recorded),
    /// An event of a policy for units of nodes.
    Units(units::Recorded),
}

/// The slim form of one object: the data that the world keeps.
#[derive(Clone, Debug)]
pub enum Slim {
    /// A policy that publishes a number by schedule.
    ScheduledCapacity(ObjectOf<Schedules>),
    /// A policy that sets replicas or bounds by cron rules.
    CronScaling(ObjectOf<CronRules>),
    /// A policy that sets replicas by samples of queries.
    MetricScaling(ObjectOf<Autoscalers>),
    /// Policies that set the levels of pods.
    QosLevels(ObjectOf<Levels>),
    /// A policy that selects clusters.
    Placement(ObjectOf<Placements>),
    /// The objects that such policies select from, and their selections.
    Hub(HubObject),
    /// A policy for units of nodes.
    Units(ObjectOf<Units>),
    /// A pod, a node or a controller of pods, reduced to the data for units.
    UnitObject(UnitObject),
    /// An object with a `scale` subresource.
    Workload(Workload),
    /// An object with bounds.
    Autoscaler(Autoscaler),
    /// A pod, or the template that represents the pods of a workload.
    Pod(Pod),
    /// A node.
    Node(Node),
}

/// The connection of a family to the world and to the types that cover all families.
pub trait WorldFamily: PolicyFamily {
    /// The state of this family in a world.
    fn state_in(world: &World) -> &FamilyState<Self>;

    /// The mutable state of this family in a world, with the objects.
    fn view_mut(world: &mut World) -> ViewMut<'_, Self>;

    /// The reason for a value.
    fn effect_reason(reason: Reason<Self::Cause>) -> EffectReason;

    /// A record of the family as a record of any family.
    fn recorded(record: Self::Record) -> Recorded;

    /// The slim form of a policy.
    fn slim(object: ObjectOf<Self>) -> Slim;
}

/// Calls a method of a family that is known by value: `of_family!(family, F => F::footprint(world.view(), policy))`.
macro_rules! of_family {
    ($family:expr, $marker:ident => $answer:expr) => {
        match $family {
            $crate::Family::ScheduledCapacity => {
                type $marker = $crate::scheduled_capacity::Schedules;
                $answer
            }
            $crate::Family::CronScaling => {
                type $marker = $crate::cron_scaling::CronRules;
                $answer
            }
            $crate::Family::MetricScaling => {
                type $marker = $crate::metric_scaling::Autoscalers;
                $answer
            }
            $crate::Family::QosLevels => {
                type $marker = $crate::qos_levels::Levels;
                $answer
            }
            $crate::Family::Placement => {
                type $marker = $crate::placement::Placements;
                $answer
            }
            $crate::Family::Units => {
                type $marker = $crate::units::Units;
                $answer
            }
        }
    };
}

pub(crate) use of_family;

/// The code that differs only in the family: its field of the world and its variants of the other lists.
macro_rules! families {
    ($($variant:ident: $marker:ty, $state:ident;)*) => {
        $(impl WorldFamily for $marker {
            fn state_in(world: &World) -> &FamilyState<Self> {
                &world.$state
            }

            fn view_mut(world: &mut World) -> ViewMut<'_, Self> {
                ViewMut { objects: &mut world.objects, state: &mut world.$state }
            }

            fn effect_reason(reason: Reason<Self::Cause>) -> EffectReason {
                EffectReason::$variant(reason)
            }

            fn recorded(record: Self::Record) -> Recorded {
                Recorded::$variant(record)
            }

            fn slim(object: ObjectOf<Self>) -> Slim {
                Slim::$variant(object)
            }
        })*

        impl World {
            /// Inserts or replaces an object. The policy state in the world takes precedence over the status of a new
            /// version, because the policy state is later.
            pub fn upsert(&mut self, identity: Identity, slim: Slim) {
                match slim {
                    $(Slim::$variant(object) => {
                        let policies = &mut self.$state.policies;
                        let object = <$marker>::stored(object, policies.remove(&identity));
                        <$marker>::index(&mut self.$state.extra, &identity, &object);
                        policies.insert(identity, object);
                    })*
                    Slim::Hub(object) => {
                        placement::upsert_hub_object(&mut self.placement.extra, identity, object);
                    }
                    Slim::UnitObject(object) => {
                        Arc::make_mut(&mut self.units.extra.pods_and_nodes).upsert(identity, object);
                    }
                    Slim::Workload(workload) => {
                        self.objects.workloads.insert(identity, workload);
                    }
                    Slim::Autoscaler(autoscaler) => {
                        self.objects.autoscalers.insert(identity, autoscaler);
                    }
                    Slim::Pod(pod) => {
                        self.objects.pods.insert(identity, pod);
                    }
                    Slim::Node(node) => {
                        self.objects.nodes.insert(identity.name().into(), node);
                    }
                }
            }

            /// A copy of the world without data for policies about pods only, which may be large.
            #[must_use]
            pub fn without_pods(&self) -> World {
                World {
                    objects: self.objects.without_pods(),
                    $($state: <$marker>::without_pods(&self.$state),)*
                }
            }
        }

        impl EffectReason {
            /// The name of the rule, and the reason as a line for the user. `None` when the world no longer contains
            /// that version of the policy.
            #[must_use]
            pub fn render(&self, world: &World, policy: &Identity) -> Option<ReasonText> {
                match self {
                    $(EffectReason::$variant(reason) => {
                        <$marker>::describe(world.view(), policy, reason)
                    })*
                }
            }

            /// Whether the other bound of an autoscaler was moved as well, to keep the two in order.
            #[must_use]
            pub fn moves_other_bound(&self) -> bool {
                match self {
                    $(EffectReason::$variant(reason) => <$marker>::moves_other_bound(reason.cause),)*
                }
            }

            /// A copy of the reason without its instants.
            #[must_use]
            pub fn without_span(self) -> EffectReason {
                match self {
                    $(EffectReason::$variant(reason) => {
                        EffectReason::$variant(reason.without_span())
                    })*
                }
            }
        }

        impl Recorded {
            /// The field that another field manager has undone; `None` for other records.
            #[must_use]
            pub fn undone(&self) -> Option<Field> {
                match self {
                    $(Recorded::$variant(record) => <$marker>::undone(record),)*
                }
            }

            /// The rule that fired while another rule applied; `None` for other records.
            #[must_use]
            pub fn superseded(&self) -> Option<Arc<str>> {
                match self {
                    $(Recorded::$variant(record) => <$marker>::superseded(record),)*
                }
            }

            /// The object of the record, for a policy that sets fields of several objects.
            #[must_use]
            pub fn object(&self) -> Option<&Identity> {
                match self {
                    $(Recorded::$variant(record) => <$marker>::happened_to(record),)*
                }
            }

            /// The occurrence and its rule; `None` for an intermediate step.
            #[must_use]
            pub fn occurrence(&self, world: &World, policy: &Identity) -> Option<Happened> {
                match self {
                    $(Recorded::$variant(record) => {
                        <$marker>::occurrence(world.view(), policy, record)
                    })*
                }
            }
        }

        impl Slim {
            /// The policy without any usable part, or the set with unknown content; `None` for anything else.
            #[must_use]
            pub fn unusable(&self) -> Option<Slim> {
                match self {
                    $(Slim::$variant(_) => Some(Slim::$variant(PolicyObject::UNUSABLE)),)*
                    Slim::Hub(HubObject::Set(_)) => {
                        Some(Slim::Hub(HubObject::Set(ClusterSet::Unusable)))
                    }
                    Slim::Hub(_)
                    | Slim::UnitObject(_)
                    | Slim::Workload(_)
                    | Slim::Autoscaler(_)
                    | Slim::Pod(_)
                    | Slim::Node(_) => None,
                }
            }

            /// The same object, combined with the policy state of an earlier form. If both contain a value, the later
            /// value is used.
            #[must_use]
            pub fn with_memory_from(self, before: Slim) -> Slim {
                match (self, before) {
                    $((
                        Slim::$variant(mut object),
                        Slim::$variant(PolicyObject { memory: Some(memory), .. }),
                    ) => {
                        object.memory = <$marker>::with_memory_from(object.memory.take(), memory);
                        Slim::$variant(object)
                    })*
                    (object, _) => object,
                }
            }
        }
    };
}

families! {
    ScheduledCapacity: Schedules, scheduled_capacity;
    CronScaling: CronRules, cron_scaling;
    MetricScaling: Autoscalers, metric_scaling;
    QosLevels: Levels, qos_levels;
    Placement: Placements, placement;
    Units: Units, units;
}

impl World {
    /// The view of a family of this world.
    #[must_use]
    pub fn view<F: WorldFamily>(&self) -> View<'_, F> {
        View { objects: &self.objects, state: F::state_in(self), peers: self }
    }
}

impl Peers for World {
    fn publishers<'w>(&'w self) -> Box<dyn Iterator<Item = Publisher<'w>> + 'w> {
        Box::new(self.scheduled_capacity.policies.iter().filter_map(|(identity, object)| {
            let policy: &dyn PublishesNumber = object.policy.as_deref()?;
            Some((identity, policy))
        }))
    }

    fn publisher(&self, identity: &Identity) -> Option<Publisher<'_>> {
        let (identity, object) = self.scheduled_capacity.policies.get_key_value(identity)?;
        Some((identity, object.policy.as_deref()?))
    }

    fn max_replicas_by_workload(&self) -> BTreeMap<Identity, u32> {
        let all = Family::ALL
            .into_iter()
            .flat_map(|family| of_family!(family, F => replica_maximums::<F>(self)));
        let mut highest = BTreeMap::new();
        for (workload, most) in all {
            let maximum = highest.entry(workload).or_default();
            *maximum = most.max(*maximum);
        }
        highest
    }
}

/// The maximum number of replicas that each policy of a family can set for a workload.
fn replica_maximums<F: WorldFamily>(world: &World) -> Vec<(Identity, u32)> {
    let policies = F::state_in(world).policies.keys();
    let maximums = policies.filter_map(|policy| F::replica_maximum(world.view(), policy));
    maximums.map(|it| (it.workload, it.most)).collect()
}

impl Family {
    /// Whether the values that the family's policies set depend only on the order of the last firings, and not on
    /// earlier state. The allocation of nodes and the selection of clusters do depend on that state.
    #[must_use]
    pub fn follows_schedules(self) -> bool {
        of_family!(self, F => F::FOLLOWS_SCHEDULES)
    }

    /// Whether the family's policies only bound values that others set for the same target, and so do not contend.
    #[must_use]
    pub fn shares_targets(self) -> bool {
        of_family!(self, F => F::SHARES_TARGETS)
    }

    /// Whether each of the family's policies depends on all its other policies.
    pub(crate) fn decides_together(self) -> bool {
        of_family!(self, F => F::DECIDES_TOGETHER)
    }

    /// The limit on consecutive decisions of policies of the family that influence each other.
    pub(crate) fn influence(self) -> InfluenceLimit {
        of_family!(self, F => F::INFLUENCE)
    }
}
