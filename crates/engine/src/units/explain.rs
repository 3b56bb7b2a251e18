//! Explains the node of a pod, the reason that a pod is pending, the node of the next pod, and the usage of each unit.

use std::sync::Arc;

use jiff::Timestamp;

use super::filling::described;
use super::gather::{all_in_force, in_force};
use super::policy::OUTSIDE;
use super::{
    DeletionCost, FilterOutcome, Pod, PolicyReport, ResourcePolicy, SchedulingSimulation, Space,
    Unit, Units, Verdict as PodVerdict, count_of_pods,
};
use crate::answers::RuleExplanation;
use crate::seam::View;
use crate::{Exempt, Identity, Verdict, counted, few, few_joined};

/// The maximum number of workloads that a message names.
const NAMED: usize = 3;

/// The verdict on one unit for a pod, or on the nodes outside all units.
struct Next {
    unit_index: Option<usize>,
    verdict: PodVerdict,
    /// The free capacity of the nodes.
    space: Space,
    why: String,
}

/// Explains a pod that a policy may govern, or the policy.
pub(super) fn explain(
    view: View<'_, Units>,
    identity: &Identity,
    object: Option<&Identity>,
) -> Vec<RuleExplanation> {
    if let Some(exempt) = Exempt::for_policy(&view.objects.exempt, identity, None) {
        return vec![line(None, Verdict::Excluded, format!("not applied; {exempt}"))];
    }
    let Some((identity, policy)) = in_force(view.objects, view.state, identity) else {
        return Vec::new();
    };
    match object.filter(|object| *object != identity) {
        Some(pod) => explain_pod(view, identity, policy, pod),
        None => explain_policy(view, identity, policy),
    }
}

fn line(unit: Option<Arc<str>>, verdict: Verdict, message: String) -> RuleExplanation {
    RuleExplanation::new(unit, verdict, message)
}

fn as_rule(verdict: PodVerdict) -> Verdict {
    match verdict {
        PodVerdict::Chosen => Verdict::Won,
        PodVerdict::Lower => Verdict::Lost,
        PodVerdict::Full | PodVerdict::Closed | PodVerdict::Outside | PodVerdict::UnknownNode => {
            Verdict::Excluded
        }
    }
}

fn name_of(policy: &ResourcePolicy, unit_index: Option<usize>) -> Arc<str> {
    let unit = unit_index.and_then(|unit_index| policy.units.get(unit_index));
    unit.map_or_else(|| OUTSIDE.into(), |unit| Arc::clone(&unit.name))
}

/// The destination of a pending pod: the verdict on each unit, in the order of the policy, and on the nodes outside.
fn destinations(
    scheduling: &mut SchedulingSimulation,
    (identity, policy): (&Identity, &ResourcePolicy),
    pod: &Pod,
) -> Vec<Next> {
    let candidates = scheduling.candidates(pod.requests);
    let spaces = scheduling.spaces(identity, policy, pod.requests);
    let next = Identity::new("", "Pod", identity.namespace(), "the next one?");
    let pod = Pod {
        node: None,
        uid: None,
        version: None,
        deleted: None,
        is_finished: false,
        ..pod.clone()
    };
    scheduling.with_pod(&next, &pod, |ledger| {
        let FilterOutcome::ByNode(verdicts) = ledger.verdicts(&next, None, &candidates) else {
            return Vec::new();
        };
        let units = verdicts.by_unit().zip(spaces).enumerate().map(|(unit_index, (on, space))| {
            let unit_index = on.unit.map(|_| unit_index);
            let may_go = matches!(on.verdict, PodVerdict::Lower | PodVerdict::Chosen);
            if on.is_candidate || !may_go {
                let of_outside = "strategy: required allows no node outside the units";
                let is_outside = on.verdict == PodVerdict::Outside;
                let why = if is_outside { of_outside.to_owned() } else { on.why };
                return Next { unit_index, verdict: on.verdict, space, why };
            }
            let why = lacks(on.unit, space);
            Next { unit_index, verdict: PodVerdict::UnknownNode, space, why }
        });
        units.collect()
    })
}

