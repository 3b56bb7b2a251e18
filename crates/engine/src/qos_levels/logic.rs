//! The family's implementation of the interface that all families share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use almanac_calendar::Zone;
use jiff::Timestamp;

use super::gather::{ConfigMapRole, labels_of, role};
use super::reasons::policy_name;
use super::{
    AgentSettings, Cause, Decision, FollowingPod, Input, ListInForce, QosLevels, Recorded, decide,
    explain, gather, gather_only, render, settle,
};
use crate::seam::{
    Beginning, DecisionParts, FamilyState, Happened, ObjectOf, Opening, PolicyDecision,
    PolicyFamily, ReasonText, Settlement, Start, Times, View, ViewMut,
};
use crate::{
    Action, Consequence, Exempt, Field, Footprint, Identity, LabelSelector, Labels, Outcome,
    Policies, Presumption, Reason, RuleExplanation, RuleSchedule, Schedule, Unmatched, Verdict,
};

/// Levels of pods, as a family of policies.
#[derive(Clone, Copy, Debug)]
pub struct Levels;

/// The pods that a `ConfigMap` can change at any time, with their nodes.
fn concerned<'a>(input: &Input<'a>) -> impl Iterator<Item = FollowingPod<'a>> {
    let without_labels = input.policy.in_force(Some(&Labels::default()));
    let mut results: BTreeMap<(Option<u32>, &Labels), bool> = BTreeMap::new();
    input.pods.iter().copied().filter(move |following| {
        let list = match following.list {
            // Without a cluster, a node of which only the name is known is assumed to have no labels.
            ListInForce::UnknownNode => without_labels,
            results => results,
        };
        let labels = &following.pod.labels;
        let is_selected = match list {
            ListInForce::Known(entry, policies) => {
                *results.entry((entry, labels)).or_insert_with(|| {
                    policies.iter().any(|it| it.is_enabled && it.selector.selects(labels))
                })
            }
            ListInForce::Unusable | ListInForce::UnknownNode => false,
        };
        is_selected || following.pod.is_marked()
    })
}

impl PolicyFamily for Levels {
    const DECIDES_TOGETHER: bool = true;
    const FOLLOWS_SCHEDULES: bool = true;

    type Policy = QosLevels;
    type Memory = ();
    type Extra = AgentSettings;
    type Input<'w> = Input<'w>;
    type Decision = Decision;
    type Cause = Cause;
    type Record = Recorded;

    fn gather<'w>(view: View<'w, Self>, policy: &Identity, at: Opening<'w>) -> Option<Input<'w>> {
        match at.reach.only_object() {
            Some(pod) => gather_only(view, policy, pod),
            None => gather(view, policy),
        }
    }

    fn decide(input: &Input<'_>, now: Timestamp) -> Decision {
        decide(input, now)
    }

    fn settle(
        _: &mut FamilyState<Self>,
        _: &Identity,
        open: PolicyDecision<Self>,
        outcomes: &[Outcome],
        times: Times,
    ) -> Settlement<Self> {
        let wake_at = open.decision.wake_at;
        let settled = settle(open.decision, outcomes, times.opened_at);
        Settlement { recorded: settled.recorded, effects: settled.effects, wake_at }
    }

    /// A `ConfigMap` that is not in effect depends on the one in effect: without that one, it would be in effect.
    fn footprint(view: View<'_, Self>, policy: &Identity) -> Option<Footprint> {
        let input = match role(view, policy) {
            ConfigMapRole::InForce => gather(view, policy)?,
            ConfigMapRole::After(first) => gather(view, first)?,
            ConfigMapRole::OtherNamespace => return None,
        };
        let mut footprint = Footprint::default();
        for FollowingPod { identity, .. } in concerned(&input) {
            footprint.writes.push((identity.clone(), Field::QosLevel));
        }
        Some(footprint)
    }

    fn describe(
        view: View<'_, Self>,
        policy: &Identity,
        reason: &Reason<Cause>,
    ) -> Option<ReasonText> {
        let levels = view.state.policy(policy)?;
        Some((policy_name(levels, reason), render(levels, reason)))
    }

    fn explain(
        view: View<'_, Self>,
        policy: &Identity,
        object: Option<&Identity>,
        now: Timestamp,
    ) -> Vec<RuleExplanation> {
        let Some(levels) = view.state.policy(policy) else { return Vec::new() };
        if let Some(message) = why_not_applied(view, policy) {
            return vec![whole(Verdict::Excluded, message)];
        }
        let Some(input) = gather(view, policy) else { return Vec::new() };
        let Some(object) = object.filter(|object| *object != policy) else {
            return explain_lists(levels, now);
        };
        let Some(following) = input.pods.iter().find(|it| it.identity == object) else {
            return why_left_alone(view, object)
                .map(|why| whole(Verdict::Excluded, why))
                .into_iter()
                .collect();
        };
        let reasons = explain(following, now);
        let lines = reasons.iter().map(|reason| {
            RuleExplanation::from_reason(
                reason,
                policy_name(levels, reason),
                render(levels, reason),
            )
        });
        lines.collect()
    }

    fn occurrence(_: View<'_, Self>, _: &Identity, record: &Recorded) -> Option<Happened> {
        record.occurrence()
    }

    fn begin(view: ViewMut<'_, Self>, policies: &[&Identity], from: Beginning) -> Start<Self> {
        super::begin::begin(view, policies, from)
    }

