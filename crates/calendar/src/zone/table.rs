//! The offsets of one zone over all time, as a sorted table.
//!
//! Querying a time zone library for the offset at every step costs more than the schedule itself.
//! So a zone is converted to a table once: the start of each offset, and the progress of the wall clock
//! at that instant. Every query is then an index lookup and a step or two. The existing zones, and
//! their names, are defined in [`super`].

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::civil::{DAYS_A_CYCLE, SECONDS_A_DAY, first_day_of_month};

/// From here on a zone with yearly clock changes repeats exactly with the Gregorian cycle: every
/// explicit entry of the database is older (the last one is Morocco's, in 2087).
const CYCLE_START: i64 = first_day_of_month(2100, 1) * SECONDS_A_DAY;
const CYCLE: i64 = DAYS_A_CYCLE * SECONDS_A_DAY;
/// The length of the table past the cycle, so that a clock change on its edge is inside.
const MARGIN: i64 = 400 * SECONDS_A_DAY;

/// The index has an entry every 97 days (2²³ seconds) from 1970 on: at most a few offsets begin in
/// that time.
const INDEX_SHIFT: u32 = 23;

/// More than the distance of any wall clock from UTC, and than the age of any repeated civil time.
const FURTHEST_FROM_UTC: i64 = 2 * SECONDS_A_DAY;

/// A stretch of time with one offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Its first instant, in seconds since the epoch; `i64::MIN` for the first segment.
    pub(crate) start: i64,
    /// The first instant after it; `i64::MAX` for the last segment.
    pub(crate) end: i64,
    /// Seconds east of UTC.
    pub(crate) offset: i64,
    /// The first civil second that the wall clock had not shown before the start of the segment.
    reached: i64,
    /// The first civil second that the wall clock has not shown at the end of the segment.
    reached_at_end: i64,
}

impl Segment {
    /// The latest civil second that the wall clock has shown at or before the instant `at`, which
    /// lies in this segment.
    pub(crate) fn reached_at(&self, at: i64) -> i64 {
        (at + self.offset).max(self.reached.saturating_sub(1))
    }

    /// The first instant at which the wall clock has reached a civil second, if it is in this
    /// segment.
    pub(crate) fn first_instant(&self, civil: i64) -> Option<i64> {
        (self.reached <= civil && civil < self.reached_at_end)
            .then(|| self.start.max(civil - self.offset))
    }
}

/// The start of an offset.
#[derive(Clone, Copy, Debug)]
struct Beginning {
    start: i64,
    offset: i32,
    /// The progress of the wall clock at `start`, as an offset from `start`. At least the previous offset. More while a
    /// clock that was set back has not yet passed the civil times that it had shown.
    reached: i32,
}

/// All segments of a zone.
#[derive(Debug)]
pub(crate) struct OffsetTable {
    /// The segments in order, the first from `i64::MIN`. The progress of the clock never decreases from
    /// one segment to the next.
    beginnings: Box<[Beginning]>,
    /// For every stretch of time since 1970, the segment that contains its start.
    index: Box<[u16]>,
    /// Whether the clock changes continue forever, repeating with the Gregorian cycle.
    cyclic: bool,
}

impl OffsetTable {
    pub(crate) fn build(zone: &TimeZone) -> OffsetTable {
        let mut last = Beginning {
            start: i64::MIN,
            offset: zone.to_offset(Timestamp::MIN).seconds(),
            reached: 0,
        };
        let mut high = i64::MIN;
        let mut beginnings = vec![last];
        let mut cyclic = false;
        for transition in zone.following(Timestamp::MIN) {
            let start = transition.timestamp().as_second();
            let offset = transition.offset().seconds();
            // Some entries only rename the zone or flag its summer time.
            if offset == last.offset {
                continue;
            }
            high = high.max(start + i64::from(last.offset));
            let reached = i32::try_from(high - start).unwrap_or(last.offset);
            last = Beginning { start, offset, reached };
            beginnings.push(last);
            if start > CYCLE_START + CYCLE + MARGIN {
                cyclic = true;
                break;
            }
        }
        OffsetTable { index: index(&beginnings), beginnings: beginnings.into(), cyclic }
    }

    /// The bytes this table holds on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.beginnings) + size_of_val(&*self.index)
    }

    /// The segment in which the instant `at` lies.
    pub(crate) fn segment_at(&self, at: i64) -> Segment {
        let shift = self.cycles_before(at);
        self.segment(self.position(at - shift), shift)
    }

    /// The latest civil second that the wall clock has shown at or before the instant `at`.
    pub(crate) fn reached_at(&self, at: i64) -> i64 {
        let shift = self.cycles_before(at);
        let this = self.beginnings[self.position(at - shift)];
        let reached = this.start.saturating_add(shift + i64::from(this.reached));
        (at + i64::from(this.offset)).max(reached.saturating_sub(1))
    }

    /// The first instant at which the wall clock has reached the civil second `civil`.
    ///
    /// In a gap that is the first instant after it, in a fold the first occurrence. Never earlier
    /// for a later civil time, so order on the wall clock is order in time.
    pub(crate) fn first_instant(&self, civil: i64) -> i64 {
        let shift = self.cycles_before(civil);
        let mut position = self.position(civil - shift - FURTHEST_FROM_UTC);
        loop {
            let segment = self.segment(position, shift);
            if civil < segment.reached_at_end || position + 1 == self.beginnings.len() {
                return segment.start.max(civil - segment.offset);
            }
            position += 1;
        }
    }

    /// The seconds by which `at` must go back to lie in the table.
    fn cycles_before(&self, at: i64) -> i64 {
        if self.cyclic && at >= CYCLE_START + CYCLE {
            (at - CYCLE_START).div_euclid(CYCLE) * CYCLE
        } else {
            0
        }
    }

    /// The position of the segment in which an instant lies.
    fn position(&self, at: i64) -> usize {
        let last = self.beginnings.len() - 1;
        let Ok(stretch) = usize::try_from(at >> INDEX_SHIFT) else {
            return self.beginnings.partition_point(|it| it.start <= at) - 1;
        };
        let mut position = self.index.get(stretch).map_or(last, |&it| usize::from(it));
        while position < last && self.beginnings[position + 1].start <= at {
            position += 1;
        }
        position
    }

    fn segment(&self, position: usize, shift: i64) -> Segment {
        let this = self.beginnings[position];
        let next = self.beginnings.get(position + 1);
        let end_and_reached =
            next.map(|next| (next.start + shift, next.start + shift + i64::from(next.reached)));
        let (end, reached_at_end) = end_and_reached.unwrap_or((i64::MAX, i64::MAX));
        Segment {
            start: this.start.saturating_add(shift),
            end,
            offset: i64::from(this.offset),
            reached: this.start.saturating_add(shift + i64::from(this.reached)),
            reached_at_end,
        }
    }
}

/// For every stretch of time from 1970 to the last start, the segment that contains its start.
fn index(beginnings: &[Beginning]) -> Box<[u16]> {
    let last = beginnings.last().map_or(i64::MIN, |it| it.start);
    (0_i64..)
        .map(|stretch| stretch << INDEX_SHIFT)
        .take_while(|start| *start < last)
        .map(|start| beginnings.partition_point(|it| it.start <= start) - 1)
        .map(|position| u16::try_from(position).unwrap_or(0))
        .collect()
}