/// The reason that no node of a unit, or no node outside all units, accepts a pod.
fn lacks(unit: Option<&Unit>, space: Space) -> String {
    match (unit, space) {
        (Some(unit), Space::NoNodes) => format!("unit \"{}\" has no nodes", unit.name),
        (None, Space::NoNodes) => format!("there are no nodes {OUTSIDE}"),
        (Some(unit), Space::Cordoned) => {
            format!("all nodes of unit \"{}\" are cordoned", unit.name)
        }
        (None, Space::Cordoned) => format!("all nodes {OUTSIDE} are cordoned"),
        (Some(unit), Space::Taken | Space::Free) => {
            format!("no node of unit \"{}\" has room for it", unit.name)
        }
        (None, Space::Taken | Space::Free) => format!("no node {OUTSIDE} has room for it"),
    }
}

/// Explains a pod as in the files. Simulated changes since then are listed separately.
fn explain_pod(
    view: View<'_, Units>,
    policy_identity: &Identity,
    policy: &ResourcePolicy,
    identity: &Identity,
) -> Vec<RuleExplanation> {
    let Some(scheduling) = view.state.extra.scheduling.as_deref() else { return Vec::new() };
    let mut found = SchedulingSimulation::new(
        &view.state.extra.pods_and_nodes,
        all_in_force(view.objects, view.state),
        scheduling.from(),
    );
    let is_overdue = |gone: &Timestamp| *gone <= scheduling.from();
    let pod = view.state.extra.pods_and_nodes.pods.get(identity);
    if let Some(gone) =
        pod.filter(|it| !it.is_finished).and_then(|it| it.deleted).filter(is_overdue)
    {
        let message = format!(
            "the pod was due to be gone at {gone:.0}, and is not counted any more; a node that does not respond, or a \
             finalizer, may keep it"
        );
        return vec![line(None, Verdict::Excluded, message)];
    }
    found.remove_departed(scheduling.from());
    let (Some(pod), Some(explanation)) = (pod, found.ledger().explain(identity)) else {
        return Vec::new();
    };
    if explanation.policy.is_none() {
        let verdict = if explanation.is_conflict { Verdict::Error } else { Verdict::Excluded };
        return vec![line(None, verdict, explanation.summary)];
    }
    let group = Some(&explanation.group).filter(|group| !group.is_empty());
    let group = group.map_or(String::new(), |group| format!("; counted among the pods {group}"));
    let next = destinations(&mut found, (policy_identity, policy), pod);
    let is_pending = pod.node.is_none() && !pod.is_finished && pod.deleted.is_none();
    let mut lines = Vec::new();
    if is_pending {
        let message = why_pending(policy_identity, policy, pod, &next);
        lines.push(line(None, Verdict::Inactive, format!("pending: {message}{group}")));
        lines.extend(
            next.into_iter()
                .map(|it| line(Some(name_of(policy, it.unit_index)), as_rule(it.verdict), it.why)),
        );
    } else {
        let mut message = explanation.summary;
        let is_counted = !pod.is_finished && (pod.deleted.is_none() || !policy.ignores_terminating);
        if is_counted && let Some(gone) = pod.deleted {
            message =
                format!("{message}; it is being deleted, gone at {gone:.0}, and counts until then");
        }
        if is_counted {
            message = format!("{message}{group}; {}", cost_of(&found, identity, pod));
        }
        let unit = explanation.unit.unwrap_or_else(|| OUTSIDE.into());
        let own = Some(unit).filter(|_| is_counted);
        let verdict = if is_counted { Verdict::Won } else { Verdict::Excluded };
        lines.push(line(own.clone(), verdict, message));
        lines.extend(next.into_iter().map(|it| {
            let name = name_of(policy, it.unit_index);
            let verdict = match as_rule(it.verdict) {
                Verdict::Won => Verdict::Inactive,
                other => other,
            };
            line(Some(name), verdict, format!("for the next pod like it: {}", it.why))
        }));
    }
    lines.extend(forecast_line(scheduling, (policy_identity, policy), identity, pod));
    lines
}

