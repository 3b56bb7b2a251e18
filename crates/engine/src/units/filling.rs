//! How the units of a policy are filled at an instant: the pods in each, those outside, and those that wait.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::pouring::{GroupKey, group_of};
use super::reasons::{Cause, UnitSet};
use super::{NodeId, Pouring, ResourcePolicy, Resources, Ruling};
use crate::{Identity, Labels, Reason, Value, Verdict};

/// What pods outside all units are counted under.
const OUTSIDE: &str = "outside all units";

/// How the units of a policy are filled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filling {
    /// The pods in each unit, and outside of all of them; by group if there is more than one.
    pub unit_pods: Value,
    /// The pods that wait; by group if there is more than one.
    pub pending_pods: Value,
    /// Why they are where they are.
    pub reason: Reason<Cause>,
}

/// What is counted for a group.
#[derive(Default)]
struct Count {
    units: Vec<u32>,
    outside: u32,
    pending: u32,
    conflicting: u32,
}

/// How the units of a policy are filled; `None` if it is not known.
pub(super) fn filling(
    pouring: &mut Pouring,
    identity: &Identity,
    policy: &ResourcePolicy,
) -> Option<Filling> {
    let counts = counts(pouring, identity, policy)?;
    let with_room = units_with_room(pouring, identity, policy);
    let is_one_group = counts.len() == 1;
    let named = |of: &str, group: &GroupKey| -> Arc<str> {
        if is_one_group { of.into() } else { format!("{of}{}", described(policy, group)).into() }
    };
    let mut unit_pods: BTreeMap<Arc<str>, u32> = BTreeMap::new();
    let mut pending_pods: BTreeMap<Arc<str>, u32> = BTreeMap::new();
    for (group, count) in &counts {
        for (unit, pods) in policy.units.iter().zip(&count.units) {
            *unit_pods.entry(named(&unit.name, group)).or_default() += pods;
        }
        if count.outside > 0 {
            *unit_pods.entry(named(OUTSIDE, group)).or_default() += count.outside;
        }
        let name = named("", group).trim_start().into();
        *pending_pods.entry(name).or_default() += count.pending + count.conflicting;
    }
    let pending_pods = match pending_pods.values().next() {
        Some(pods) if is_one_group => Value::Number(*pods),
        _ => Value::Numbers(Arc::new(pending_pods)),
    };
    let (cause, rule) = cause(policy, &counts, &with_room);
    let reason = Reason { rule, verdict: Verdict::Won, cause, since: None, until: None };
    Some(Filling { unit_pods: Value::Numbers(Arc::new(unit_pods)), pending_pods, reason })
}

/// ` with pod-template-hash=abc and without track`; empty if the policy has no groups.
pub(super) fn described(policy: &ResourcePolicy, group: &GroupKey) -> String {
    let labels = policy.group_keys.iter().zip(group);
    let parts: Vec<String> = labels
        .map(|(label, value)| match value {
            Some(value) => format!("with {label}={value}"),
            None => format!("without {label}"),
        })
        .collect();
    if parts.is_empty() { String::new() } else { format!(" {}", parts.join(" and ")) }
}

fn counts(
    pouring: &Pouring,
    identity: &Identity,
    policy: &ResourcePolicy,
) -> Option<BTreeMap<GroupKey, Count>> {
    let empty = || Count { units: vec![0; policy.units.len()], ..Count::default() };
    let mut counts: BTreeMap<GroupKey, Count> =
        pouring.groups(identity).map(|group| (group.clone(), empty())).collect();
    if counts.is_empty() {
        let group = policy.group_keys.iter().map(|_| None).collect();
        counts.insert(group, empty());
    }
    for group in pouring.ledger().report(identity)?.groups {
        let key = group.labels.into_iter().map(|(_, value)| value).collect();
        let count = counts.entry(key).or_insert_with(empty);
        count.units = group.units.iter().map(|unit| unit.used).collect();
        count.outside = group.spilled;
    }
    let mut is_conflicting: BTreeMap<&Labels, bool> = BTreeMap::new();
    for pod in pouring.pending() {
        let Some(labels) = pouring.pod(pod).map(|it| &it.labels) else { continue };
        let is_own = pod.namespace() == identity.namespace() && policy.pod_selector.selects(labels);
        if !is_own {
            continue;
        }
        let is_conflicting = *is_conflicting.entry(labels).or_insert_with(|| {
            let uid = pouring.pod(pod).and_then(|it| it.uid.as_deref());
            matches!(pouring.ledger().verdicts(pod, uid, &[]), Ruling::Conflict(_))
        });
        let count = counts.entry(group_of(policy, labels)).or_insert_with(empty);
        if is_conflicting {
            count.conflicting += 1;
        } else {
            count.pending += 1;
        }
    }
    Some(counts)
}

/// The units of which a node has room for a pod of one of the workloads.
fn units_with_room(
    pouring: &mut Pouring,
    identity: &Identity,
    policy: &ResourcePolicy,
) -> BTreeSet<usize> {
    let own = pouring.workloads().filter(|(workload, pod)| {
        workload.namespace() == identity.namespace() && policy.pod_selector.selects(&pod.labels)
    });
    let mut requests: Vec<Resources> = own.map(|(_, pod)| pod.requests).collect();
    if requests.is_empty() {
        requests.push(Resources::default());
    }
    let nodes: BTreeSet<NodeId> =
        requests.into_iter().flat_map(|requests| pouring.candidates(requests)).collect();
    nodes.into_iter().filter_map(|node| pouring.ledger().unit_of(identity, node)).collect()
}

/// Why the pods are where they are, and the unit that the last of them are in.
fn cause(
    policy: &ResourcePolicy,
    counts: &BTreeMap<GroupKey, Count>,
    with_room: &BTreeSet<usize>,
) -> (Cause, Option<u32>) {
    let mut in_order: Vec<usize> = (0..policy.units.len()).collect();
    in_order.sort_by_key(|place| std::cmp::Reverse(policy.units[*place].priority));
    let mut cause = Cause::default();
    let mut last = None;
    for count in counts.values() {
        let used = |place: &usize| count.units.get(*place).is_some_and(|pods| *pods > 0);
        let is_beyond = count.outside > 0 || count.pending > 0;
        let worst = in_order.iter().rposition(used);
        let before = if is_beyond { in_order.len() } else { worst.unwrap_or(0) };
        for place in &in_order[..before] {
            let is_full = policy.units[*place].max.is_some_and(|max| count.units[*place] >= max);
            if is_full {
                cause.full.insert(*place);
            } else if with_room.contains(place) {
                cause.free.insert(*place);
            } else {
                cause.lacking.insert(*place);
            }
        }
        last = last.max(worst.filter(|_| !is_beyond));
        cause.placed = cause.placed.saturating_add(count.units.iter().sum());
        cause.outside = cause.outside.saturating_add(count.outside);
        cause.pending = cause.pending.saturating_add(count.pending);
        cause.conflicting = cause.conflicting.saturating_add(count.conflicting);
    }
    // How many there are is what the value says.
    cause.placed = cause.placed.min(1);
    let is_beyond = cause.outside > 0 || cause.pending > 0;
    let last = last.filter(|_| !is_beyond).map(|rank| in_order[rank]);
    (cause, last.and_then(|place| u32::try_from(place).ok()))
}

impl UnitSet {
    fn insert(&mut self, place: usize) {
        self.0 |= u32::try_from(place).ok().and_then(|place| 1_u64.checked_shl(place)).unwrap_or(0);
    }
}
