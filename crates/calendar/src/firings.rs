//! The instants at which a cron expression fires in a zone.

use jiff::{SignedDuration, Timestamp};

use crate::civil::{SECONDS_A_DAY, SECONDS_A_MINUTE};
use crate::clock_effect::{self, ClockEffect};
use crate::recurrence::{CivilMinute, Recurrence};
use crate::{Cron, Zone, instant};

/// The limit of every search, from its start: every date that exists
/// recurs within forty years, and no zone skips the same time for centuries.
pub(crate) const FURTHEST: i64 = 400 * 366 * SECONDS_A_DAY;

/// The instants at which a cron expression fires in a zone.
///
/// ```
/// use almanac_calendar::{Cron, Zone};
///
/// let firings = Cron::parse("*/15 2 * * *").unwrap().in_zone(Zone::named("America/New_York").unwrap());
/// let on = |from: &str, to: &str| {
///     firings.between(from.parse().unwrap(), to.parse().unwrap()).count()
/// };
/// assert_eq!(on("2026-03-07T05:00:00Z", "2026-03-08T05:00:00Z"), 4);
/// // On the day the clock jumps from 02:00 to 03:00 it is never between two and three.
/// assert_eq!(on("2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"), 0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Firings {
    cron: Cron,
    zone: Zone,
}

impl Firings {
    pub(crate) fn new(cron: Cron, zone: Zone) -> Firings {
        Firings { cron, zone }
    }

    /// The expression.
    ///
    /// ```
    /// use almanac_calendar::{Cron, Zone};
    ///
    /// assert!(Cron::parse("@daily").unwrap().in_zone(Zone::utc()).cron().is_fixed());
    /// ```
    #[must_use]
    pub fn cron(&self) -> &Cron {
        &self.cron
    }

    /// The zone.
    ///
    /// ```
    /// use almanac_calendar::{Cron, Zone};
    ///
    /// assert_eq!(Cron::parse("@daily").unwrap().in_zone(Zone::utc()).zone().name(), "UTC");
    /// ```
    #[must_use]
    pub fn zone(&self) -> Zone {
        self.zone
    }

    /// The first firing after `now`.
    ///
    /// `None` only at the end of the years that a [`Timestamp`] can hold.
    ///
    /// ```
    /// use almanac_calendar::{Cron, Zone};
    ///
    /// let firings = Cron::parse("0 0 29 2 *").unwrap().in_zone(Zone::utc());
    /// let next = firings.next("2096-02-29T00:00:00Z".parse().unwrap());
    /// assert_eq!(next, Some("2104-02-29T00:00:00Z".parse().unwrap()));
    /// ```
    #[must_use]
    pub fn next(&self, now: Timestamp) -> Option<Timestamp> {
        self.after(instant::floor(now)).and_then(instant::at)
    }

    /// The last firing at or before `now`.
    ///
    /// ```
    /// use almanac_calendar::{Cron, Zone};
    ///
    /// let firings = Cron::parse("@hourly").unwrap().in_zone(Zone::utc());
    /// let now = "2026-01-01T00:00:00Z".parse().unwrap();
    /// assert_eq!(firings.previous(now), Some(now));
    /// ```
    #[must_use]
    pub fn previous(&self, now: Timestamp) -> Option<Timestamp> {
        let now = instant::floor(now);
        let found = if self.cron.is_fixed() {
            let reached = CivilMinute::from_second(self.zone.reached_at(now));
            let minute = self.recurrence().previous(reached)?;
            self.zone.first_instant(minute * SECONDS_A_MINUTE)
        } else {
            self.last_shown(now)?
        };
        instant::at(found)
    }

    /// The firings in `[from, to)`, in order, found lazily.
    ///
    /// ```
    /// use almanac_calendar::{Cron, Zone};
    ///
    /// let firings = Cron::parse("0 */6 * * *").unwrap().in_zone(Zone::utc());
    /// let day = firings.between(
    ///     "2026-01-01T00:00:00Z".parse().unwrap(),
    ///     "2026-01-02T00:00:00Z".parse().unwrap(),
    /// );
    /// assert_eq!(day.count(), 4);
    /// ```
    pub fn between(&self, from: Timestamp, to: Timestamp) -> impl Iterator<Item = Timestamp> {
        self.seconds_between(instant::ceiling(from), instant::ceiling(to)).map_while(instant::at)
    }

