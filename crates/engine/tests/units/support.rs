//! Policies, nodes and pods in a line or two, and a ledger over them.

use std::sync::Arc;

use almanac_engine::units::{
    DeletionCost, Ledger, Node, NodeId, Owner, Pod, ResourcePolicy, Ruling, Strategy, Unit, Verdict,
};
use almanac_engine::{Identity, LabelRequirement, LabelSelector, Labels, ValueRequirement};
use jiff::{SignedDuration, Timestamp};

pub(crate) const NAMESPACE: &str = "shop";
pub(crate) const LONGEST_BIND: SignedDuration = SignedDuration::from_secs(10);
pub(crate) const LEASE: SignedDuration = SignedDuration::from_secs(5);

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
    let owner = Owner { kind: "ReplicaSet".into(), name: "web".into(), uid: None };
    Pod { labels: labels(text), owner: Some(Arc::new(owner)), ..Pod::default() }
}

pub(crate) fn on(node: &str, pod: Pod) -> Pod {
    Pod { node: Some(node.into()), ..pod }
}

/// A ledger that decides by itself.
pub(crate) struct Scene {
    pub(crate) ledger: Ledger,
    pub(crate) now: Timestamp,
}

impl Scene {
    /// With the policy `p`, and nodes as `name: labels`.
    pub(crate) fn new(policy: ResourcePolicy, nodes: &[(&str, &str)]) -> Scene {
        let mut scene = Scene { ledger: Ledger::alone(), now: second(0) };
        scene.set_policy("p", policy);
        for (name, labels) in nodes {
            scene.ledger.set_node(name, &node(labels));
        }
        scene
    }

    pub(crate) fn set_policy(&mut self, name: &str, policy: ResourcePolicy) {
        self.ledger.set_policy(&policy_name(name), policy);
    }

    /// With its own name as its UID.
    pub(crate) fn set_pod(&mut self, name: &str, pod: &Pod) {
        let uid = Some(name.into());
        self.ledger.set_pod(&pod_name(name), &Pod { uid, ..pod.clone() });
    }

    pub(crate) fn remove_pod(&mut self, name: &str) {
        self.ledger.remove_pod(&pod_name(name), Some(&name.into()), None);
    }

    /// So many pods on a node, bound one after the other, named by the node and a number.
    pub(crate) fn fill(&mut self, node: &str, count: usize, of: &Pod) {
        for number in 0..count {
            let bound = Some(second(i64::try_from(number).unwrap()));
            self.set_pod(&format!("{node}-{number}"), &on(node, Pod { bound, ..of.clone() }));
        }
    }

    pub(crate) fn nodes(&self, names: &[&str]) -> Vec<NodeId> {
        names.iter().map(|name| self.ledger.node(name).unwrap()).collect()
    }

    /// The verdicts on candidates, or why all are refused.
    pub(crate) fn filter(&mut self, pod: &str, nodes: &[&str]) -> Result<Vec<Verdict>, String> {
        let candidates = self.nodes(nodes);
        match self.ledger.filter(&pod_name(pod), &candidates, self.now, LEASE) {
            Ruling::ByNode(verdicts) => {
                Ok(candidates.iter().map(|node| verdicts.of(Some(*node))).collect())
            }
            Ruling::Untouched => Ok(vec![Verdict::Chosen; nodes.len()]),
            refused => Err(refused.why_refused().unwrap()),
        }
    }

    /// The same without a lease for what is chosen.
    pub(crate) fn ask(&self, pod: &str, nodes: &[&str]) -> Result<Vec<Verdict>, String> {
        let candidates = self.nodes(nodes);
        match self.ledger.verdicts(&pod_name(pod), &candidates) {
            Ruling::ByNode(verdicts) => {
                Ok(candidates.iter().map(|node| verdicts.of(Some(*node))).collect())
            }
            Ruling::Untouched => Ok(vec![Verdict::Chosen; nodes.len()]),
            refused => Err(refused.why_refused().unwrap()),
        }
    }

    /// Why a node is chosen or not.
    pub(crate) fn why(&self, pod: &str, candidates: &[&str], node: &str) -> String {
        let candidates = self.nodes(candidates);
        match self.ledger.verdicts(&pod_name(pod), &candidates) {
            Ruling::ByNode(verdicts) => verdicts.why(self.ledger.node(node)),
            other => other.why_refused().unwrap_or_default(),
        }
    }

    pub(crate) fn reserve(
        &mut self,
        pod: &str,
        node: &str,
    ) -> Result<almanac_engine::units::Reserved, almanac_engine::units::Unreserved> {
        let uid = Some(Arc::from(pod));
        self.ledger.reserve(&pod_name(pod), uid.as_ref(), node, self.now, LONGEST_BIND)
    }

    /// What is counted in each unit of the only group, and outside.
    pub(crate) fn counts(&self, policy: &str) -> (Vec<u32>, u32) {
        let report = self.ledger.report(&policy_name(policy)).unwrap();
        match &report.groups[..] {
            [] => (Vec::new(), 0),
            [group] => (group.units.iter().map(|unit| unit.used).collect(), group.spilled),
            several => panic!("several groups: {several:?}"),
        }
    }

    /// The changes of costs, by the names of the pods.
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
