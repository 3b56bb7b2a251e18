//! Checks that a write of cron rules is the combination of their firings.
//!
//! The last firing that names a field sets the field. Another firing may move a bound only if it is later, sets the
//! other bound, and the two bounds would contradict each other.

use almanac_engine::cron_scaling::{
    Applied, CronRule, Decision, DesiredScale, FiringOutcome, Input, Recorded, TargetState,
};
use almanac_engine::{Action, Field, Target};
use jiff::Timestamp;

use crate::Violations;

pub(crate) fn check_write(
    violations: &mut Violations,
    input: &Input<'_>,
    now: Timestamp,
    decision: &Decision,
) {
    check_action(violations, input, decision);
    if matches!(input.target, TargetState::Missing | TargetState::Unreachable(_)) {
        check_nothing_can_be_done(violations, input, now, decision);
        return;
    }
    let firings = firings(input, decision);
    // An attempt that started before the clock was set back waits until the clock reaches the start again.
    let is_left_alone =
        decision.memory.rules.iter().any(|rule| {
            rule.pending.as_ref().is_some_and(|it| it.applying.is_none() && it.at <= now)
        });
    violations.unless(!is_left_alone || firings.is_empty(), || {
        format!("{firings:?} are applied, and others that are due are not")
    });
    for field in Field::for_target(&input.policy.target) {
        check_field(violations, input, *field, &firings);
    }
}

/// A firing with a share in the decision.
#[derive(Debug)]
struct Firing<'a> {
    at: Timestamp,
    index: usize,
    rule: &'a CronRule,
    /// The fields that the firing sets; `None` if the firing is superseded.
    applied: Option<Applied>,
}

impl Firing<'_> {
    fn order(&self) -> (Timestamp, usize) {
        (self.at, self.index)
    }

    fn names(&self, field: Field) -> Option<u32> {
        match (self.rule.desired, field) {
            (DesiredScale::Replicas(replicas), Field::Replicas) => Some(replicas),
            (DesiredScale::Bounds(bounds), Field::MinReplicas) => bounds.min(),
            (DesiredScale::Bounds(bounds), Field::MaxReplicas) => bounds.max(),
            _ => None,
        }
    }

    fn sets(&self, field: Field) -> Option<u32> {
        self.applied.and_then(|it| applied_to(it, field))
    }
}

/// The value that a firing set a field to; `None` if the firing did not set the field.
pub(crate) fn applied_to(applied: Applied, field: Field) -> Option<u32> {
    match field {
        Field::Replicas => applied.replicas(),
        Field::MinReplicas => applied.min(),
        Field::MaxReplicas => applied.max(),
        Field::Value | Field::QosLevel | Field::Clusters | Field::UnitPods | Field::PendingPods => {
            None
        }
    }
}

fn firings<'a>(input: &Input<'a>, decision: &Decision) -> Vec<Firing<'a>> {
    let rules = || input.policy.rules.iter().enumerate();
    let tried = rules().zip(&decision.memory.rules).filter_map(|((index, rule), memory)| {
        let pending = memory.pending.as_ref()?;
        Some(Firing { at: pending.at, index, rule, applied: Some(pending.applying?) })
    });
    let ended = decision.recorded.iter().filter_map(|it| {
        let Recorded::Ended { rule: name, execution } = it else { return None };
        let (index, rule) = rules().find(|(_, rule)| rule.name == *name)?;
        let applied = match &execution.ending {
            FiringOutcome::Done(applied) => Some(*applied),
            // A later firing of the same rule has superseded this firing: nothing remains to plan.
            FiringOutcome::Superseded { by } if by != name => None,
            _ => return None,
        };
        Some(Firing { at: execution.scheduled(), index, rule, applied })
    });
    tried.chain(ended).collect()
}

