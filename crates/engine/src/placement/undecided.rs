//! Placements that are not decided: the reasons, and their existing decisions.

use std::collections::BTreeMap;

use super::gather::{bound_sets, gather, named_sets, unusable_set};
use super::ledger::decision_identity;
use super::logic::policy_of;
use super::{
    Cause, ClusterSet, Decision, KnownMatches, PlacementDecision, PlacementState, Placements,
    Satisfaction,
};
use crate::seam::View;
use crate::{Action, Exempt, Identity, Reason, Verdict};

/// The reason that a usable placement is not decided; `None` if it is decided.
pub(crate) fn why_not_decided(view: View<'_, Placements>, placement: &Identity) -> Option<String> {
    let policy = policy_of(view, placement)?;
    Some(match policy.standing {
        PlacementState::Disabled => "an annotation disables the placement".to_owned(),
        PlacementState::Terminating => "the placement is being deleted".to_owned(),
        PlacementState::Unusable => "its spec has an error".to_owned(),
        PlacementState::Active => match Exempt::for_policy(&view.objects.exempt, placement, None) {
            Some(exempt) => exempt.to_string(),
            None => {
                format!("the selector of its set {} cannot be used", unusable_set(view, placement)?)
            }
        },
    })
}

/// The reason that the selection of a placement is unknown; `None` if it is known, or if the placement is not decided.
/// A hub that was read contains all its clusters; files may lack some.
pub(crate) fn why_unknown(
    view: View<'_, Placements>,
    placement: &Identity,
) -> Option<&'static str> {
    let is_without = view.objects.seen_at.is_none() && view.state.extra.hub.clusters.is_empty();
    let is_unknown = is_without && gather(view, placement).is_some();
    is_unknown.then_some("there is no ManagedCluster in the files")
}

/// The reason that a placement with an error in its spec or set has too few clusters. Only its sets are considered, not
/// its spec.
#[must_use]
pub fn unsatisfied(view: View<'_, Placements>, placement: &Identity) -> Option<Satisfaction> {
    let policy = view.state.policies.get(placement)?.policy.as_deref()?;
    let hub = &*view.state.extra.hub;
    let bound = bound_sets(hub, placement.namespace());
    let sets = named_sets(policy, &bound);
    let members: Vec<_> = sets.iter().filter_map(|it| Some((*it, hub.sets.get(*it)?))).collect();
    let may_have_clusters = || {
        members.iter().any(|(_, set)| **set == ClusterSet::Unusable)
            || hub.clusters.values().any(|cluster| {
                !cluster.is_terminating && members.iter().any(|(it, set)| set.contains(it, cluster))
            })
    };
    Some(match () {
        () if bound.is_empty() => Satisfaction::NothingBound,
        () if sets.is_empty() => Satisfaction::NoneOfItsSets,
        () if !may_have_clusters() => Satisfaction::NoClusters,
        () => Satisfaction::NoneMatches,
    })
}

impl Decision {
    /// Creates an empty first `PlacementDecision` for a placement whose spec or set has had an error from the start, as
    /// Open Cluster Management does: consumers wait for a decision.
    pub(super) fn first(view: View<'_, Placements>, placement: &Identity) -> Option<Decision> {
        let policy = view.state.policies.get(placement)?.policy.as_deref()?;
        let has_error = match policy.standing {
            PlacementState::Unusable => true,
            PlacementState::Active => unusable_set(view, placement).is_some(),
            PlacementState::Disabled | PlacementState::Terminating => false,
        };
        let is_exempt = view.objects.exempt.get(placement).is_some();
        if !has_error
            || is_exempt
            || !view.state.extra.decisions.for_placement(placement).is_empty()
        {
            return None;
        }
        let name = format!("{}-decision-1", placement.name());
        let content = PlacementDecision {
            placement: Some(placement.name().into()),
            group_index: Some(0),
            ..PlacementDecision::default()
        };
        let decision = decision_identity(placement.namespace(), &name);
        Some(Decision {
            is_decided: false,
            actions: vec![Action::WriteDecision { decision, content: Box::new(content) }],
            clusters: Vec::new(),
            groups: Vec::new(),
            satisfaction: Satisfaction::NoneMatches,
            reason: Reason {
                rule: None,
                verdict: Verdict::Won,
                cause: Cause::Ranked { eligible: 0, selected: 0 },
                since: None,
                until: None,
            },
            change_cause: None,
            added: Vec::new(),
            removed: Vec::new(),
            explanations: Vec::new(),
            undated: Vec::new(),
            costly: BTreeMap::new(),
            known: KnownMatches::default(),
            wake_at: None,
        })
    }
}
