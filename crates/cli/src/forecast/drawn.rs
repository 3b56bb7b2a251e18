//! The parts of a series to draw: blocks, each with its values over time.
//!
//! A number, a string and names are one block. Numbers by name are one block for each name, drawn like a number. The
//! outputs decide the look of a block; `page/drawn.js` decides the same for the page.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use almanac_engine::Value;
use almanac_forecast::{Origin, Segment, Series};
use jiff::Timestamp;

/// A part of a series that is drawn separately.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Block<'a> {
    /// The name that the number belongs to; `None` for a series without numbers by name.
    pub(super) name: Option<&'a str>,
    /// Adjacent stretches that cover the period; neighbors differ in their value or their writer.
    pub(super) stretches: Vec<Stretch<'a>>,
}

/// A stretch of time with one value of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stretch<'a> {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    pub(super) shown: DrawnValue<'a>,
    pub(super) origin: &'a Arc<Origin>,
}

/// The value at an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DrawnValue<'a> {
    /// The value is unknown.
    Unknown,
    /// No value: an empty list, or a name without a number.
    Nothing,
    Number(u32),
    Text(&'a str),
    /// At least one name.
    Names(&'a BTreeSet<Arc<str>>),
}

/// The type of the values of a block. It determines the drawing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Number,
    Text,
    Names,
}

/// The blocks of a series, in the order of their names; at least one.
pub(super) fn blocks(series: &Series) -> Vec<Block<'_>> {
    let numbers = series.segments.iter().filter_map(|segment| match &segment.value {
        Some(Value::Numbers(numbers)) => Some(numbers),
        _ => None,
    });
    let names: BTreeSet<&str> = numbers.flat_map(|it| it.keys()).map(|name| &**name).collect();
    if names.is_empty() {
        return vec![Block::new(None, series, drawn_value)];
    }
    let of_name = |name| Block::new(Some(name), series, |value| number_of(name, value));
    names.into_iter().map(of_name).collect()
}

fn drawn_value(value: Option<&Value>) -> DrawnValue<'_> {
    match value {
        None => DrawnValue::Unknown,
        Some(Value::Number(number)) => DrawnValue::Number(*number),
        Some(Value::Text(text)) => DrawnValue::Text(text),
        Some(Value::Names(names)) if !names.is_empty() => DrawnValue::Names(names),
        Some(Value::Names(_) | Value::Numbers(_) | Value::Nothing) => DrawnValue::Nothing,
    }
}

fn number_of<'a>(name: &str, value: Option<&'a Value>) -> DrawnValue<'a> {
    match value {
        Some(Value::Numbers(numbers)) => {
            numbers.get(name).map_or(DrawnValue::Nothing, |number| DrawnValue::Number(*number))
        }
        other => drawn_value(other),
    }
}

impl<'a> Block<'a> {
    fn new(
        name: Option<&'a str>,
        series: &'a Series,
        drawn_value: impl Fn(Option<&'a Value>) -> DrawnValue<'a>,
    ) -> Block<'a> {
        let stretch = |segment: &'a Segment| Stretch {
            from: segment.from,
            to: segment.to,
            shown: drawn_value(segment.value.as_ref()),
            origin: &segment.origin,
        };
        Block { name, stretches: joined(series.segments.iter().map(stretch)) }
    }

    /// The type of the values of the block; numbers if no stretch has a value.
    pub(super) fn kind(&self) -> Kind {
        let kind = |stretch: &Stretch<'_>| match stretch.shown {
            DrawnValue::Unknown | DrawnValue::Nothing => None,
            DrawnValue::Number(_) => Some(Kind::Number),
            DrawnValue::Text(_) => Some(Kind::Text),
            DrawnValue::Names(_) => Some(Kind::Names),
        };
        self.stretches.iter().find_map(kind).unwrap_or(Kind::Number)
    }

    /// Lists of names as rows. Each name has a row with the stretches that list it, in the order of the names. Rows
    /// for none and for unknown follow, if they occur. All stretches of a row have the same value.
    pub(super) fn rows(&self) -> Vec<Vec<Stretch<'a>>> {
        let listed = self.stretches.iter().filter_map(|stretch| match stretch.shown {
            DrawnValue::Names(names) => Some(names),
            _ => None,
        });
        let names: BTreeSet<&'a str> = listed.flatten().map(|name| &**name).collect();
        let rows = names
            .into_iter()
            .map(DrawnValue::Text)
            .chain([DrawnValue::Nothing, DrawnValue::Unknown]);
        rows.map(|shown| self.row(shown)).filter(|row| !row.is_empty()).collect()
    }

    fn row(&self, shown: DrawnValue<'a>) -> Vec<Stretch<'a>> {
        let is_in_row = |stretch: &&Stretch<'a>| match (shown, stretch.shown) {
            (DrawnValue::Text(name), DrawnValue::Names(names)) => names.contains(name),
            (row, stretch) => row == stretch,
        };
        let stretches = self.stretches.iter().filter(is_in_row);
        joined(stretches.map(|stretch| Stretch { shown, ..stretch.clone() }))
    }
}

