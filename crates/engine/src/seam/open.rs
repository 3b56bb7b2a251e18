//! The decision of a turn, and the settlement that follows from the outcomes.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use jiff::Timestamp;

use super::PolicyFamily;
use crate::{Action, Decision, Field, Identity, Reach, Reason, Value};

/// The parts of a decision that every family has.
pub trait DecisionParts {
    /// The actions of the decision.
    fn actions(&self) -> &[Action];

    /// Removes and returns the actions; the settlement requires only their outcomes.
    fn take_actions(&mut self) -> Vec<Action>;
}

impl<Cause, Memory, Recorded> DecisionParts for Decision<Cause, Memory, Recorded> {
    fn actions(&self) -> &[Action] {
        &self.actions
    }

    fn take_actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }
}

/// A policy at the opening of its turn, and its decision.
#[derive(Clone, Debug)]
pub struct PolicyDecision<F: PolicyFamily> {
    /// The policy at the opening.
    pub policy: Arc<F::Policy>,
    /// The decision of the policy.
    pub decision: F::Decision,
}

/// The instant and the scope of the opening of a turn.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'w> {
    /// The instant of the opening.
    pub now: Timestamp,
    /// The objects that could not be fetched, and the scope of the turn.
    pub reach: &'w Reach,
}

/// The instants at which a turn was opened and is settled.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The instant at which the turn was opened.
    pub opened_at: Timestamp,
    /// The instant at which the turn is settled.
    pub now: Timestamp,
}

/// The result of a decision and its outcomes, except for the policy state.
#[derive(Clone, Debug)]
pub struct Settlement<F: PolicyFamily> {
    /// The records.
    pub recorded: Vec<F::Record>,
    /// The fields that were set.
    pub effects: Vec<Effect<Reason<F::Cause>>>,
    /// The instant of the policy's next turn.
    pub wake_at: Option<Timestamp>,
}

impl<F: PolicyFamily> Settlement<F> {
    /// A settlement without records, effects and a next turn.
    pub(crate) const NOTHING: Self =
        Settlement { recorded: Vec::new(), effects: Vec::new(), wake_at: None };
}

/// A field that a policy has set, with the reason in the terms of `R`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect<R> {
    /// The object.
    pub target: Identity,
    /// The field.
    pub field: Field,
    /// The current value.
    pub value: Value,
    /// The reason for the value.
    pub reason: R,
}

impl<R> Effect<R> {
    /// Converts the reason into other terms.
    pub(crate) fn because<S>(self, reason: impl FnOnce(R) -> S) -> Effect<S> {
        let Effect { target, field, value, reason: why } = self;
        Effect { target, field, value, reason: reason(why) }
    }
}

/// The decision of any family.
trait AnyDecision: Any + Debug + Send + Sync {
    fn boxed(&self) -> Box<dyn AnyDecision>;
}

impl<F: PolicyFamily> AnyDecision for PolicyDecision<F> {
    fn boxed(&self) -> Box<dyn AnyDecision> {
        Box::new(self.clone())
    }
}

/// The decision at the opening of a turn, with its policy. Only a turn that waits for an API server requires this type.
/// In a turn whose actions the world itself applies, the family is a type parameter throughout.
#[derive(Debug)]
pub struct OpenDecision(Box<dyn AnyDecision>);

impl Clone for OpenDecision {
    fn clone(&self) -> Self {
        Self(self.0.boxed())
    }
}

impl OpenDecision {
    pub(crate) fn new<F: PolicyFamily>(decision: PolicyDecision<F>) -> Self {
        Self(Box::new(decision))
    }

    /// The decision; `None` if its policy belongs to a different family.
    #[must_use]
    pub fn get<F: PolicyFamily>(&self) -> Option<&PolicyDecision<F>> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }

    /// The mutable decision, for tests that inject a fault.
    pub fn get_mut<F: PolicyFamily>(&mut self) -> Option<&mut PolicyDecision<F>> {
        let any: &mut dyn Any = &mut *self.0;
        any.downcast_mut()
    }

    pub(crate) fn into<F: PolicyFamily>(self) -> Option<PolicyDecision<F>> {
        let any: Box<dyn Any> = self.0;
        any.downcast().ok().map(|decision| *decision)
    }
}
