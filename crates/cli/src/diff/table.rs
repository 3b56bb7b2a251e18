//! The rows in which text and Markdown show changes, the same in both.

use super::change_groups::ChangeGroup;
use super::rows::Row;
use super::words::{peaks, signed, values};

/// The columns.
pub(super) const HEADS: [&str; 8] =
    ["target", "field", "when", "before", "after", "hours a week", "peak", "set by"];

/// The rows of a change; its object is in the first only. Omitted rows are counted.
pub(super) fn rows(told: &ChangeGroup) -> Vec<[String; 8]> {
    let change = &told.change;
    let mut rows: Vec<[String; 8]> = Vec::new();
    for (index, row) in change.rows.iter().enumerate() {
        let of_change = |text: String| if index == 0 { text } else { String::new() };
        let (before, after) = values(&row.first);
        rows.push([
            of_change(told.title()),
            of_change(change.field.to_string()),
            row.when.clone(),
            before,
            after,
            hours_of(told, row),
            of_change(peaks(change)),
            told.set_by(row),
        ]);
    }
    if change.more > 0 {
        let mut cells = <[String; 8]>::default();
        cells[2] = format!("and {} more (-o json lists them)", change.more);
        rows.push(cells);
    }
    rows
}

/// The pod-hours a week of a row, where those of the change are known.
pub(super) fn hours_of(told: &ChangeGroup, row: &Row) -> String {
    let growth = row.growth.filter(|_| told.change.growth.is_some());
    growth.map_or_else(String::new, |it| signed(it.times(told.count).a_week(told.change.period)))
}
