//! The state of a family in a world: its policies, each with its policy state, and the state that only this family
//! reads.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::PolicyFamily;
use crate::Identity;

/// A policy in the world: its rules, and its policy state.
#[derive(Clone, Debug)]
pub struct PolicyObject<Policy, Memory> {
    /// The checked policy; `None` while no part of it is usable as written. Open turns of the policy share it.
    pub policy: Option<Arc<Policy>>,
    /// The instant at which the object was created with its current spec; `None` if it is unknown.
    pub created: Option<Timestamp>,
    /// The policy state from the status; `None` when the object has no status yet. An unreadable status is an empty
    /// policy state, not `None`: it does not make the object new.
    pub memory: Option<Memory>,
}

/// The policies of a family, by object.
pub type Policies<Policy, Memory> = BTreeMap<Identity, PolicyObject<Policy, Memory>>;

impl<Policy, Memory> PolicyObject<Policy, Memory> {
    /// A policy without a usable spec, a creation time or a policy state.
    pub(crate) const UNUSABLE: Self = Self { policy: None, created: None, memory: None };

    /// A policy without a status or a creation time.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self { policy: Some(Arc::new(policy)), created: None, memory: None }
    }
}

/// The state of one family in a world.
#[derive(Clone, Debug)]
pub struct FamilyState<F: PolicyFamily> {
    /// The policies of the family.
    pub policies: Policies<F::Policy, F::Memory>,
    /// The state that no other family reads.
    pub extra: F::Extra,
}

// A derived implementation would require `Default` of the family.
impl<F: PolicyFamily> Default for FamilyState<F> {
    fn default() -> Self {
        Self { policies: Policies::new(), extra: F::Extra::default() }
    }
}

impl<F: PolicyFamily> FamilyState<F> {
    /// The checked policy; `None` if no part of it is usable.
    #[must_use]
    pub fn policy(&self, policy: &Identity) -> Option<&F::Policy> {
        self.policies.get(policy)?.policy.as_deref()
    }
}

impl<Policy: PartialEq, Memory> PolicyObject<Policy, Memory> {
    /// Keeps the policy state of an earlier version only if both versions have the same policy.
    pub(crate) fn with_memory_of_same(mut self, before: Option<Self>) -> Self {
        let before = before.filter(|before| before.policy == self.policy);
        self.memory = before.and_then(|before| before.memory).or(self.memory);
        self
    }
}
