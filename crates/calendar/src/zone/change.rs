//! Clock changes: instants at which a zone's wall clocks are set forward or back.

use jiff::civil::DateTime;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};

use crate::instant;

/// An instant at which a zone's wall clocks are set forward or back.
///
/// ```
/// use almanac_calendar::Zone;
///
/// let zone = Zone::named("Pacific/Apia").unwrap();
/// let (from, to) = ("2011-12-01T00:00:00Z".parse().unwrap(), "2012-01-01T00:00:00Z".parse().unwrap());
/// let change = zone.changes(from, to).next().unwrap();
/// assert!(change.is_gap());
/// assert_eq!(change.shift().as_hours(), 24);
/// assert_eq!(change.shown_before().to_string(), "2011-12-30T00:00:00");
/// assert_eq!(change.shown_after().to_string(), "2011-12-31T00:00:00");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockChange {
    /// The first instant with the new offset.
    pub at: Timestamp,
    /// The offset until then.
    pub before: Offset,
    /// The offset from then on.
    pub after: Offset,
}

impl ClockChange {
    /// Whether the clock jumps forward, so that some civil times are never shown.
    ///
    /// ```
    /// use almanac_calendar::Zone;
    ///
    /// let zone = Zone::named("Europe/Berlin").unwrap();
    /// let from = "2026-01-01T00:00:00Z".parse().unwrap();
    /// let to = "2027-01-01T00:00:00Z".parse().unwrap();
    /// let gaps: Vec<bool> = zone.changes(from, to).map(|change| change.is_gap()).collect();
    /// assert_eq!(gaps, [true, false]);
    /// ```
    #[must_use]
    pub fn is_gap(&self) -> bool {
        self.after > self.before
    }

    /// The amount by which the clock is set forward; negative when it is set back.
    ///
    /// ```
    /// use almanac_calendar::Zone;
    ///
    /// let zone = Zone::named("Europe/Berlin").unwrap();
    /// let from = "2026-01-01T00:00:00Z".parse().unwrap();
    /// let to = "2027-01-01T00:00:00Z".parse().unwrap();
    /// let hours: Vec<i64> = zone.changes(from, to).map(|change| change.shift().as_hours()).collect();
    /// assert_eq!(hours, [1, -1]);
    /// ```
    #[must_use]
    pub fn shift(&self) -> SignedDuration {
        SignedDuration::from_secs(i64::from(self.after.seconds() - self.before.seconds()))
    }

    /// The civil time at [`ClockChange::at`] without the change.
    ///
    /// ```
    /// use almanac_calendar::Zone;
    ///
    /// let zone = Zone::named("Europe/Berlin").unwrap();
    /// let from = "2026-01-01T00:00:00Z".parse().unwrap();
    /// let to = "2027-01-01T00:00:00Z".parse().unwrap();
    /// let spring = zone.changes(from, to).next().unwrap();
    /// assert_eq!(spring.shown_before().to_string(), "2026-03-29T02:00:00");
    /// ```
    #[must_use]
    pub fn shown_before(&self) -> DateTime {
        self.before.to_datetime(self.at)
    }

    /// The civil time at [`ClockChange::at`] with the change.
    ///
    /// ```
    /// use almanac_calendar::Zone;
    ///
    /// let zone = Zone::named("Europe/Berlin").unwrap();
    /// let from = "2026-01-01T00:00:00Z".parse().unwrap();
    /// let to = "2027-01-01T00:00:00Z".parse().unwrap();
    /// let spring = zone.changes(from, to).next().unwrap();
    /// assert_eq!(spring.shown_after().to_string(), "2026-03-29T03:00:00");
    /// ```
    #[must_use]
    pub fn shown_after(&self) -> DateTime {
        self.after.to_datetime(self.at)
    }

    /// The civil seconds `[first, end)` that are skipped, or shown twice.
    pub(crate) fn affected(&self) -> (i64, i64) {
        let at = instant::floor(self.at);
        let (before, after) =
            (at + i64::from(self.before.seconds()), at + i64::from(self.after.seconds()));
        (before.min(after), before.max(after))
    }
}
