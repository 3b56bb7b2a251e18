//! The bookkeeping about targets, without the values of their fields, and the policies of each target.

use std::collections::btree_set::Range;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use almanac_api::kinds::Kind;
use almanac_engine::other_writer::ExternalChange;
use almanac_engine::{Field, Identity, PolicyName};

use super::OLDEST_VERSION;
use super::rivals::MAX_NAMED;
use crate::namespaces::Part;

/// The targets, and the policies of each target.
#[derive(Default)]
pub(crate) struct TargetTable {
    found: BTreeMap<Identity, TargetEntry>,
    /// One set for all targets, because most targets have one policy.
    targeted: BTreeSet<Targeting>,
    /// Values that a policy had just set and another field manager has changed.
    foreign: BTreeMap<Identity, Vec<ExternalChange>>,
}

/// A target, whether its policy is idle, and the policy. So the policies that set a target come first, in the order of
/// their turns. `None` precedes all policies, as a bound of searches.
type Targeting = (Identity, bool, Option<PolicyName>);

/// An existing target.
#[derive(Clone, Debug)]
pub(crate) struct TargetEntry {
    /// The known version of the target.
    pub(crate) version: Box<str>,
    /// The list in which the target last appeared; 0 for a target that was read on demand.
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

    /// Records that a target does not exist; returns whether that is new.
    pub(crate) fn remove(&mut self, target: &Identity) -> bool {
        self.foreign.remove(target);
        self.found.remove(target).is_some()
    }

    /// Records the field manager that changed a field of a target; `None` for this process or an unknown one.
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

    /// Records that this process has set the changed values again.
    pub(crate) fn clear_changes(&mut self, target: &Identity) {
        self.foreign.remove(target);
    }

    /// Values in a target that a policy had just set and another field manager has changed.
    pub(crate) fn foreign(&self, target: &Identity) -> &[ExternalChange] {
        self.foreign.get(target).map(Vec::as_slice).unwrap_or_default()
    }

    /// Accepts any next version of a kind's targets in a part as newer, because versions have gone back.
    pub(crate) fn reset_versions(&mut self, kind: Kind, part: &Part) {
        let of_kind = self.found.range_mut(kind.identity("", "")..);
        of_kind
            .take_while(|(target, _)| Kind::for_object(target) == Some(kind))
            .filter(|(target, _)| part.covers(target))
            .for_each(|(_, found)| found.version = OLDEST_VERSION.into());
    }

    /// Targets of a kind in a part that are not in its list.
    pub(crate) fn not_in_listing(&self, kind: Kind, part: &Part, listing: u32) -> Vec<Identity> {
        // Identities are ordered by kind first.
        let first = kind.identity("", "");
        let of_kind = self.found.range(first..);
        of_kind
            .take_while(|(target, _)| Kind::for_object(target) == Some(kind))
            .filter(|(target, found)| found.listing != listing && part.covers(target))
            .map(|(target, _)| target.clone())
            .collect()
    }

    /// Records the former target of a policy, and the current one with whether the policy sets it. Returns the other
    /// policies whose statuses name or count this policy, if that changes.
    pub(super) fn set_target_of(
        &mut self,
        policy: &PolicyName,
        before: Option<&Identity>,
        now: Option<(&Identity, bool)>,
    ) -> Vec<PolicyName> {
        let targeting =
            |target: &Identity, is_idle| (target.clone(), is_idle, Some(policy.clone()));
        let now = now.map(|(target, sets)| targeting(target, !sets));
        let former =
            before.into_iter().flat_map(|it| [true, false].map(|idle| targeting(it, idle)));
        let is_over = |it: &Targeting| Some(it) != now.as_ref() && self.targeted.remove(it);
        let mut changed: Vec<Targeting> = former.filter(is_over).collect();
        changed.extend(now.filter(|it| self.targeted.insert(it.clone())));
        // Without policies, no other event would remove the changes of a target that was not found.
        if let Some(before) = before.filter(|it| !self.has_policies(it)) {
            self.foreign.remove(before);
        }
        let setting = changed.iter().filter(|(_, is_idle, _)| !is_idle);
        setting.flat_map(|(target, ..)| self.naming(target, policy)).cloned().collect()
    }

    /// Whether a target was read on demand, and no policy has it any more.
    pub(crate) fn is_left_over(&self, target: &Identity) -> bool {
        self.found.get(target).is_some_and(|found| found.listing == 0) && !self.has_policies(target)
    }

    /// The policies whose target another policy sets, too.
    pub(crate) fn sharing(&self) -> impl Iterator<Item = &PolicyName> {
        let setting = self.targeted.iter().filter(|(_, is_idle, _)| !is_idle);
        let setting = setting.filter_map(|(target, _, policy)| Some((target, policy.as_ref()?)));
        let shares = move |(target, policy): &(&Identity, &PolicyName)| {
            self.others_setting(target, policy).into_iter().flatten().next().is_some()
        };
        setting.filter(shares).map(|(_, policy)| policy)
    }

    /// The policies that have a target.
    pub(crate) fn policies_targeting(
        &self,
        target: &Identity,
    ) -> impl Iterator<Item = &PolicyName> {
        let first: Targeting = (target.clone(), false, None);
        let of_target = self.targeted.range(first..).take_while(move |(it, ..)| it == target);
        of_target.filter_map(|(.., policy)| policy.as_ref())
    }

    /// Whether any policy has a target.
    pub(crate) fn has_policies(&self, target: &Identity) -> bool {
        self.policies_targeting(target).next().is_some()
    }

    /// The other policies that set a target, if this policy sets it: the policies after this policy in the order of
    /// turns, then the policies from the start of the order. At most one more than a status names.
    pub(super) fn rivals(&self, target: &Identity, policy: &PolicyName) -> Vec<PolicyName> {
        if !self.targeted.contains(&(target.clone(), false, Some(policy.clone()))) {
            return Vec::new();
        }
        let [preceding, following] = self.others_setting(target, policy);
        let rivals = following.chain(preceding).take(MAX_NAMED + 1);
        rivals.filter_map(|(.., policy)| policy.clone()).collect()
    }

    /// The other policies whose rivals include this policy.
    fn naming(&self, target: &Identity, policy: &PolicyName) -> impl Iterator<Item = &PolicyName> {
        let [preceding, following] = self.others_setting(target, policy).map(Iterator::rev);
        let naming = preceding.chain(following).take(MAX_NAMED + 1);
        naming.filter_map(|(.., policy)| policy.as_ref())
    }

    /// The other policies that set a target: the policies before a policy in the order of turns, and the policies after
    /// it.
    fn others_setting(&self, target: &Identity, policy: &PolicyName) -> [Range<'_, Targeting>; 2] {
        let at = |is_idle, policy| (target.clone(), is_idle, policy);
        let own = at(false, Some(policy.clone()));
        let preceding = self.targeted.range(at(false, None)..own.clone());
        let following = (Bound::Excluded(own), Bound::Excluded(at(true, None)));
        [preceding, self.targeted.range(following)]
    }
}
