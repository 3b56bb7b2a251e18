//! The policies that are connected by their reads and writes.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Footprint, Identity, PolicyName, World};

/// Splits policies into islands. Two policies are connected if one of them writes a field that the other reads or
/// writes. Common reads alone do not connect policies.
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
    let mut writers_of_objects: BTreeMap<&Identity, usize> = BTreeMap::new();
    let mut groups = Groups::new(policies.len());
    for (index, (_, footprint)) in policies.iter().enumerate() {
        for (object, _) in &footprint.writes {
            let first = *writers_of_objects.entry(object).or_insert(index);
            groups.join(first, index);
        }
    }
    for (index, (_, footprint)) in policies.iter().enumerate() {
        for object in &footprint.reads {
            if let Some(writer) = writers_of_objects.get(object) {
                groups.join(*writer, index);
            }
        }
    }
    // A policy without writes is represented by its own identity.
    let mut first_written: BTreeMap<usize, &Identity> = BTreeMap::new();
    for (index, (policy, footprint)) in policies.iter().enumerate() {
        let root = groups.root(index);
        let first_write = footprint.writes.iter().map(|(object, _)| object).min();
        let own = first_write.unwrap_or(&policy.identity);
        first_written.entry(root).and_modify(|first| *first = own.min(*first)).or_insert(own);
    }
    let mut islands: BTreeMap<(&Identity, usize), Vec<PolicyName>> = BTreeMap::new();
    for (index, (policy, _)) in policies.iter().enumerate() {
        let root = groups.root(index);
        islands.entry((first_written[&root], root)).or_default().push(policy.clone());
    }
    islands.into_values().collect()
}

/// The policies of an island that determine the values of an object: those that set its fields or an input of such a
/// policy. Where policies share nodes, clusters or pods, their whole family is included.
#[must_use]
pub fn with_a_part_in(world: &World, island: &[PolicyName], object: &Identity) -> Vec<PolicyName> {
    let footprints: Vec<Footprint> = island.iter().map(|it| world.footprint(it)).collect();
    let mut writers: BTreeMap<&Identity, Vec<usize>> = BTreeMap::new();
    for (index, footprint) in footprints.iter().enumerate() {
        for (written, _) in &footprint.writes {
            writers.entry(written).or_default().push(index);
        }
    }
    let (mut found, mut families) = (BTreeSet::new(), BTreeSet::new());
    let mut pending: Vec<usize> = writers.get(object).cloned().unwrap_or_default();
    while let Some(index) = pending.pop() {
        if !found.insert(index) {
            continue;
        }
        let of_reads = footprints[index].reads.iter().filter_map(|it| writers.get(it)).flatten();
        pending.extend(of_reads.filter(|it| !found.contains(it)));
        let family = island[index].family;
        if family.decides_together() && families.insert(family) {
            pending.extend((0..island.len()).filter(|it| island[*it].family == family));
        }
    }
    found.into_iter().map(|index| island[index].clone()).collect()
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
        // The smaller index stays the root, so that the result does not depend on the order.
        self.parents[one.max(other)] = one.min(other);
    }
}
