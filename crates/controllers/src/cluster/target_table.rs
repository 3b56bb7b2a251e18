//! The bookkeeping about targets, apart from their numbers, and which policies have which target.

use std::collections::BTreeMap;

use almanac_api::kinds::Kind;
use almanac_engine::other_writer::ExternalChange;
use almanac_engine::{Field, Identity, PolicyName};

use super::OLDEST_VERSION;
use crate::namespaces::Part;

/// Targets, and the policies that have them.
#[derive(Default)]
pub(crate) struct TargetTable {
    found: BTreeMap<Identity, TargetEntry>,
    targeted_by: BTreeMap<Identity, Vec<PolicyName>>,
    /// Changes by others of values that a policy had just set.
    foreign: BTreeMap<Identity, Vec<ExternalChange>>,
}

/// A target that is there.
#[derive(Clone, Debug)]
pub(crate) struct TargetEntry {
    /// Its version.
    pub(crate) version: Box<str>,
    /// The list in which it last appeared; 0 for one that was read by itself.
    pub(crate) listing: u32,
}

impl TargetTable {
    /// What is known of a target.
    pub(crate) fn get(&self, target: &Identity) -> Option<&TargetEntry> {
        self.found.get(target)
    }

    /// Notes that a target exists; returns whether that is new.
    pub(crate) fn insert(&mut self, target: Identity, found: TargetEntry) -> bool {
        self.found.insert(target, found).is_none()
    }

    /// Notes that a target is gone; returns whether that is new.
    pub(crate) fn remove(&mut self, target: &Identity) -> bool {
        self.foreign.remove(target);
        self.found.remove(target).is_some()
    }

    /// Notes that a field of a target has changed: by another writer, or by us or an unknown one.
    pub(crate) fn note_field_change(
        &mut self,
        target: &Identity,
        (field, to): (Field, u32),
        by: Option<&str>,
    ) {
        let noted = self.foreign.entry(target.clone()).or_default();
        noted.retain(|it| it.field != field);
        noted.extend(by.map(|by| ExternalChange { field, to, by: by.into() }));
        if noted.is_empty() {
            self.foreign.remove(target);
        }
    }

    /// The values changed by others are ours again.
    pub(crate) fn forget_changes(&mut self, target: &Identity) {
        self.foreign.remove(target);
    }

    /// Changes by others of values that a policy had just set in a target.
    pub(crate) fn foreign(&self, target: &Identity) -> &[ExternalChange] {
        self.foreign.get(target).map(Vec::as_slice).unwrap_or_default()
    }

    /// Makes whatever comes next of a kind's targets in a part count, because versions have gone back.
    pub(crate) fn forget_versions(&mut self, kind: Kind, part: &Part) {
        let of_kind = self.found.range_mut(kind.identity("", "")..);
        of_kind
            .take_while(|(target, _)| Kind::of_object(target) == Some(kind))
            .filter(|(target, _)| part.covers(target))
            .for_each(|(_, found)| found.version = OLDEST_VERSION.into());
    }

    /// Targets of a kind in a part that are not in its list.
    pub(crate) fn not_in_listing(&self, kind: Kind, part: &Part, listing: u32) -> Vec<Identity> {
        // The order of identities keeps those of one kind together.
        let first = kind.identity("", "");
        let of_kind = self.found.range(first..);
        of_kind
            .take_while(|(target, _)| Kind::of_object(target) == Some(kind))
            .filter(|(target, found)| found.listing != listing && part.covers(target))
            .map(|(target, _)| target.clone())
            .collect()
    }

    /// Notes the target that a policy has now, and the one it had.
    pub(crate) fn set_target_of(
        &mut self,
        policy: &PolicyName,
        before: Option<&Identity>,
        now: Option<&Identity>,
    ) {
        if before == now {
            return;
        }
        if let Some(before) = before
            && let Some(policies) = self.targeted_by.get_mut(before)
        {
            policies.retain(|it| it != policy);
            if policies.is_empty() {
                self.targeted_by.remove(before);
            }
        }
        if let Some(now) = now {
            let policies =
                self.targeted_by.entry(now.clone()).or_insert_with(|| Vec::with_capacity(1));
            policies.push(policy.clone());
        }
    }

    /// Whether a target was read on demand for policies of which none has it any more.
    pub(crate) fn is_left_over(&self, target: &Identity) -> bool {
        self.found.get(target).is_some_and(|found| found.listing == 0)
            && self.policies_targeting(target).is_empty()
    }

    /// The policies that share their target with another one.
    pub(crate) fn sharing(&self) -> impl Iterator<Item = &PolicyName> {
        self.targeted_by.values().filter(|policies| policies.len() > 1).flatten()
    }

    /// The policies that have a target.
    pub(crate) fn policies_targeting(&self, target: &Identity) -> &[PolicyName] {
        self.targeted_by.get(target).map(Vec::as_slice).unwrap_or_default()
    }
}
