//! What a policy reads and writes, and which policies are connected as a result.

use std::collections::BTreeMap;

use crate::{Field, Identity, PolicyName, World};

/// What a policy reads and what it writes, by object.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Footprint {
    /// The inputs of its decisions.
    pub reads: Vec<Identity>,
    /// The fields its actions set; a policy that publishes a number sets one of its own.
    pub writes: Vec<(Identity, Field)>,
}

/// Splits policies into islands: two are connected where one writes what the other reads or writes.
/// What both only read connects nothing.
///
/// Policies are in order within their island, and islands in the order of the first object that is
/// written in each.
#[must_use]
pub fn islands(world: &World) -> Vec<Vec<PolicyName>> {
    let policies: Vec<(PolicyName, Footprint)> = world
        .policies()
        .map(|policy| {
            let footprint = world.footprint(&policy);
            (policy, footprint)
        })
        .collect();
    let mut written: BTreeMap<&Identity, usize> = BTreeMap::new();
    let mut groups = Groups::new(policies.len());
    for (index, (_, footprint)) in policies.iter().enumerate() {
        for (object, _) in &footprint.writes {
            let first = *written.entry(object).or_insert(index);
            groups.join(first, index);
        }
    }
    for (index, (_, footprint)) in policies.iter().enumerate() {
        for object in &footprint.reads {
            if let Some(writer) = written.get(object) {
                groups.join(*writer, index);
            }
        }
    }
    // A policy that writes nothing is represented by itself.
    let mut first_written: BTreeMap<usize, &Identity> = BTreeMap::new();
    for (index, (policy, footprint)) in policies.iter().enumerate() {
        let root = groups.root(index);
        let written = footprint.writes.iter().map(|(object, _)| object).min();
        let own = written.unwrap_or(&policy.identity);
        first_written.entry(root).and_modify(|first| *first = own.min(*first)).or_insert(own);
    }
    let mut islands: BTreeMap<(&Identity, usize), Vec<PolicyName>> = BTreeMap::new();
    for (index, (policy, _)) in policies.iter().enumerate() {
        let root = groups.root(index);
        islands.entry((first_written[&root], root)).or_default().push(policy.clone());
    }
    islands.into_values().collect()
}

/// A union-find structure.
struct Groups {
    parents: Vec<usize>,
}

impl Groups {
    fn new(length: usize) -> Groups {
        Groups { parents: (0..length).collect() }
    }

    fn root(&mut self, index: usize) -> usize {
        let mut root = index;
        while self.parents[root] != root {
            self.parents[root] = self.parents[self.parents[root]];
            root = self.parents[root];
        }
        root
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        // The smaller one stays the root, so that the result does not depend on the order.
        self.parents[one.max(other)] = one.min(other);
    }
}
