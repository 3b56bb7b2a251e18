//! Two forecasts side by side, one group of connected objects at a time.
//!
//! The islands of the two may differ: an added policy can connect islands. So this module joins islands
//! that share an object, or that contain one policy under two names. Memory grows with the largest
//! such group, not with the number of policies.

use std::collections::{BTreeMap, BTreeSet};

use almanac_engine::units::Renamed;
use almanac_engine::{Field, Identity};

use super::carriers::remove_renamed;
use super::renamed::RenamedAutoscalers;
use super::stretch::{Difference, Presence, difference};
use crate::part::LeftValues;
use crate::{Assumption, Forecast, Series};

/// Two forecasts of one period.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    before: Option<Forecast<'a>>,
    after: Option<Forecast<'a>>,
    groups: Vec<Group>,
    renamed: Renamed,
    autoscalers: RenamedAutoscalers,
}

/// Parts that share objects.
#[derive(Clone, Debug, Default)]
struct Group {
    before: Vec<usize>,
    after: Vec<usize>,
}

/// The differences of the objects of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupDifferences {
    /// The differences, in the order of the objects and of their fields.
    pub differences: Vec<Difference>,
    /// The number of compared fields.
    pub fields: usize,
    /// The number of other fields: unknown on one side, or on both though their policies differ.
    pub unknown: usize,
    /// The assumptions before, of groups with a difference.
    pub assumed_before: Vec<Assumption>,
    /// The assumptions after, of groups with a difference.
    pub assumed_after: Vec<Assumption>,
}

impl<'a> Comparison<'a> {
    /// Compares two forecasts of one period; `None` for a missing forecast, such as that of a place
    /// that does not exist yet.
    #[must_use]
    pub fn new(before: Option<Forecast<'a>>, after: Option<Forecast<'a>>) -> Comparison<'a> {
        let both = before.as_ref().zip(after.as_ref());
        let renamed =
            both.map(|(one, other)| Renamed::between(&one.world().units, &other.world().units));
        let renamed = renamed.unwrap_or_default();
        let autoscalers = both.map(|(one, other)| RenamedAutoscalers::between(one, other));
        let autoscalers = autoscalers.unwrap_or_default();
        let groups = groups(before.as_ref(), after.as_ref(), &renamed);
        Comparison { before, after, groups, renamed, autoscalers }
    }

    /// The number of groups.
    #[must_use]
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether there is nothing to compare.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Compares one group; an empty one if out of range. Groups can be compared in any order, and in parallel.
    #[must_use]
    pub fn part(&self, group: usize) -> GroupDifferences {
        let nothing = Group::default();
        let group = self.groups.get(group).unwrap_or(&nothing);
        let (before, assumed_before) = run(self.before.as_ref(), &group.before);
        let (mut after, assumed_after) = run(self.after.as_ref(), &group.after);
        let before = before.into_values().map(|it| self.under_new_names(it));
        let mut before: SeriesByPlace =
            before.map(|it| ((it.target.clone(), it.field), it)).collect();
        let carries = |forecast: Option<&Forecast<'_>>, parts: &[usize], object: &Identity| {
            forecast.is_some_and(|it| parts.iter().any(|part| it.is_carrier(*part, object)))
        };
        let same_but_for_names = remove_renamed(
            &mut before,
            &mut after,
            |object| carries(self.before.as_ref(), &group.before, object),
            |object| carries(self.after.as_ref(), &group.after, object),
        );
        let (mut fields, mut differences) = (before.len() + same_but_for_names, Vec::new());
        let mut unknown = 0;
        let left_values =
            self.left_values(before.keys().filter(|place| !after.contains_key(*place)));
        for (place, one) in &before {
            differences.extend(match after.remove(place) {
                Some(other) if self.are_incomparable(one, &other) => {
                    unknown += 1;
                    None
                }
                Some(other) => difference(Some(one), Some(&other)),
                None => self.removed(one, &left_values),
            });
        }
        fields += after.len();
        fields -= unknown;
        differences.extend(after.values().filter_map(|one| self.added(one)));
        differences
            .sort_by(|one, other| one.target.cmp(&other.target).then(one.field.cmp(&other.field)));
        for difference in &mut differences {
            self.autoscalers.explain(difference, self.after.as_ref());
        }
        let is_unchanged = differences.is_empty() && unknown == 0;
        let relevant = |assumed| if is_unchanged { Vec::new() } else { assumed };
        let (assumed_before, assumed_after) = (relevant(assumed_before), relevant(assumed_after));
        GroupDifferences { differences, fields, unknown, assumed_before, assumed_after }
    }

    /// Whether these are selections of a placement that cannot be compared: one is unknown, or both are unknown and
    /// the placement, or something that it reads, is edited.
    fn are_incomparable(&self, before: &Series, after: &Series) -> bool {
        let policy = |forecast: Option<&'_ Forecast<'a>>| {
            let world = forecast?.world();
            let object = world.placement.policies.get(&after.target)?;
            Some((object.policy.clone(), world.placement.extra.hub.clone()))
        };
        let is_unknown = |it: &Series| it.segments.iter().all(|segment| segment.value.is_none());
        let may_differ = || match (is_unknown(before), is_unknown(after)) {
            (true, true) => policy(self.before.as_ref()) != policy(self.after.as_ref()),
            (one, other) => one || other,
        };
        after.field == Field::Clusters && may_differ()
    }

    /// A series of the forecast before, under the names of the forecast after.
    fn under_new_names(&self, mut series: Series) -> Series {
        if !self.renamed.concerns(&series.target) {
            return series;
        }
        for segment in &mut series.segments {
            segment.value = segment.value.as_ref().map(|it| self.renamed.value(&series.target, it));
        }
        Series { target: self.renamed.new_name(&series.target).clone(), ..series }
    }

    /// The values that policies have left in fields that no policy sets any more.
    fn left_values<'p>(&self, gone: impl Iterator<Item = &'p (Identity, Field)>) -> LeftValues {
        let objects = gone.filter(|(_, field)| field.can_be_assumed()).map(|(it, _)| it.clone());
        let objects: BTreeSet<Identity> = objects.collect();
        let after = self.after.as_ref().filter(|_| !objects.is_empty());
        after.map(|it| it.left_in(&objects)).unwrap_or_default()
    }

    /// A field that no policy sets any more. The field keeps the last set value, or the value in the object, if that is
    /// known.
    fn removed(&self, one: &Series, left_values: &LeftValues) -> Option<Difference> {
        let left_value = left_values.get(&(one.target.clone(), one.field));
        let standing =
            self.after.as_ref().and_then(|it| it.standing(&one.target, one.field, left_value));
        let found = difference(Some(one), standing.as_ref())?;
        Some(Difference { presence: Presence::Removed, ..found })
    }

    /// A field that no policy has set so far. The field had the value in the object, if that is known.
    fn added(&self, one: &Series) -> Option<Difference> {
        let before = self.before.as_ref();
        let standing = before.and_then(|it| it.standing(&one.target, one.field, None));
        let found = difference(standing.as_ref(), Some(one))?;
        Some(Difference { presence: Presence::Added, ..found })
    }

    /// The groups in order, compared lazily.
    pub fn parts(&self) -> impl Iterator<Item = GroupDifferences> {
        (0..self.len()).map(|group| self.part(group))
    }
}