    /// The last usable form applies instead of an unusable one.
    fn stored(mut object: ObjectOf<Self>, before: Option<ObjectOf<Self>>) -> ObjectOf<Self> {
        object.policy = match (object.policy, before.and_then(|before| before.policy)) {
            (Some(policy), Some(before)) => {
                Some(Arc::new(policy.as_ref().clone().keeping(&before)))
            }
            (policy, before) => policy.or(before),
        };
        object
    }

    fn share(state: &FamilyState<Self>, part: &mut FamilyState<Self>) {
        part.extra = state.extra.clone();
    }

    fn without_pods(state: &FamilyState<Self>) -> FamilyState<Self> {
        FamilyState { policies: Policies::new(), extra: state.extra.clone() }
    }

    fn zones(view: View<'_, Self>, policy: &Identity) -> Vec<(Option<Arc<str>>, Zone)> {
        let Some(levels) = view.state.policy(policy) else { return Vec::new() };
        let policies = levels.lists().flat_map(|(_, list)| list);
        policies.map(|it| (Some(Arc::clone(&it.name)), it.windows.zone())).collect()
    }

    /// Positions are counted through all lists, in the order of [`QosLevels::lists`].
    fn schedules(view: View<'_, Self>, policy: &Identity) -> Vec<RuleSchedule> {
        let Some(levels) = view.state.policy(policy) else { return Vec::new() };
        let policies = (0..).zip(levels.lists().flat_map(|(_, list)| list));
        let schedules = policies.map(|(position, it)| RuleSchedule {
            rule: Arc::clone(&it.name),
            position,
            is_off: !it.is_enabled,
            schedule: Schedule::Windows(it.windows.clone()),
            ranked: None,
            requested_value: Some(it.target.number().into()),
            sets: Vec::new(),
        });
        schedules.collect()
    }

    fn why_not_applied(view: View<'_, Self>, policy: &Identity) -> Option<String> {
        why_not_applied(view, policy)
    }

    fn unmatched(view: View<'_, Self>, policy: &Identity) -> Vec<Unmatched> {
        let Some(levels) = view.state.policy(policy) else { return Vec::new() };
        let policies = (0..).zip(levels.lists().flat_map(|(_, list)| list));
        let seen = view.objects.pods.len();
        let is_idle = |selector: &LabelSelector| {
            seen > 0 && !view.objects.pods.values().any(|pod| selector.selects(&pod.labels))
        };
        let idle = policies.filter(|(_, it)| it.is_enabled && is_idle(&it.selector));
        idle.map(|(position, _)| Unmatched { position: Some(position), what: "pods", seen })
            .collect()
    }

    fn presumptions(view: View<'_, Self>, policy: &Identity) -> Vec<Presumption> {
        let Some(input) = gather(view, policy) else { return Vec::new() };
        let mut nodes: BTreeSet<Arc<str>> = BTreeSet::new();
        let mut presumed = Vec::new();
        for FollowingPod { identity, pod, .. } in concerned(&input) {
            if pod.is_template {
                presumed.push(template_stands_for_pods(identity));
            }
            let unknown = pod.node.as_ref().filter(|node| labels_of(view, node).is_none());
            nodes.extend(unknown.filter(|_| input.policy.reads_node_labels()).cloned());
        }
        presumed.extend(nodes.iter().map(Presumption::node_without_labels));
        presumed
    }

    fn happened_to(record: &Recorded) -> Option<&Identity> {
        Some(&record.pod)
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

/// The assumption that a template represents the pods of a workload, because the input contains none.
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

/// The reason that a `ConfigMap` has no effect; `None` if it is in effect.
fn why_not_applied(view: View<'_, Levels>, config: &Identity) -> Option<String> {
    match role(view, config) {
        ConfigMapRole::InForce => {
            let exempt = Exempt::for_policy(&view.objects.exempt, config, None)?;
            Some(format!("not applied; {exempt}"))
        }
        ConfigMapRole::After(first) => {
            Some(format!("not applied; {first} exists too, and takes precedence"))
        }
        ConfigMapRole::OtherNamespace => {
            let namespace = view.state.extra.config_namespace.as_deref().unwrap_or_default();
            Some(format!("not applied; the agent's ConfigMap is in the namespace {namespace}"))
        }
    }
}

/// The reason that no policy applies to an existing object.
fn why_left_alone(view: View<'_, Levels>, object: &Identity) -> Option<String> {
    let pod = view.objects.pods.get(object)?;
    if let Some(why) = pod.left_alone {
        let why = match why {
            super::LeftAlone::Finished => "the pod has finished",
            super::LeftAlone::Terminating => "the pod is being deleted",
            super::LeftAlone::Mirror => "the pod is a mirror pod",
        };
        return Some(format!("the pod is unchanged; {why}"));
    }
    view.objects
        .exempt
        .get(object)
        .map(|why| format!("the pod is unchanged; {}", Exempt::Target(why)))
}

/// The state of every policy, independent of the pods.
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
            position: Some(position),
            since: change.and_then(|it| it.previous_transition(now)).map(|it| it.at),
            until: change.and_then(|it| it.next_transition(now)).map(|it| it.at),
            ..RuleExplanation::new(Some(Arc::clone(&policy.name)), verdict, message)
        }
    });
    lines.collect()
}
