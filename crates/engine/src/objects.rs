//! The slim form of the objects that policies change: only the fields that decisions need.
//!
//! Files or a cluster fill it. Nothing here depends on the origin of an object, or on a family. Data that only one
//! family reads is in the state of that family.

mod decision;
mod pod;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::{Exemptions, Field, Identity};

pub use decision::PlacementDecision;
pub use pod::{LeftAlone, Node, Pod, QosAnnotations};

/// The objects that all families read, by identity.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// The instant at which this state of the world was observed; `None` if the world comes from files. All firings due
    /// before the instant have been handled or missed.
    pub seen_at: Option<Timestamp>,
    /// The objects that are exempt from all policies. Parts of a world share this set.
    pub exempt: Arc<Exemptions>,
    /// Objects with a `scale` subresource.
    pub workloads: BTreeMap<Identity, Workload>,
    /// Objects with bounds.
    pub autoscalers: BTreeMap<Identity, Autoscaler>,
    /// Pods, or the templates that represent the pods of a workload.
    pub pods: BTreeMap<Identity, Pod>,
    /// Nodes, by name.
    pub nodes: BTreeMap<Arc<str>, Node>,
}

/// An object with a `scale` subresource.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Workload {
    /// `spec.replicas` of the scale; `None` when it is unknown, as for a workload that a file refers to but does not
    /// contain.
    pub replicas: Option<u32>,
    /// `status.replicas` of the scale: the current replicas. `None` when the number is unknown; the desired replicas
    /// are then assumed.
    pub current: Option<u32>,
}

/// A `FederatedHPA` or a `HorizontalPodAutoscaler`, reduced to its bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Autoscaler {
    /// The lower bound; an autoscaler written without one has 1. `None` when it is unknown.
    pub min_replicas: Option<u32>,
    /// The upper bound; `None` when it is unknown.
    pub max_replicas: Option<u32>,
}

impl Objects {
    /// A copy without pods and nodes.
    pub(crate) fn without_pods(&self) -> Objects {
        Objects {
            seen_at: self.seen_at,
            exempt: Arc::clone(&self.exempt),
            workloads: self.workloads.clone(),
            autoscalers: self.autoscalers.clone(),
            pods: BTreeMap::new(),
            nodes: BTreeMap::new(),
        }
    }

    /// The number of a field of an object; `None` when it is unknown, or if the field follows from its policy.
    #[must_use]
    pub fn number(&self, object: &Identity, field: Field) -> Option<u32> {
        match field {
            Field::Replicas => self.workloads.get(object)?.replicas,
            Field::MinReplicas => self.autoscalers.get(object)?.min_replicas,
            Field::MaxReplicas => self.autoscalers.get(object)?.max_replicas,
            Field::Value
            | Field::QosLevel
            | Field::Clusters
            | Field::UnitPods
            | Field::PendingPods => None,
        }
    }

    /// Sets the initial number of a field. Returns `false` if the field follows from its policy, or if the object is
    /// absent.
    pub fn begin_with(&mut self, object: &Identity, field: Field, number: u32) -> bool {
        let place = match field {
            Field::Replicas => self.workloads.get_mut(object).map(|it| &mut it.replicas),
            Field::MinReplicas => self.autoscalers.get_mut(object).map(|it| &mut it.min_replicas),
            Field::MaxReplicas => self.autoscalers.get_mut(object).map(|it| &mut it.max_replicas),
            Field::Value
            | Field::QosLevel
            | Field::Clusters
            | Field::UnitPods
            | Field::PendingPods => None,
        };
        place.map(|place| *place = Some(number)).is_some()
    }
}
