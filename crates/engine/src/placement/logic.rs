//! The family's implementation of the interface that all families share.

use std::collections::BTreeSet;
use std::sync::Arc;

use almanac_calendar::Zone;
use jiff::Timestamp;

use super::ledger::decision_number;
use super::{
    Decision, DecisionLedger, HubChange, HubObject, HubState, Memory, Placement, ScoreSource,
    Scores, decide, explain, gather, presumed, settle, why_not_decided, why_unknown,
};
use crate::answers::{Division, EndedScore, RuleExplanation};
use crate::beginning::{Beginning, RunStart};
use crate::families::{Logic, OpenDecision, Recorded};
use crate::seam::{Policies, PolicyFamily, PolicyObject};
use crate::turn::{Closed, PolicyDecision};
use crate::{
    Field, Footprint, Identity, Outcome, Presumption, Reach, Slim, TargetReference, Value, Verdict,
    World, few,
};

/// Placements, as a family of policies.
#[derive(Clone, Copy, Debug)]
pub struct Placements;

impl PolicyFamily for Placements {
    type Policy = Placement;
    type Memory = Memory;
    type Extra = HubState;
}

impl Logic for Placements {
    fn names<'w>(&self, world: &'w World) -> Box<dyn Iterator<Item = &'w Identity> + 'w> {
        Box::new(world.placement.policies.keys())
    }

    /// A placement that ranks by the decisions of others reads all of them, so it connects all placements. That
    /// they all read the first of them says as much.
    fn footprint(&self, world: &World, policy: &Identity) -> Option<Footprint> {
        policy_of(world, policy)?;
        let mut footprint = Footprint::default();
        footprint.writes.push((policy.clone(), Field::Clusters));
        let usable = || {
            let all = world.placement.policies.iter();
            all.filter_map(|(identity, object)| Some((identity, usable(object)?)))
        };
        if usable().any(|(_, policy)| policy.balances()) {
            footprint.reads.extend(usable().next().map(|(first, _)| first.clone()));
        }
        Some(footprint)
    }

    fn target(&self, _: &World, _: &Identity) -> Option<TargetReference> {
        None
    }

    fn zones(&self, _: &World, _: &Identity) -> Vec<(Option<Arc<str>>, Zone)> {
        Vec::new()
    }

    fn open(
        &self,
        world: &World,
        policy: &Identity,
        _: &Reach,
        now: Timestamp,
    ) -> Option<OpenDecision> {
        let decision = match gather(world, policy) {
            Some(input) => decide(&input, now),
            None => Decision::first(world, policy)?,
        };
        let policy = Arc::clone(world.placement.policies.get(policy)?.policy.as_ref()?);
        Some(OpenDecision::Placement(PolicyDecision { policy, decision }))
    }

    /// While everything is stopped, nothing falls due that could be missed.
    fn skip_stopped(
        &self,
        world: &mut World,
        policy: &Identity,
        _: Timestamp,
        _: Timestamp,
    ) -> Option<Closed> {
        world.placement.policies.get(policy)?;
        Some(Closed { recorded: Vec::new(), effects: Vec::new(), wake_at: None })
    }

    fn feeds_back(&self) -> bool {
        true
    }

    fn explain(
        &self,
        world: &World,
        policy: &Identity,
        _: Option<&Identity>,
        now: Timestamp,
    ) -> Vec<RuleExplanation> {
        if let Some(why) = why_not_decided(world, policy) {
            let message = format!("not decided, so what it has selected stays; {why}");
            return vec![whole(Verdict::Excluded, message)];
        }
        let Some(input) = gather(world, policy) else { return Vec::new() };
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

    /// What is selected has changed the very scores that it was selected by.
    fn decides_otherwise(
        &self,
        world: &World,
        policy: &Identity,
        now: Timestamp,
    ) -> Option<RuleExplanation> {
        let input = gather(world, policy).filter(|it| !it.candidates.is_empty())?;
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
            "when it is decided next, it selects {next}: what is selected counts for Balance and Steady"
        );
        Some(whole(Verdict::Inactive, message))
    }

    fn presumptions(&self, world: &World, policy: &Identity) -> Vec<Presumption> {
        let Some(input) = gather(world, policy) else { return Vec::new() };
        if let Some(why) = why_unknown(world, policy) {
            return vec![presumed::unknown_selection(policy, why)];
        }
        let is_steady = input.policy.prioritizers.iter().any(|it| it.score == ScoreSource::Steady);
        let afresh =
            (is_steady && input.decisions.is_empty()).then(|| presumed::selects_afresh(policy));
        afresh.into_iter().collect()
    }

    fn ended_scores(&self, world: &World, policy: &Identity, at: Timestamp) -> Vec<EndedScore> {
        let Some(input) = gather(world, policy) else { return Vec::new() };
        let mut ended = BTreeSet::new();
        for (prioritizer, scores) in input.policy.prioritizers.iter().zip(&input.add_on_scores) {
            let ScoreSource::AddOn { resource, .. } = &prioritizer.score else { continue };
            for (candidate, scores) in input.candidates.iter().zip(scores) {
                let end = scores.and_then(|it| it.valid_until);
                // One that cannot be read is told of the object itself.
                let end = end.filter(|end| *end <= at && *end != Scores::UNREADABLE);
                let (resource, cluster) = (Arc::clone(resource), Arc::clone(candidate.name));
                ended.extend(end.map(|end| EndedScore { resource, cluster, end }));
            }
        }
        ended.into_iter().collect()
    }

    fn influenced_by(&self, world: &World, policy: &Identity) -> Vec<Identity> {
        let balancing = world.placement.policies.iter().filter(|(identity, object)| {
            *identity != policy && usable(object).is_some_and(Placement::selects_by_balance)
        });
        balancing.map(|(identity, _)| identity.clone()).collect()
    }

    fn begin(&self, world: &mut World, policies: &[&Identity], beginning: Beginning) -> RunStart {
        super::begin::begin(world, policies, beginning)
    }

    fn known_until(&self, _: &World, _: &Identity) -> Option<Timestamp> {
        None
    }

    fn slim(&self, world: &World, policy: &Identity) -> Option<Slim> {
        world.placement.policies.get(policy).cloned().map(Slim::Placement)
    }

    fn remove(&self, world: &mut World, policy: &Identity) {
        world.placement.policies.remove(policy);
    }
}

