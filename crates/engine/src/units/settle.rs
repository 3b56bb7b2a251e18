//! The results of the scheduling simulation: the numbers that have changed, and the units that have become full.

use std::sync::Arc;

use jiff::Timestamp;

use super::ResourcePolicy;
use super::filling::Filling;
use super::reasons::{Cause, UnitSet};
use crate::seam::Effect;
use crate::{Field, Identity, Reason, Value};

/// The policy state between two decisions: the last report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Memory {
    /// The pods in each unit.
    pub unit_pods: Value,
    /// The pending pods.
    pub pending_pods: Value,
    /// The units that were full while pods were in later units.
    pub full: UnitSet,
}

/// A unit has become full, so that pods go to other nodes, or is no longer full.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// The instant of the change.
    pub at: Timestamp,
    /// The name of the unit.
    pub unit: Arc<str>,
    /// Whether it is full.
    pub is_full: bool,
}

/// The results of a scheduling simulation.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Settlement {
    /// The records.
    pub recorded: Vec<Recorded>,
    /// The numbers that have changed.
    pub effects: Vec<Effect<Reason<Cause>>>,
}

/// The changes since the last report.
#[must_use]
pub fn settle(
    identity: &Identity,
    policy: &ResourcePolicy,
    filling: &Filling,
    memory: Option<&Memory>,
    now: Timestamp,
) -> Settlement {
    let effect = |field, value: &Value| {
        let is_about_waiting = field == Field::PendingPods;
        let cause = Cause { is_about_waiting, ..filling.reason.cause };
        let rule = filling.reason.rule.filter(|_| !is_about_waiting);
        let reason = Reason { rule, cause, ..filling.reason };
        Effect { target: identity.clone(), field, value: value.clone(), reason }
    };
    let mut settled = Settlement::default();
    if memory.is_none_or(|memory| memory.unit_pods != filling.unit_pods) {
        settled.effects.push(effect(Field::UnitPods, &filling.unit_pods));
    }
    if memory.is_none_or(|memory| memory.pending_pods != filling.pending_pods) {
        settled.effects.push(effect(Field::PendingPods, &filling.pending_pods));
    }
    // At the start of a run, a full unit is not a change.
    let Some(before) = memory.map(|memory| memory.full) else { return settled };
    let full = filling.reason.cause.full;
    for (unit_index, unit) in policy.units.iter().enumerate() {
        let is_closed = unit.max == Some(0);
        if full.contains(unit_index) != before.contains(unit_index) && !is_closed {
            let (unit, is_full) = (Arc::clone(&unit.name), full.contains(unit_index));
            settled.recorded.push(Recorded { at: now, unit, is_full });
        }
    }
    settled
}
