//! The webhook's index of the cluster: the policies, autoscalers and workloads that an object can be in conflict with.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use almanac_api::checking::CheckedObject;
use almanac_api::kinds::{Kind, Role};
use almanac_engine::units::Pod;
use almanac_engine::{Identity, Slim};

/// The retained part of an object.
#[derive(Clone, Debug)]
pub(super) struct IndexedObject {
    pub(super) checked: Arc<CheckedObject>,
    /// The pods that the object creates, if it is a workload.
    pub(super) template: Option<Arc<Pod>>,
}

/// The index, which many reviews read concurrently.
#[derive(Clone, Default)]
pub(super) struct SharedIndex {
    index: Arc<RwLock<ObjectIndex>>,
}

impl SharedIndex {
    pub(super) fn read(&self) -> RwLockReadGuard<'_, ObjectIndex> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, ObjectIndex> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The objects, the autoscalers of each target, and the namespaces with the ignore annotation.
#[derive(Default)]
pub(super) struct ObjectIndex {
    objects: BTreeMap<Identity, IndexedObject>,
    writers: BTreeMap<Identity, BTreeSet<Identity>>,
    marked_namespaces: BTreeSet<String>,
}

impl ObjectIndex {
    /// Inserts or replaces an object.
    pub(super) fn upsert(&mut self, identity: &Identity, object: IndexedObject) {
        self.remove(identity);
        if let Some(target) = &object.checked.scales {
            let writers = self.writers.entry(target.identity().clone()).or_default();
            writers.insert(identity.clone());
        }
        self.objects.insert(identity.clone(), object);
    }

    /// Removes an object.
    pub(super) fn remove(&mut self, identity: &Identity) {
        let Some(before) = self.objects.remove(identity) else { return };
        let Some(target) = &before.checked.scales else { return };
        if let Some(writers) = self.writers.get_mut(target.identity()) {
            writers.remove(identity);
            if writers.is_empty() {
                self.writers.remove(target.identity());
            }
        }
    }

    /// Records whether a namespace has the ignore annotation.
    pub(super) fn mark_namespace(&mut self, name: &str, is_marked: bool) {
        if is_marked {
            self.marked_namespaces.insert(name.to_owned());
        } else {
            self.marked_namespaces.remove(name);
        }
    }

    /// Whether the annotation of a namespace exempts its objects.
    pub(super) fn is_marked(&self, namespace: &str) -> bool {
        self.marked_namespaces.contains(namespace)
    }

    /// The objects of a kind.
    pub(super) fn identities(&self, kind: Kind) -> impl Iterator<Item = &Identity> {
        let is_of_kind = move |it: &&Identity| Kind::for_object(it) == Some(kind);
        self.objects.keys().filter(is_of_kind)
    }

    /// The objects that may be in conflict with an object, in their order, without the object itself.
    pub(super) fn neighbors(&self, object: &CheckedObject) -> BTreeMap<Identity, IndexedObject> {
        let mut neighbors = BTreeMap::new();
        let mut add = |identity: &Identity| {
            if let Some(known) = self.objects.get(identity) {
                neighbors.insert(identity.clone(), known.clone());
            }
        };
        if let Some(target) = &object.scales {
            let target = target.identity();
            self.writers.get(target).into_iter().flatten().for_each(&mut add);
            let template = self.objects.get(target).and_then(|it| it.template.clone());
            if let Some(template) = template {
                add(target);
                let selecting = |it: &IndexedObject| selects(&it.checked, &template);
                let policies = self.objects_in(Kind::ResourcePolicy, target.namespace());
                policies.filter(|(_, it)| selecting(it)).for_each(|(it, _)| add(it));
            }
        }
        if let (Some(Slim::Units(_)), Some(identity)) = (&object.slim, &object.identity) {
            let namespace = identity.namespace();
            let workloads = Kind::ALL.iter().copied().filter(|kind| is_workload(*kind));
            let workloads = workloads.flat_map(|kind| self.objects_in(kind, namespace));
            for (workload, known) in workloads {
                if known.template.as_ref().is_some_and(|template| selects(object, template)) {
                    add(workload);
                    self.writers.get(workload).into_iter().flatten().for_each(&mut add);
                }
            }
            self.objects_in(Kind::ResourcePolicy, namespace).for_each(|(it, _)| add(it));
        }
        if let Some(identity) = &object.identity {
            neighbors.remove(identity);
        }
        neighbors
    }

    /// The objects of a kind in a namespace.
    fn objects_in(
        &self,
        kind: Kind,
        namespace: &str,
    ) -> impl Iterator<Item = (&Identity, &IndexedObject)> {
        let first = kind.identity(namespace, "");
        let namespace = namespace.to_owned();
        let from = self.objects.range((Bound::Included(first), Bound::Unbounded));
        from.take_while(move |(it, _)| {
            it.kind() == kind.name() && it.group() == kind.group() && it.namespace() == namespace
        })
    }
}

/// Whether objects of a watched kind have pod templates.
pub(super) fn is_workload(kind: Kind) -> bool {
    kind.is_compared() && matches!(kind.role(), Role::Workload { .. })
}

/// Whether an object is a `ResourcePolicy` that selects these pods.
fn selects(object: &CheckedObject, pod: &Pod) -> bool {
    let Some(Slim::Units(units)) = &object.slim else { return false };
    units.policy.as_ref().is_some_and(|policy| policy.pod_selector.selects(&pod.labels))
}
