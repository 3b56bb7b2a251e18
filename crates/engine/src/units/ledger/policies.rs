//! Policies that come, are edited, and go.

use std::collections::BTreeSet;

use super::book::Book;
use super::{Governing, Ledger, Seat};
use crate::Identity;
use crate::units::slots::{PolicyId, ShapeId};
use crate::units::{ResourcePolicy, Unit};

impl Ledger {
    /// Adds a policy, or replaces it. Only its pods are counted again, and none of them if only caps have changed.
    pub fn set_policy(&mut self, identity: &Identity, policy: ResourcePolicy) {
        let Some(id) = self.policy(identity) else { return self.add_policy(identity, policy) };
        if self.books[id].policy == policy {
            return;
        }
        if differ_only_in_caps(&self.books[id].policy, &policy) {
            return self.set_caps(id, policy);
        }
        let released = self.release_governed(id);
        self.books[id] = Book::new(identity.clone(), policy);
        self.place_all_nodes(id);
        self.govern_selected(identity.namespace(), id, released);
    }

    /// Removes a policy. Its pods are governed by none, or by the one other policy that selects them.
    pub fn remove_policy(&mut self, identity: &Identity) {
        let Some(id) = self.policy(identity) else { return };
        let released = self.release_governed(id);
        let conflicting = self.conflicting(identity.namespace(), id);
        if let Some(namespace) = self.namespaces.get_mut(identity.namespace()) {
            namespace.policies.remove(identity);
            if namespace.policies.is_empty() && namespace.shapes.is_empty() {
                self.namespaces.remove(identity.namespace());
            }
        }
        for shape in conflicting {
            self.release(shape);
            self.govern(shape);
        }
        for shape in released {
            self.govern(shape);
        }
        self.books.remove(id);
    }

    /// All policies there are.
    pub fn replace_policies(&mut self, all: impl IntoIterator<Item = (Identity, ResourcePolicy)>) {
        let mut unlisted: BTreeSet<Identity> = self.policies().cloned().collect();
        for (identity, policy) in all {
            unlisted.remove(&identity);
            self.set_policy(&identity, policy);
        }
        for identity in unlisted {
            self.remove_policy(&identity);
        }
    }

    /// All policies, in the order of their names.
    pub fn policies(&self) -> impl Iterator<Item = &Identity> {
        self.namespaces.values().flat_map(|namespace| namespace.policies.keys())
    }

    pub(super) fn policy(&self, identity: &Identity) -> Option<PolicyId> {
        self.namespaces.get(identity.namespace())?.policies.get(identity).copied()
    }

    fn add_policy(&mut self, identity: &Identity, policy: ResourcePolicy) {
        let id = self.books.insert(Book::new(identity.clone(), policy));
        let namespace = self.namespaces.entry(identity.namespace().into()).or_default();
        namespace.policies.insert(identity.clone(), id);
        self.place_all_nodes(id);
        self.govern_selected(identity.namespace(), id, Vec::new());
    }

    fn set_caps(&mut self, id: PolicyId, policy: ResourcePolicy) {
        let crossings = self.books[id].set_caps(policy);
        for (group, place, crossed) in crossings {
            self.note_crossings(Seat { policy: id, group, place, since: None }, &crossed);
        }
        let groups: Vec<_> = self.books[id].ordered_groups().map(|(group, _)| group).collect();
        for group in groups {
            self.waiting.edited(id, group);
        }
    }

    fn place_all_nodes(&mut self, id: PolicyId) {
        for (node, slot) in self.nodes.iter() {
            self.books[id].place_node(node, slot.labels.as_ref());
        }
    }

    /// Lets go of all pods that a policy governs.
    fn release_governed(&mut self, id: PolicyId) -> Vec<ShapeId> {
        let shapes = self.shapes_in(self.books[id].identity.namespace());
        let is_governed = |shape: &ShapeId| matches!(self.shapes[*shape].governing, Governing::One(policy, _) if policy == id);
        let governed: Vec<ShapeId> = shapes.into_iter().filter(is_governed).collect();
        for shape in &governed {
            self.release(*shape);
        }
        governed
    }

    /// The pods that a policy selects and others as well.
    fn conflicting(&self, namespace: &str, id: PolicyId) -> Vec<ShapeId> {
        let selector = &self.books[id].policy.pod_selector;
        let mut shapes = self.shapes_in(namespace);
        shapes.retain(|shape| {
            let shape = &self.shapes[*shape];
            shape.governing == Governing::Several && selector.selects(&shape.labels)
        });
        shapes
    }

    /// Lets a new or edited policy govern what it selects.
    fn govern_selected(&mut self, namespace: &str, id: PolicyId, released: Vec<ShapeId>) {
        // Those in conflict may be in none any more, since what it selected before is not known here.
        let mut shapes = self.shapes_in(namespace);
        let selector = &self.books[id].policy.pod_selector;
        shapes.retain(|it| {
            let shape = &self.shapes[*it];
            let concerns = selector.selects(&shape.labels) || shape.governing == Governing::Several;
            concerns && !released.contains(it)
        });
        for shape in shapes {
            self.release(shape);
            self.govern(shape);
        }
        for shape in released {
            self.govern(shape);
        }
    }

    fn shapes_in(&self, namespace: &str) -> Vec<ShapeId> {
        let shapes = self.namespaces.get(namespace).map(|namespace| namespace.shapes.values());
        shapes.into_iter().flatten().copied().collect()
    }
}

/// Whether two policies differ in nothing but caps, of units that have one in both.
fn differ_only_in_caps(one: &ResourcePolicy, other: &ResourcePolicy) -> bool {
    let without_caps = |policy: &ResourcePolicy| {
        let uncapped = |unit: &Unit| Unit { max: unit.max.map(|_| 0), ..unit.clone() };
        let units = policy.units.iter().map(uncapped).collect();
        ResourcePolicy { units, ..policy.clone() }
    };
    without_caps(one) == without_caps(other)
}