fn check_field(
    violations: &mut Violations,
    input: &Input<'_>,
    field: Field,
    firings: &[Firing<'_>],
) {
    let naming = firings.iter().filter(|it| it.names(field).is_some());
    let named = naming.max_by_key(|it| it.order());
    let mut holders = firings.iter().filter(|it| it.sets(field).is_some());
    let Some(holder) = holders.next() else {
        violations
            .unless(named.is_none(), || format!("{named:?} names {field}, and no rule sets it"));
        return;
    };
    violations.unless(holders.next().is_none(), || format!("{firings:?} set {field} twice"));
    let is_own = named.is_some_and(|named| named.order() == holder.order());
    let holds = if is_own {
        holder.sets(field) == holder.names(field)
    } else {
        moves(input, field, holder, named)
    };
    violations
        .unless(holds, || format!("{holder:?} sets {field}, which {named:?} is the last to name"));
}

/// Whether a firing may move a bound that the firing does not name, or that a later firing names.
fn moves(input: &Input<'_>, field: Field, holder: &Firing<'_>, named: Option<&Firing<'_>>) -> bool {
    let TargetState::Autoscaler(live) = input.target else { return false };
    let (other, in_the_way) = match field {
        Field::MinReplicas => (Field::MaxReplicas, live.min_replicas),
        Field::MaxReplicas => (Field::MinReplicas, live.max_replicas),
        Field::Replicas
        | Field::Value
        | Field::QosLevel
        | Field::Clusters
        | Field::UnitPods
        | Field::PendingPods => return false,
    };
    let Some(own) = holder.names(other) else { return false };
    let in_the_way = named.map_or(in_the_way, |named| named.names(field));
    let contradicts = in_the_way.is_some_and(|value| match field {
        Field::MaxReplicas => value < own,
        _ => value > own,
    });
    contradicts
        && holder.names(field).is_none()
        && named.is_none_or(|named| named.order() < holder.order())
        && holder.sets(other) == Some(own)
        && holder.sets(field) == Some(own)
        && holder.applied.is_some_and(Applied::moved_other_bound)
}

fn check_action(violations: &mut Violations, input: &Input<'_>, decision: &Decision) {
    let pending = decision.memory.rules.iter().filter_map(|it| it.pending.as_ref());
    let applying: Vec<_> = pending.filter_map(|it| it.applying).collect();
    let [action] = &decision.actions[..] else {
        violations.unless(decision.actions.is_empty(), || {
            format!("writes a target more than once: {:?}", decision.actions)
        });
        violations.unless(applying.is_empty(), || format!("applies {applying:?} without a write"));
        return;
    };
    let holds = match (action, &input.policy.target, input.target) {
        (
            Action::SetReplicas { target, replicas },
            Target::Workload(own),
            TargetState::Workload(live),
        ) => {
            target == own
                && live.replicas != Some(*replicas)
                && applying.iter().all(|it| it.replicas() == Some(*replicas))
                && applying.len() == 1
        }
        (
            Action::SetBounds { target, min, max },
            Target::Autoscaler(own),
            TargetState::Autoscaler(live),
        ) => {
            let comes_from_one =
                |written: Option<u32>, of: Vec<u32>| written.is_none_or(|value| of == [value]);
            let (low, high) = (min.or(live.min_replicas), max.or(live.max_replicas));
            target == own
                && (min.is_some() || max.is_some())
                && min.is_none_or(|min| live.min_replicas != Some(min))
                && max.is_none_or(|max| live.max_replicas != Some(max))
                && low.is_none_or(|low| high.is_none_or(|high| low <= high))
                && comes_from_one(*min, applying.iter().filter_map(|it| it.min()).collect())
                && comes_from_one(*max, applying.iter().filter_map(|it| it.max()).collect())
        }
        _ => false,
    };
    violations.unless(holds, || {
        format!("{action:?} is not what {applying:?} make of {:?}", input.target)
    });
}

/// If nothing can be written, every due firing waits for the next attempt, and has a reason.
fn check_nothing_can_be_done(
    violations: &mut Violations,
    input: &Input<'_>,
    now: Timestamp,
    decision: &Decision,
) {
    violations.unless(decision.actions.is_empty(), || {
        format!("does {:?} to {:?}", decision.actions, input.target)
    });
    for rule in &decision.memory.rules {
        let known = input.memory.map_or(&[][..], |memory| &memory.rules);
        let before = known.iter().find(|it| it.name == rule.name);
        let waits = rule.pending.as_ref().is_none_or(|pending| {
            // A write that was withdrawn before waits without a failed attempt.
            let is_as_before = before.is_some_and(|it| it.pending.as_ref() == Some(pending));
            pending.applying.is_none()
                && (is_as_before || (pending.attempts > 0 && pending.message.is_some()))
                && pending.retry_at > now
        });
        violations.unless(waits, || format!("{rule:?} does not wait for {:?}", input.target));
    }
    let TargetState::Unreachable(why) = input.target else { return };
    for one in &decision.recorded {
        let Recorded::AttemptFailed { message, .. } = one else { continue };
        violations.unless(message == why.message(), || format!("{one:?} is not for {why:?}"));
    }
}
