//! One policy's turn: gather and decide, then let the caller apply the actions, then settle.
//!
//! This is the whole loop, except for the writes. [`open`] gathers and decides; its actions are in the [`OpenTurn`].
//! The caller then applies the actions before [`OpenTurn::close`]: a controller writes to an API server, a forecast to
//! its world ([`take`]), and a test to any double. The result contains the instant of the next turn, the records, and
//! the fields that were set, with their reasons.

use std::sync::Arc;

use jiff::Timestamp;

use crate::families::{EffectReason, Recorded, World, WorldFamily, of_family};
use crate::seam::{
    DecisionParts as _, OpenDecision, Opening, PolicyDecision, PolicyFamily as _, Settlement, Times,
};
use crate::{Action, Identity, Outcome, PolicyName, Reach};

/// A turn whose actions are not yet applied.
#[derive(Clone, Debug)]
#[must_use = "a turn that is not closed leaves no trace"]
pub struct OpenTurn {
    policy: PolicyName,
    at: Timestamp,
    decision: OpenDecision,
}

/// The result of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The actions, each with its outcome.
    pub done: Vec<(Action, Outcome)>,
    /// The records, one entry each: for Events, metrics and logs.
    pub recorded: Vec<Recorded>,
    /// The fields with the desired value, even if no write changed them.
    pub effects: Vec<Effect>,
    /// The instant of the policy's next turn.
    pub wake_at: Option<Timestamp>,
}

/// A field that a policy has set.
pub type Effect = crate::seam::Effect<EffectReason>;

/// Opens the turn of a policy. `None` if the world does not contain the policy, or if no part of the policy is usable.
#[must_use]
pub fn open(world: &World, policy: &PolicyName, reach: &Reach, now: Timestamp) -> Option<OpenTurn> {
    let identity = &policy.identity;
    let decision = of_family!(policy.family, F => {
        OpenDecision::new(opened::<F>(world, identity, reach, now)?)
    });
    Some(OpenTurn { policy: policy.clone(), at: now, decision })
}

fn opened<F: WorldFamily>(
    world: &World,
    policy: &Identity,
    reach: &Reach,
    now: Timestamp,
) -> Option<PolicyDecision<F>> {
    let decision = F::open(world.view(), policy, Opening { now, reach })?;
    let policy = Arc::clone(F::state_in(world).policies.get(policy)?.policy.as_ref()?);
    Some(PolicyDecision { policy, decision })
}

/// A turn that skips every firing due up to `until`, because everything was stopped then. The firings are recorded as
/// stopped, and never applied later. `None` for a policy that changes no object by itself; that policy has its normal
/// turns.
pub fn skip_stopped(
    world: &mut World,
    policy: &PolicyName,
    until: Timestamp,
    now: Timestamp,
) -> Option<Turn> {
    of_family!(policy.family, F => skipped::<F>(world, &policy.identity, until, now))
}

fn skipped<F: WorldFamily>(
    world: &mut World,
    policy: &Identity,
    until: Timestamp,
    now: Timestamp,
) -> Option<Turn> {
    if !F::is_stopped(world.view(), policy) {
        return None;
    }
    let mut settlement = Settlement::NOTHING;
    if let Some((memory, skipped)) = F::skip_stopped(world.view(), policy, until, now) {
        F::view_mut(world).state.policies.get_mut(policy)?.memory = Some(memory);
        settlement = skipped;
    }
    Some(Turn::new::<F>(Vec::new(), settlement))
}

/// Runs a whole turn in which the world applies the actions.
pub fn take(world: &mut World, policy: &PolicyName, now: Timestamp) -> Option<Turn> {
    of_family!(policy.family, F => taken::<F>(world, &policy.identity, now))
}

fn taken<F: WorldFamily>(world: &mut World, policy: &Identity, now: Timestamp) -> Option<Turn> {
    let open = opened::<F>(world, policy, &Reach::everything(), now)?;
    let outcomes = open.decision.actions().iter().map(|action| world.apply(action)).collect();
    Some(settled(world, policy, open, outcomes, Times { opened_at: now, now }))
}

fn settled<F: WorldFamily>(
    world: &mut World,
    policy: &Identity,
    mut open: PolicyDecision<F>,
    outcomes: Vec<Outcome>,
    times: Times,
) -> Turn {
    // The settlement requires only the outcomes of the actions.
    let actions = open.decision.take_actions();
    let settlement = F::settle(F::view_mut(world).state, policy, open, &outcomes, times);
    Turn::new::<F>(actions.into_iter().zip(outcomes).collect(), settlement)
}

impl Turn {
    fn new<F: WorldFamily>(done: Vec<(Action, Outcome)>, settlement: Settlement<F>) -> Turn {
        let Settlement { recorded, effects, wake_at } = settlement;
        let recorded = recorded.into_iter().map(F::recorded).collect();
        let effects = effects.into_iter().map(|it| it.because(F::effect_reason)).collect();
        Turn { done, recorded, effects, wake_at }
    }
}

impl OpenTurn {
    /// The policy of the turn.
    #[must_use]
    pub fn policy(&self) -> &PolicyName {
        &self.policy
    }

    /// The instant at which the turn was opened.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// The actions to apply; closing the turn requires one outcome for each action.
    #[must_use]
    pub fn actions(&self) -> &[Action] {
        of_family!(self.policy.family, F => {
            self.decision.get::<F>().map_or(&[], |open| open.decision.actions())
        })
    }

    /// The last instant at which the actions may be applied; `None` when they are never too late.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        of_family!(self.policy.family, F => F::deadline(self.decision.get::<F>()?))
    }

    /// The decision of the turn.
    #[must_use]
    pub fn decision(&self) -> &OpenDecision {
        &self.decision
    }

    /// The mutable decision, for tests that inject a fault.
    pub fn decision_mut(&mut self) -> &mut OpenDecision {
        &mut self.decision
    }

    /// Settles the turn in the world, given the outcome of each action.
    ///
    /// The policy may have been edited since the turn was opened. The policy at the opening settles the policy state,
    /// and the next turn carries it over. The next turn is computed from the opening, so that a firing due since then
    /// gets its turn immediately.
    pub fn close(self, world: &mut World, outcomes: Vec<Outcome>, now: Timestamp) -> Turn {
        of_family!(self.policy.family, F => self.closed::<F>(world, outcomes, now))
    }

    fn closed<F: WorldFamily>(
        self,
        world: &mut World,
        outcomes: Vec<Outcome>,
        now: Timestamp,
    ) -> Turn {
        let OpenTurn { policy, at: opened_at, decision } = self;
        // The decision is of this family: `open` made it.
        let Some(open) = decision.into::<F>() else {
            return Turn::new::<F>(Vec::new(), Settlement::NOTHING);
        };
        settled(world, &policy.identity, open, outcomes, Times { opened_at, now })
    }
}