/// The reason that a pod has no node.
fn why_pending(identity: &Identity, policy: &ResourcePolicy, pod: &Pod, next: &[Next]) -> String {
    if !pod.gates.is_empty() {
        let gates = few(pod.gates.iter());
        return format!("no scheduler looks for a node while it has scheduling gates ({gates})");
    }
    let names = |verdict: PodVerdict| {
        let those = next.iter().filter(move |it| it.verdict == verdict);
        let locations = those.map(|it| {
            match it.unit_index.and_then(|unit_index| policy.units.get(unit_index)) {
                Some(unit) => format!("of unit \"{}\"", unit.name),
                None => OUTSIDE.to_owned(),
            }
        });
        few_joined(locations, " or ")
    };
    let (chosen, without_node) = (names(PodVerdict::Chosen), names(PodVerdict::UnknownNode));
    let policy = format!("ResourcePolicy {}/{}", identity.namespace(), identity.name());
    if !chosen.is_empty() {
        return format!(
            "{policy} allows a node {chosen}, and one has room; taints, affinities and its node \
             selector are not considered"
        );
    }
    if without_node.is_empty() {
        return format!("no unit of {policy} has room, and its strategy is required");
    }
    let lacking = next.iter().filter(|it| it.verdict == PodVerdict::UnknownNode);
    let but = match lacking.map(|it| it.space).max() {
        Some(Space::NoNodes) => "there are none",
        Some(Space::Cordoned) => "all of them are cordoned",
        _ => "none has room for it",
    };
    format!("{policy} allows nodes {without_node}, and {but}")
}

/// The deletion cost of a pod, and its origin.
fn cost_of(found: &SchedulingSimulation, identity: &Identity, pod: &Pod) -> String {
    let is_ours = pod.owner.as_ref().is_some_and(|owner| &*owner.kind == "ReplicaSet");
    match (pod.cost, found.ledger().cost_change(identity)) {
        (DeletionCost::Others(_), _) => {
            "its deletion cost is set by its user, and is kept".to_owned()
        }
        (_, Some(change)) => match change.cost {
            Some(cost) => format!("its deletion cost will be {cost}"),
            None => "its deletion cost will be removed".to_owned(),
        },
        (DeletionCost::Ours(cost), None) => format!("its deletion cost is {cost}"),
        (DeletionCost::Unset, None) if !is_ours => {
            "the pod gets no deletion cost; only a ReplicaSet uses it".to_owned()
        }
        (DeletionCost::Unset, None) => "the pod has no deletion cost".to_owned(),
    }
}

/// The forecast of a pod by the numbers in the files, if it differs from its current state.
fn forecast_line(
    scheduling: &SchedulingSimulation,
    (policy_identity, policy): (&Identity, &ResourcePolicy),
    identity: &Identity,
    pod: &Pod,
) -> Option<RuleExplanation> {
    let message = match (scheduling.pod(identity), pod.deleted) {
        (_, Some(_)) => return None,
        (None, None) => {
            "forecast: deleted, since its workload has fewer replicas, and it is among the first to be deleted"
                .to_owned()
        }
        (Some(then), None) if then.node == pod.node => return None,
        (Some(then), None) => {
            let name = then.node.as_deref().unwrap_or_default();
            let node = scheduling.ledger().node(name);
            let unit_index =
                node.and_then(|node| scheduling.ledger().unit_of(policy_identity, node));
            let unit = unit_index.and_then(|unit_index| policy.units.get(unit_index));
            let location = unit.map_or(OUTSIDE.to_owned(), |unit| format!("of unit \"{}\"", unit.name));
            let node = if scheduling.has_stand_ins() {
                "a node".to_owned()
            } else {
                format!("node {name}")
            };
            format!("forecast: the pod gets {node} {location}, if nothing else prevents that")
        }
    };
    Some(line(None, Verdict::Inactive, message))
}

/// The usage of each unit, the destination of the next pod, and the problems of the policy.
fn explain_policy(
    view: View<'_, Units>,
    identity: &Identity,
    policy: &ResourcePolicy,
) -> Vec<RuleExplanation> {
    let Some(scheduling) = view.state.extra.scheduling.as_deref() else { return Vec::new() };
    let Some(report) = scheduling.ledger().report(identity) else { return Vec::new() };
    let of_policy = |(workload, pod): &(&Identity, &Pod)| {
        workload.namespace() == identity.namespace() && policy.pod_selector.selects(&pod.labels)
    };
    let workloads = scheduling.workloads().filter(of_policy);
    let mut simulation = scheduling.clone();
    let next: Vec<(String, Vec<Next>)> = workloads
        .map(|(workload, pod)| {
            let name = format!("{}/{}", workload.kind(), workload.name());
            (name, destinations(&mut simulation, (identity, policy), pod))
        })
        .collect();
    let unit_indexes = (0..policy.units.len()).map(Some).chain([None]);
    let mut lines: Vec<RuleExplanation> = unit_indexes
        .filter_map(|unit_index| explain_unit(policy, &report, unit_index, &next))
        .collect();
    lines.extend(report.conflicts.iter().map(|conflict| {
        let others = few(conflict.policies.iter().map(Identity::name));
        let pods = counted(conflict.pods, "pod");
        let message = format!("not scheduled: {pods} that several policies select ({others})");
        line(None, Verdict::Error, message)
    }));
    lines.extend(report.without_cost.iter().map(|(kind, number)| {
        let whose =
            if kind.is_empty() { "without an owner".to_owned() } else { format!("of a {kind}") };
        let message = format!(
            "no deletion cost for {} {whose}: only a ReplicaSet uses it",
            counted(*number, "pod")
        );
        line(None, Verdict::Inactive, message)
    }));
    if report.with_others_cost > 0 {
        let pods = counted(report.with_others_cost, "pod");
        let message = format!("deletion costs set by users are kept: {pods}");
        lines.push(line(None, Verdict::Inactive, message));
    }
    lines
}

