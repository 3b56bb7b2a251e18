//! The actions of a decision, and their outcomes.

use std::sync::Arc;

use jiff::Timestamp;

use crate::Identity;
use crate::objects::{PlacementDecision, QosAnnotations};

/// One change to one object. A controller applies it through an API server, and [`crate::World::apply`] to a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Publish a number as the value of a schedule's metric.
    Publish {
        /// The schedule that publishes.
        schedule: Identity,
        /// The number to publish.
        value: u32,
    },
    /// Set the replicas of a workload, through its `scale` subresource.
    SetReplicas {
        /// The workload to scale.
        target: Identity,
        /// The desired number of replicas.
        replicas: u32,
    },
    /// Set one or both bounds of an autoscaler in one write; a bound that is `None` stays.
    SetBounds {
        /// The autoscaler to change.
        target: Identity,
        /// The lower bound.
        min: Option<u32>,
        /// The upper bound.
        max: Option<u32>,
    },
    /// Set the level annotations of a pod in one write, and remove those that are `None`.
    Annotate {
        /// The pod to annotate.
        pod: Identity,
        /// All level annotations.
        annotations: Box<QosAnnotations>,
    },
    /// Create a `PlacementDecision`, or replace its content.
    WriteDecision {
        /// The name of the `PlacementDecision`.
        decision: Identity,
        /// The content to write.
        content: Box<PlacementDecision>,
    },
    /// Delete a `PlacementDecision`.
    RemoveDecision {
        /// The name of the `PlacementDecision`.
        decision: Identity,
    },
    /// Gives workloads their desired number of pods, and schedules these. Only a run without a cluster does so: in a
    /// cluster, controllers create pods and a scheduler assigns them.
    SchedulePods {
        /// The policy that governs the pods.
        policy: Identity,
        /// The instant of the scheduling.
        at: Timestamp,
    },
}

impl Action {
    /// The object that the action changes.
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
    /// The action was not sent, because it was obsolete or too late.
    Withdrawn,
    /// It is unknown whether the action was applied, for this reason: for example, the response was lost.
    Unknown(Arc<str>),
}

impl Outcome {
    /// Whether the object is in the state that the action requests.
    #[must_use]
    pub fn is_as_wanted(&self) -> bool {
        matches!(self, Outcome::Done | Outcome::Unchanged)
    }
}
