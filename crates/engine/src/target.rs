//! The objects that policies scale, and references to them.

use std::sync::Arc;

use crate::Identity;

/// The object that a policy scales, which determines the fields it may set.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Target {
    /// An object with a `scale` subresource: the policy sets its replicas.
    Workload(Identity),
    /// A `FederatedHPA` or `HorizontalPodAutoscaler`: the policy sets its bounds.
    Autoscaler(Identity),
}

impl Target {
    /// The identity of the target.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        match self {
            Self::Workload(identity) | Self::Autoscaler(identity) => identity,
        }
    }
}

/// A policy's reference to its target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TargetReference {
    /// The target object.
    pub target: Target,
    /// The `apiVersion` in the reference. Requests to the API server depend on it; decisions do not.
    pub api_version: Arc<str>,
}