/// The number of pods in a unit, or outside all units; empty if the policy does not use the nodes outside.
fn explain_unit(
    policy: &ResourcePolicy,
    report: &PolicyReport,
    unit_index: Option<usize>,
    next: &[(String, Vec<Next>)],
) -> Option<RuleExplanation> {
    let unit = unit_index.and_then(|unit_index| policy.units.get(unit_index));
    let counted = report.groups.iter().filter_map(|group| {
        let values = group.labels.iter().map(|(_, value)| value.clone()).collect();
        let group_name = described(policy, &values);
        let count = unit_index.map_or(group.spilled, |unit_index| group.units[unit_index].used);
        let max = unit.and_then(|unit| unit.max);
        (count > 0).then(|| {
            let over = if max.is_some_and(|max| count > max) { " (over its cap)" } else { "" };
            format!("{}{group_name}{over}", count_of_pods(count, max))
        })
    });
    let mut parts: Vec<String> = counted.collect();
    if parts.is_empty() {
        unit?;
        parts.push(match unit.and_then(|unit| unit.max) {
            Some(0) => "closed".to_owned(),
            Some(max) => count_of_pods(0, Some(max)),
            None => "no pods".to_owned(),
        });
    }
    if let Some(unit) = unit {
        parts.push(format!(
            "a pod of a ReplicaSet costs {} to delete",
            super::price(Some(unit.priority), None)
        ));
    }
    let here = |it: &&Next| it.unit_index == unit_index;
    let of_next = next.iter().filter_map(|(name, all)| Some((name, all.iter().find(here)?)));
    let whose = |is_such: &dyn Fn(&Next) -> bool| -> Vec<&str> {
        let those = of_next.clone().filter(|(_, it)| is_such(it));
        those.map(|(name, _)| name.as_str()).collect()
    };
    let chosen = whose(&|it| it.verdict == PodVerdict::Chosen);
    let lacks = |space| whose(&|it| it.verdict == PodVerdict::UnknownNode && it.space == space);
    if unit.is_some() {
        let without_node = named(&lacks(Space::Taken));
        parts.extend(
            without_node.map(|names| format!("no node has room for the next pod of {names}")),
        );
        let [is_cordoned, has_none] =
            [Space::Cordoned, Space::NoNodes].map(|space| !lacks(space).is_empty());
        parts.extend(is_cordoned.then(|| "all its nodes are cordoned".to_owned()));
        parts.extend(has_none.then(|| "the unit has no nodes".to_owned()));
    }
    let verdict = if chosen.is_empty() {
        let worst = of_next.clone().map(|(_, it)| as_rule(it.verdict)).max();
        worst.unwrap_or(Verdict::Inactive)
    } else {
        parts.extend(named(&chosen).map(|names| format!("the next pod of {names} goes here")));
        Verdict::Won
    };
    Some(line(Some(name_of(policy, unit_index)), verdict, parts.join("; ")))
}

/// A list of workloads that names the first ones; `None` without workloads.
fn named(workloads: &[&str]) -> Option<String> {
    let (first, more) = workloads.split_at(workloads.len().min(NAMED));
    let first = Some(first.join(", ")).filter(|first| !first.is_empty())?;
    Some(if more.is_empty() { first } else { format!("{first} and {} more", more.len()) })
}

/// Whether the selector of a policy selects a pod.
pub(crate) fn selects(view: View<'_, Units>, policy: &Identity, pod: &Identity) -> bool {
    let (Some((identity, policy)), Some(it)) =
        (in_force(view.objects, view.state, policy), view.state.extra.pods_and_nodes.pods.get(pod))
    else {
        return false;
    };
    identity.namespace() == pod.namespace() && policy.pod_selector.selects(&it.labels)
}
