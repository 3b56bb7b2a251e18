//! Updates the policy state from the outcomes of the writes.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::{Cause, ChangeCause, Decision, KnownMatches, Satisfaction};
use crate::seam::Effect;
use crate::{Field, Identity, Outcome, Reason, RuleExplanation, Value};

/// The policy state between two decisions. The selection itself is in the `PlacementDecision`s.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Memory {
    /// The cause of the selection.
    pub reason: Reason<Cause>,
    /// The cluster that the reason concerns, if any.
    pub change_cause: Option<ChangeCause>,
    /// The instant of the last decision.
    pub decided_at: Timestamp,
    /// Whether the placement has the desired number of clusters.
    pub satisfaction: Satisfaction,
    /// The clusters with a taint that lacks the instant of its addition, and that would otherwise be tolerated for a
    /// limited time.
    pub undated: Arc<[Arc<str>]>,
    /// The clusters for which the expressions have used too many steps, and whether each was selected nevertheless.
    pub costly: Arc<BTreeMap<Arc<str>, bool>>,
    /// The verdicts of the predicates on clusters.
    pub known: KnownMatches,
    /// The selection before writes failed, in order, if it has not been reported since: some writes may have been
    /// applied.
    pub unreported: Option<Arc<[Arc<str>]>>,
}

/// A change of the clusters that a placement has selected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// The instant of the change.
    pub at: Timestamp,
    /// The newly selected clusters, in order.
    pub added: Vec<Arc<str>>,
    /// The clusters that are no longer selected, in order.
    pub removed: Vec<Arc<str>>,
    /// The number of selected clusters.
    pub selected: u32,
    /// The reason for the change.
    pub reason: Reason<Cause>,
    /// The explanations of some added or removed clusters, at that decision.
    pub explanations: Vec<RuleExplanation>,
}

/// The result of a decision and its outcomes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Settlement {
    /// The records.
    pub recorded: Vec<Recorded>,
    /// The selected clusters, whether or not a write was needed.
    pub effects: Vec<Effect<Reason<Cause>>>,
    /// The new policy state.
    pub memory: Option<Memory>,
}

/// Evaluates the outcomes of the writes. If any write has failed, the selection is between the old one and the desired
/// one. The next turn continues from there, and reports the whole change.
#[must_use]
pub fn settle(
    placement: &Identity,
    decision: Decision,
    outcomes: &[Outcome],
    memory: Option<Memory>,
    now: Timestamp,
) -> Settlement {
    let reason = decision.reason;
    let is_other = !decision.added.is_empty() || !decision.removed.is_empty();
    if !outcomes.iter().all(Outcome::is_as_wanted) {
        let memory = memory.unwrap_or_else(|| Memory {
            reason: reason.without_span(),
            change_cause: decision.change_cause.clone(),
            decided_at: now,
            satisfaction: decision.satisfaction,
            undated: Arc::default(),
            costly: Arc::default(),
            known: KnownMatches::default(),
            unreported: None,
        });
        let unreported = is_other.then(|| decision.last_reported().into());
        let memory = Memory { unreported, known: decision.known, ..memory };
        return Settlement { memory: Some(memory), ..Settlement::default() };
    }
    let value = Value::Names(Arc::new(decision.clusters.iter().cloned().collect()));
    let effect = Effect { target: placement.clone(), field: Field::Clusters, value, reason };
    let recorded = is_other.then(|| Recorded {
        at: now,
        selected: u32::try_from(decision.clusters.len()).unwrap_or(u32::MAX),
        added: decision.added,
        removed: decision.removed,
        reason,
        explanations: decision.explanations,
    });
    let memory = Memory {
        reason: reason.without_span(),
        change_cause: decision.change_cause,
        decided_at: now,
        satisfaction: decision.satisfaction,
        undated: decision.undated.into(),
        costly: Arc::new(decision.costly),
        known: decision.known,
        unreported: None,
    };
    Settlement {
        recorded: recorded.into_iter().collect(),
        effects: vec![effect],
        memory: Some(memory),
    }
}
