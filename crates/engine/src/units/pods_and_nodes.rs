//! The pods and nodes at the start of a run, and the workloads that create further pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Node, Owner, Pod, SchedulingSimulation};
use crate::{Autoscaler, Identity, Labels, Objects, Workload};

/// The label by which a `Deployment` distinguishes the pods of different revisions.
pub(super) const REVISION: &str = "pod-template-hash";
/// The revision labels of a `Deployment`, a `Rollout` and a `StatefulSet`.
const REVISIONS: [&str; 3] = [REVISION, "rollouts-pod-template-hash", "controller-revision-hash"];
/// The kind of the owner of the pods of a `Deployment` or a `Rollout`.
const REPLICA_SET: &str = "ReplicaSet";

/// Pods, nodes, and the workloads that create pods.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodsAndNodes {
    /// Nodes, by name.
    pub nodes: BTreeMap<Arc<str>, Node>,
    /// Pods, by identity.
    pub pods: BTreeMap<Identity, Pod>,
    /// The workloads, each with a pod from its template.
    pub templates: BTreeMap<Identity, Pod>,
    /// The autoscaler of each workload that has one.
    pub autoscalers: BTreeMap<Identity, Identity>,
    /// The number of the first pod of a `StatefulSet`, unless it is 0.
    pub first_numbers: BTreeMap<Identity, u64>,
}

/// The state that units read.
#[derive(Clone, Debug, Default)]
pub struct UnitsState {
    /// The pods and nodes at the start of a run. Parts of a world share them.
    pub pods_and_nodes: Arc<PodsAndNodes>,
    /// The assignment of pods to units since then; `None` before the run starts.
    pub scheduling: Option<Box<SchedulingSimulation>>,
}

/// An object that units read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UnitObject {
    /// A node.
    Node(Node),
    /// A pod.
    Pod(Box<Pod>),
    /// A workload, with a pod from its template.
    Template(Box<Pod>),
    /// The autoscaler of this workload.
    AutoscalerOf(Identity),
    /// The number of the first pod of a `StatefulSet`.
    FirstNumber(u64),
}

/// The desired replicas of workloads: the set number, within the bounds of their autoscalers.
#[derive(Clone, Copy, Debug)]
pub struct Replicas<'w> {
    /// The workloads, with the set replicas.
    pub workloads: &'w BTreeMap<Identity, Workload>,
    /// The autoscalers, with their bounds.
    pub autoscalers: &'w BTreeMap<Identity, Autoscaler>,
    /// The autoscaler of each workload.
    pub autoscaler_of: &'w BTreeMap<Identity, Identity>,
}

impl<'w> Replicas<'w> {
    /// The replicas of the workloads in `objects`.
    pub(crate) fn from_objects(objects: &'w Objects, state: &'w UnitsState) -> Replicas<'w> {
        let (workloads, autoscalers) = (&objects.workloads, &objects.autoscalers);
        Replicas { workloads, autoscalers, autoscaler_of: &state.pods_and_nodes.autoscalers }
    }

    /// The replicas of a workload; `None` if they are unknown. An autoscaler does not change a workload without
    /// replicas.
    pub(super) fn get(&self, workload: &Identity) -> Option<u32> {
        let set = self.workloads.get(workload)?.replicas?;
        let autoscaler = self.autoscaler_of.get(workload);
        let bounds = autoscaler.and_then(|autoscaler| self.autoscalers.get(autoscaler));
        let Some(bounds) = bounds.filter(|_| set > 0) else { return Some(set) };
        let least = set.max(bounds.min_replicas.unwrap_or(0));
        Some(least.min(bounds.max_replicas.unwrap_or(u32::MAX)))
    }
}

impl PodsAndNodes {
    /// Adds an object, or replaces it.
    pub(crate) fn upsert(&mut self, identity: Identity, object: UnitObject) {
        match object {
            UnitObject::Node(node) => {
                self.nodes.insert(identity.name().into(), node);
            }
            UnitObject::Pod(pod) => {
                self.pods.insert(identity, *pod);
            }
            UnitObject::Template(pod) => {
                self.templates.insert(identity, *pod);
            }
            UnitObject::FirstNumber(number) => {
                self.first_numbers.insert(identity, number);
            }
            UnitObject::AutoscalerOf(workload) => {
                let known = self.autoscalers.entry(workload).or_insert_with(|| identity.clone());
                // Of several autoscalers, the first by name applies.
                if identity < *known {
                    *known = identity;
                }
            }
        }
    }

    /// The pods of a namespace, in the order of their names.
    pub(super) fn pods_in(&self, namespace: &str) -> impl Iterator<Item = (&Identity, &Pod)> {
        let first = Identity::new("", "Pod", namespace, "");
        self.pods.range(first..).take_while(move |(pod, _)| {
            (pod.group(), pod.kind(), pod.namespace()) == ("", "Pod", namespace)
        })
    }

    /// The workloads of a namespace, in the order of their names.
    pub(super) fn templates_in(&self, namespace: &str) -> impl Iterator<Item = (&Identity, &Pod)> {
        self.templates.iter().filter(move |(workload, _)| workload.namespace() == namespace)
    }
}

/// The workloads that create pods, by the owner references of the pods.
pub(super) struct Makers<'f> {
    by_name: BTreeMap<(&'f str, &'f str, &'f str), &'f Identity>,
}

impl<'f> Makers<'f> {
    pub(super) fn new(pods_and_nodes: &'f PodsAndNodes) -> Makers<'f> {
        let named = |it: &'f Identity| ((it.namespace(), it.kind(), it.name()), it);
        Makers { by_name: pods_and_nodes.templates.keys().map(named).collect() }
    }

    /// The workload that owns a pod. The name of a `Deployment`'s `ReplicaSet` consists of the name and the revision.
    pub(super) fn workload_of(&self, namespace: &str, pod: &Pod) -> Option<&'f Identity> {
        let owner = pod.owner.as_deref()?;
        let named = |kind: &str, name: &str| self.by_name.get(&(namespace, kind, name)).copied();
        named(&owner.kind, &owner.name).or_else(|| {
            let revisions = REVISIONS.into_iter().filter_map(|label| pod.labels.get(label));
            let mut workloads = revisions
                .filter_map(|revision| owner.name.strip_suffix(revision)?.strip_suffix('-'));
            workloads.find_map(|name| {
                ["Deployment", "Rollout"].into_iter().find_map(|kind| named(kind, name))
            })
        })
    }
}

/// The labels of the next pods of a workload: the labels of its template, and the revision of its newest pod.
pub(super) fn labels_of_next<'p>(
    template: &Pod,
    pods: impl Iterator<Item = (&'p Identity, &'p Pod)>,
) -> Labels {
    let Some((_, newest)) = pods.max_by_key(|(identity, pod)| (pod.created, *identity)) else {
        return template.labels.clone();
    };
    let revisions = REVISIONS.into_iter().filter(|label| template.labels.get(label).is_none());
    let revisions = revisions.filter_map(|label| Some((label, newest.labels.get(label)?)));
    Labels::new(template.labels.iter().chain(revisions))
}

/// The owner of the pods of a workload.
pub(super) fn owner_of_next(workload: &Identity) -> Owner {
    let (group, kind) = match workload.kind() {
        "Deployment" | "Rollout" => ("apps", REPLICA_SET),
        kind => (workload.group(), kind),
    };
    Owner { group: group.into(), kind: kind.into(), name: workload.name().into(), uid: None }
}
