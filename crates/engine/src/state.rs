//! The slim form of what policies act on: only what decisions need.
//!
//! It is filled from files or from a cluster; nothing here knows which.

/// Anything with a `scale` subresource.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Workload {
    /// `spec.replicas` of its scale; `None` when it is unknown, as for a workload that a file
    /// refers to but does not contain.
    pub replicas: Option<u32>,
    /// `status.replicas` of its scale: how many there are. `None` when nobody has said, which is taken
    /// for as many as there are to be.
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
