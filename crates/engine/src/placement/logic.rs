//! The family's implementation of the interface that all families share.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::ledger::decision_number;
use super::{
    Cause, Decision, DecisionLedger, HubChange, HubObject, HubState, Input, Memory, Placement,
    Recorded, ScoreSource, Scores, decide, describe, explain, gather, presumed, readers, settle,
    why_not_decided, why_unknown,
};
use crate::seam::{
    Beginning, DecisionParts, FamilyState, Happened, InfluenceLimit, ObjectOf, Opening,
    PolicyDecision, PolicyFamily, ReasonText, Settlement, Start, Times, View, ViewMut,
};
use crate::{
    Action, Division, EndedScore, Field, Footprint, Identity, Occurrence, Outcome, Presumption,
    Reason, RuleExplanation, Value, Verdict, few,
};

/// The maximum number of clusters for which a decision without expressions takes a fraction of a millisecond.
const CHEAP_CLUSTERS: usize = 2_000;

/// Placements, as a family of policies.
#[derive(Clone, Copy, Debug)]
pub struct Placements;

impl PolicyFamily for Placements {
    const DECIDES_TOGETHER: bool = true;
    const FEEDS_BACK: bool = true;
    const INFLUENCE: InfluenceLimit = InfluenceLimit {
        at_once: 20,
        max_delay: SignedDuration::from_mins(10),
        interval: Some(SignedDuration::from_mins(5)),
    };

    type Policy = Placement;
    type Memory = Memory;
    type Extra = HubState;
    type Input<'w> = Input<'w>;
    type Decision = Decision;
    type Cause = Cause;
    type Record = Recorded;

    fn gather<'w>(view: View<'w, Self>, policy: &Identity, _: Opening<'w>) -> Option<Input<'w>> {
        gather(view, policy)
    }

    fn decide(input: &Input<'_>, now: Timestamp) -> Decision {
        decide(input, now)
    }

    fn open(view: View<'_, Self>, policy: &Identity, at: Opening<'_>) -> Option<Decision> {
        match gather(view, policy) {
            Some(input) => Some(decide(&input, at.now)),
            None => Decision::first(view, policy),
        }
    }

    fn is_costly(view: View<'_, Self>, policy: &Identity) -> bool {
        let is_large = view.state.extra.hub.clusters.len() > CHEAP_CLUSTERS;
        view.state.policy(policy).is_some_and(|it| is_large || it.has_expressions())
    }

    fn settle(
        state: &mut FamilyState<Self>,
        policy: &Identity,
        open: PolicyDecision<Self>,
        outcomes: &[Outcome],
        times: Times,
    ) -> Settlement<Self> {
        let wake_at = open.decision.wake_at;
        if !open.decision.is_decided {
            return Settlement { wake_at, ..Settlement::NOTHING };
        }
        let kept = state.extra.kept.others_count(policy);
        let object = state.policies.get_mut(policy);
        // The decision of an earlier spec does not apply to an edited placement.
        let object = object.filter(|it| it.policy.as_deref() == Some(&*open.policy));
        let memory = object.as_ref().and_then(|object| object.memory.clone());
        let settled = settle(policy, open.decision, outcomes, memory, times.opened_at);
        if let (Some(memory), Some(object)) = (settled.memory, object) {
            let known = memory.known.clone().within_limit(kept);
            state.extra.kept.note(policy, known.len());
            object.memory = Some(Memory { known, ..memory });
        }
        Settlement { recorded: settled.recorded, effects: settled.effects, wake_at }
    }

    /// A placement that ranks by the decisions of others reads all of them, so it connects all placements. It is
    /// equivalent that all others read the first of these placements.
    fn footprint(view: View<'_, Self>, policy: &Identity) -> Option<Footprint> {
        policy_of(view, policy)?;
        let index = &view.state.extra.index;
        let first = index.first_usable().filter(|_| index.has_balancing());
        let writes = vec![(policy.clone(), Field::Clusters)];
        Some(Footprint { reads: first.cloned().into_iter().collect(), writes })
    }

    fn describe(
        view: View<'_, Self>,
        policy: &Identity,
        reason: &Reason<Cause>,
    ) -> Option<ReasonText> {
        describe(view, policy, reason)
    }

    fn explain(
        view: View<'_, Self>,
        policy: &Identity,
        _: Option<&Identity>,
        now: Timestamp,
    ) -> Vec<RuleExplanation> {
        if let Some(why) = why_not_decided(view, policy) {
            let message = format!("not decided, so the PlacementDecisions are unchanged; {why}");
            return vec![whole(Verdict::Excluded, message)];
        }
        let Some(input) = gather(view, policy) else { return Vec::new() };
        let namespace = policy.namespace();
        let without_sets = match (input.bound_sets, input.sets.is_empty()) {
            (0, _) => format!("no ManagedClusterSet is bound to the namespace {namespace}"),
            (_, true) => {
                let sets = few(input.policy.cluster_sets.iter());
                format!("none of its sets is bound to the namespace {namespace}: {sets}")
            }
            _ if input.candidates.is_empty() => {
                format!("there is no cluster in its sets: {}", few(input.sets.iter()))
            }
            _ => return explain(&input, now),
        };
        vec![whole(Verdict::Excluded, without_sets)]
    }