    /// The shortest time between two firings in `[from, to)`; `None` when there are fewer than two.
    ///
    /// The search ends when no shorter time is possible, so that a dense expression costs no more than
    /// a sparse expression.
    ///
    /// ```
    /// use almanac_calendar::{Cron, Zone};
    /// use jiff::SignedDuration;
    ///
    /// let firings = Cron::parse("0,20 * * * *").unwrap().in_zone(Zone::utc());
    /// let (from, to) = ("2026-01-01T00:00:00Z".parse().unwrap(), "2028-01-01T00:00:00Z".parse().unwrap());
    /// assert_eq!(firings.shortest_interval(from, to), Some(SignedDuration::from_mins(20)));
    /// ```
    #[must_use]
    pub fn shortest_interval(&self, from: Timestamp, to: Timestamp) -> Option<SignedDuration> {
        let around_changes = self.shortest_interval_at_clock_changes(from, to);
        let (from, to) = (instant::ceiling(from), instant::ceiling(to));
        // Away from clock changes no two firings are closer than their times of day allow.
        let floor = self.shortest_civil_interval();
        let mut smallest = i64::MAX;
        let mut last = None;
        for at in self.seconds_between(from, to) {
            if let Some(last) = last {
                smallest = smallest.min(at - last);
                if smallest <= floor {
                    break;
                }
            }
            last = Some(at);
        }
        let smallest = around_changes.map_or(smallest, |it| it.min(smallest));
        (smallest < i64::MAX).then(|| SignedDuration::from_secs(smallest))
    }

    /// The days of a month on which the clock shows a time to fire at, as bits 1 to 31.
    ///
    /// ```
    /// use almanac_calendar::{Cron, Zone};
    ///
    /// let firings = Cron::parse("0 9 1,15 * *").unwrap().in_zone(Zone::utc());
    /// assert_eq!(firings.days_of_month(2026, 2), 1 << 1 | 1 << 15);
    /// ```
    #[must_use]
    pub fn days_of_month(&self, year: i16, month: i8) -> u32 {
        self.recurrence().dates.days_of(i32::from(year), month.unsigned_abs())
    }

    /// Whether the schedule is the same every week.
    ///
    /// ```
    /// use almanac_calendar::{Cron, Zone};
    ///
    /// let repeats = |text| Cron::parse(text).unwrap().in_zone(Zone::utc()).repeats_weekly();
    /// assert!(repeats("0 9 * * 1-5"));
    /// assert!(!repeats("0 9 1 * *"));
    /// ```
    #[must_use]
    pub fn repeats_weekly(&self) -> bool {
        self.recurrence().dates.is_any_date()
    }

    /// The meaning of the schedule, in one English line with its zone.
    ///
    /// ```
    /// use almanac_calendar::{Cron, Zone};
    ///
    /// let firings = Cron::parse("0 9 1 * *").unwrap().in_zone(Zone::named("Asia/Tokyo").unwrap());
    /// assert_eq!(firings.describe(), "at 09:00 on the 1st of every month (Asia/Tokyo)");
    /// ```
    #[must_use]
    pub fn describe(&self) -> String {
        format!("{} ({})", self.cron.describe(), self.zone)
    }

    /// The clock changes in `[from, to)` that affect a firing, each with its effect.
    ///
    /// ```
    /// use almanac_calendar::{Cron, Zone};
    ///
    /// let firings = Cron::parse("30 2 * * *").unwrap().in_zone(Zone::named("Europe/Berlin").unwrap());
    /// let (from, to) = ("2026-01-01T00:00:00Z".parse().unwrap(), "2026-06-01T00:00:00Z".parse().unwrap());
    /// let effects: Vec<String> = firings.clock_effects(from, to).map(|it| it.to_string()).collect();
    /// assert_eq!(effects, [
    ///     "on 2026-03-29 the clock jumps from 02:00 to 03:00: the firing at 02:30 is moved to 03:00",
    /// ]);
    /// ```
    pub fn clock_effects(
        &self,
        from: Timestamp,
        to: Timestamp,
    ) -> impl Iterator<Item = ClockEffect> {
        self.zone.changes(from, to).filter_map(|change| {
            clock_effect::on_firings(self.recurrence(), self.cron.is_fixed(), change)
        })
    }

    fn recurrence(&self) -> &Recurrence {
        &self.cron.recurrence
    }

    /// The firings in `[from, to)`, in whole seconds.
    fn seconds_between(&self, from: i64, to: i64) -> impl Iterator<Item = i64> {
        std::iter::successors(self.after(from - 1), |at| self.after(*at))
            .take_while(move |at| *at < to)
    }

