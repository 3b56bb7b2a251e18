//! Builders of policies, nodes and pods, and of a ledger with these.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use almanac_engine::units::{
    Confirmed, DeletionCost, Elapsed, Eviction, FilterOutcome, Ledger, LongestBind, Node, NodeId,
    Owner, Pod, ReservationId, ReserveError, ResourcePolicy, Strategy, Unit, Verdict,
};
use almanac_engine::{Identity, LabelRequirement, LabelSelector, Labels, ValueRequirement};
use jiff::Timestamp;

pub(crate) const NAMESPACE: &str = "shop";
pub(crate) const LONGEST_BIND: LongestBind =
    LongestBind::from_timeouts(Duration::from_secs(6), Duration::from_secs(4));
pub(crate) const LEASE: Duration = Duration::from_secs(5);

/// A number of seconds on the monotonic clock.
pub(crate) const fn at(second: u64) -> Elapsed {
    Elapsed::new(Duration::from_secs(second))
}

/// A number of seconds on the wall clock.
pub(crate) fn second(second: i64) -> Timestamp {
    Timestamp::from_second(1_780_000_000 + second).unwrap()
}

pub(crate) fn policy_name(name: &str) -> Identity {
    Identity::new("scheduling.sigs.x-k8s.io", "ResourcePolicy", NAMESPACE, name)
}

pub(crate) fn pod_name(name: &str) -> Identity {
    Identity::new("", "Pod", NAMESPACE, name)
}

/// `a=b,c=d`; empty for no labels.
pub(crate) fn labels(text: &str) -> Labels {
    Labels::new(text.split(',').filter_map(|pair| pair.split_once('=')))
}

/// `a=b,c=d`; empty for everything.
pub(crate) fn selector(text: &str) -> LabelSelector {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    LabelSelector::new(pairs.map(|(key, value)| LabelRequirement {
        key: key.into(),
        of_value: ValueRequirement::In([Arc::from(value)].into()),
    }))
}

pub(crate) fn unit(name: &str, priority: i32, max: impl Into<Option<u32>>, nodes: &str) -> Unit {
    Unit { name: name.into(), priority, max: max.into(), nodes: selector(nodes) }
}

/// A policy for the pods `app=a`, whose strategy is `required`.
pub(crate) fn required(units: impl Into<Vec<Unit>>) -> ResourcePolicy {
    ResourcePolicy { strategy: Strategy::Required, ..prefer(units) }
}

/// A policy for the pods `app=a`, whose strategy is `prefer`.
pub(crate) fn prefer(units: impl Into<Vec<Unit>>) -> ResourcePolicy {
    ResourcePolicy {
        pod_selector: selector("app=a"),
        units: units.into().into(),
        ..ResourcePolicy::default()
    }
}

pub(crate) fn grouped_by(keys: &[&str], policy: ResourcePolicy) -> ResourcePolicy {
    ResourcePolicy { group_keys: keys.iter().map(|key| Arc::from(*key)).collect(), ..policy }
}

pub(crate) fn node(text: &str) -> Node {
    Node { labels: labels(text), ..Node::default() }
}

/// A pod of a `ReplicaSet` without a node.
pub(crate) fn pod(text: &str) -> Pod {
    let owner = owned_by("apps", "ReplicaSet");
    Pod { labels: labels(text), owner: Some(Arc::new(owner)), ..Pod::default() }
}

pub(crate) fn owned_by(group: &str, kind: &str) -> Owner {
    Owner { group: group.into(), kind: kind.into(), name: "web".into(), uid: None }
}

pub(crate) fn on(node: &str, pod: Pod) -> Pod {
    Pod { node: Some(node.into()), ..pod }
}

/// A ledger that decides, and the objects that it reads.
pub(crate) struct Scene {
    pub(crate) ledger: Ledger,
    pub(crate) now: Elapsed,
    pods: BTreeMap<String, Pod>,
    nodes: BTreeMap<String, Node>,
}

impl Scene {
    /// Adds the policy `p`, and nodes as `name: labels`.
    pub(crate) fn new(policy: ResourcePolicy, nodes: &[(&str, &str)]) -> Scene {
        let mut scene = Scene {
            ledger: Ledger::alone(),
            now: at(0),
            pods: BTreeMap::new(),
            nodes: BTreeMap::new(),
        };
        scene.set_policy("p", policy);
        for (name, labels) in nodes {
            scene.set_node(name, labels);
        }
        scene
    }

    pub(crate) fn set_policy(&mut self, name: &str, policy: ResourcePolicy) {
        self.ledger.set_policy(&policy_name(name), policy, None);
    }

    pub(crate) fn remove_policy(&mut self, name: &str) {
        self.ledger.remove_policy(&policy_name(name), None);
    }

    pub(crate) fn set_node(&mut self, name: &str, labels: &str) {
        let node = node(labels);
        self.ledger.set_node(name, &node);
        self.nodes.insert(name.to_owned(), node);
    }

    pub(crate) fn remove_node(&mut self, name: &str) {
        self.ledger.remove_node(name, None);
    }

    /// Sets the pod's name as its UID.
    pub(crate) fn set_pod(&mut self, name: &str, pod: &Pod) {
        let pod = Pod { uid: Some(name.into()), ..pod.clone() };
        self.ledger.set_pod(&pod_name(name), &pod);
        self.pods.insert(name.to_owned(), pod);
    }

