//! Pods whose binding annotations name a deleted policy.
//!
//! The caller supplies the existing policies. The ledger contains only the policies that are in effect, and an
//! invalid policy still exists.

use std::collections::BTreeMap;

use super::{Ledger, PodSlot};
use crate::Identity;

impl Ledger {
    /// The changed pods since the last call whose binding annotations name a policy without an object, sorted by name.
    /// `exists` receives the namespace and the name of a policy. Each pod is returned once;
    /// [`Ledger::has_stale_binding_annotations`] returns its current state. Empty unless this ledger leads.
    pub fn stale_binding_annotations(
        &mut self,
        exists: impl Fn(&str, &str) -> bool,
    ) -> Vec<Identity> {
        if !self.is_serving() {
            return Vec::new();
        }
        // Many pods share few policies.
        let mut results: BTreeMap<(&str, &str), bool> = BTreeMap::new();
        let unchecked = std::mem::take(&mut self.unchecked_annotations);
        let slots = unchecked.into_iter().map(|id| &self.pods[id]);
        let stale = slots.filter(|slot| {
            let policy = slot.annotated_policy();
            policy.is_some_and(|it| !*results.entry(it).or_insert_with(|| exists(it.0, it.1)))
        });
        let mut stale: Vec<Identity> = stale.map(|slot| slot.identity.clone()).collect();
        stale.sort_unstable();
        stale
    }

    /// Whether the binding annotations of a pod name a policy without an object. `false` unless this ledger leads.
    #[must_use]
    pub fn has_stale_binding_annotations(
        &self,
        pod: &Identity,
        exists: impl Fn(&str, &str) -> bool,
    ) -> bool {
        let id = self.pod_ids.get(pod).filter(|_| self.is_serving());
        let policy = id.and_then(|id| self.pods[*id].annotated_policy());
        policy.is_some_and(|(namespace, name)| !exists(namespace, name))
    }

    /// Checks the pods of a deleted policy again.
    pub fn recheck_binding_annotations_of(&mut self, policy: &Identity) {
        let namespace = self.namespaces.get(policy.namespace());
        let shapes = namespace.into_iter().flat_map(|it| it.shapes.values());
        let pods = shapes.flat_map(|shape| &self.shapes[*shape].pods);
        let of_policy =
            pods.filter(|id| self.pods[**id].bound_policy.as_deref() == Some(policy.name()));
        self.unchecked_annotations.extend(of_policy);
    }

    /// Checks all pods again: an earlier term may have ended before its writes.
    pub(super) fn recheck_all_binding_annotations(&mut self) {
        let recorded = self.pod_ids.values().filter(|id| self.pods[**id].bound_policy.is_some());
        self.unchecked_annotations.extend(recorded);
    }
}

impl PodSlot {
    /// The namespace and name of the policy in the pod's binding annotations; `None` if the extender must not change
    /// the pod.
    fn annotated_policy(&self) -> Option<(&str, &str)> {
        let may_be_changed =
            self.node.is_some() && !self.is_terminating && self.ungoverned.is_none();
        let policy = self.bound_policy.as_deref().filter(|_| may_be_changed)?;
        Some((self.identity.namespace(), policy))
    }
}
