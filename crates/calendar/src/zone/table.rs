//! The offsets of one zone over all time, as a sorted table.
//!
//! Asking a time zone library for the offset at every step costs more than the schedule itself, so
//! a zone is turned into a table once: when each offset began, and how far the wall clock had got
//! by then. Every question is then a binary search. What zones exist, and their names, is left to
//! [`super`].

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::civil::{DAYS_A_CYCLE, SECONDS_A_DAY, first_day_of_month};

/// From here on a zone with yearly clock changes repeats exactly with the Gregorian cycle: every
/// explicit entry of the database is older (the last one is Morocco's, in 2087).
const CYCLE_START: i64 = first_day_of_month(2100, 1) * SECONDS_A_DAY;
const CYCLE: i64 = DAYS_A_CYCLE * SECONDS_A_DAY;
/// How far past the cycle the table goes, so that a clock change on its edge is inside.
const MARGIN: i64 = 400 * SECONDS_A_DAY;

/// A stretch of time with one offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Its first instant, in seconds since the epoch; `i64::MIN` for the first segment.
    pub(crate) start: i64,
    /// The first instant after it; `i64::MAX` for the last segment.
    pub(crate) end: i64,
    /// Seconds east of UTC.
    pub(crate) offset: i64,
    /// The first civil second that no clock had shown before the segment began.
    reached: i64,
}

impl Segment {
    /// The latest civil second shown at or before the instant `at`, which lies in this segment.
    fn reached_at(&self, at: i64) -> i64 {
        (at + self.offset).max(self.reached.saturating_sub(1))
    }
}

/// All segments of a zone, one entry an array each.
#[derive(Debug)]
pub(crate) struct OffsetTable {
    starts: Box<[i64]>,
    /// Never falls from one segment to the next, which is what makes it searchable.
    reached: Box<[i64]>,
    offsets: Box<[i32]>,
    /// Whether the clock changes go on for ever, repeating with the Gregorian cycle.
    cyclic: bool,
}

impl OffsetTable {
    pub(crate) fn build(zone: &TimeZone) -> OffsetTable {
        let mut starts = vec![i64::MIN];
        let mut reached = vec![i64::MIN];
        let mut offsets = vec![zone.to_offset(Timestamp::MIN).seconds()];
        let mut cyclic = false;
        for transition in zone.following(Timestamp::MIN) {
            let (start, offset) =
                (transition.timestamp().as_second(), transition.offset().seconds());
            let (Some(&before), Some(&high)) = (offsets.last(), reached.last()) else {
                break;
            };
            // Some entries only rename the zone or flag its summer time.
            if offset == before {
                continue;
            }
            starts.push(start);
            reached.push(high.max(start + i64::from(before)));
            offsets.push(offset);
            if start > CYCLE_START + CYCLE + MARGIN {
                cyclic = true;
                break;
            }
        }
        OffsetTable {
            starts: starts.into(),
            reached: reached.into(),
            offsets: offsets.into(),
            cyclic,
        }
    }

    /// The bytes this table holds on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.starts) + size_of_val(&*self.reached) + size_of_val(&*self.offsets)
    }

    /// The segment in which the instant `at` lies.
    pub(crate) fn segment_at(&self, at: i64) -> Segment {
        let shift = self.cycles_before(at);
        let after = self.starts.partition_point(|&start| start <= at - shift);
        self.segment(after.saturating_sub(1), shift)
    }

    /// The latest civil second that the wall clock has shown at or before the instant `at`.
    pub(crate) fn reached_at(&self, at: i64) -> i64 {
        self.segment_at(at).reached_at(at)
    }

    /// The first instant at which the wall clock has reached the civil second `civil`.
    ///
    /// In a gap that is the first instant after it, in a fold the first occurrence. Never earlier
    /// for a later civil time, so order on the wall clock is order in time.
    pub(crate) fn first_instant(&self, civil: i64) -> i64 {
        let shift = self.cycles_before(civil);
        // The segment in which it is reached is the last one that begins before it was.
        let after = self.reached.partition_point(|&reached| reached <= civil - shift);
        let segment = self.segment(after.saturating_sub(1), shift);
        segment.start.max(civil - segment.offset)
    }

    /// By how many seconds `at` has to go back to lie in the table.
    fn cycles_before(&self, at: i64) -> i64 {
        if self.cyclic && at >= CYCLE_START + CYCLE {
            (at - CYCLE_START).div_euclid(CYCLE) * CYCLE
        } else {
            0
        }
    }

    fn segment(&self, index: usize, shift: i64) -> Segment {
        let moved = |second: i64| second.saturating_add(shift);
        Segment {
            start: moved(self.starts[index]),
            end: self.starts.get(index + 1).map_or(i64::MAX, |&next| moved(next)),
            offset: i64::from(self.offsets[index]),
            reached: moved(self.reached[index]),
        }
    }
}
