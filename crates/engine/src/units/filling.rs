//! The usage of the units of a policy at an instant: the pods in each unit, the pods outside, and the pending pods.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::policy::OUTSIDE;
use super::reasons::{Cause, UnitSet};
use super::scheduling::{GroupKey, group_of};
use super::{FilterOutcome, ResourcePolicy, Resources, SchedulingSimulation, Space, Strategy};
use crate::{Identity, Labels, Reason, Value, Verdict};

/// The usage of the units of a policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filling {
    /// The pods in each unit and outside all units, by group if the policy has more than one.
    pub unit_pods: Value,
    /// The pending pods, by group if the policy has more than one.
    pub pending_pods: Value,
    /// The reason for their assignment.
    pub reason: Reason<Cause>,
}

/// The counts of a group.
#[derive(Default)]
struct Count {
    units: Vec<u32>,
    outside: u32,
    pending: u32,
    conflicting: u32,
    gated: u32,
    /// The requests of the pending pods.
    requests: BTreeSet<Resources>,
}

/// The usage of the units of a policy; `None` if it is unknown.
pub(super) fn filling(
    scheduling: &mut SchedulingSimulation,
    identity: &Identity,
    policy: &ResourcePolicy,
) -> Option<Filling> {
    let counts = counts(scheduling, identity, policy)?;
    let spaces = spaces(scheduling, identity, policy, &counts);
    let is_one_group = counts.len() == 1;
    let named = |unit: &str, group: &GroupKey| -> Arc<str> {
        if is_one_group {
            unit.into()
        } else {
            format!("{unit}{}", described(policy, group)).into()
        }
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
        *pending_pods.entry(name).or_default() += count.pending + count.conflicting + count.gated;
    }
    let pending_pods = match pending_pods.values().next() {
        Some(pods) if is_one_group => Value::Number(*pods),
        _ => Value::Numbers(Arc::new(pending_pods)),
    };
    let (cause, rule) = cause(policy, &counts, &spaces);
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
    scheduling: &SchedulingSimulation,
    identity: &Identity,
    policy: &ResourcePolicy,
) -> Option<BTreeMap<GroupKey, Count>> {
    let empty = || Count { units: vec![0; policy.units.len()], ..Count::default() };
    let mut counts: BTreeMap<GroupKey, Count> =
        scheduling.groups(identity).map(|group| (group.clone(), empty())).collect();
    if counts.is_empty() {
        let group = policy.group_keys.iter().map(|_| None).collect();
        counts.insert(group, empty());
    }
    for group in scheduling.ledger().report(identity)?.groups {
        let key = group.labels.into_iter().map(|(_, value)| value).collect();
        let count = counts.entry(key).or_insert_with(empty);
        count.units = group.units.iter().map(|unit| unit.used).collect();
        count.outside = group.spilled;
    }
    let mut is_conflicting: BTreeMap<&Labels, bool> = BTreeMap::new();
    for (pod, it) in scheduling.waiting() {
        let labels = &it.labels;
        let is_own = pod.namespace() == identity.namespace() && policy.pod_selector.selects(labels);
        if !is_own {
            continue;
        }
        let is_conflicting = *is_conflicting.entry(labels).or_insert_with(|| {
            let outcome = scheduling.ledger().verdicts(pod, it.uid.as_deref(), &[]);
            matches!(outcome, FilterOutcome::Conflict(_))
        });
        let count = counts.entry(group_of(policy, labels)).or_insert_with(empty);
        if !it.gates.is_empty() {
            count.gated += 1;
        } else if is_conflicting {
            count.conflicting += 1;
        } else {
            count.pending += 1;
            count.requests.insert(it.requests);
        }
    }
    Some(counts)
}

/// For each group, the free capacity of the nodes of each unit for the pending pods, or else for the next pods; last,
/// of the nodes outside all units.
fn spaces(
    scheduling: &mut SchedulingSimulation,
    identity: &Identity,
    policy: &ResourcePolicy,
    counts: &BTreeMap<GroupKey, Count>,
) -> Vec<Vec<Space>> {
    let own = scheduling.workloads().filter(|(workload, pod)| {
        workload.namespace() == identity.namespace() && policy.pod_selector.selects(&pod.labels)
    });
    let mut of_next: BTreeSet<Resources> = own.map(|(_, pod)| pod.requests).collect();
    if of_next.is_empty() {
        of_next.insert(Resources::default());
    }
    let mut best = |requests: &BTreeSet<Resources>| {
        let of_each = requests.iter().map(|it| scheduling.spaces(identity, policy, *it));
        let better = |one: Vec<Space>, other: Vec<Space>| -> Vec<Space> {
            one.into_iter().zip(other).map(|(one, other)| one.max(other)).collect()
        };
        of_each.reduce(better).unwrap_or_default()
    };
    let of_next = best(&of_next);
    let of_group = |count: &Count| {
        if count.requests.is_empty() { of_next.clone() } else { best(&count.requests) }
    };
    counts.values().map(of_group).collect()
}

/// The reason for the assignment of the pods, and the unit of the last assigned pods.
fn cause(
    policy: &ResourcePolicy,
    counts: &BTreeMap<GroupKey, Count>,
    spaces: &[Vec<Space>],
) -> (Cause, Option<u32>) {
    let mut in_order: Vec<usize> = (0..policy.units.len()).collect();
    in_order.sort_by_key(|unit_index| std::cmp::Reverse(policy.units[*unit_index].priority));
    let mut cause = Cause::default();
    let mut last = None;
    for (count, spaces) in counts.values().zip(spaces) {
        let used = |unit_index: usize| count.units.get(unit_index).copied().unwrap_or(0);
        let is_beyond = count.outside > 0 || count.pending > 0;
        let worst = in_order.iter().rposition(|unit_index| used(*unit_index) > 0);
        let before = if is_beyond { in_order.len() } else { worst.unwrap_or(0) };
        for unit_index in &in_order[..before] {
            let is_full = policy.units[*unit_index].max.is_some_and(|max| used(*unit_index) >= max);
            let space = spaces.get(*unit_index).copied().unwrap_or_default();
            if is_full { &mut cause.full } else { cause.set_of(space) }.insert(*unit_index);
        }
        for (unit_index, unit) in policy.units.iter().enumerate() {
            if unit.max.is_some_and(|max| used(unit_index) > max) {
                cause.over.insert(unit_index);
            }
        }
        if count.pending > 0 && policy.strategy == Strategy::Prefer {
            cause.space_outside = spaces.last().copied();
        }
        last = last.max(worst.filter(|_| !is_beyond));
        cause.placed = cause.placed.saturating_add(count.units.iter().sum());
        cause.outside = cause.outside.saturating_add(count.outside);
        cause.pending = cause.pending.saturating_add(count.pending);
        cause.conflicting = cause.conflicting.saturating_add(count.conflicting);
        cause.gated = cause.gated.saturating_add(count.gated);
    }
    // The value contains the number of placed pods.
    cause.placed = cause.placed.min(1);
    let is_beyond = cause.outside > 0 || cause.pending > 0;
    let last = last.filter(|_| !is_beyond).map(|rank| in_order[rank]);
    (cause, last.and_then(|unit_index| u32::try_from(unit_index).ok()))
}

impl UnitSet {
    fn insert(&mut self, unit_index: usize) {
        self.0 |= u32::try_from(unit_index)
            .ok()
            .and_then(|unit_index| 1_u64.checked_shl(unit_index))
            .unwrap_or(0);
    }
}
