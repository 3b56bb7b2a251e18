//! The slim form of what cron rules change: as much of it as a decision looks at.
//!
//! Filled from files or from the cluster's caches; nothing here knows which.

/// Anything with a `scale` subresource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Workload {
    /// `spec.replicas` of its scale.
    pub replicas: u32,
}

/// A `FederatedHPA` or a `HorizontalPodAutoscaler`, reduced to its bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Autoscaler {
    /// The lower bound; an autoscaler written without one has 1.
    pub min_replicas: u32,
    /// The upper bound.
    pub max_replicas: u32,
}
