//! The pods of a `StatefulSet`, which have consecutive numbers. A lost pod is created again under the same name, after
//! the previous pod of that name is deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::{Members, Pod};
use crate::Identity;

/// Whether a workload numbers its pods as Kubernetes does. Similar kinds of other projects may skip numbers.
pub(super) fn is_numbered(workload: &Identity) -> bool {
    (workload.group(), workload.kind()) == ("apps", "StatefulSet")
}

impl Members {
    /// The numbers of the desired pods.
    fn numbers(&self, wanted: usize) -> Range<u64> {
        self.first_number..self.first_number.saturating_add(wanted as u64)
    }

    /// Records the lowest and the highest number, so that a complete range is recognized without an iteration over all
    /// pods.
    pub(super) fn note_numbers(&mut self) {
        let numbers: Option<Vec<u64>> = self.pods.iter().map(number_of).collect();
        let numbers = numbers.unwrap_or_default();
        self.span = numbers.iter().min().copied().zip(numbers.iter().max().copied());
    }

    /// Whether exactly these numbers exist.
    pub(super) fn is_complete(
        &self,
        workload: &Identity,
        wanted: usize,
        pods: &BTreeMap<Identity, Pod>,
    ) -> bool {
        // If the count of numbers from the first to the last equals the count of pods, none is missing.
        let range = self.numbers(wanted);
        let is_whole = self.span.is_some_and(|(lowest, highest)| {
            self.pods.len() == wanted
                && lowest == range.start
                && highest.saturating_add(1) == range.end
        });
        is_whole
            || self.beyond(wanted).is_empty() && self.missing(workload, wanted, pods).is_empty()
    }

    /// The pods beyond the desired numbers, the highest number first.
    pub(super) fn beyond(&self, wanted: usize) -> Vec<Identity> {
        let range = self.numbers(wanted);
        let numbered = self.pods.iter().filter_map(|pod| Some((number_of(pod)?, pod)));
        let mut beyond: Vec<_> = numbered.filter(|(number, _)| !range.contains(number)).collect();
        beyond.sort_unstable_by(|one, other| other.cmp(one));
        beyond.into_iter().map(|(_, pod)| pod.clone()).collect()
    }

    /// The names of the missing pods, the lowest number first. A name is free after the pod with that name is deleted.
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
