//! The objects that each placement reads, by its spec. Every change of a placement updates the index, so that neither a
//! footprint nor a change of an object iterates over all placements. `gather` determines the candidates of a placement.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Placement, ScoreSource};
use crate::Identity;
use almanac_expressions::ReadScores;

/// The placements of a world, by the objects that they read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlacementIndex {
    /// The indexed placements.
    placements: BTreeMap<Identity, Arc<Placement>>,
    /// The placements without an error.
    usable: BTreeSet<Identity>,
    /// The usable placements that rank by the selections of others.
    balancing: BTreeSet<Identity>,
    /// The balancing placements whose selection depends on the selections of others.
    selecting_by_balance: BTreeSet<Identity>,
    /// The placements that select by expressions.
    with_expressions: BTreeSet<Identity>,
    /// The placements that may read the scores in any object.
    any_score_readers: BTreeSet<Identity>,
    /// The placements that name an object with scores, by its name.
    score_readers: BTreeMap<Arc<str>, BTreeSet<Identity>>,
}

impl PlacementIndex {
    /// Records the current spec of a placement; `None` for a placement that was deleted or has no spec.
    pub(super) fn note(&mut self, identity: &Identity, placement: Option<&Arc<Placement>>) {
        if self.placements.get(identity) == placement {
            return;
        }
        if let Some(before) = self.placements.remove(identity) {
            self.remove(identity, &before);
        }
        if let Some(placement) = placement {
            self.placements.insert(identity.clone(), Arc::clone(placement));
            self.insert(identity, placement);
        }
    }

    fn insert(&mut self, identity: &Identity, placement: &Placement) {
        for object in named_scores(placement) {
            self.score_readers.entry(Arc::clone(object)).or_default().insert(identity.clone());
        }
        let is_usable = placement.is_usable();
        for (is_in, set) in [
            (is_usable, &mut self.usable),
            (is_usable && placement.balances(), &mut self.balancing),
            (is_usable && placement.selects_by_balance(), &mut self.selecting_by_balance),
            (placement.has_expressions(), &mut self.with_expressions),
            (reads_any_scores(placement), &mut self.any_score_readers),
        ] {
            if is_in {
                set.insert(identity.clone());
            }
        }
    }

    fn remove(&mut self, identity: &Identity, placement: &Placement) {
        for object in named_scores(placement) {
            if let Some(readers) = self.score_readers.get_mut(object) {
                readers.remove(identity);
                if readers.is_empty() {
                    self.score_readers.remove(object);
                }
            }
        }
        for set in [
            &mut self.usable,
            &mut self.balancing,
            &mut self.selecting_by_balance,
            &mut self.with_expressions,
            &mut self.any_score_readers,
        ] {
            set.remove(identity);
        }
    }

    /// Whether a placement ranks by the selections of others.
    pub(super) fn has_balancing(&self) -> bool {
        !self.balancing.is_empty()
    }

    /// The first placement without an error.
    pub(super) fn first_usable(&self) -> Option<&Identity> {
        self.usable.first()
    }

    /// The placements whose selection depends on those of others, in order.
    pub(super) fn selecting_by_balance(&self) -> impl Iterator<Item = &Identity> {
        self.selecting_by_balance.iter()
    }

    /// The placements that select by expressions, in order.
    pub(super) fn with_expressions(&self) -> impl Iterator<Item = &Identity> {
        self.with_expressions.iter()
    }

    /// Whether any placement may read the scores in the objects of this name.
    pub(super) fn reads_scores(&self, object: &str) -> bool {
        !self.any_score_readers.is_empty() || self.score_readers.contains_key(object)
    }

    /// The placements that may read the scores in the objects of this name.
    pub(super) fn score_readers(&self, object: &str) -> BTreeSet<&Identity> {
        let named = self.score_readers.get(object).into_iter().flatten();
        named.chain(&self.any_score_readers).collect()
    }
}

/// The objects whose scores a placement names, in a prioritizer or in an expression.
fn named_scores(placement: &Placement) -> impl Iterator<Item = &Arc<str>> {
    let ranked = placement.prioritizers.iter().filter_map(|it| match &it.score {
        ScoreSource::AddOn { resource, .. } => Some(resource),
        ScoreSource::Balance
        | ScoreSource::Steady
        | ScoreSource::AllocatableCpu
        | ScoreSource::AllocatableMemory => None,
    });
    let expressions = placement.predicates.iter().flat_map(|it| &it.expressions);
    let named = expressions.filter_map(|it| match it.read_scores() {
        ReadScores::Named(names) => Some(names),
        ReadScores::Any => None,
    });
    ranked.chain(named.flatten())
}

/// Whether an expression of a placement computes the name of an object with scores.
fn reads_any_scores(placement: &Placement) -> bool {
    let mut expressions = placement.predicates.iter().flat_map(|it| &it.expressions);
    expressions.any(|it| *it.read_scores() == ReadScores::Any)
}
