//! The slim forms of objects: how a world is filled, whether from files or from a cluster.
//!
//! Making them is up to whoever reads the objects. What a world keeps of them is up to [`crate::World::upsert`].

use crate::cron_scaling::{self, CronScaling};
use crate::metric_scaling::{self, MetricScaling};
use crate::placement::{self, ClusterSet, HubObject, Placement};
use crate::qos_levels::{Node, Pod, QosLevels};
use crate::scheduled_capacity::{Published, ScheduledCapacity};
use crate::units::{self, FleetObject, ResourcePolicy};
use crate::{Autoscaler, PolicyObject, Workload};

/// The slim form of one object: all that the world keeps of it.
#[derive(Clone, Debug)]
pub enum Slim {
    /// A policy that publishes a number by schedule.
    ScheduledCapacity(PolicyObject<ScheduledCapacity, Published>),
    /// A policy that sets replicas or bounds by cron rules.
    CronScaling(PolicyObject<CronScaling, cron_scaling::Memory>),
    /// A policy that sets replicas by the answers to queries.
    MetricScaling(PolicyObject<MetricScaling, metric_scaling::Memory>),
    /// Policies that set the levels of pods.
    QosLevels(PolicyObject<QosLevels, ()>),
    /// A policy that selects clusters.
    Placement(PolicyObject<Placement, placement::Memory>),
    /// What such policies select from, and what they have selected.
    Hub(HubObject),
    /// A policy for units of nodes.
    Units(PolicyObject<ResourcePolicy, units::Memory>),
    /// A pod, a node or what makes pods, as units are about them.
    Fleet(FleetObject),
    /// Something with a `scale` subresource.
    Workload(Workload),
    /// Something with bounds.
    Autoscaler(Autoscaler),
    /// A pod, or what stands for the pods of a workload.
    Pod(Pod),
    /// A node.
    Node(Node),
}

impl Slim {
    /// The policy with nothing of it that can be used, or the set of which it cannot be said what it has; `None` for
    /// anything else.
    #[must_use]
    pub fn unusable(&self) -> Option<Slim> {
        match self {
            Slim::ScheduledCapacity(_) => Some(Slim::ScheduledCapacity(PolicyObject::UNUSABLE)),
            Slim::CronScaling(_) => Some(Slim::CronScaling(PolicyObject::UNUSABLE)),
            Slim::MetricScaling(_) => Some(Slim::MetricScaling(PolicyObject::UNUSABLE)),
            Slim::QosLevels(_) => Some(Slim::QosLevels(PolicyObject::UNUSABLE)),
            Slim::Placement(_) => Some(Slim::Placement(PolicyObject::UNUSABLE)),
            Slim::Units(_) => Some(Slim::Units(PolicyObject::UNUSABLE)),
            Slim::Hub(HubObject::Set(_)) => Some(Slim::Hub(HubObject::Set(ClusterSet::Unusable))),
            Slim::Hub(_)
            | Slim::Fleet(_)
            | Slim::Workload(_)
            | Slim::Autoscaler(_)
            | Slim::Pod(_)
            | Slim::Node(_) => None,
        }
    }

    /// The same object, combined with an earlier form that has a memory. Where both know something,
    /// the later one counts.
    #[must_use]
    pub fn remembering(self, before: Slim) -> Slim {
        match self {
            Slim::CronScaling(mut object) => {
                if let Slim::CronScaling(PolicyObject { memory: Some(memory), .. }) = before {
                    let told = object.memory.take().unwrap_or_default();
                    object.memory = Some(told.joined(memory));
                }
                Slim::CronScaling(object)
            }
            Slim::MetricScaling(mut object) => {
                if let Slim::MetricScaling(PolicyObject { memory: Some(memory), .. }) = before {
                    object.memory = Some(match object.memory.take() {
                        Some(told) => told.joined(memory),
                        None => memory,
                    });
                }
                Slim::MetricScaling(object)
            }
            // Everything about these is decided afresh each time.
            Slim::ScheduledCapacity(_)
            | Slim::QosLevels(_)
            | Slim::Placement(_)
            | Slim::Hub(_)
            | Slim::Units(_)
            | Slim::Fleet(_)
            | Slim::Workload(_)
            | Slim::Autoscaler(_)
            | Slim::Pod(_)
            | Slim::Node(_) => self,
        }
    }
}
