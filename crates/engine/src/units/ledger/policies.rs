//! Policies that are created, edited and deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::prepared::PreparedPolicy;
use super::usage::PolicyUsage;
use super::{CountedIn, Ledger, is_newer, is_outdated};
use crate::Identity;
use crate::units::slots::{PolicyId, ShapeId, SlotId as _};
use crate::units::{ResourcePolicy, Unit};

/// Pods that no policy governs until the change is complete, in the order of their labels, with the policies that
/// select them.
type Released = Vec<(ShapeId, Vec<PolicyId>)>;

impl Ledger {
    /// Applies a watch event of a new or edited policy. The version is that of the object; `None` for a file. Only the
    /// pods of the policy are counted again, and no pods if only caps have changed.
    pub fn set_policy(
        &mut self,
        identity: &Identity,
        policy: ResourcePolicy,
        version: Option<u64>,
    ) {
        let labels = self.label_snapshot(identity.namespace());
        self.set_prepared_policy(identity, &PreparedPolicy::new(policy, &labels), version);
    }

    /// Applies a watch event of a policy with precomputed data.
    pub fn set_prepared_policy(
        &mut self,
        identity: &Identity,
        prepared: &PreparedPolicy,
        version: Option<u64>,
    ) {
        self.policies_seen = self.policies_seen.max(version);
        self.apply_policy(identity, prepared, version);
    }

    /// Applies a watch event: a policy was deleted. The other policies that select its pods now govern them.
    pub fn remove_policy(&mut self, identity: &Identity, version: Option<u64>) {
        self.policies_seen = self.policies_seen.max(version);
        let Some(id) = self.policy(identity) else { return };
        if !is_outdated(self.usages[id].version, version) {
            self.discard_policy(id);
        }
    }

    /// Replaces the policies by one list of all existing policies at that version, each with its own version. Later
    /// watch events are newer.
    pub fn replace_policies(
        &mut self,
        all: impl IntoIterator<Item = (Identity, ResourcePolicy, Option<u64>)>,
        version: Option<u64>,
    ) {
        let mut unlisted: BTreeSet<Identity> = self.policies().cloned().collect();
        for (identity, policy, of_policy) in all {
            unlisted.remove(&identity);
            // The watch covers every policy: a listed policy that the ledger should contain and lacks was deleted.
            let is_known = self.policy(&identity).is_some();
            if is_known || !is_outdated(self.policies_seen, of_policy) {
                let labels = self.label_snapshot(identity.namespace());
                self.apply_policy(&identity, &PreparedPolicy::new(policy, &labels), of_policy);
            }
        }
        for identity in unlisted {
            if let Some(id) = self.policy(&identity)
                && !is_newer(self.usages[id].version, version)
            {
                self.discard_policy(id);
            }
        }
        self.policies_seen = self.policies_seen.max(version);
    }

    /// All policies, in the order of their names.
    pub fn policies(&self) -> impl Iterator<Item = &Identity> {
        self.namespaces.values().flat_map(|namespace| namespace.policies.keys())
    }

    pub(super) fn policy(&self, identity: &Identity) -> Option<PolicyId> {
        self.namespaces.get(identity.namespace())?.policies.get(identity).copied()
    }

    fn apply_policy(
        &mut self,
        identity: &Identity,
        prepared: &PreparedPolicy,
        version: Option<u64>,
    ) {
        let Some(id) = self.policy(identity) else {
            return self.add_policy(identity, prepared, version);
        };
        let policy = &prepared.policy;
        let usage = &mut self.usages[id];
        if is_outdated(usage.version, version) {
            return;
        }
        usage.version = version;
        if usage.policy == *policy {
            return;
        }
        if differ_only_in_caps(&usage.policy, policy) {
            return self.set_caps(id, Arc::clone(policy));
        }
        let released = self.release_governed(id);
        self.usages[id] = PolicyUsage::new(identity.clone(), prepared, version);
        self.place_all_nodes(id, prepared);
        self.govern_selected(id, prepared, released);
    }

    fn add_policy(&mut self, identity: &Identity, prepared: &PreparedPolicy, version: Option<u64>) {
        let id = self.usages.insert(PolicyUsage::new(identity.clone(), prepared, version));
        let namespace = self.namespaces.entry(identity.namespace().into()).or_default();
        namespace.policies.insert(identity.clone(), id);
        self.place_all_nodes(id, prepared);
        self.govern_selected(id, prepared, Released::new());
    }

