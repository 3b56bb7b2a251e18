//! A series as lanes: one line a value, with a stroke where the value holds.
//!
//! A character shows two halves. A half is drawn when the value holds for most of it; what holds
//! for less shows as a dot, so that nothing is lost, however short.

use almanac_forecast::{Period, Series};

/// With more values than this, neighbouring values share a lane.
const MOST: usize = 8;
const SHARED: usize = 6;

/// The times at which a range of values holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Lane {
    /// The smallest and the largest value; `None` when nobody knows.
    pub(super) values: Option<(u32, u32)>,
    /// What to draw, character by character.
    pub(super) strokes: String,
}

impl Lane {
    pub(super) fn label(&self) -> String {
        match self.values {
            None => "unknown".to_owned(),
            Some((low, high)) if low == high => low.to_string(),
            Some((low, high)) => format!("{low}-{high}"),
        }
    }
}

/// The lanes of a series, the largest value first.
pub(super) fn lanes(series: &Series, period: Period, columns: usize) -> Vec<Lane> {
    let mut values: Vec<u32> = series.segments.iter().filter_map(|it| it.value).collect();
    values.sort_unstable();
    values.dedup();
    let share = if values.len() > MOST { values.len().div_ceil(SHARED) } else { 1 };
    let ranges = values.chunks(share).map(|chunk| Some((chunk[0], chunk[chunk.len() - 1])));
    let unknown = series.segments.iter().any(|it| it.value.is_none()).then_some(None);
    let ranges = unknown.into_iter().chain(ranges);
    let mut lanes: Vec<Lane> = ranges
        .map(|values| Lane { values, strokes: strokes(series, period, columns, values) })
        .collect();
    lanes.reverse();
    lanes
}

fn strokes(series: &Series, period: Period, columns: usize, values: Option<(u32, u32)>) -> String {
    let halves = columns * 2;
    let start = period.from().as_nanosecond();
    let length = period.to().as_nanosecond() - start;
    // Scaled by the number of halves, so that their borders are whole numbers.
    let scaled = |at: jiff::Timestamp| (at.as_nanosecond() - start) * halves as i128;
    let mut covered = vec![0_i128; halves];
    for segment in &series.segments {
        let holds = match (segment.value, values) {
            (Some(value), Some((low, high))) => (low..=high).contains(&value),
            (value, values) => value.is_none() && values.is_none(),
        };
        if !holds {
            continue;
        }
        let (from, to) = (scaled(segment.from), scaled(segment.to));
        let first = usize::try_from(from / length).unwrap_or(0);
        for (half, covered) in covered.iter_mut().enumerate().skip(first) {
            let (begin, end) = (half as i128 * length, (half as i128 + 1) * length);
            if begin >= to {
                break;
            }
            *covered += to.min(end) - from.max(begin);
        }
    }
    let most = |covered: i128| covered * 2 >= length;
    let stroke = |pair: &[i128]| match (most(pair[0]), most(pair[1])) {
        (true, true) => '━',
        (true, false) => '╸',
        (false, true) => '╺',
        _ if pair[0] + pair[1] > 0 => '·',
        _ => ' ',
    };
    covered.chunks(2).map(stroke).collect()
}
