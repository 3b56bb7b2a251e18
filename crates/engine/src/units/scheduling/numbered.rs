//! The pods of a `StatefulSet`, which have consecutive numbers. A lost pod is created again under the same name, once
//! the previous pod of that name is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::{Members, Pod};
use crate::Identity;

/// Whether a workload numbers its pods as Kubernetes does. Those of other projects may leave numbers out.
pub(super) fn is_numbered(workload: &Identity) -> bool {
    (workload.group(), workload.kind()) == ("apps", "StatefulSet")
}

impl Members {
    /// The numbers of the wanted pods.
    fn numbers(&self, wanted: usize) -> Range<u64> {
        self.first_number..self.first_number.saturating_add(wanted as u64)
    }

    /// Notes the lowest and the highest number, so that a complete range is recognized without a walk over all pods.
    pub(super) fn note_numbers(&mut self) {
        let numbers: Option<Vec<u64>> = self.pods.iter().map(number_of).collect();
        let numbers = numbers.unwrap_or_default();
        self.span = numbers.iter().min().copied().zip(numbers.iter().max().copied());
    }

    /// Whether these numbers exist, and no others.
    pub(super) fn is_complete(
        &self,
        workload: &Identity,
        wanted: usize,
        pods: &BTreeMap<Identity, Pod>,
    ) -> bool {
        // As many numbers between the first and the last one as there are pods are all of them.
        let range = self.numbers(wanted);
        let is_whole = self.span.is_some_and(|(lowest, highest)| {
            self.pods.len() == wanted
                && lowest == range.start
                && highest.saturating_add(1) == range.end
        });
        is_whole
            || self.beyond(wanted).is_empty() && self.missing(workload, wanted, pods).is_empty()
    }

    /// The pods beyond those numbers, the highest first.
    pub(super) fn beyond(&self, wanted: usize) -> Vec<Identity> {
        let range = self.numbers(wanted);
        let numbered = self.pods.iter().filter_map(|pod| Some((number_of(pod)?, pod)));
        let mut beyond: Vec<_> = numbered.filter(|(number, _)| !range.contains(number)).collect();
        beyond.sort_unstable_by(|one, other| other.cmp(one));
        beyond.into_iter().map(|(_, pod)| pod.clone()).collect()
    }

    /// The names of the missing pods, the lowest number first. A name is free once the pod with that name is gone.
    pub(super) fn missing(
        &self,
        workload: &Identity,
        wanted: usize,
        pods: &BTreeMap<Identity, Pod>,
    ) -> Vec<Identity> {
        let existing_numbers: BTreeSet<u64> = self.pods.iter().filter_map(number_of).collect();
        let named = self.numbers(wanted).filter(|number| !existing_numbers.contains(number)).map(
            |number| {
                let name = format!("{}-{number}", workload.name());
                Identity::new("", "Pod", workload.namespace(), name)
            },
        );
        named.filter(|it| pods.get(it).is_none_or(|pod| pod.is_finished)).collect()
    }
}

/// The number at the end of a name.
fn number_of(pod: &Identity) -> Option<u64> {
    pod.name().rsplit_once('-')?.1.parse().ok()
}
