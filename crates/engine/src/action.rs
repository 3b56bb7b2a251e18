//! The actions of a decision, and their outcomes.

use std::sync::Arc;

use jiff::Timestamp;

use crate::Identity;
use crate::objects::{PlacementDecision, QosAnnotations};

/// One change to one object. The shell carries it out against an API server, [`crate::World::apply`]
/// in a world of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Publish a number as the value of a schedule's metric.
    Publish {
        /// The schedule.
        schedule: Identity,
        /// The number.
        value: u32,
    },
    /// Set the replicas of a workload, through its `scale` subresource.
    SetReplicas {
        /// The workload.
        target: Identity,
        /// The number of replicas.
        replicas: u32,
    },
    /// Set one bound of an autoscaler or both, in one write; a bound that is `None` stays.
    SetBounds {
        /// The autoscaler.
        target: Identity,
        /// The lower bound.
        min: Option<u32>,
        /// The upper bound.
        max: Option<u32>,
    },
    /// Set the annotations of a pod that are about its level, all in one write; those that it should not
    /// have are removed.
    Annotate {
        /// The pod.
        pod: Identity,
        /// All annotations about the level.
        annotations: Box<QosAnnotations>,
    },
    /// Create a `PlacementDecision`, or replace its content.
    WriteDecision {
        /// The object.
        decision: Identity,
        /// The content.
        content: Box<PlacementDecision>,
    },
    /// Delete a `PlacementDecision`.
    RemoveDecision {
        /// The object.
        decision: Identity,
    },
    /// Gives workloads their desired number of pods, and schedules these. Only a run without a cluster does so: in a
    /// cluster, controllers create pods and a scheduler assigns them.
    SchedulePods {
        /// The policy.
        policy: Identity,
        /// The instant.
        at: Timestamp,
    },
}

impl Action {
    /// The object it changes.
    #[must_use]
    pub fn target(&self) -> &Identity {
        match self {
            Action::Publish { schedule, .. } => schedule,
            Action::SetReplicas { target, .. } | Action::SetBounds { target, .. } => target,
            Action::Annotate { pod, .. } => pod,
            Action::WriteDecision { decision, .. } | Action::RemoveDecision { decision } => {
                decision
            }
            Action::SchedulePods { policy, .. } => policy,
        }
    }
}

/// The outcome of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The action was applied.
    Done,
    /// The value was already set; nothing was written.
    Unchanged,
    /// The object was changed concurrently, so nothing was written.
    Conflict,
    /// The action was not applied, for this reason.
    Refused(Arc<str>),
    /// The action was not sent: it was no longer wanted, or it was too late.
    Withdrawn,
    /// It is unknown whether the action was applied, for this reason: for example, the response was lost.
    Unknown(Arc<str>),
}

impl Outcome {
    /// Whether the object is as the action wanted it.
    #[must_use]
    pub fn is_as_wanted(&self) -> bool {
        matches!(self, Outcome::Done | Outcome::Unchanged)
    }
}
