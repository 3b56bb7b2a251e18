//! A block as lanes: a line for each value or name, with strokes for its periods.
//!
//! A character has two halves. A half is drawn if the value applies for most of it. A shorter
//! period is a dot, so that every period is visible.

use std::collections::BTreeSet;
use std::ops::Bound;

use almanac_forecast::Period;
use jiff::Timestamp;

use super::drawn::{Block, DrawnValue};

/// The maximum number of lanes; with more values, neighboring values share a lane.
const MOST: usize = 8;
const SHARED: usize = 6;

/// A line of a block, by the values with a stroke in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Lane<'a> {
    /// The numbers from the first to the second.
    Numbers(u32, u32),
    /// The words from the first to the second; also lists that contain one of these words.
    Words(&'a str, &'a str, usize),
    Nothing,
    Unknown,
}

/// The lanes of a block: the largest number first, words in their order, and below them the lanes
/// for no value and for unknown values.
pub(super) fn lanes<'a>(block: &Block<'a>) -> Vec<Lane<'a>> {
    let (mut numbers, mut words) = (BTreeSet::new(), BTreeSet::new());
    let mut others = BTreeSet::new();
    for stretch in &block.stretches {
        match stretch.shown {
            DrawnValue::Nothing => _ = others.insert(Lane::Nothing),
            DrawnValue::Unknown => _ = others.insert(Lane::Unknown),
            DrawnValue::Number(number) => _ = numbers.insert(number),
            DrawnValue::Text(text) => _ = words.insert(text),
            DrawnValue::Names(names) => words.extend(names.iter().map(|name| &**name)),
        }
    }
    let numbers = in_lanes(numbers, |first, last, _| Lane::Numbers(first, last)).into_iter().rev();
    let words = in_lanes(words, Lane::Words);
    numbers.chain(words).chain(others).collect()
}

/// A lane for each value, or for several neighbors if there are too many: the first, the last, and
/// their number.
fn in_lanes<'a, T: Copy>(
    all: BTreeSet<T>,
    lane: impl Fn(T, T, usize) -> Lane<'a>,
) -> Vec<Lane<'a>> {
    let all: Vec<T> = all.into_iter().collect();
    let share = if all.len() > MOST { all.len().div_ceil(SHARED) } else { 1 };
    let together = all.chunks(share);
    together.map(|chunk| lane(chunk[0], chunk[chunk.len() - 1], chunk.len())).collect()
}

impl Lane<'_> {
    pub(super) fn label(&self) -> String {
        match *self {
            Lane::Unknown => DrawnValue::Unknown.to_string(),
            Lane::Nothing => DrawnValue::Nothing.to_string(),
            Lane::Numbers(low, high) if low == high => low.to_string(),
            Lane::Numbers(low, high) => format!("{low}-{high}"),
            Lane::Words(word, _, 1) => word.to_owned(),
            Lane::Words(first, _, count) => format!("{first} +{}", count - 1),
        }
    }

    /// The characters of the lane.
    pub(super) fn strokes(&self, block: &Block<'_>, period: Period, columns: usize) -> String {
        let halves = columns * 2;
        let start = period.from().as_nanosecond();
        let length = period.to().as_nanosecond() - start;
        // Scaled by the number of halves, so that their borders are whole numbers.
        let scaled = |at: Timestamp| (at.as_nanosecond() - start) * halves as i128;
        let mut covered = vec![0_i128; halves];
        for stretch in block.stretches.iter().filter(|stretch| self.has_value(stretch.shown)) {
            let (from, to) = (scaled(stretch.from), scaled(stretch.to));
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

    fn has_value(&self, shown: DrawnValue<'_>) -> bool {
        match (*self, shown) {
            (Lane::Unknown, DrawnValue::Unknown) | (Lane::Nothing, DrawnValue::Nothing) => true,
            (Lane::Numbers(low, high), DrawnValue::Number(number)) => {
                (low..=high).contains(&number)
            }
            (Lane::Words(first, last, _), DrawnValue::Text(text)) => (first..=last).contains(&text),
            (Lane::Words(first, last, _), DrawnValue::Names(names)) => {
                let shared = (Bound::Included(first), Bound::Included(last));
                names.range::<str, _>(shared).next().is_some()
            }
            _ => false,
        }
    }
}
