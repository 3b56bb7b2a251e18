//! The family's implementation of the interface that all families share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use almanac_calendar::Zone;
use jiff::Timestamp;

use super::gather::{Standing, labels_of, standing};
use super::reasons::policy_name;
use super::{
    AgentSettings, Decision, FollowingPod, Input, ListInForce, QosLevels, decide, explain, gather,
    gather_only, render, settle,
};
use crate::answers::{RuleExplanation, Unmatched};
use crate::beginning::{Beginning, RunStart};
use crate::families::{Logic, OpenDecision, Recorded};
use crate::schedules::{RuleSchedule, Schedule};
use crate::seam::{Policies, PolicyFamily, PolicyObject};
use crate::turn::{Closed, PolicyDecision};
use crate::{
    Consequence, Exempt, Field, Footprint, Identity, LabelSelector, Labels, Outcome, Presumption,
    Reach, Slim, TargetReference, Verdict, World,
};

/// Levels of pods, as a family of policies.
#[derive(Clone, Copy, Debug)]
pub struct Levels;

impl PolicyFamily for Levels {
    type Policy = QosLevels;
    type Memory = ();
    type Extra = AgentSettings;
}

/// The pods that a `ConfigMap` may ever change, with their nodes.
fn concerned<'a>(input: &Input<'a>) -> impl Iterator<Item = FollowingPod<'a>> {
    let without_labels = input.policy.in_force(Some(&Labels::default()));
    let mut known: BTreeMap<(Option<u32>, &Labels), bool> = BTreeMap::new();
    input.pods.iter().copied().filter(move |following| {
        let list = match following.list {
            // Whoever has no cluster takes it that such a node has no labels.
            ListInForce::UnknownNode => without_labels,
            known => known,
        };
        let labels = &following.pod.labels;
        let is_selected = match list {
            ListInForce::Known(entry, policies) => {
                *known.entry((entry, labels)).or_insert_with(|| {
                    policies.iter().any(|it| it.is_enabled && it.selector.selects(labels))
                })
            }
            ListInForce::Unusable | ListInForce::UnknownNode => false,
        };
        is_selected || following.pod.is_marked()
    })
}