    /// The score or the taint that changed the selection.
    fn occurrence(view: View<'_, Self>, policy: &Identity, record: &Recorded) -> Option<Happened> {
        let described = describe(view, policy, &record.reason);
        Some((Occurrence::Selects, described.and_then(|(rule, _)| rule)))
    }

    fn begin(view: ViewMut<'_, Self>, policies: &[&Identity], from: Beginning) -> Start<Self> {
        super::begin::begin(view.alone(), policies, from)
    }

    /// The decision of an earlier spec does not apply to a new spec.
    fn stored(object: ObjectOf<Self>, before: Option<ObjectOf<Self>>) -> ObjectOf<Self> {
        object.with_memory_of_same(before)
    }

    fn index(extra: &mut HubState, policy: &Identity, object: &ObjectOf<Self>) {
        extra.index.note(policy, object.policy.as_ref());
        extra.kept.note(policy, object.memory.as_ref().map_or(0, |it| it.known.len()));
    }

    fn remove(extra: &mut HubState, policy: &Identity) {
        extra.index.note(policy, None);
        extra.kept.note(policy, 0);
    }

    /// Only placements that rank by the decisions of others read these decisions.
    fn share(state: &FamilyState<Self>, part: &mut FamilyState<Self>) {
        if part.policies.is_empty() {
            return;
        }
        part.extra.hub = Arc::clone(&state.extra.hub);
        part.extra.decisions = if part.extra.index.has_balancing() {
            Arc::clone(&state.extra.decisions)
        } else {
            Arc::new(state.extra.decisions.part(part.policies.keys()))
        };
    }

    fn is_stopped(view: View<'_, Self>, policy: &Identity) -> bool {
        view.state.policies.contains_key(policy)
    }

    fn why_not_applied(view: View<'_, Self>, policy: &Identity) -> Option<String> {
        why_not_decided(view, policy)
    }

    fn ended_scores(view: View<'_, Self>, policy: &Identity, at: Timestamp) -> Vec<EndedScore> {
        let Some(input) = gather(view, policy) else { return Vec::new() };
        let mut ended = BTreeSet::new();
        for (prioritizer, scores) in input.policy.prioritizers.iter().zip(&input.add_on_scores) {
            let ScoreSource::AddOn { resource, .. } = &prioritizer.score else { continue };
            for (candidate, scores) in input.candidates.iter().zip(scores) {
                let end = scores.and_then(|it| it.valid_until);
                // An unreadable expiry is reported on the object itself.
                let end = end.filter(|end| *end <= at && *end != Scores::UNREADABLE);
                let (resource, cluster) = (Arc::clone(resource), Arc::clone(candidate.name));
                ended.extend(end.map(|end| EndedScore { resource, cluster, end }));
            }
        }
        ended.into_iter().collect()
    }

    fn presumptions(view: View<'_, Self>, policy: &Identity) -> Vec<Presumption> {
        let Some(input) = gather(view, policy) else { return Vec::new() };
        if let Some(why) = why_unknown(view, policy) {
            return vec![presumed::unknown_selection(policy, why)];
        }
        let is_steady = input.policy.prioritizers.iter().any(|it| it.score == ScoreSource::Steady);
        let presumption =
            (is_steady && input.decisions.is_empty()).then(|| presumed::first_selection(policy));
        presumption.into_iter().collect()
    }

    /// Whether the selection has changed the scores that led to it.
    fn decides_otherwise(
        view: View<'_, Self>,
        policy: &Identity,
        now: Timestamp,
    ) -> Option<RuleExplanation> {
        let input = gather(view, policy).filter(|it| !it.candidates.is_empty())?;
        let verdicts = explain(&input, now);
        if verdicts.iter().any(|it| it.verdict == Verdict::Error) {
            return None;
        }
        let own = super::decide::own_clusters(&input).map(|it| &**it).collect::<BTreeSet<_>>();
        let won = verdicts.iter().filter(|it| it.verdict == Verdict::Won);
        let won: BTreeSet<&str> = won.filter_map(|it| it.rule.as_deref()).collect();
        if input.decisions.is_empty() || own == won {
            return None;
        }
        let next = if won.is_empty() { "nothing".to_owned() } else { few(won) };
        let message = format!(
            "the next decision selects {next}: the current selection counts for Balance and Steady"
        );
        Some(whole(Verdict::Inactive, message))
    }

