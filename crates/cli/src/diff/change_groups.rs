//! Groups of equal changes to many objects, such as the pods of a policy or all targets of one edit.

use std::collections::BTreeMap;

use almanac_engine::{Field, Identity, Value};
use almanac_forecast::{PodHours, Presence};

use super::rows::{Change, Row};
use super::words::{set_by, title};

/// Groups up to this size are listed item by item.
const MAX_LISTED: usize = 3;

/// A change to a single object, or equal changes to several objects.
pub(super) struct ChangeGroup {
    pub(super) change: Change,
    /// The number of objects.
    pub(super) count: usize,
    /// Whether the same policy and rule set all objects.
    has_same_setter: bool,
}

/// The changes, in the order of their discovery.
#[derive(Default)]
pub(super) struct ChangeGroups {
    count: usize,
    positions: BTreeMap<Key, usize>,
    groups: Vec<Group>,
}

struct Group {
    /// The first changes, each with its index in the list of all changes.
    first: Vec<(usize, Change)>,
    count: usize,
    set_by: Vec<String>,
    has_same_setter: bool,
}

/// The properties that changes of different objects must share to be in the same group.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    place: Option<String>,
    /// The identity of the object, except for its name.
    target: Identity,
    field: Field,
    presence: Presence,
    rows: Vec<RowKey>,
    more: usize,
    growth: Option<PodHours>,
    peaks: Vec<(Option<String>, Option<u32>, Option<u32>)>,
}

/// The times of the rows, and the values before and after.
type RowKey = (String, Option<Option<Value>>, Option<Option<Value>>);

impl ChangeGroups {
    pub(super) fn add(&mut self, change: &Change) {
        let number = self.count;
        self.count += 1;
        let setters: Vec<String> = change.rows.iter().map(set_by).collect();
        let position = *self.positions.entry(Key::for_change(change)).or_insert(self.groups.len());
        let Some(group) = self.groups.get_mut(position) else {
            let first = vec![(number, change.clone())];
            self.groups.push(Group { first, count: 1, set_by: setters, has_same_setter: true });
            return;
        };
        group.count += 1;
        group.has_same_setter &= group.set_by == setters;
        if group.first.len() < MAX_LISTED {
            group.first.push((number, change.clone()));
        }
    }

    /// All groups, in the order of their first changes.
    pub(super) fn grouped(self) -> Vec<ChangeGroup> {
        let mut groups: Vec<(usize, ChangeGroup)> = Vec::new();
        for Group { mut first, count, has_same_setter, .. } in self.groups {
            let (group_count, has_same_setter) =
                if count > MAX_LISTED { (count, has_same_setter) } else { (1, true) };
            first.truncate(if count > MAX_LISTED { 1 } else { MAX_LISTED });
            let one = |(number, change)| {
                (number, ChangeGroup { change, count: group_count, has_same_setter })
            };
            groups.extend(first.into_iter().map(one));
        }
        groups.sort_by_key(|(number, _)| *number);
        groups.into_iter().map(|(_, group)| group).collect()
    }
}

impl Key {
    fn for_change(change: &Change) -> Key {
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
    /// The objects of the group: `Pod default/batch-0 and 35 others`.
    pub(super) fn title(&self) -> String {
        let first = title(&self.change);
        if self.count > 1 { format!("{first} and {} others", self.count - 1) } else { first }
    }

    /// The growth of the pod-hours of all objects.
    pub(super) fn growth(&self) -> Option<PodHours> {
        self.change.growth.map(|it| it.times(self.count))
    }

    /// The policy and the rule that set a row.
    pub(super) fn set_by(&self, row: &Row) -> String {
        if self.has_same_setter { set_by(row) } else { "several policies".to_owned() }
    }
}
