//! The bookkeeping about targets, without the values of their fields, and the policies of each target.

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
    /// Values that a policy had just set and another field manager has changed.
    foreign: BTreeMap<Identity, Vec<ExternalChange>>,
}

/// An existing target.
#[derive(Clone, Debug)]
pub(crate) struct TargetEntry {
    /// Its version.
    pub(crate) version: Box<str>,
    /// The list in which it last appeared; 0 for a target that was read on demand.
    pub(crate) listing: u32,
}

impl TargetTable {
    /// The entry of a target.
    pub(crate) fn get(&self, target: &Identity) -> Option<&TargetEntry> {
        self.found.get(target)
    }

    /// Records that a target exists; returns whether that is new.
    pub(crate) fn insert(&mut self, target: Identity, found: TargetEntry) -> bool {
        self.found.insert(target, found).is_none()
    }

    /// Records that a target is gone; returns whether that is new.
    pub(crate) fn remove(&mut self, target: &Identity) -> bool {
        self.foreign.remove(target);
        self.found.remove(target).is_some()
    }

    /// Records who changed a field of a target: another field manager, or this process or an unknown one.
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

    /// Records that the values which others changed are ours again.
    pub(crate) fn forget_changes(&mut self, target: &Identity) {
        self.foreign.remove(target);
    }

    /// Values in a target that a policy had just set and another field manager has changed.
    pub(crate) fn foreign(&self, target: &Identity) -> &[ExternalChange] {
        self.foreign.get(target).map(Vec::as_slice).unwrap_or_default()
    }

    /// Accepts any next version of a kind's targets in a part as newer, because versions have gone back.
    pub(crate) fn forget_versions(&mut self, kind: Kind, part: &Part) {
        let of_kind = self.found.range_mut(kind.identity("", "")..);
        of_kind
            .take_while(|(target, _)| Kind::of_object(target) == Some(kind))
            .filter(|(target, _)| part.covers(target))
            .for_each(|(_, found)| found.version = OLDEST_VERSION.into());
    }

    /// Targets of a kind in a part that are not in its list.
    pub(crate) fn not_in_listing(&self, kind: Kind, part: &Part, listing: u32) -> Vec<Identity> {
        // Identities are ordered by kind first.
        let first = kind.identity("", "");
        let of_kind = self.found.range(first..);
        of_kind
            .take_while(|(target, _)| Kind::of_object(target) == Some(kind))
            .filter(|(target, found)| found.listing != listing && part.covers(target))
            .map(|(target, _)| target.clone())
            .collect()
    }

    /// Records the current and the former target of a policy.
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

    /// Whether a target was read on demand for policies, none of which has it any more.
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
