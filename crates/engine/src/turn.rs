//! One policy's turn in a world: gather, decide, apply, settle.
//!
//! This is the whole loop, with the outcomes a world gives that never fails. The forecast runs it
//! over a virtual clock; the controllers run the same steps with an API server between `apply` and
//! `settle`. The families meet here and nowhere else.

use jiff::Timestamp;

use crate::{Action, Identity, Outcome, Reason, World, cron_scaling, scheduled_capacity};

/// What a turn came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// What was done, and what became of it.
    pub done: Vec<(Action, Outcome)>,
    /// Why: what won.
    pub reasons: Reasons,
    /// When the policy wants its next turn.
    pub wake_at: Option<Timestamp>,
}

/// What won in a turn, in the terms of the policy's family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reasons {
    /// Of a policy that publishes a number by schedule.
    ScheduledCapacity(Vec<Reason<scheduled_capacity::Because>>),
    /// Of a policy that sets replicas or bounds by cron rules.
    CronScaling(Vec<Reason<cron_scaling::Because>>),
}

/// Lets a policy act on the world at `now`. `None` when the world has no such policy.
pub fn take(world: &mut World, policy: &Identity, now: Timestamp) -> Option<Turn> {
    take_with(world, policy, now, World::apply)
}

/// The same with somebody else to carry the actions out: a fault-injecting test, say.
pub fn take_with(
    world: &mut World,
    policy: &Identity,
    now: Timestamp,
    mut apply: impl FnMut(&mut World, &Action) -> Outcome,
) -> Option<Turn> {
    if let Some(input) = scheduled_capacity::gather(world, policy) {
        let decision = scheduled_capacity::decide(&input, now);
        let outcomes = apply_all(world, &decision.actions, &mut apply);
        let object = world.scheduled_capacities.get_mut(policy)?;
        object.memory = scheduled_capacity::settle(object.memory, decision.memory, &outcomes);
        let reasons = Reasons::ScheduledCapacity(decision.reasons);
        return Some(Turn::new(decision.actions, outcomes, reasons, decision.wake_at));
    }
    let input = cron_scaling::gather(world, policy)?;
    let decision = cron_scaling::decide(&input, now);
    let outcomes = apply_all(world, &decision.actions, &mut apply);
    let object = world.cron_scalings.get_mut(policy)?;
    let memory = cron_scaling::settle(&object.policy, decision.memory, &outcomes, now);
    let wake_at = cron_scaling::wake_at(&object.policy, &memory, now);
    object.memory = Some(memory);
    let reasons = Reasons::CronScaling(decision.reasons);
    Some(Turn::new(decision.actions, outcomes, reasons, wake_at))
}

fn apply_all(
    world: &mut World,
    actions: &[Action],
    mut apply: impl FnMut(&mut World, &Action) -> Outcome,
) -> Vec<Outcome> {
    actions.iter().map(|action| apply(world, action)).collect()
}

impl Turn {
    fn new(
        actions: Vec<Action>,
        outcomes: Vec<Outcome>,
        reasons: Reasons,
        wake_at: Option<Timestamp>,
    ) -> Turn {
        Turn { done: actions.into_iter().zip(outcomes).collect(), reasons, wake_at }
    }
}
