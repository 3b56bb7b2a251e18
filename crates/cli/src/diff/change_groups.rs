//! Equal changes of many objects, reported as one: the pods of a policy, or all that one edit concerns.

use std::collections::BTreeMap;

use almanac_engine::{Field, Identity, Value};
use almanac_forecast::{PodHours, Presence};

use super::rows::{Change, Row};
use super::words::{set_by, title};

/// Groups up to this size are listed item by item.
const FEW: usize = 3;

/// One change, of one object or of several.
pub(super) struct ChangeGroup {
    pub(super) change: Change,
    /// Of how many objects.
    pub(super) count: usize,
    /// Whether the same sets them all.
    is_set_alike: bool,
}

/// The changes, in the order in which they are found.
#[derive(Default)]
pub(super) struct ChangeGroups {
    count: usize,
    positions: BTreeMap<Key, usize>,
    groups: Vec<Group>,
}

struct Group {
    /// The first few, each with its number among all.
    first: Vec<(usize, Change)>,
    count: usize,
    set_by: Vec<String>,
    is_set_alike: bool,
}

/// The properties that changes of different objects share if they are reported as one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    place: Option<String>,
    /// The object without its name.
    target: Identity,
    field: Field,
    presence: Presence,
    rows: Vec<RowKey>,
    more: usize,
    growth: Option<PodHours>,
    peaks: Vec<(Option<String>, Option<u32>, Option<u32>)>,
}

/// When, and from what to what.
type RowKey = (String, Option<Option<Value>>, Option<Option<Value>>);

impl ChangeGroups {
    pub(super) fn add(&mut self, change: &Change) {
        let number = self.count;
        self.count += 1;
        let written: Vec<String> = change.rows.iter().map(set_by).collect();
        let position = *self.positions.entry(Key::of(change)).or_insert(self.groups.len());
        let Some(group) = self.groups.get_mut(position) else {
            let first = vec![(number, change.clone())];
            self.groups.push(Group { first, count: 1, set_by: written, is_set_alike: true });
            return;
        };
        group.count += 1;
        group.is_set_alike &= group.set_by == written;
        if group.first.len() < FEW {
            group.first.push((number, change.clone()));
        }
    }

    /// All of them, in the order in which they came.
    pub(super) fn grouped(self) -> Vec<ChangeGroup> {
        let mut told: Vec<(usize, ChangeGroup)> = Vec::new();
        for Group { mut first, count, is_set_alike, .. } in self.groups {
            let (of_each, is_set_alike) =
                if count > FEW { (count, is_set_alike) } else { (1, true) };
            first.truncate(if count > FEW { 1 } else { FEW });
            let one =
                |(number, change)| (number, ChangeGroup { change, count: of_each, is_set_alike });
            told.extend(first.into_iter().map(one));
        }
        told.sort_by_key(|(number, _)| *number);
        told.into_iter().map(|(_, told)| told).collect()
    }
}

impl Key {
    fn of(change: &Change) -> Key {
        let row = |row: &Row| {
            let (before, after) = row.first.values();
            (row.when.clone(), before.cloned(), after.cloned())
        };
        let target = &change.target;
        Key {
            place: change.place.clone(),
            target: Identity::new(target.group(), target.kind(), target.namespace(), ""),
            field: change.field,
            presence: change.presence,
            rows: change.rows.iter().map(row).collect(),
            more: change.more,
            growth: change.growth,
            peaks: change.peaks.clone(),
        }
    }
}

impl ChangeGroup {
    /// `Pod default/batch-0 and 35 others`.
    pub(super) fn title(&self) -> String {
        let first = title(&self.change);
        if self.count > 1 { format!("{first} and {} others", self.count - 1) } else { first }
    }

    /// By how much the pod-hours of all grow.
    pub(super) fn growth(&self) -> Option<PodHours> {
        self.change.growth.map(|it| it.times(self.count))
    }

    /// Who sets a row.
    pub(super) fn set_by(&self, row: &Row) -> String {
        if self.is_set_alike { set_by(row) } else { "several policies".to_owned() }
    }
}
