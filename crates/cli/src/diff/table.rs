//! The rows for changes in text and Markdown, the same in both.

use super::change_groups::ChangeGroup;
use super::rows::Row;
use super::words::{peaks, signed, values};

/// The headings of the columns.
pub(super) const HEADS: [&str; 8] =
    ["target", "field", "when", "before", "after", "hours a week", "peak", "set by"];

/// The rows of a change. Only the first row names the object. The last row has the number of omitted rows.
pub(super) fn rows(group: &ChangeGroup) -> Vec<[String; 8]> {
    let change = &group.change;
    let mut rows: Vec<[String; 8]> = Vec::new();
    for (index, row) in change.rows.iter().enumerate() {
        let of_change = |text: String| if index == 0 { text } else { String::new() };
        let (before, after) = values(&row.first);
        rows.push([
            of_change(group.title()),
            of_change(change.field.to_string()),
            row.when.clone(),
            before,
            after,
            hours_of(group, row),
            of_change(peaks(change)),
            group.set_by(row),
        ]);
    }
    if change.more > 0 {
        let mut cells = <[String; 8]>::default();
        cells[2] = format!("and {} more (-o json lists them)", change.more);
        rows.push(cells);
    }
    rows
}

/// The pod-hours a week of a row; empty if those of the change are unknown.
pub(super) fn hours_of(group: &ChangeGroup, row: &Row) -> String {
    let growth = row.growth.filter(|_| group.change.growth.is_some());
    growth.map_or_else(String::new, |it| signed(it.times(group.count).a_week(group.change.period)))
}
