//! Two series of one field, side by side: the stretches in which their values differ.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::{Field, Identity, Value};
use jiff::Timestamp;

use crate::{Origin, Segment, Series, Total};

/// The difference of the forecasts of one field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The object.
    pub target: Identity,
    /// The field.
    pub field: Field,
    /// The forecasts that contain the field.
    pub presence: Presence,
    /// The stretches with a difference, in order. Neighbors that touch differ in a value before or after.
    pub stretches: Vec<Stretch>,
    /// The totals of the values before, over the period.
    pub before: BTreeMap<Option<Arc<str>>, Total>,
    /// The totals of the values after, over the period.
    pub after: BTreeMap<Option<Arc<str>>, Total>,
}

/// The forecasts, of two, that contain a field.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Presence {
    /// Both forecasts.
    Both,
    /// Only the later forecast: no policy set the field before.
    Added,
    /// Only the earlier forecast: no policy sets the field any more.
    Removed,
}

/// A time in which the values differ and neither changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// The first instant of the stretch.
    pub from: Timestamp,
    /// The first instant after the stretch.
    pub to: Timestamp,
    /// The side before; `None` if no policy set the field.
    pub before: Option<Side>,
    /// The side after; `None` if no policy sets the field.
    pub after: Option<Side>,
    /// The reason for the difference, where the policies do not state it.
    pub note: Option<&'static str>,
}

/// One side of a stretch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Side {
    /// The value; `None` when it is unknown.
    pub value: Option<Value>,
    /// The writer at the start of the stretch, and the reason. The writer may change later in the stretch.
    pub origin: Arc<Origin>,
}

/// The difference of two forecasts of a field over one period; `None` if the known values are always equal. A
/// forecast without the field is `None`.
#[must_use]
pub fn difference(before: Option<&Series>, after: Option<&Series>) -> Option<Difference> {
    let (one, presence) = match (before, after) {
        (Some(one), Some(_)) => (one, Presence::Both),
        (None, Some(one)) => (one, Presence::Added),
        (Some(one), None) => (one, Presence::Removed),
        (None, None) => return None,
    };
    let stretches = stretches(before, after, one.field);
    if stretches.is_empty() {
        return None;
    }
    let totals = |series: Option<&Series>| series.map(Series::totals).unwrap_or_default();
    Some(Difference {
        target: one.target.clone(),
        field: one.field,
        presence,
        stretches,
        before: totals(before),
        after: totals(after),
    })
}

fn stretches(before: Option<&Series>, after: Option<&Series>, field: Field) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut left = segments(before).peekable();
    let mut right = segments(after).peekable();
    loop {
        let (from, to) = match (left.peek(), right.peek()) {
            (Some(one), Some(other)) => (one.from.max(other.from), one.to.min(other.to)),
            (Some(one), None) | (None, Some(one)) => (one.from, one.to),
            (None, None) => return stretches,
        };
        if differ(left.peek().copied(), right.peek().copied(), field) {
            add(&mut stretches, from, to, left.peek().copied(), right.peek().copied());
        }
        left.next_if(|it| it.to == to);
        right.next_if(|it| it.to == to);
    }
}

fn segments(series: Option<&Series>) -> impl Iterator<Item = &Segment> {
    series.into_iter().flat_map(|series| &series.segments)
}

/// Whether the values differ. An object has the same unknown number whether or not a policy is yet to set it.
fn differ(before: Option<&Segment>, after: Option<&Segment>, field: Field) -> bool {
    match (before, after) {
        (Some(before), Some(after)) => before.value != after.value,
        (Some(one), None) | (None, Some(one)) => one.value.is_some() || !field.can_be_assumed(),
        (None, None) => false,
    }
}

/// Adds a stretch, or extends the last stretch if the two differ only in the writers of the values.
fn add(
    stretches: &mut Vec<Stretch>,
    from: Timestamp,
    to: Timestamp,
    before: Option<&Segment>,
    after: Option<&Segment>,
) {
    let is_as = |known: &Option<Side>, segment: Option<&Segment>| {
        known.as_ref().map(|it| &it.value) == segment.map(|it| &it.value)
    };
    if let Some(last) = stretches.last_mut()
        && last.to == from
        && is_as(&last.before, before)
        && is_as(&last.after, after)
    {
        last.to = to;
        return;
    }
    let side = |segment: &Segment| Side {
        value: segment.value.clone(),
        origin: Arc::clone(&segment.origin),
    };
    let (before, after) = (before.map(side), after.map(side));
    stretches.push(Stretch { from, to, before, after, note: None });
}

impl Stretch {
    /// The length of the stretch in nanoseconds.
    #[must_use]
    pub fn nanoseconds(&self) -> i128 {
        self.to.as_nanosecond() - self.from.as_nanosecond()
    }

    /// The values before and after, common to all stretches of a group.
    #[must_use]
    pub fn values(&self) -> (Option<&Option<Value>>, Option<&Option<Value>>) {
        (self.before.as_ref().map(|it| &it.value), self.after.as_ref().map(|it| &it.value))
    }

    /// The growth of the sum of its values per unit of time; `None` if a side has no number.
    #[must_use]
    pub fn growth(&self) -> Option<i64> {
        let sum = |side: &Option<Side>| match side.as_ref()?.value.as_ref()? {
            Value::Number(number) => Some(i64::from(*number)),
            Value::Numbers(numbers) => Some(numbers.values().map(|it| i64::from(*it)).sum()),
            Value::Text(_) | Value::Names(_) | Value::Nothing => None,
        };
        Some(sum(&self.after)? - sum(&self.before)?)
    }
}

impl Difference {
    /// The stretches by their values before and after, in the order of the first stretch of each group.
    #[must_use]
    pub fn by_values(&self) -> Vec<Vec<&Stretch>> {
        let mut groups: Vec<Vec<&Stretch>> = Vec::new();
        let mut known: BTreeMap<_, usize> = BTreeMap::new();
        for stretch in &self.stretches {
            let group = *known.entry(stretch.values()).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups.iter_mut().skip(group).take(1).for_each(|it| it.push(stretch));
        }
        groups
    }
}
