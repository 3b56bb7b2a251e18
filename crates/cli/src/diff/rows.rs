//! The rows for one field that changes: a small number for any period.

use std::collections::{BTreeMap, BTreeSet};

use almanac_calendar::Zone;
use almanac_engine::{Field, Identity};
use almanac_forecast::{
    CivilStretch, Difference, Period, PodHours, Presence, Recurrence, Stretch, StretchGroup, Total,
    recurrences,
};

use crate::stretches::{edge, once};

/// The maximum number of rows of a field in text output; the output has the number of the others.
pub(super) const MAX_ROWS: usize = 8;

/// A change to a field of an object.
#[derive(Clone)]
pub(super) struct Change {
    /// The name of the place; `None` if each side is a single place.
    pub(super) place: Option<String>,
    pub(super) target: Identity,
    pub(super) field: Field,
    pub(super) presence: Presence,
    pub(super) rows: Vec<Row>,
    /// The number of omitted rows.
    pub(super) more: usize,
    /// The growth of the field's pod-hours over the period; `None` if a side is unknown.
    pub(super) growth: Option<PodHours>,
    pub(super) period: Period,
    /// For each number: its name, its peak before, and its peak after.
    pub(super) peaks: Vec<(Option<String>, Option<u32>, Option<u32>)>,
}

/// Equal stretches, reported as one row.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) when: String,
    /// The pattern of the repetition; `None` if the row does not repeat.
    pub(super) recurrence: Option<Recurrence>,
    /// The first stretch; all stretches of the row have the same values.
    pub(super) first: Stretch,
    pub(super) times: usize,
    /// The growth of the pod-hours over the period.
    pub(super) growth: Option<PodHours>,
}

/// The unit of the sum of a field's numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Pods,
    Nodes,
    /// Pod-hours that are a lower bound.
    AtLeast,
    /// Pods in units, which the totals of their workloads also include.
    InUnits,
    Waiting,
}

impl Unit {
    /// The unit of the field's sum over time; `None` if the field has no sum.
    pub(super) fn for_field(target: &Identity, field: Field) -> Option<Unit> {
        match field {
            Field::Replicas if target.kind() == "ScalableNodeGroup" => Some(Unit::Nodes),
            Field::Replicas => Some(Unit::Pods),
            Field::MinReplicas => Some(Unit::AtLeast),
            Field::UnitPods => Some(Unit::InUnits),
            Field::PendingPods => Some(Unit::Waiting),
            Field::MaxReplicas | Field::Value | Field::QosLevel | Field::Clusters => None,
        }
    }
}

impl Change {
    pub(super) fn from_difference(
        place: Option<&str>,
        difference: &Difference,
        period: Period,
        zone: Zone,
        most: usize,
    ) -> Change {
        let unit = Unit::for_field(&difference.target, difference.field);
        let mut rows = Vec::new();
        for stretches in difference.by_values() {
            rows.extend(rows_of(&stretches, unit, period, zone));
        }
        rows.sort_by_key(|row: &Row| row.first.from);
        let more = rows.len().saturating_sub(most);
        // The last row takes no more space than a note about one omitted row.
        let more = if more > 1 { more } else { 0 };
        rows.truncate(rows.len() - more);
        let hours = |totals: &[&Total]| totals.iter().map(|it| it.hours).sum::<PodHours>();
        let [before, after] = [&difference.before, &difference.after]
            .map(|totals| totals.values().collect::<Vec<_>>());
        let are_known = difference.stretches.iter().all(|it| it.growth().is_some());
        let growth = unit.filter(|_| are_known).map(|_| hours(&after) - hours(&before));
        let names = difference.before.keys().chain(difference.after.keys());
        let names: BTreeSet<_> = names.collect();
        let peaks = names.into_iter().map(|name| {
            let peak = |totals: &BTreeMap<_, Total>| totals.get(name).map(|total| total.peak);
            let of_name = name.as_ref().map(ToString::to_string);
            (of_name, peak(&difference.before), peak(&difference.after))
        });
        Change {
            place: place.map(str::to_owned),
            target: difference.target.clone(),
            field: difference.field,
            presence: difference.presence,
            rows,
            more,
            growth,
            period,
            peaks: peaks.collect(),
        }
    }

    /// Whether both sides have a value, set by a policy or in the object.
    pub(super) fn has_both_values(&self) -> bool {
        let has_both = |row: &Row| row.first.before.is_some() && row.first.after.is_some();
        self.presence == Presence::Both || self.rows.first().is_some_and(has_both)
    }
}

/// Stretches with the same values, in as few rows as possible.
fn rows_of(group: &[&Stretch], unit: Option<Unit>, period: Period, zone: Zone) -> Vec<Row> {
    let civil: Vec<CivilStretch> = group
        .iter()
        .map(|it| CivilStretch { from: edge(it.from, period, zone), to: edge(it.to, period, zone) })
        .collect();
    let civil_period = (zone.civil(period.from()), zone.civil(period.to()));
    let row = |stretch_group| {
        let (when, recurrence, positions) = match stretch_group {
            StretchGroup::Recurring(recurrence, positions) => {
                (recurrence.to_string(), Some(recurrence), positions)
            }
            StretchGroup::Once(position) => {
                let Stretch { from, to, .. } = **group.get(position)?;
                (once((from, to), period, zone), None, vec![position])
            }
        };
        let stretches = || positions.iter().filter_map(|position| group.get(*position));
        let pod_hours = |it: &&Stretch| Some(PodHours::new(it.growth()?, it.nanoseconds()));
        let growth = unit.and_then(|_| stretches().map(pod_hours).sum::<Option<PodHours>>());
        let first = (*stretches().next()?).clone();
        Some(Row { when, recurrence, first, times: positions.len(), growth })
    };
    recurrences(&civil, civil_period).into_iter().filter_map(row).collect()
}
