//! Requirements on a settled publication of a schedule's number.

use almanac_engine::scheduled_capacity::{Decision, PublishedNumber, Recorded, ScheduledCapacity};
use almanac_engine::turn::Turn;
use almanac_engine::{
    self as engine, EffectReason, Field, Identity, Occurrence, Outcome, Value, Verdict, World,
};
use jiff::Timestamp;

use crate::Violations;

/// A turn of a schedule that was opened and closed.
#[derive(Clone, Copy, Debug)]
pub struct ClosedSchedule<'a> {
    /// The schedule.
    pub identity: &'a Identity,
    /// The policy when the turn was opened.
    pub policy: &'a ScheduledCapacity,
    /// The instant.
    pub opened_at: Timestamp,
    /// The number published before.
    pub before: Option<PublishedNumber>,
    /// The decision.
    pub decision: &'a Decision,
    /// The outcome of each action.
    pub outcomes: &'a [Outcome],
    /// The result of the turn.
    pub turn: &'a Turn,
    /// The world after the turn.
    pub world: &'a World,
}

/// Checks the result of a closed turn.
#[must_use]
pub fn check_schedule_settled(closed: &ClosedSchedule<'_>) -> Violations {
    let mut violations = Violations::default();
    let ClosedSchedule { before, decision, outcomes, turn, .. } = *closed;
    let is_published = outcomes.iter().all(Outcome::is_as_wanted);
    let object = closed.world.scheduled_capacity.policies.get(closed.identity);
    let after = object.and_then(|object| object.memory);
    let expected = if is_published { Some(decision.memory) } else { before };
    violations.unless(after == expected, || {
        format!("with {outcomes:?}, {:?} is settled as {after:?}", decision.memory)
    });
    violations.unless(turn.wake_at == decision.wake_at, || {
        format!("wakes at {:?} instead of {:?}", turn.wake_at, decision.wake_at)
    });
    let done = decision.actions.iter().cloned().zip(outcomes.iter().cloned());
    violations.unless(done.eq(turn.done.iter().cloned()), || {
        format!("{:?} is not what was done", turn.done)
    });
    check_effects(&mut violations, closed, is_published);
    check_recorded(&mut violations, closed, is_published);
    violations
}

/// A published number is the only effect, with its value in the world after the turn.
fn check_effects(violations: &mut Violations, closed: &ClosedSchedule<'_>, is_published: bool) {
    let PublishedNumber { value, winner, .. } = closed.decision.memory;
    let effects = &closed.turn.effects;
    let holds = match &effects[..] {
        [] => !is_published,
        [effect] => {
            let is_why = matches!(effect.reason, EffectReason::ScheduledCapacity(reason)
                if reason.verdict == Verdict::Won && reason.rule == winner);
            is_published
                && is_why
                && effect.target == *closed.identity
                && effect.field == Field::Value
                && effect.value == Value::Number(value)
                && Field::Value.read(closed.world, closed.identity) == Some(Value::Number(value))
        }
        _ => false,
    };
    violations.unless(holds, || format!("{effects:?} are not the effects of {value}"));
}

/// Only a change of winner is recorded, once it is published.
fn check_recorded(violations: &mut Violations, closed: &ClosedSchedule<'_>, is_published: bool) {
    let (before, after) = (closed.before, closed.decision.memory);
    let is_another = is_published && before.is_none_or(|before| before.winner != after.winner);
    let recorded = &closed.turn.recorded;
    let holds = match &recorded[..] {
        [] => !is_another,
        [engine::Recorded::ScheduledCapacity(it)] => {
            is_another
                && it.at == closed.opened_at
                && it.before == before
                && it.published == after
                && is_what_happened(closed, *it)
        }
        _ => false,
    };
    violations.unless(holds, || format!("records {recorded:?} when {before:?} becomes {after:?}"));
}

/// A behavior that opens wins. A behavior that closes had won before, and is closed now. A behavior that was never
/// published cannot close.
fn is_what_happened(closed: &ClosedSchedule<'_>, recorded: Recorded) -> bool {
    let won_before = closed.before.and_then(|before| before.winner);
    let is_open = |index: u32| {
        let behavior = closed.policy.behaviors.get(index as usize);
        behavior.is_some_and(|it| it.windows.is_open(closed.opened_at))
    };
    match recorded.occurrence(closed.policy) {
        (Occurrence::Opens, Some(index)) => closed.decision.memory.winner == Some(index),
        (Occurrence::Closes, Some(index)) => won_before == Some(index) && !is_open(index),
        (Occurrence::Closes, None) => closed.before.is_none(),
        _ => false,
    }
}