pub(super) fn policy_of<'w>(world: &'w World, policy: &Identity) -> Option<&'w Placement> {
    usable(world.placement.policies.get(policy)?)
}

fn usable(object: &PolicyObject<Placement, Memory>) -> Option<&Placement> {
    object.policy.as_deref().filter(|policy| policy.is_usable())
}

fn whole(verdict: Verdict, message: String) -> RuleExplanation {
    RuleExplanation::new(None, verdict, message)
}

/// Holds a placement, with what is remembered of it. What an earlier spec was decided by says nothing
/// about a new one.
pub(crate) fn upsert(
    objects: &mut Policies<Placement, Memory>,
    identity: Identity,
    mut object: PolicyObject<Placement, Memory>,
) {
    let before = objects.remove(&identity).filter(|before| before.policy == object.policy);
    object.memory = before.and_then(|before| before.memory).or(object.memory);
    objects.insert(identity, object);
}

/// Holds an object of a hub.
pub(crate) fn upsert_hub_object(world: &mut World, identity: Identity, object: HubObject) {
    let (namespace, name) = (Arc::from(identity.namespace()), Arc::from(identity.name()));
    let hub = Arc::make_mut(&mut world.placement.extra.hub);
    match object {
        HubObject::Cluster(cluster) => {
            hub.clusters.insert(name, Arc::new(cluster));
        }
        HubObject::Set(set) => {
            hub.sets.insert(name, set);
        }
        HubObject::Binding(set) => {
            hub.bindings.entry(namespace).or_default().insert(name, set);
        }
        HubObject::Scores(scores) => {
            hub.scores.entry(name).or_default().insert(namespace, scores);
        }
        HubObject::Decision(decision) => world.placement.extra.decisions.insert(identity, decision),
    }
}

/// What is new about an object of a hub, compared with what the world has.
pub(crate) fn hub_change(world: &World, identity: &Identity, object: &HubObject) -> HubChange {
    let is_known = match object {
        HubObject::Cluster(cluster) => {
            let known = world.placement.extra.hub.clusters.get(identity.name());
            return known.map_or(HubChange::Any, |known| cluster.change_from(known));
        }
        HubObject::Decision(decision) => {
            world.placement.extra.decisions.get(identity) == Some(decision)
        }
        HubObject::Set(_) | HubObject::Binding(_) | HubObject::Scores(_) => {
            world.placement.extra.hub.has(identity, object)
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
pub(crate) fn remove_hub_object(world: &mut World, object: &Identity) {
    if object.kind() == "PlacementDecision" {
        world.placement.extra.decisions.remove(object);
    } else {
        Arc::make_mut(&mut world.placement.extra.hub).remove(object);
    }
}

/// What a placement has selected; `None` when there is no decision of it.
pub(crate) fn selected(decisions: &DecisionLedger, placement: &Identity) -> Option<Value> {
    let own = decisions.of_placement(placement);
    let mut own =
        own.into_values().filter(|it| it.placement.as_deref() == Some(placement.name())).peekable();
    own.peek()?;
    Some(Value::Names(Arc::new(own.flat_map(|it| it.clusters.iter().cloned()).collect())))
}

/// How many clusters the decisions of a placement have. One that is in two of them, as while it goes from one to the
/// other, counts twice.
#[must_use]
pub fn selected_clusters(world: &World, placement: &Identity) -> usize {
    let own = world.placement.extra.decisions.of_placement(placement).into_values();
    let own = own.filter(|it| it.placement.as_deref() == Some(placement.name()));
    own.map(|it| it.clusters.len()).sum()
}

/// The decisions of a placement, in the order of their groups.
pub(crate) fn divisions(world: &World, placement: &Identity) -> Vec<Division> {
    let own = world.placement.extra.decisions.of_placement(placement);
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

/// Settles an open turn.
pub(crate) fn close(
    world: &mut World,
    placement: &Identity,
    open: PolicyDecision<Placement, Decision>,
    outcomes: &[Outcome],
    opened_at: Timestamp,
) -> Closed {
    let wake_at = open.decision.wake_at;
    if !open.decision.is_decided {
        return Closed { recorded: Vec::new(), effects: Vec::new(), wake_at };
    }
    let kept = |(identity, object): (&Identity, &PolicyObject<Placement, Memory>)| {
        let memory = object.memory.as_ref().filter(|_| identity != placement);
        memory.map(|it| it.known.len())
    };
    let kept = world.placement.policies.iter().filter_map(kept).sum();
    let object = world.placement.policies.get_mut(placement);
    // What an edited one was decided by says nothing about what it is now.
    let object = object.filter(|it| it.policy.as_deref() == Some(&*open.policy));
    let memory = object.as_ref().and_then(|object| object.memory.clone());
    let settled = settle(placement, open.decision, outcomes, memory, opened_at);
    if let (Some(memory), Some(object)) = (settled.memory, object) {
        let known = memory.known.clone().beside(kept);
        object.memory = Some(Memory { known, ..memory });
    }
    let recorded = settled.recorded.into_iter().map(Recorded::Placement).collect();
    Closed { recorded, effects: settled.effects, wake_at }
}