impl Stretch<'_> {
    pub(super) fn number(&self) -> Option<u32> {
        match self.shown {
            DrawnValue::Number(number) => Some(number),
            _ => None,
        }
    }
}

impl fmt::Display for DrawnValue<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DrawnValue::Unknown => formatter.write_str("unknown"),
            DrawnValue::Nothing => formatter.write_str("none"),
            DrawnValue::Number(number) => number.fmt(formatter),
            DrawnValue::Text(text) => formatter.write_str(text),
            DrawnValue::Names(names) => {
                let names: Vec<&str> = names.iter().map(|name| &**name).collect();
                formatter.write_str(&names.join(", "))
            }
        }
    }
}

/// Merges adjacent stretches with the same value and the same writer. The merged stretch has the reason of the first
/// stretch.
fn joined<'a>(stretches: impl Iterator<Item = Stretch<'a>>) -> Vec<Stretch<'a>> {
    let mut all: Vec<Stretch<'a>> = Vec::with_capacity(stretches.size_hint().0);
    for stretch in stretches {
        match all.last_mut() {
            Some(last)
                if last.to == stretch.from
                    && last.shown == stretch.shown
                    && (Arc::ptr_eq(last.origin, stretch.origin)
                        || last.origin.writer == stretch.origin.writer) =>
            {
                last.to = stretch.to;
            }
            _ => all.push(stretch),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::kinds::series;

    /// The value of each stretch, with the hour of its start.
    fn described(stretches: &[Stretch<'_>]) -> Vec<String> {
        let hour = |at: Timestamp| at.as_second() / 3600 % 24;
        stretches.iter().map(|it| format!("{} {}", hour(it.from), it.shown)).collect()
    }

    /// The series with all segments set by one rule.
    fn by_one_rule(mut series: Series) -> Series {
        let origin = Arc::clone(&series.segments[0].origin);
        for segment in &mut series.segments {
            segment.origin = Arc::clone(&origin);
        }
        series
    }

    #[test]
    fn a_named_number_continues_while_only_others_change() {
        let numbers =
            |numbers: &[(&'static str, u32)]| Some(Value::numbers(numbers.iter().copied()));
        let values = vec![
            (0, numbers(&[("spot", 1), ("on-demand", 5)])),
            (6, numbers(&[("spot", 2), ("on-demand", 5)])),
            (12, numbers(&[("spot", 2)])),
            (18, None),
        ];
        let by_many = series("ResourcePolicy", "pools", values);
        let by_one = by_one_rule(by_many.clone());
        let blocks_of_one = blocks(&by_one);
        let names: Vec<_> = blocks_of_one.iter().map(|block| block.name).collect();
        assert_eq!(names, [Some("on-demand"), Some("spot")]);
        assert_eq!(described(&blocks_of_one[0].stretches), ["0 5", "12 none", "18 unknown"]);
        assert_eq!(described(&blocks_of_one[1].stretches), ["0 1", "6 2", "18 unknown"]);
        // A different writer is worth showing, even if the number is the same.
        let spot = &blocks(&by_many)[1];
        assert_eq!(described(&spot.stretches), ["0 1", "6 2", "12 2", "18 unknown"]);
    }

    #[test]
    fn the_row_of_a_name_continues_while_only_others_come_and_go() {
        let names = |names: &[&'static str]| Some(Value::names(names.iter().copied()));
        let values = vec![
            (0, names(&["west"])),
            (6, names(&["west", "east"])),
            (12, names(&["east"])),
            (18, names(&[])),
        ];
        let placed = by_one_rule(series("Placement", "shop", values));
        let [block] = &blocks(&placed)[..] else { panic!("one block") };
        assert_eq!((block.name, block.kind()), (None, Kind::Names));
        let rows: Vec<_> = block.rows().iter().map(|row| described(row)).collect();
        assert_eq!(rows, [["6 east"], ["0 west"], ["18 none"]]);
        let ends: Vec<_> = block.rows().iter().map(|row| row[0].to).collect();
        assert_eq!(ends[0], block.stretches[3].from);
    }

    #[test]
    fn a_series_without_values_is_one_block() {
        for value in [None, Some(Value::names([])), Some(Value::numbers([]))] {
            let series = series("Placement", "shop", vec![(0, value)]);
            let [block] = &blocks(&series)[..] else { panic!("one block") };
            assert_eq!((block.name, block.kind(), block.stretches.len()), (None, Kind::Number, 1));
        }
    }
}
