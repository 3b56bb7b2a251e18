//! One policy's turn: gather and decide, then let the caller carry the actions out, then settle.
//!
//! This is the whole loop, except for the writes. [`open`] gathers and decides; its actions are in the
//! [`OpenTurn`]. Between that and [`OpenTurn::close`], a controller writes to an API server, a forecast to its
//! world ([`take`]), and a test to whatever it likes. The result says when the policy wants its next turn, what
//! was recorded, and which fields were set by what.

use std::sync::Arc;

use jiff::Timestamp;

use crate::families::{EffectReason, OpenDecision, Recorded};
use crate::{Action, Field, Identity, Outcome, PolicyName, Reach, Value, World};

/// A turn whose actions are still to be carried out.
#[derive(Clone, Debug)]
#[must_use = "a turn that is not closed leaves no trace"]
pub struct OpenTurn {
    policy: PolicyName,
    at: Timestamp,
    decision: OpenDecision,
}

/// A policy as it was when its turn was opened, and what was decided for it.
#[derive(Clone, Debug)]
pub struct PolicyDecision<Policy, Decision> {
    /// The policy at that time.
    pub policy: Arc<Policy>,
    /// What was decided.
    pub decision: Decision,
}

/// The result of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The actions, with their outcomes.
    pub done: Vec<(Action, Outcome)>,
    /// What happened, one entry each: for Events, metrics and logs.
    pub recorded: Vec<Recorded>,
    /// Which fields were set, whether or not they had the value before.
    pub effects: Vec<Effect>,
    /// When the policy wants its next turn.
    pub wake_at: Option<Timestamp>,
}

/// A field that a policy has set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The object.
    pub target: Identity,
    /// The field.
    pub field: Field,
    /// What it is now.
    pub value: Value,
    /// Why.
    pub reason: EffectReason,
}

/// The result of settling a turn, besides the memory.
pub(crate) struct Closed {
    pub(crate) recorded: Vec<Recorded>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) wake_at: Option<Timestamp>,
}

/// Opens the turn of a policy. `None` when the world has no such policy, or nothing of it can be
/// used.
#[must_use]
pub fn open(world: &World, policy: &PolicyName, reach: &Reach, now: Timestamp) -> Option<OpenTurn> {
    let decision = policy.family.logic().open(world, &policy.identity, reach, now)?;
    Some(OpenTurn { policy: policy.clone(), at: now, decision })
}

/// A turn that carries out nothing that fell due up to `until`, because everything was stopped then:
/// this is recorded, and never made up for. `None` for a policy that changes nothing by itself; it has
/// its normal turns.
pub fn skip_stopped(
    world: &mut World,
    policy: &PolicyName,
    until: Timestamp,
    now: Timestamp,
) -> Option<Turn> {
    let logic = policy.family.logic();
    let closed = logic.skip_stopped(world, &policy.identity, until, now)?;
    let Closed { recorded, effects, wake_at } = closed;
    Some(Turn { done: Vec::new(), recorded, effects, wake_at })
}

/// A whole turn in which the world carries the actions out.
pub fn take(world: &mut World, policy: &PolicyName, now: Timestamp) -> Option<Turn> {
    let open = open(world, policy, &Reach::everything(), now)?;
    let outcomes = open.actions().iter().map(|action| world.apply(action)).collect();
    Some(open.close(world, outcomes, now))
}

impl OpenTurn {
    /// Whose turn it is.
    #[must_use]
    pub fn policy(&self) -> &PolicyName {
        &self.policy
    }

    /// When it was opened.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// The actions to carry out; closing the turn takes one outcome for each.
    #[must_use]
    pub fn actions(&self) -> &[Action] {
        self.decision.actions()
    }

    /// Until when, inclusively, the actions may be carried out; `None` when they never come too late.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        self.decision.deadline()
    }

    /// What was decided.
    #[must_use]
    pub fn decision(&self) -> &OpenDecision {
        &self.decision
    }

    /// What was decided, for tests that put a fault into it.
    pub fn decision_mut(&mut self) -> &mut OpenDecision {
        &mut self.decision
    }

    /// Settles the turn in the world, given what became of each action.
    ///
    /// The policy may have been edited since the turn was opened: the memory is settled by the
    /// policy at that time, and carried over by the next turn. The next wake is computed from the
    /// opening, so that anything due since then gets its turn at once.
    pub fn close(self, world: &mut World, outcomes: Vec<Outcome>, now: Timestamp) -> Turn {
        let OpenTurn { policy, at, mut decision } = self;
        let actions = decision.take_actions();
        let Closed { recorded, effects, wake_at } =
            decision.close(world, &policy.identity, &outcomes, at, now);
        Turn { done: actions.into_iter().zip(outcomes).collect(), recorded, effects, wake_at }
    }
}