/// Series by their object and field.
pub(super) type SeriesByPlace = BTreeMap<(Identity, Field), Series>;

fn run(forecast: Option<&Forecast<'_>>, parts: &[usize]) -> (SeriesByPlace, Vec<Assumption>) {
    let (mut all, mut assumptions) = (BTreeMap::new(), Vec::new());
    for part in parts.iter().filter_map(|part| Some(forecast?.part(*part))) {
        all.extend(part.series.into_iter().map(|it| ((it.target.clone(), it.field), it)));
        assumptions.extend(part.assumptions);
    }
    assumptions.sort();
    assumptions.dedup();
    (all, assumptions)
}

/// Puts the parts together that share objects, in the order of the first object of each group.
fn groups(
    before: Option<&Forecast<'_>>,
    after: Option<&Forecast<'_>>,
    renamed: &Renamed,
) -> Vec<Group> {
    let count = before.map_or(0, Forecast::len);
    let mut leaders: Vec<usize> = (0..count + after.map_or(0, Forecast::len)).collect();
    let mut of_object: BTreeMap<&Identity, usize> = BTreeMap::new();
    let series_at = |forecast: Option<&'_ Forecast<'_>>, offset: usize| {
        let parts = forecast.into_iter().flat_map(Forecast::objects_of_parts);
        parts.map(move |(part, object)| (part + offset, object.clone())).collect::<Vec<_>>()
    };
    let all = [series_at(before, 0), series_at(after, count)].concat();
    for (node, object) in &all {
        let object = if *node < count { renamed.new_name(object) } else { object };
        match of_object.get(object) {
            Some(other) => unite(&mut leaders, *node, *other),
            None => _ = of_object.insert(object, *node),
        }
    }
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    let mut is_placed = vec![false; leaders.len()];
    // In the order of the objects.
    for first in of_object.values() {
        let leader = leader(&mut leaders, *first);
        numbers.entry(leader).or_insert_with(|| {
            groups.push(Group::default());
            groups.len() - 1
        });
    }
    for (node, _) in &all {
        let leader = leader(&mut leaders, *node);
        let Some(group) = numbers.get(&leader).and_then(|it| groups.get_mut(*it)) else { continue };
        if std::mem::replace(&mut is_placed[*node], true) {
            continue;
        }
        if *node < count { group.before.push(*node) } else { group.after.push(*node - count) }
    }
    groups
}

fn leader(leaders: &mut [usize], node: usize) -> usize {
    let mut at = node;
    while leaders[at] != at {
        // Shortens the path for the next lookup.
        leaders[at] = leaders[leaders[at]];
        at = leaders[at];
    }
    at
}

fn unite(leaders: &mut [usize], one: usize, other: usize) {
    let (one, other) = (leader(leaders, one), leader(leaders, other));
    leaders[one.max(other)] = one.min(other);
}
