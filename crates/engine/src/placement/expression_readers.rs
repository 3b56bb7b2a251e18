//! The placements that may select a cluster by expressions, with the inputs of their evaluation. These are separate
//! from the world, so that a long evaluation needs no lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::gather::may_select;
use super::predicates::{AllScores, matched};
use super::shares::{STEPS_OF_A_CHANGE, evaluate_each};
use super::{
    Candidate, Cluster, Hub, KnownMatches, Matched, Placement, PlacementState, Placements,
};
use crate::seam::View;
use crate::{Family, Identity, PolicyName};

/// The placements that may select one cluster by expressions.
#[derive(Clone, Debug, Default)]
pub struct ExpressionReaders {
    cluster: Arc<str>,
    /// The scores of the cluster.
    scores: AllScores,
    readers: Vec<Reader>,
}

/// A placement that may select the cluster by expressions.
#[derive(Clone, Debug)]
struct Reader {
    identity: Identity,
    policy: Arc<Placement>,
    known: KnownMatches,
    /// Whether the placement's last decision treated the cluster as too costly.
    is_known_costly: bool,
}

impl ExpressionReaders {
    /// The readers of the cluster with this name.
    #[must_use]
    pub fn for_cluster(view: View<'_, Placements>, cluster: &str) -> ExpressionReaders {
        let readers = view.state.extra.index.with_expressions().filter_map(|identity| {
            let object = view.state.policies.get(identity)?;
            let policy = object.policy.as_ref()?;
            let is_active = policy.standing == PlacementState::Active;
            let known = || object.memory.as_ref().map(|it| it.known.clone()).unwrap_or_default();
            (is_active && may_select(view, identity, policy, cluster)).then(|| Reader {
                identity: identity.clone(),
                policy: Arc::clone(policy),
                known: known(),
                is_known_costly: is_known_costly(view, identity, cluster),
            })
        });
        let readers: Vec<Reader> = readers.collect();
        let extra = &view.state.extra;
        let scores = if readers.is_empty() {
            AllScores::new()
        } else {
            scores_of(&extra.hub, cluster, |object| extra.index.reads_scores(object))
        };
        ExpressionReaders { cluster: cluster.into(), scores, readers }
    }

    /// Whether no placement reads the cluster.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.readers.is_empty()
    }

    /// The names of the placements, in order.
    pub fn names(&self) -> impl Iterator<Item = PolicyName> {
        self.readers.iter().map(|it| PolicyName::new(Family::Placement, it.identity.clone()))
    }

    /// The verdicts of the placements' expressions on a version of the cluster at `now`, in order; `None` for too many
    /// steps. If the last decision of a placement treated the cluster as too costly, that is its result.
    #[must_use]
    pub fn matched(&self, version: &Arc<Cluster>, now: Timestamp) -> Vec<Option<Matched>> {
        let (name, scores) = (&self.cluster, &self.scores);
        let candidate =
            Candidate { name, cluster: version, is_selected: false, selected_by_others: 0 };
        let all = evaluate_each(STEPS_OF_A_CHANGE, self.readers.len(), |position, steps| {
            let Reader { policy, known, .. } = &self.readers[position];
            // The last turn before a change has usually evaluated the cluster already.
            let known = known.for_candidate(&candidate).and_then(|it| it.within(steps));
            known.unwrap_or_else(|| matched(policy, scores.into(), &candidate, now, steps))
        });
        let all = all.into_iter().zip(&self.readers);
        all.map(|(it, reader)| (reader.is_known_costly || !it.is_unfinished()).then_some(it))
            .collect()
    }

    /// The placements whose expressions distinguish two versions of the cluster, and those for which the comparison
    /// would take too many steps.
    #[must_use]
    pub fn concerned(
        &self,
        before: &Arc<Cluster>,
        after: &Arc<Cluster>,
        now: Timestamp,
    ) -> Vec<PolicyName> {
        let (before, after) = (self.matched(before, now), self.matched(after, now));
        let versions = self.names().zip(before.into_iter().zip(after));
        let concerned = versions.filter(|(_, (before, after))| after.is_none() || after != before);
        concerned.map(|(name, _)| name).collect()
    }

    /// The placements whose later decision no longer treated the cluster as too costly. It may be based on the
    /// previous version, so the result for the other version can differ.
    #[must_use]
    pub fn no_longer_costly(&self, view: View<'_, Placements>) -> Vec<PolicyName> {
        let names = self.names().zip(&self.readers);
        let decided = names.filter(|(name, reader)| {
            reader.is_known_costly && !is_known_costly(view, &name.identity, &self.cluster)
        });
        decided.map(|(name, _)| name).collect()
    }
}

/// Whether the last decision of a placement treated the cluster as too costly.
fn is_known_costly(view: View<'_, Placements>, placement: &Identity, cluster: &str) -> bool {
    let memory = view.state.policies.get(placement).and_then(|it| it.memory.as_ref());
    memory.is_some_and(|it| it.costly.contains_key(cluster))
}

/// The scores of a cluster in the objects that any placement may read.
fn scores_of(hub: &Hub, cluster: &str, is_read: impl Fn(&str) -> bool) -> AllScores {
    let objects = hub.scores.iter().filter(|(object, _)| is_read(object));
    let own = objects.filter_map(|(object, of_clusters)| {
        let (name, scores) = of_clusters.get_key_value(cluster)?;
        let own = BTreeMap::from([(Arc::clone(name), scores.clone())]);
        Some((Arc::clone(object), own))
    });
    own.collect()
}
