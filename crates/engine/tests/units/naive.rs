//! The pods counted in each unit, in the simple way: by iterating over all pods, for every policy, every time.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::units::{
    DeletionCost, Ledger, Node, Pod, ReservationId, ResourcePolicy, Strategy, Unit, Verdict,
};
use almanac_engine::{Identity, Labels};

pub(crate) type Policies = BTreeMap<Identity, ResourcePolicy>;
pub(crate) type Nodes = BTreeMap<Arc<str>, Node>;
pub(crate) type Pods = BTreeMap<Identity, Pod>;

/// The objects from one point of view. Pods that are being bound are on their nodes already.
#[derive(Clone, Default)]
pub(crate) struct ClusterView {
    pub(crate) policies: Policies,
    pub(crate) nodes: Nodes,
    pub(crate) pods: Pods,
    /// The last labels of deleted nodes to which pods are still bound.
    pub(crate) gone_nodes: BTreeMap<Arc<str>, Labels>,
    /// The pods that are being bound: their order, and the labels that their bindings may give them.
    pub(crate) being_bound: BTreeMap<Identity, (ReservationId, Labels)>,
}

/// The values of the labels of a group.
pub(crate) type GroupKey = Vec<Option<String>>;

/// The counts of a group: for each unit, and last for the nodes outside all units.
pub(crate) type Counted = BTreeMap<GroupKey, Vec<Vec<Identity>>>;

impl ClusterView {
    /// The policies that select a pod.
    pub(crate) fn governing(&self, identity: &Identity, pod: &Pod) -> Vec<&Identity> {
        if pod.ungoverned.is_some() {
            return Vec::new();
        }
        let in_namespace =
            self.policies.iter().filter(|(policy, _)| policy.namespace() == identity.namespace());
        in_namespace
            .filter(|(_, policy)| policy.pod_selector.selects(&pod.labels))
            .map(|(name, _)| name)
            .collect()
    }

    /// The index of a unit; the index after the last unit is for the nodes outside.
    pub(crate) fn unit_of(&self, policy: &ResourcePolicy, node: &str) -> usize {
        let known = self.nodes.get(node).map(|node| &node.labels);
        let Some(labels) = known.or_else(|| self.gone_nodes.get(node)) else {
            return policy.units.len();
        };
        let mut best: Option<(usize, &Unit)> = None;
        for (place, unit) in policy.units.iter().enumerate() {
            let is_better = best.is_none_or(|(_, best)| unit.priority > best.priority);
            if unit.nodes.selects(labels) && is_better {
                best = Some((place, unit));
            }
        }
        best.map_or(policy.units.len(), |(place, _)| place)
    }

    pub(crate) fn counted(&self, name: &Identity) -> Counted {
        let policy = &self.policies[name];
        let mut counted = Counted::new();
        for (identity, pod) in &self.pods {
            let Some(node) = &pod.node else { continue };
            let is_ignored = policy.ignores_terminating && pod.deleted.is_some();
            if pod.is_finished || is_ignored {
                continue;
            }
            let to_come = self.being_bound.get(identity).map(|(_, labels)| labels);
            for labels in [Some(&pod.labels), to_come].into_iter().flatten() {
                let with_labels = Pod { labels: labels.clone(), ..pod.clone() };
                if !self.governing(identity, &with_labels).contains(&name) {
                    continue;
                }
                let places = counted
                    .entry(group_of(policy, labels))
                    .or_insert_with(|| vec![Vec::new(); policy.units.len() + 1]);
                let place = &mut places[self.unit_of(policy, node)];
                if !place.contains(identity) {
                    place.push(identity.clone());
                }
            }
        }
        counted
    }

    /// The cost that each pod should have.
    pub(crate) fn wanted_costs(&self) -> BTreeMap<Identity, i32> {
        let mut wanted = BTreeMap::new();
        for (name, policy) in &self.policies {
            for places in self.counted(name).into_values() {
                for (place, mut pods) in places.into_iter().enumerate() {
                    let unit = policy.units.get(place);
                    let max = unit.and_then(|unit| unit.max).map_or(usize::MAX, |max| max as usize);
                    pods.sort_by_key(|name| {
                        let (pod, being_bound) = (&self.pods[name], self.being_bound.get(name));
                        let bound = pod.bound.or(pod.created).filter(|_| being_bound.is_none());
                        (being_bound.map(|(id, _)| *id), bound, pod.uid.clone(), name.clone())
                    });
                    for (rank, pod) in pods.into_iter().enumerate() {
                        let over = i32::try_from(rank.saturating_sub(max)).unwrap();
                        let cost = match unit {
                            Some(_) if rank >= max => -100 * (over + 1),
                            Some(unit) => unit.priority.saturating_add(1).saturating_mul(100),
                            None => 0,
                        };
                        let owner = self.pods[&pod].owner.as_ref();
                        let is_replica_set = owner
                            .is_some_and(|it| &*it.group == "apps" && &*it.kind == "ReplicaSet");
                        if is_replica_set && self.governing(&pod, &self.pods[&pod]).len() == 1 {
                            wanted.insert(pod, cost);
                        }
                    }
                }
            }
        }
        wanted
    }