    /// The first firing after the second `now`.
    fn after(&self, now: i64) -> Option<i64> {
        if self.cron.is_fixed() {
            let segment = self.zone.segment_at(now);
            let reached = CivilMinute::from_second(segment.reached_at(now));
            let civil = self.recurrence().next(reached.after())? * SECONDS_A_MINUTE;
            // Usually there is no clock change in between.
            segment.first_instant(civil).or_else(|| Some(self.zone.first_instant(civil)))
        } else {
            self.next_shown(now)
        }
    }

    /// The first instant after `now` at which the wall clock shows a matching minute.
    ///
    /// Between two clock changes, civil time and time advance at the same speed. So the next match
    /// is searched for once, and carried over from segment to segment until it lies in one. It is
    /// searched for again only if the clock has been set back over minutes that already passed, or
    /// has jumped over the match.
    fn next_shown(&self, now: i64) -> Option<i64> {
        let mut segment = self.zone.segment_at(now);
        let civil = CivilMinute::from_second(now + segment.offset);
        let mut from = civil.minute() + 1;
        let mut found = self.recurrence().next(civil.after())?;
        loop {
            let at = found * SECONDS_A_MINUTE - segment.offset;
            if at < segment.end {
                return Some(at);
            }
            if segment.end > now + FURTHEST {
                return None;
            }
            segment = self.zone.segment_at(segment.end);
            let first = first_minute(segment.start + segment.offset);
            if first < from || found < first {
                from = first;
                found = self.recurrence().next(CivilMinute::new(from))?;
            }
        }
    }

    /// The last instant at or before `now` at which the wall clock shows a matching minute.
    fn last_shown(&self, now: i64) -> Option<i64> {
        let mut segment = self.zone.segment_at(now);
        let civil = CivilMinute::from_second(now + segment.offset);
        let mut to = civil.minute();
        let mut found = self.recurrence().previous(civil)?;
        loop {
            let at = found * SECONDS_A_MINUTE - segment.offset;
            if at >= segment.start {
                return Some(at);
            }
            if segment.start < now - FURTHEST {
                return None;
            }
            segment = self.zone.segment_at(segment.start - 1);
            let last = minute(segment.end - 1 + segment.offset);
            if last > to || found > last {
                to = last;
                found = self.recurrence().previous(CivilMinute::new(to))?;
            }
        }
    }

    /// The shortest civil time, in seconds, between two firings.
    fn shortest_civil_interval(&self) -> i64 {
        let times = self.recurrence().times;
        let over_midnight =
            SECONDS_A_DAY / SECONDS_A_MINUTE + i64::from(times.first()) - i64::from(times.last());
        let within_a_day =
            times.iter().zip(times.iter().skip(1)).map(|(one, next)| i64::from(next - one)).min();
        within_a_day.map_or(over_midnight, |it| it.min(over_midnight)) * SECONDS_A_MINUTE
    }

    /// The shortest time between two firings with a clock change between them, or at one of them.
    fn shortest_interval_at_clock_changes(&self, from: Timestamp, to: Timestamp) -> Option<i64> {
        let changes = self.zone.changes(from, to);
        let (from, to) = (instant::ceiling(from), instant::ceiling(to));
        changes
            .filter_map(|change| {
                let at = instant::floor(change.at);
                let first = self.after(at - 1)?;
                let before = self.previous(instant::at(at - 1)?).map(instant::floor);
                let before = before.filter(|it| *it >= from).map(|before| first - before);
                let after = self.after(first).filter(|it| *it < to).map(|next| next - first);
                (first < to).then(|| before.into_iter().chain(after).min()).flatten()
            })
            .min()
    }
}

/// The civil minute in which a civil second lies.
fn minute(civil: i64) -> i64 {
    civil.div_euclid(SECONDS_A_MINUTE)
}

/// The first civil minute that begins at or after a civil second.
fn first_minute(civil: i64) -> i64 {
    minute(civil + SECONDS_A_MINUTE - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_interval_is_found_next_to_any_clock_change() {
        let zone = Zone::named("America/New_York").unwrap();
        let firings = Cron::parse("30 2,3 * * *").unwrap().in_zone(zone);
        let from = "2026-01-01T00:00:00Z".parse().unwrap();
        for to in ["2027-01-01T00:00:00Z".parse().unwrap(), Timestamp::MAX] {
            // On 8 March the first of the two firings is at 03:00.
            assert_eq!(firings.shortest_interval(from, to), Some(SignedDuration::from_mins(30)));
        }
    }
}
