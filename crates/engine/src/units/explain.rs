//! Why a pod is where it is, why one waits, where the next one would go, and how full each unit is.

use std::sync::Arc;

use super::filling::described;
use super::gather::{all_in_force, in_force};
use super::{
    DeletionCost, Pod, PolicyReport, Pouring, ResourcePolicy, Ruling, Unit, Verdict as PodVerdict,
};
use crate::families::RuleExplanation;
use crate::{Exempt, Identity, Verdict, World};

/// What pods outside all units are told under.
const OUTSIDE: &str = "outside all units";

/// The verdict on one unit for a pod, or on the outside of all of them.
struct Next {
    place: Option<usize>,
    verdict: PodVerdict,
    why: String,
}

/// Explains a pod that a policy may govern, or the policy.
pub(super) fn explain(
    world: &World,
    identity: &Identity,
    object: Option<&Identity>,
) -> Vec<RuleExplanation> {
    if let Some(exempt) = Exempt::of(&world.exempt, identity, None) {
        return vec![line(None, Verdict::Excluded, format!("not carried out; {exempt}"))];
    }
    let Some((identity, policy)) = in_force(world, identity) else { return Vec::new() };
    match object.filter(|object| *object != identity) {
        Some(pod) => explain_pod(world, policy, pod),
        None => explain_policy(world, identity, policy),
    }
}

