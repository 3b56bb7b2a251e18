//! The location of a finding as other programs count it: from 1, columns in characters, the end one past the last.

use almanac_api::reading::{PlacedFinding, Position, Source};

/// A part of a file.
pub(super) struct Location {
    /// 1 for a finding about the whole file.
    pub(super) line: usize,
    /// 1 for a finding about the whole file.
    pub(super) column: usize,
    /// The position after the last character; `None` for a finding about the whole file.
    pub(super) end: Option<Position>,
}

impl Location {
    /// The subject of the finding, cut at the end of its first line.
    pub(super) fn for_finding(source: &Source, placed: &PlacedFinding) -> Location {
        let Some(span) = placed.span else { return Location { line: 1, column: 1, end: None } };
        let Position { line, column } = source.position(span.start);
        let subject = source.slice(span).lines().next().unwrap_or_default();
        let length = subject.trim_end().chars().count().max(1);
        let end = Position { line, column: column + length };
        Location { line, column, end: Some(end) }
    }
}