    /// Several pods that differ only in their names.
    pub(crate) fn set_pods(&mut self, names: &[&str], pod: &Pod) {
        for name in names {
            self.set_pod(name, pod);
        }
    }

    pub(crate) fn remove_pod(&mut self, name: &str) {
        self.ledger.remove_pod(&pod_name(name), Some(&name.into()), None);
    }

    /// A number of pods on a node, bound in order, named by the node and a number.
    pub(crate) fn fill(&mut self, node: &str, count: usize, of: &Pod) {
        for number in 0..count {
            let bound = Some(second(i64::try_from(number).unwrap()));
            self.set_pod(&format!("{node}-{number}"), &on(node, Pod { bound, ..of.clone() }));
        }
    }

    pub(crate) fn nodes(&self, names: &[&str]) -> Vec<NodeId> {
        names.iter().map(|name| self.ledger.node(name).unwrap()).collect()
    }

    /// The verdicts on candidates, or the reason that all are refused.
    pub(crate) fn filter(&mut self, pod: &str, nodes: &[&str]) -> Result<Vec<Verdict>, String> {
        let candidates = self.nodes(nodes);
        let outcome = self.ledger.filter(&pod_name(pod), Some(pod), &candidates, self.now, LEASE);
        by_node(&outcome, &candidates)
    }

    /// The verdicts without a lease for the chosen node.
    pub(crate) fn verdicts_without_hold(
        &self,
        pod: &str,
        nodes: &[&str],
    ) -> Result<Vec<Verdict>, String> {
        let candidates = self.nodes(nodes);
        by_node(&self.ledger.verdicts(&pod_name(pod), Some(pod), &candidates), &candidates)
    }

    /// The reason that a node is chosen or not.
    pub(crate) fn reason(&self, pod: &str, candidates: &[&str], node: &str) -> String {
        let candidates = self.nodes(candidates);
        match self.ledger.verdicts(&pod_name(pod), Some(pod), &candidates) {
            FilterOutcome::ByNode(verdicts) => verdicts.reason(self.ledger.node(node)),
            other => other.why_refused().unwrap_or_default(),
        }
    }

    /// The nodes on which evicting these pods helps, in the order of their names.
    pub(crate) fn preempt(&mut self, pod: &str, victims: &[(&str, Vec<&str>)]) -> Vec<String> {
        let evictions = victims.iter().map(|(node, victims)| Eviction {
            node: self.ledger.node(node).unwrap(),
            victims: victims.clone(),
            violations: 0,
        });
        let evictions: Vec<Eviction<'_>> = evictions.collect();
        let kept = self.ledger.preempt(&pod_name(pod), Some(pod), &evictions, self.now).unwrap();
        let kept = victims.iter().zip(&evictions).filter(|(_, it)| kept.contains(&it.node));
        kept.map(|((node, _), _)| (*node).to_owned()).collect()
    }

    /// The pods with stale nominations.
    pub(crate) fn stale(&mut self) -> Vec<String> {
        let stale = self.ledger.stale_nominations().pods;
        stale.into_iter().map(|it| it.name().to_owned()).collect()
    }

    /// Reserves by the last set version of the pod and the node.
    pub(crate) fn reserve(&mut self, pod: &str, node: &str) -> Result<ReservationId, ReserveError> {
        let known = self.pods.get(pod).cloned().unwrap_or_default();
        let read = Pod { uid: Some(pod.into()), ..known };
        let node = (node, &self.nodes[node].clone());
        self.ledger.reserve((&pod_name(pod), &read), node, self.now, LONGEST_BIND)
    }

    pub(crate) fn confirm(&mut self, id: ReservationId) -> Result<Confirmed, ReserveError> {
        self.ledger.confirm(id, self.now, LONGEST_BIND)
    }

    /// Reserves and confirms a binding.
    pub(crate) fn bind(&mut self, pod: &str, node: &str) -> (ReservationId, Confirmed) {
        let id = self.reserve(pod, node).unwrap();
        (id, self.confirm(id).unwrap())
    }

    /// The counts in each unit of the only group, and outside.
    pub(crate) fn counts(&self, policy: &str) -> (Vec<u32>, u32) {
        let report = self.ledger.report(&policy_name(policy)).unwrap();
        match &report.groups[..] {
            [] => (Vec::new(), 0),
            [group] => (group.units.iter().map(|unit| unit.used).collect(), group.spilled),
            several => panic!("several groups: {several:?}"),
        }
    }

    /// The changes of costs, by pod name.
    pub(crate) fn costs(&mut self) -> Vec<(String, Option<i32>)> {
        let changes = self.ledger.cost_changes();
        changes.into_iter().map(|it| (it.pod.name().to_owned(), it.cost)).collect()
    }

    pub(crate) fn woken(&mut self) -> Vec<String> {
        let woken = self.ledger.wake(self.now);
        woken.into_iter().map(|it| it.name().to_owned()).collect()
    }
}

/// Costs that a policy has set.
pub(crate) fn ours(cost: i32, pod: Pod) -> Pod {
    Pod { cost: DeletionCost::Ours(cost), ..pod }
}

fn by_node(outcome: &FilterOutcome<'_>, candidates: &[NodeId]) -> Result<Vec<Verdict>, String> {
    match outcome {
        FilterOutcome::ByNode(verdicts) => {
            Ok(candidates.iter().map(|node| verdicts.get(Some(*node))).collect())
        }
        FilterOutcome::Untouched => Ok(vec![Verdict::Chosen; candidates.len()]),
        refused => Err(refused.why_refused().unwrap()),
    }
}