fn line(unit: Option<Arc<str>>, verdict: Verdict, message: String) -> RuleExplanation {
    let (since, until) = (None, None);
    RuleExplanation { rule: unit, position: None, verdict, message, since, until, scored: None }
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

fn pods(number: usize) -> String {
    if number == 1 { "1 pod".to_owned() } else { format!("{number} pods") }
}

fn name_of(policy: &ResourcePolicy, place: Option<usize>) -> Arc<str> {
    let unit = place.and_then(|place| policy.units.get(place));
    unit.map_or_else(|| OUTSIDE.into(), |unit| Arc::clone(&unit.name))
}

/// Where a pod would go that has no node: the verdict on each unit, in the order of the policy, and on the outside.
fn where_next(pouring: &Pouring, namespace: &str, pod: &Pod) -> Vec<Next> {
    let mut pouring = pouring.clone();
    let candidates = pouring.candidates(pod.requests);
    let next = Identity::new("", "Pod", namespace, "the next one?");
    let pod = Pod {
        node: None,
        uid: None,
        version: None,
        deleted: None,
        is_finished: false,
        ..pod.clone()
    };
    let ledger = pouring.with_pod(&next, &pod);
    let Ruling::ByNode(verdicts) = ledger.verdicts(&next, None, &candidates) else {
        return Vec::new();
    };
    let units = verdicts.by_unit().enumerate().map(|(place, on)| {
        let place = on.unit.map(|_| place);
        let may_go = matches!(on.verdict, PodVerdict::Lower | PodVerdict::Chosen);
        if on.is_candidate || !may_go {
            return Next { place, verdict: on.verdict, why: on.why };
        }
        let of_unit = |unit: &Unit| format!("of unit \"{}\"", unit.name);
        let what = on.unit.map_or("outside all units".to_owned(), of_unit);
        let why = format!("no node {what} has room for it");
        Next { place, verdict: PodVerdict::UnknownNode, why }
    });
    units.collect()
}

/// A pod as the files have it: what was poured since is told beside.
fn explain_pod(
    world: &World,
    policy: &ResourcePolicy,
    identity: &Identity,
) -> Vec<RuleExplanation> {
    let Some(poured) = world.pouring.as_deref() else { return Vec::new() };
    let found = Pouring::new(&world.fleet, all_in_force(world), poured.from());
    let (Some(pod), Some(explanation)) = (found.pod(identity), found.ledger().explain(identity))
    else {
        return Vec::new();
    };
    if explanation.policy.is_none() {
        let is_conflict = matches!(
            found.ledger().verdicts(identity, pod.uid.as_deref(), &[]),
            Ruling::Conflict(_)
        );
        let verdict = if is_conflict { Verdict::Error } else { Verdict::Excluded };
        return vec![line(None, verdict, explanation.summary)];
    }
    let group = Some(&explanation.group).filter(|group| !group.is_empty());
    let group = group.map_or(String::new(), |group| format!("; counted among the pods {group}"));
    let next = where_next(&found, identity.namespace(), pod);
    let is_pending = pod.node.is_none() && !pod.is_finished && pod.deleted.is_none();
    let mut lines = Vec::new();
    if is_pending {
        let is_refused = next.iter().all(|it| it.verdict != PodVerdict::Chosen);
        let lacks_node = next.iter().any(|it| it.verdict == PodVerdict::UnknownNode);
        let but = if is_refused && lacks_node { ", and none has room for it" } else { "" };
        let told = format!("pending: {}{but}{group}", explanation.summary);
        lines.push(line(None, Verdict::Inactive, told));
        lines.extend(
            next.into_iter()
                .map(|it| line(Some(name_of(policy, it.place)), as_rule(it.verdict), it.why)),
        );
    } else {
        let mut told = explanation.summary;
        let is_counted = !pod.is_finished && (pod.deleted.is_none() || !policy.ignores_terminating);
        if is_counted && let Some(gone) = pod.deleted {
            told = format!("{told}; it is being deleted, gone at {gone:.0}, and counts until then");
        }
        if is_counted {
            told = format!("{told}{group}; {}", cost_of(&found, identity, pod));
        }
        let unit = explanation.unit.unwrap_or_else(|| OUTSIDE.into());
        let own = Some(unit).filter(|_| is_counted);
        let verdict = if is_counted { Verdict::Won } else { Verdict::Excluded };
        lines.push(line(own.clone(), verdict, told));
        lines.extend(next.into_iter().map(|it| {
            let name = name_of(policy, it.place);
            let verdict = match as_rule(it.verdict) {
                Verdict::Won => Verdict::Inactive,
                other => other,
            };
            line(Some(name), verdict, format!("for the next pod like it: {}", it.why))
        }));
    }
    lines.extend(foretold(poured, identity, pod));
    lines
}

/// What deleting a pod costs, and who says so.
fn cost_of(found: &Pouring, identity: &Identity, pod: &Pod) -> String {
    let is_ours = pod.owner.as_ref().is_some_and(|owner| &*owner.kind == "ReplicaSet");
    match (pod.cost, found.ledger().cost_change(identity)) {
        (DeletionCost::Others(_), _) => {
            "its deletion cost is its user's own, and is left".to_owned()
        }
        (_, Some(change)) => match change.cost {
            Some(cost) => format!("its deletion cost is to be {cost}"),
            None => "its deletion cost is to be removed".to_owned(),
        },
        (DeletionCost::Ours(cost), None) => format!("its deletion cost is {cost}"),
        (DeletionCost::Unset, None) if !is_ours => {
            "it gets no deletion cost, which only a ReplicaSet asks for".to_owned()
        }
        (DeletionCost::Unset, None) => "it has no deletion cost".to_owned(),
    }
}

/// What becomes of a pod by the numbers in the files, where that is not what it is now.
fn foretold(poured: &Pouring, identity: &Identity, pod: &Pod) -> Option<RuleExplanation> {
    let told = match (poured.pod(identity), pod.deleted) {
        (_, Some(_)) => return None,
        (None, None) => {
            "forecast: gone, since its workload has fewer replicas, and it is among the first to go"
                .to_owned()
        }
        (Some(then), None) if then.node == pod.node => return None,
        (Some(then), None) => {
            let node = then.node.as_deref().unwrap_or_default();
            format!("forecast: it gets a node, {node}, if nothing else keeps it")
        }
    };
    Some(line(None, Verdict::Inactive, told))
}

/// How full each unit is, where the next pod goes, and what is not as it should be.
fn explain_policy(
    world: &World,
    identity: &Identity,
    policy: &ResourcePolicy,
) -> Vec<RuleExplanation> {
    let Some(poured) = world.pouring.as_deref() else { return Vec::new() };
    let Some(report) = poured.ledger().report(identity) else { return Vec::new() };
    let of_policy = |(workload, pod): &(&Identity, &Pod)| {
        workload.namespace() == identity.namespace() && policy.pod_selector.selects(&pod.labels)
    };
    let workloads = poured.workloads().filter(of_policy);
    let next: Vec<(String, Vec<Next>)> = workloads
        .map(|(workload, pod)| {
            let name = format!("{}/{}", workload.kind(), workload.name());
            (name, where_next(poured, identity.namespace(), pod))
        })
        .collect();
    let places = (0..policy.units.len()).map(Some).chain([None]);
    let mut lines: Vec<RuleExplanation> =
        places.filter_map(|place| explain_place(policy, &report, place, &next)).collect();
    lines.extend(report.conflicts.iter().map(|conflict| {
        let others: Vec<&str> = conflict.policies.iter().map(Identity::name).collect();
        let (pods, others) = (pods(conflict.pods), others.join(", "));
        let message = format!("not scheduled: {pods} that several policies select ({others})");
        line(None, Verdict::Error, message)
    }));
    lines.extend(report.without_cost.iter().map(|(kind, number)| {
        let whose =
            if kind.is_empty() { "without an owner".to_owned() } else { format!("of a {kind}") };
        let message = format!(
            "no deletion cost for {} {whose}: only a ReplicaSet asks for it",
            pods(*number as usize)
        );
        line(None, Verdict::Inactive, message)
    }));
    if report.with_others_cost > 0 {
        let pods = pods(report.with_others_cost as usize);
        let message = format!("a deletion cost of their users, which is left: {pods}");
        lines.push(line(None, Verdict::Inactive, message));
    }
    lines
}

/// What is counted in a unit, or outside of all; nothing for an outside that is not used.
fn explain_place(
    policy: &ResourcePolicy,
    report: &PolicyReport,
    place: Option<usize>,
    next: &[(String, Vec<Next>)],
) -> Option<RuleExplanation> {
    let unit = place.and_then(|place| policy.units.get(place));
    let counted = report.groups.iter().filter_map(|group| {
        let values = group.labels.iter().map(|(_, value)| value.clone()).collect();
        let group_name = described(policy, &values);
        let count = place.map_or(group.spilled, |place| group.units[place].used);
        let max = unit.and_then(|unit| unit.max);
        (count > 0).then(|| {
            let of = max.map_or(String::new(), |max| format!(" of {max}"));
            let over = if max.is_some_and(|max| count > max) { " (over its cap)" } else { "" };
            format!("{count}{of} pods{group_name}{over}")
        })
    });
    let mut told: Vec<String> = counted.collect();
    if told.is_empty() {
        unit?;
        told.push(match unit.and_then(|unit| unit.max) {
            Some(0) => "closed".to_owned(),
            Some(max) => format!("0 of {max} pods"),
            None => "no pods".to_owned(),
        });
    }
    if let Some(unit) = unit {
        told.push(format!(
            "a pod of a ReplicaSet costs {} to delete",
            super::price(Some(unit.priority), None)
        ));
    }
    let here = |it: &&Next| it.place == place;
    let of_next = next.iter().filter_map(|(name, all)| Some((name, all.iter().find(here)?)));
    let whose = |verdict: PodVerdict| -> Vec<&str> {
        let those = of_next.clone().filter(|(_, it)| it.verdict == verdict);
        those.map(|(name, _)| name.as_str()).collect()
    };
    let (chosen, without_node) = (whose(PodVerdict::Chosen), whose(PodVerdict::UnknownNode));
    if !without_node.is_empty() && unit.is_some() {
        told.push(format!("no node has room for the next pod of {}", without_node.join(", ")));
    }
    let verdict = if chosen.is_empty() {
        let worst = of_next.clone().map(|(_, it)| as_rule(it.verdict)).max();
        worst.unwrap_or(Verdict::Inactive)
    } else {
        told.push(format!("the next pod of {} goes here", chosen.join(", ")));
        Verdict::Won
    };
    Some(line(Some(name_of(policy, place)), verdict, told.join("; ")))
}

/// Whether a policy has to do with a pod, as far as its selector goes.
pub(crate) fn selects(world: &World, policy: &Identity, pod: &Identity) -> bool {
    let (Some((identity, policy)), Some(it)) = (in_force(world, policy), world.fleet.pods.get(pod))
    else {
        return false;
    };
    identity.namespace() == pod.namespace() && policy.pod_selector.selects(&it.labels)
}