impl Logic for Levels {
    fn names<'w>(&self, world: &'w World) -> Box<dyn Iterator<Item = &'w Identity> + 'w> {
        Box::new(world.qos_levels.policies.keys())
    }

    /// One that does not count belongs to the one that does: without that, it would count.
    fn footprint(&self, world: &World, policy: &Identity) -> Option<Footprint> {
        let input = match standing(world, policy) {
            Standing::InForce => gather(world, policy)?,
            Standing::After(first) => gather(world, first)?,
            Standing::Elsewhere => return None,
        };
        let mut footprint = Footprint::default();
        for FollowingPod { identity, .. } in concerned(&input) {
            footprint.writes.push((identity.clone(), Field::QosLevel));
        }
        Some(footprint)
    }

    fn target(&self, _: &World, _: &Identity) -> Option<TargetReference> {
        None
    }

    fn zones(&self, world: &World, policy: &Identity) -> Vec<(Option<Arc<str>>, Zone)> {
        let Some(levels) = policy_of(world, policy) else { return Vec::new() };
        let policies = levels.lists().flat_map(|(_, list)| list);
        policies.map(|it| (Some(Arc::clone(&it.name)), it.windows.zone())).collect()
    }

    /// Positions are counted through all lists, in the order of [`QosLevels::lists`].
    fn schedules(&self, world: &World, policy: &Identity) -> Vec<RuleSchedule> {
        let Some(levels) = policy_of(world, policy) else { return Vec::new() };
        let policies = (0..).zip(levels.lists().flat_map(|(_, list)| list));
        let schedules = policies.map(|(position, it)| RuleSchedule {
            rule: Arc::clone(&it.name),
            position,
            is_off: !it.is_enabled,
            schedule: Schedule::Windows(it.windows.clone()),
            ranked: None,
            asks_for: Some(it.target.number().into()),
            sets: Vec::new(),
        });
        schedules.collect()
    }

    fn unmatched(&self, world: &World, policy: &Identity) -> Vec<Unmatched> {
        let Some(levels) = policy_of(world, policy) else { return Vec::new() };
        let policies = (0..).zip(levels.lists().flat_map(|(_, list)| list));
        let seen = world.objects.pods.len();
        let is_idle = |selector: &LabelSelector| {
            seen > 0 && !world.objects.pods.values().any(|pod| selector.selects(&pod.labels))
        };
        let idle = policies.filter(|(_, it)| it.is_enabled && is_idle(&it.selector));
        idle.map(|(position, _)| Unmatched { position: Some(position), what: "pods", seen })
            .collect()
    }

    fn follows_schedules(&self) -> bool {
        true
    }

    fn open(
        &self,
        world: &World,
        policy: &Identity,
        reach: &Reach,
        now: Timestamp,
    ) -> Option<OpenDecision> {
        let input = match reach.only_object() {
            Some(pod) => gather_only(world, policy, pod)?,
            None => gather(world, policy)?,
        };
        let decision = decide(&input, now);
        let policy = Arc::clone(world.qos_levels.policies.get(policy)?.policy.as_ref()?);
        Some(OpenDecision::QosLevels(PolicyDecision { policy, decision }))
    }

    /// While everything is stopped, nothing falls due that could be missed.
    fn skip_stopped(
        &self,
        world: &mut World,
        policy: &Identity,
        _: Timestamp,
        _: Timestamp,
    ) -> Option<Closed> {
        policy_of(world, policy)?;
        Some(Closed { recorded: Vec::new(), effects: Vec::new(), wake_at: None })
    }

    fn explain(
        &self,
        world: &World,
        policy: &Identity,
        object: Option<&Identity>,
        now: Timestamp,
    ) -> Vec<RuleExplanation> {
        let Some(levels) = policy_of(world, policy) else { return Vec::new() };
        if let Some(message) = why_not_carried_out(world, policy) {
            return vec![whole(Verdict::Excluded, message)];
        }
        let Some(input) = gather(world, policy) else { return Vec::new() };
        let Some(object) = object.filter(|object| *object != policy) else {
            return explain_lists(levels, now);
        };
        let Some(following) = input.pods.iter().find(|it| it.identity == object) else {
            return why_left_alone(world, object)
                .map(|why| whole(Verdict::Excluded, why))
                .into_iter()
                .collect();
        };
        let reasons = explain(following, now);
        let lines = reasons.iter().map(|reason| RuleExplanation {
            rule: policy_name(levels, reason),
            position: reason.rule,
            verdict: reason.verdict,
            message: render(levels, reason),
            since: reason.since,
            until: reason.until,
            scored: None,
            answered: None,
        });
        lines.collect()
    }

    fn presumptions(&self, world: &World, policy: &Identity) -> Vec<Presumption> {
        let Some(input) = gather(world, policy) else { return Vec::new() };
        let mut nodes: BTreeSet<Arc<str>> = BTreeSet::new();
        let mut presumed = Vec::new();
        for FollowingPod { identity, pod, .. } in concerned(&input) {
            if pod.is_template {
                presumed.push(template_stands_for_pods(identity));
            }
            let unknown = pod.node.as_ref().filter(|node| labels_of(world, node).is_none());
            nodes.extend(unknown.filter(|_| input.policy.asks_for_node_labels()).cloned());
        }
        presumed.extend(nodes.iter().map(Presumption::node_without_labels));
        presumed
    }

    fn begin(&self, world: &mut World, policies: &[&Identity], beginning: Beginning) -> RunStart {
        super::begin::begin(world, policies, beginning)
    }

    fn known_until(&self, _: &World, _: &Identity) -> Option<Timestamp> {
        None
    }

    fn slim(&self, world: &World, policy: &Identity) -> Option<Slim> {
        world.qos_levels.policies.get(policy).cloned().map(Slim::QosLevels)
    }

    fn remove(&self, world: &mut World, policy: &Identity) {
        world.qos_levels.policies.remove(policy);
    }
}