    fn discard_policy(&mut self, id: PolicyId) {
        let released = self.release_governed(id);
        let identity = self.usages[id].identity.clone();
        if let Some(namespace) = self.namespaces.get_mut(identity.namespace()) {
            namespace.policies.remove(&identity);
            if namespace.policies.is_empty() && namespace.shapes.is_empty() {
                self.namespaces.remove(identity.namespace());
            }
        }
        for (shape, selecting) in released {
            self.govern_by(shape, selecting);
        }
        self.usages.remove(id);
    }

    fn set_caps(&mut self, id: PolicyId, policy: Arc<ResourcePolicy>) {
        let before = self.usages[id].policy.units.iter();
        let is_raised = before.zip(&policy.units).any(|(before, now)| before.max < now.max);
        let crossings = self.usages[id].set_caps(policy);
        for (group, unit_index, crossed) in crossings {
            self.note_crossings(CountedIn { policy: id, group, unit_index }, &crossed);
        }
        if is_raised {
            let groups: Vec<_> = self.usages[id].waiting_groups().collect();
            for group in groups {
                self.wake_for_room(id, group);
            }
        }
    }

    fn place_all_nodes(&mut self, id: PolicyId, prepared: &PreparedPolicy) {
        let usage = &mut self.usages[id];
        for (node, slot) in self.nodes.iter() {
            usage.set_unit_of(node, prepared.unit_of(node.index(), slot.labels.as_ref()));
        }
    }

    /// Releases all pods that a policy selects. Returns the pods, with the other policies that select them.
    fn release_governed(&mut self, id: PolicyId) -> Released {
        let mut governed = self.shapes_in(self.usages[id].identity.namespace());
        governed.retain(|shape| {
            let governing = &self.shapes[*shape].governing;
            governing.iter().any(|(policy, _)| *policy == id)
        });
        let release = |shape| {
            let mut others = self.release(shape);
            others.retain(|policy| *policy != id);
            (shape, others)
        };
        governed.into_iter().map(release).collect()
    }

    /// Lets a new or edited policy govern the pods that it selects. Deselected pods go to the other policies that
    /// select them. The other policies have not changed, so their selectors are not evaluated.
    fn govern_selected(&mut self, id: PolicyId, prepared: &PreparedPolicy, released: Released) {
        let mut released: BTreeMap<ShapeId, Vec<PolicyId>> = released.into_iter().collect();
        let mut regoverned = Released::new();
        for shape in self.shapes_in(self.usages[id].identity.namespace()) {
            let is_selected = prepared.selects(shape, &self.shapes[shape].labels);
            let mut selecting = match released.remove(&shape) {
                Some(others) => others,
                None if is_selected => self.release(shape),
                None => continue,
            };
            if is_selected {
                selecting.push(id);
                let name = |policy: &PolicyId| &self.usages[*policy].identity;
                selecting.sort_by(|one, other| name(one).cmp(name(other)));
            }
            regoverned.push((shape, selecting));
        }
        for (shape, selecting) in regoverned {
            self.govern_by(shape, selecting);
        }
    }

    fn shapes_in(&self, namespace: &str) -> Vec<ShapeId> {
        let shapes = self.namespaces.get(namespace).map(|namespace| namespace.shapes.values());
        shapes.into_iter().flatten().copied().collect()
    }
}

/// Whether two policies differ only in caps, of units with a cap in both.
fn differ_only_in_caps(one: &ResourcePolicy, other: &ResourcePolicy) -> bool {
    let ResourcePolicy { pod_selector, group_keys, ignores_terminating, strategy, units } = one;
    let differs_only_in_cap = |(one, other): (&Unit, &Unit)| {
        let Unit { name, priority, max, nodes } = one;
        let is_capped = max.is_some();
        let has_same_name = *name == other.name && *priority == other.priority;
        has_same_name && is_capped == other.max.is_some() && *nodes == other.nodes
    };
    *pod_selector == other.pod_selector
        && *group_keys == other.group_keys
        && *ignores_terminating == other.ignores_terminating
        && *strategy == other.strategy
        && units.len() == other.units.len()
        && units.iter().zip(&other.units).all(differs_only_in_cap)
}