    fn divisions(view: View<'_, Self>, policy: &Identity) -> Vec<Division> {
        divisions(view, policy)
    }

    fn readers_of_object(view: View<'_, Self>, changed: &Identity) -> Vec<Identity> {
        readers(view, changed)
    }

    fn influenced_by(view: View<'_, Self>, policy: &Identity) -> Vec<Identity> {
        let balancing = view.state.extra.index.selecting_by_balance();
        balancing.filter(|it| *it != policy).cloned().collect()
    }
}

impl DecisionParts for Decision {
    fn actions(&self) -> &[Action] {
        &self.actions
    }

    fn take_actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }
}

pub(super) fn policy_of<'w>(
    view: View<'w, Placements>,
    policy: &Identity,
) -> Option<&'w Placement> {
    view.state.policy(policy).filter(|policy| policy.is_usable())
}

fn whole(verdict: Verdict, message: String) -> RuleExplanation {
    RuleExplanation::new(None, verdict, message)
}

/// Adds or replaces an object of a hub.
pub(crate) fn upsert_hub_object(state: &mut HubState, identity: Identity, object: HubObject) {
    let (namespace, name) = (Arc::from(identity.namespace()), Arc::from(identity.name()));
    let HubState { hub, decisions, .. } = state;
    // While a decision uses a snapshot, a changed part is copied. A decision itself changes no hub object.
    match object {
        HubObject::Cluster(cluster) => {
            Arc::make_mut(hub).clusters.insert(name, Arc::new(cluster));
        }
        HubObject::Set(set) => {
            Arc::make_mut(hub).sets.insert(name, set);
        }
        HubObject::Binding(set) => {
            Arc::make_mut(hub).bindings.entry(namespace).or_default().insert(name, set);
        }
        HubObject::Scores(scores) => {
            Arc::make_mut(hub).scores.entry(name).or_default().insert(namespace, scores);
        }
        HubObject::Decision(decision) => {
            Arc::make_mut(decisions).insert(identity, decision);
        }
    }
}

/// The change to an object of a hub, compared with the world.
#[must_use]
pub fn hub_change(
    view: View<'_, Placements>,
    identity: &Identity,
    object: &HubObject,
) -> HubChange {
    let is_known = match object {
        HubObject::Cluster(cluster) => {
            let known = view.state.extra.hub.clusters.get(identity.name());
            return known.map_or(HubChange::Any, |known| cluster.change_from(known));
        }
        HubObject::Decision(decision) => view.state.extra.decisions.get(identity) == Some(decision),
        HubObject::Set(_) | HubObject::Binding(_) | HubObject::Scores(_) => {
            view.state.extra.hub.has(identity, object)
        }
    };
    match object {
        _ if is_known => HubChange::None,
        HubObject::Scores(_) => HubChange::Reported,
        HubObject::Cluster(_)
        | HubObject::Set(_)
        | HubObject::Binding(_)
        | HubObject::Decision(_) => HubChange::Any,
    }
}

/// Removes an object of a hub.
pub(crate) fn remove_hub_object(state: &mut HubState, object: &Identity) {
    if object.kind() == "PlacementDecision" {
        Arc::make_mut(&mut state.decisions).remove(object);
    } else {
        Arc::make_mut(&mut state.hub).remove(object);
    }
}

/// The clusters that a placement has selected; `None` without a `PlacementDecision` of the placement.
pub(crate) fn selected(decisions: &DecisionLedger, placement: &Identity) -> Option<Value> {
    let own = decisions.for_placement(placement);
    let mut own =
        own.into_values().filter(|it| it.placement.as_deref() == Some(placement.name())).peekable();
    own.peek()?;
    Some(Value::Names(Arc::new(own.flat_map(|it| it.clusters.iter().cloned()).collect())))
}

/// The number of clusters in the decisions of a placement. A cluster in two decisions, such as one that moves between
/// them, counts twice.
#[must_use]
pub fn selected_clusters(view: View<'_, Placements>, placement: &Identity) -> usize {
    let own = view.state.extra.decisions.for_placement(placement).into_values();
    let own = own.filter(|it| it.placement.as_deref() == Some(placement.name()));
    own.map(|it| it.clusters.len()).sum()
}

/// The decisions of a placement, in the order of their groups.
fn divisions(view: View<'_, Placements>, placement: &Identity) -> Vec<Division> {
    let own = view.state.extra.decisions.for_placement(placement);
    let own = own.into_iter().filter(|(_, it)| it.placement.as_deref() == Some(placement.name()));
    let divisions = own.map(|(identity, decision)| Division {
        object: identity.name().into(),
        group: decision.group_index,
        group_name: Arc::clone(&decision.group),
        names: decision.clusters.to_vec(),
    });
    let mut divisions: Vec<Division> = divisions.collect();
    divisions.sort_by_key(|it| (it.group, decision_number(&it.object, placement.name())));
    divisions
}