fn policy_of<'w>(world: &'w World, policy: &Identity) -> Option<&'w QosLevels> {
    world.qos_levels.policies.get(policy)?.policy.as_deref()
}

/// No pods of a workload are in sight, so its template stands for them.
fn template_stands_for_pods(workload: &Identity) -> Presumption {
    let sentence =
        format!("{workload} has no pods here; its pod template stands for them, without a node");
    Presumption::new(2, [workload], sentence)
        .with_subject(workload.to_string())
        .with_consequence(Consequence::Only(workload.clone()))
}

fn whole(verdict: Verdict, message: String) -> RuleExplanation {
    RuleExplanation::new(None, verdict, message)
}

/// Why nothing comes of a `ConfigMap`, if nothing does.
pub(crate) fn why_not_carried_out(world: &World, config: &Identity) -> Option<String> {
    match standing(world, config) {
        Standing::InForce => {
            let exempt = Exempt::of(&world.objects.exempt, config, None)?;
            Some(format!("not carried out; {exempt}"))
        }
        Standing::After(first) => {
            Some(format!("not carried out; {first} is there too, and counts"))
        }
        Standing::Elsewhere => {
            let namespace = world.qos_levels.extra.config_namespace.as_deref().unwrap_or_default();
            Some(format!("not carried out; the agent's ConfigMap is in the namespace {namespace}"))
        }
    }
}

/// Why no policy is about an object, although it is there.
fn why_left_alone(world: &World, object: &Identity) -> Option<String> {
    let pod = world.objects.pods.get(object)?;
    if let Some(why) = pod.left_alone {
        let why = match why {
            super::LeftAlone::Finished => "the pod has run to its end",
            super::LeftAlone::Terminating => "the pod is being deleted",
            super::LeftAlone::Mirror => "the pod is a mirror of one that its node runs by itself",
        };
        return Some(format!("it stays as it is; {why}"));
    }
    world.objects.exempt.of(object).map(|why| format!("it stays as it is; {}", Exempt::Target(why)))
}

/// The state of every policy, whatever the pods.
fn explain_lists(levels: &QosLevels, now: Timestamp) -> Vec<RuleExplanation> {
    let policies = (0..).zip(levels.lists().flat_map(|(_, list)| list));
    let lines = policies.map(|(position, policy)| {
        let windows = &policy.windows;
        let (verdict, state) = match (policy.is_enabled, windows.is_open(now)) {
            (false, _) => (Verdict::Inactive, "disabled"),
            (true, false) => (Verdict::Inactive, "closed"),
            (true, true) => (Verdict::Won, "open"),
        };
        let message = format!(
            "{}: {state}; {} at level {}",
            windows.describe(),
            policy.selector,
            policy.target
        );
        let change = Some(windows).filter(|_| policy.is_enabled);
        RuleExplanation {
            rule: Some(Arc::clone(&policy.name)),
            position: Some(position),
            verdict,
            message,
            since: change.and_then(|it| it.previous_transition(now)).map(|it| it.at),
            until: change.and_then(|it| it.next_transition(now)).map(|it| it.at),
            scored: None,
            answered: None,
        }
    });
    lines.collect()
}

/// Holds an object, with the last usable form of what cannot be used in it.
pub(crate) fn upsert(
    objects: &mut Policies<QosLevels, ()>,
    identity: Identity,
    mut object: PolicyObject<QosLevels, ()>,
) {
    let before = objects.remove(&identity).and_then(|before| before.policy);
    object.policy = match (object.policy, before) {
        (Some(policy), Some(before)) => Some(Arc::new(policy.as_ref().clone().keeping(&before))),
        (policy, before) => policy.or(before),
    };
    objects.insert(identity, object);
}

/// Settles an open turn.
pub(crate) fn close(
    open: PolicyDecision<QosLevels, Decision>,
    outcomes: &[Outcome],
    opened_at: Timestamp,
) -> Closed {
    let wake_at = open.decision.wake_at;
    let settled = settle(open.decision, outcomes, opened_at);
    let recorded = settled.recorded.into_iter().map(Recorded::QosLevels).collect();
    Closed { recorded, effects: settled.effects, wake_at }
}