    /// The costs to write: `None` removes one.
    pub(crate) fn cost_changes(&self) -> BTreeMap<Identity, Option<i32>> {
        let wanted = self.wanted_costs();
        let mut changes = BTreeMap::new();
        for (identity, pod) in &self.pods {
            let wanted = wanted.get(identity).copied();
            let is_right = match pod.cost {
                DeletionCost::Unset => wanted.is_none(),
                DeletionCost::Ours(cost) => wanted == Some(cost),
                DeletionCost::Others(_) => true,
            };
            let is_conflict = self.governing(identity, pod).len() > 1;
            let is_ended = pod.is_finished || pod.deleted.is_some();
            if pod.node.is_some() && !is_ended && !is_conflict && !is_right {
                changes.insert(identity.clone(), wanted);
            }
        }
        changes
    }

    /// The verdicts on nodes for a pod without one, as if there were no leases; `None` if all or none may be used.
    pub(crate) fn verdicts(&self, identity: &Identity, nodes: &[Arc<str>]) -> Option<Vec<Verdict>> {
        let pod = &self.pods[identity];
        let [name] = self.governing(identity, pod)[..] else { return None };
        let policy = &self.policies[name];
        let counted = self.counted(name);
        let mine = counted.get(&group_of(policy, &pod.labels));
        let used = |place: usize| mine.map_or(0, |places| places[place].len());
        let is_full =
            |place: usize| policy.units[place].max.is_some_and(|max| used(place) >= max as usize);
        // Unknown nodes are not candidates.
        let place_of =
            |node: &Arc<str>| self.nodes.contains_key(node).then(|| self.unit_of(policy, node));
        let places: Vec<Option<usize>> = nodes.iter().map(place_of).collect();
        let outside = policy.units.len();
        let known = places.iter().flatten();
        let open = known.filter(|place| **place != outside && !is_full(**place));
        let best = open.map(|place| policy.units[*place].priority).max();
        let verdict = |place: &usize| match (policy.units.get(*place), best) {
            (Some(unit), _) if unit.max == Some(0) => Verdict::Closed,
            (Some(_), _) if is_full(*place) => Verdict::Full,
            (Some(unit), Some(best)) if unit.priority == best => Verdict::Chosen,
            (None, _) if policy.strategy == Strategy::Required => Verdict::Outside,
            (None, None) => Verdict::Chosen,
            (Some(_) | None, _) => Verdict::Lower,
        };
        let verdicts =
            places.iter().map(|place| place.as_ref().map_or(Verdict::UnknownNode, verdict));
        Some(verdicts.collect())
    }

    /// The first difference from the counts of a ledger, if any.
    pub(crate) fn difference(&self, ledger: &Ledger) -> Option<String> {
        for (name, policy) in &self.policies {
            let Some(report) = ledger.report(name) else {
                return Some(format!("{name} is missing"));
            };
            let mut theirs: BTreeMap<GroupKey, Vec<usize>> = BTreeMap::new();
            for group in &report.groups {
                let key = group.labels.iter().map(|(_, value)| value.as_deref().map(str::to_owned));
                let mut counts: Vec<usize> =
                    group.units.iter().map(|unit| unit.used as usize).collect();
                counts.push(group.spilled as usize);
                if counts.iter().any(|count| *count > 0) {
                    theirs.insert(key.collect(), counts);
                }
            }
            let ours: BTreeMap<GroupKey, Vec<usize>> = self
                .counted(name)
                .into_iter()
                .map(|(key, places)| (key, places.iter().map(Vec::len).collect()))
                .collect();
            if ours != theirs {
                return Some(format!(
                    "{name} has {ours:?}, the ledger counts {theirs:?} ({policy:?})"
                ));
            }
        }
        let known: Vec<&Identity> = ledger.policies().collect();
        (known != self.policies.keys().collect::<Vec<_>>()).then(|| format!("it knows {known:?}"))
    }
}

pub(crate) fn group_of(policy: &ResourcePolicy, labels: &Labels) -> GroupKey {
    policy.group_keys.iter().map(|key| labels.get(key).map(str::to_owned)).collect()
}
