//! The objects that policies scale, and references to them.

use std::sync::Arc;

use crate::Identity;

/// The object that a policy scales, which determines the fields it may set.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Target {
    /// Anything with a `scale` subresource: its replicas are set.
    Workload(Identity),
    /// A `FederatedHPA` or `HorizontalPodAutoscaler`: its bounds are set.
    Autoscaler(Identity),
}

impl Target {
    /// The name of the object.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        match self {
            Self::Workload(identity) | Self::Autoscaler(identity) => identity,
        }
    }
}

/// A target as a policy refers to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TargetReference {
    /// The object that is scaled.
    pub target: Target,
    /// The `apiVersion` in which the policy names it. Decisions do not depend on it; requests to the
    /// API server do.
    pub api_version: Arc<str>,
}
