//! A world with workloads, nodes and policies for units, and their turns.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_checker::check_units;
use almanac_engine::turn::{self, Turn};
use almanac_engine::units::{
    Node, Owner, Pod, ResourcePolicy, Resources, UnitObject, Units, gather,
};
use almanac_engine::{
    Family, Field, Identity, PolicyName, PolicyObject, Reach, Slim, Value, Workload, World, begin,
};

use crate::support::{NAMESPACE, labels, pod_name, policy_name, second};

/// A namespace with workloads.
#[derive(Clone)]
pub(super) struct Shop {
    pub(super) world: World,
    /// The last reported numbers.
    values: BTreeMap<(Identity, Field), Value>,
}

pub(super) fn workload(name: &str) -> Identity {
    Identity::new("apps", "Deployment", NAMESPACE, name)
}

/// A node with labels such as `pool=a`.
pub(super) fn node(text: &str) -> Node {
    Node { labels: labels(text), ..Node::default() }
}

/// A node with free capacity for this number of pods.
pub(super) fn small_node(text: &str, pods: u32) -> Node {
    let allocatable = Some(Resources { pods: Some(pods), ..Resources::default() });
    Node { allocatable, ..node(text) }
}

/// The owner of a pod.
pub(super) fn owner(kind: &str, name: &str) -> Arc<Owner> {
    Arc::new(Owner { group: "apps".into(), kind: kind.into(), name: name.into(), uid: None })
}

/// A pod with labels such as `app=a`.
pub(super) fn pod(text: &str) -> Pod {
    Pod { labels: labels(text), ..Pod::default() }
}

impl Shop {
    /// A policy called `web`.
    pub(super) fn new(policy: ResourcePolicy) -> Shop {
        Shop { world: World::default(), values: BTreeMap::new() }.policy("web", policy)
    }

    pub(super) fn policy(mut self, name: &str, policy: ResourcePolicy) -> Shop {
        self.world.upsert(policy_name(name), Slim::Units(PolicyObject::new(policy)));
        self
    }

    pub(super) fn node(mut self, name: &str, node: Node) -> Shop {
        let identity = Identity::new("", "Node", "", name);
        self.world.upsert(identity, Slim::UnitObject(UnitObject::Node(node)));
        self
    }

    pub(super) fn pod(mut self, name: &str, pod: Pod) -> Shop {
        self.world.upsert(pod_name(name), Slim::UnitObject(UnitObject::Pod(Box::new(pod))));
        self
    }

    /// A Deployment whose pods have these labels.
    pub(super) fn workload(self, name: &str, text: &str, replicas: u32) -> Shop {
        self.made_by(&workload(name), pod(text), replicas)
    }

    pub(super) fn made_by(mut self, workload: &Identity, made: Pod, replicas: u32) -> Shop {
        self.world.upsert(workload.clone(), Slim::UnitObject(UnitObject::Template(Box::new(made))));
        self.scale(workload, replicas);
        self
    }

    /// The number of the first pod of a `StatefulSet`.
    pub(super) fn first_number(mut self, workload: &Identity, number: u64) -> Shop {
        self.world.upsert(workload.clone(), Slim::UnitObject(UnitObject::FirstNumber(number)));
        self
    }

    pub(super) fn scale(&mut self, workload: &Identity, replicas: u32) {
        let replicas = Workload { replicas: Some(replicas), current: None };
        self.world.upsert(workload.clone(), Slim::Workload(replicas));
    }

    /// Starts a run at the second 0, and schedules the pods.
    pub(super) fn begun(mut self) -> Shop {
        begin(&mut self.world, second(0));
        self.turns(0);
        self
    }

    /// Runs the turns of all policies at a second, and again while the policies influence each other.
    pub(super) fn turns(&mut self, at: i64) -> Vec<Turn> {
        let policies: Vec<PolicyName> = self.world.policies().collect();
        let again: Vec<PolicyName> = policies.iter().chain(&policies).cloned().collect();
        let mut turns = Vec::new();
        for policy in again.iter().filter(|it| it.family == Family::Units) {
            let Some(turn) = self.turn(policy, at) else { continue };
            for effect in &turn.effects {
                let place = (effect.target.clone(), effect.field);
                self.values.insert(place, effect.value.clone());
            }
            turns.push(turn);
        }
        turns
    }

    /// Runs a checked turn of a policy. The world applies the actions.
    fn turn(&mut self, policy: &PolicyName, at: i64) -> Option<Turn> {
        let now = second(at);
        let open = turn::open(&self.world, policy, &Reach::everything(), now)?;
        let input = gather(self.world.view(), &policy.identity)?;
        let decided = open.decision().get::<Units>()?;
        check_units(&input, now, &decided.decision).stop();
        let actions = open.actions().to_vec();
        let outcomes = actions.iter().map(|action| self.world.apply(action)).collect();
        Some(open.close(&mut self.world, outcomes, now))
    }

    /// The pods in the units of a policy, and the pending ones: `a 3, b 1; 2`.
    pub(super) fn filled(&self, policy: &str) -> String {
        let values = |field| self.values[&(policy_name(policy), field)].to_string();
        format!("{}; {}", values(Field::UnitPods), values(Field::PendingPods))
    }

    /// The nodes of the pods whose names start with a prefix, in the order of the names; `-` for none.
    pub(super) fn nodes(&self, beginning: &str) -> String {
        let pods = self.world.units.extra.scheduling.as_ref().unwrap().pods();
        let own = pods.filter(|(pod, _)| pod.name().starts_with(beginning));
        own.map(|(_, it)| it.node.as_deref().unwrap_or("-")).collect::<Vec<_>>().join(" ")
    }
}
