//! The open times of windows in a zone, and their boundaries.
//!
//! Because a later civil time never resolves to an earlier instant, the order of events on the wall
//! clock is their order in time. So whether a window is open is decided in civil time, by how far
//! the wall clock has come, and only the results are converted to instants.

use jiff::Timestamp;

use crate::civil::SECONDS_A_MINUTE;
use crate::clock_effect::{self, ClockEffect};
use crate::describe;
use crate::firings::FURTHEST;
use crate::recurrence::{CivilMinute, Recurrence};
use crate::{Reading, Zone, instant};

/// A schedule that is open or closed at every instant.
///
/// It is made from a [`crate::DailyWindow`] or a [`crate::PatternWindow`]. It is open when its last
/// start is at or after its last end, so intervals are half-open. Of two windows where one opens
/// when the other closes, exactly one is open at every instant.
///
/// ```
/// use almanac_calendar::{DailyWindow, Transition, Zone};
///
/// let zone = Zone::named("Europe/Berlin").unwrap();
/// let office = DailyWindow::parse("09:00", "17:00").unwrap().in_zone(zone);
/// let now = "2026-07-01T12:00:00Z".parse().unwrap();
/// assert!(office.is_open(now));
/// let closes = Transition { at: "2026-07-01T15:00:00Z".parse().unwrap(), opens: false };
/// assert_eq!(office.next_transition(now), Some(closes));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Windows {
    start: Recurrence,
    end: Recurrence,
    zone: Zone,
    /// Whether an open window ever closes: some end has no start at the same minute.
    closes: bool,
}

/// An instant at which a window changes.
///
/// ```
/// use almanac_calendar::Transition;
///
/// let opening = Transition { at: "2026-01-01T00:00:00Z".parse().unwrap(), opens: true };
/// assert!(opening.opens);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transition {
    /// The first instant of the new state.
    pub at: Timestamp,
    /// Whether the window is open from then on.
    pub opens: bool,
}

/// A position on the wall clock at which the window's state is known.
#[derive(Clone, Copy)]
struct Position {
    /// The progress of the wall clock.
    reached: CivilMinute,
    open: bool,
}

impl Windows {
    pub(crate) fn new(start: Recurrence, end: Recurrence, zone: Zone) -> Windows {
        let closes = !end.without(&start).is_empty();
        Windows { start, end, zone, closes }
    }

    /// The zone.
    ///
    /// ```
    /// use almanac_calendar::{DailyWindow, Zone};
    ///
    /// let day = DailyWindow::parse("08:00", "20:00").unwrap().in_zone(Zone::utc());
    /// assert_eq!(day.zone().name(), "UTC");
    /// ```
    #[must_use]
    pub fn zone(&self) -> Zone {
        self.zone
    }

    /// Whether the window is open at `now`.
    ///
    /// ```
    /// use almanac_calendar::{DailyWindow, Zone};
    ///
    /// let day = DailyWindow::parse("08:00", "20:00").unwrap().in_zone(Zone::utc());
    /// assert!(day.is_open("2026-01-01T08:00:00Z".parse().unwrap()));
    /// assert!(!day.is_open("2026-01-01T20:00:00Z".parse().unwrap()));
    /// ```
    #[must_use]
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.is_open_by(self.zone.reading(now))
    }

    /// Whether the window is open at the instant of a reading: the same as [`Windows::is_open`],
    /// for queries of many windows of one zone.
    ///
    /// ```
    /// use almanac_calendar::{DailyWindow, Zone};
    ///
    /// let zone = Zone::named("Europe/Berlin").unwrap();
    /// let (day, night) = (DailyWindow::parse("08:00", "20:00"), DailyWindow::parse("20:00", "08:00"));
    /// let reading = zone.reading("2026-01-01T12:00:00Z".parse().unwrap());
    /// assert!(day.unwrap().in_zone(zone).is_open_by(reading));
    /// assert!(!night.unwrap().in_zone(zone).is_open_by(reading));
    /// ```
    #[must_use]
    pub fn is_open_by(&self, reading: Reading) -> bool {
        self.is_open_at(self.reached_by(reading))
    }

    /// The first change after `now`.
    ///
    /// `None` when there is none within four hundred years, as for a window that is always open,
    /// or whose years are over.
    ///
    /// ```
    /// use almanac_calendar::{DailyWindow, Zone};
    ///
    /// let always = DailyWindow::parse("00:00", "24:00").unwrap().in_zone(Zone::utc());
    /// assert_eq!(always.next_transition("2026-01-01T00:00:00Z".parse().unwrap()), None);
    /// ```
    #[must_use]
    pub fn next_transition(&self, now: Timestamp) -> Option<Transition> {
        let reading = self.zone.reading(now);
        self.next_transition_by(reading, self.is_open_by(reading))
    }

    /// The first change after the instant of a reading: the same as [`Windows::next_transition`],
    /// for queries of many windows of one zone whose state at that instant is already known.
    ///
    /// ```
    /// use almanac_calendar::{DailyWindow, Zone};
    ///
    /// let day = DailyWindow::parse("08:00", "20:00").unwrap().in_zone(Zone::utc());
    /// let now = "2026-01-01T12:00:00Z".parse().unwrap();
    /// let reading = Zone::utc().reading(now);
    /// let open = day.is_open_by(reading);
    /// assert_eq!(day.next_transition_by(reading, open), day.next_transition(now));
    /// ```
    #[must_use]
    pub fn next_transition_by(&self, reading: Reading, open: bool) -> Option<Transition> {
        debug_assert_eq!(open, self.is_open_by(reading), "{self:?} at {reading:?}");
        let (at, opens) = self.after(Position { reached: self.reached_by(reading), open })?;
        Some(Transition { at: instant::at(at)?, opens })
    }

    /// The last change at or before `now`: since when the window has been in its current state.
    ///
    /// ```
    /// use almanac_calendar::{DailyWindow, Zone};
    ///
    /// let day = DailyWindow::parse("08:00", "20:00").unwrap().in_zone(Zone::utc());
    /// let opened = day.previous_transition("2026-01-01T12:00:00Z".parse().unwrap()).unwrap();
    /// assert_eq!(opened.at.to_string(), "2026-01-01T08:00:00Z");
    /// ```
    #[must_use]
    pub fn previous_transition(&self, now: Timestamp) -> Option<Transition> {
        let now = instant::floor(now);
        let mut position = self.position(now);
        loop {
            let changed = self.last_change(position)?;
            let at = self.zone.first_instant(changed * SECONDS_A_MINUTE);
            let before = self.position(at - 1);
            if before.open != position.open {
                return Some(Transition { at: instant::at(at)?, opens: position.open });
            }
            // It opened and closed at one instant, inside a gap: for no time at all. A window that
            // never does anything else is not followed forever.
            if at < now - FURTHEST {
                return None;
            }
            position = before;
        }
    }

    /// The changes in `[from, to)`, in order, found lazily.
    ///
    /// ```
    /// use almanac_calendar::{DailyWindow, Zone};
    ///
    /// let day = DailyWindow::parse("08:00", "20:00").unwrap().in_zone(Zone::utc());
    /// let (from, to) = ("2026-01-01T08:00:00Z".parse().unwrap(), "2026-01-02T08:00:00Z".parse().unwrap());
    /// let opens: Vec<bool> = day.between(from, to).map(|it| it.opens).collect();
    /// assert_eq!(opens, [true, false]);
    /// ```
    pub fn between(&self, from: Timestamp, to: Timestamp) -> impl Iterator<Item = Transition> {
        let to = instant::ceiling(to);
        let mut position = self.position(instant::ceiling(from) - 1);
        std::iter::from_fn(move || {
            let (at, open) = self.after(position)?;
            if at >= to {
                return None;
            }
            position = Position { reached: self.reached_at(at), open };
            Some(Transition { at: instant::at(at)?, opens: open })
        })
    }

    /// The days of a month on which the clock shows a time to open at, and a time to close at, as bits 1 to 31.
    ///
    /// ```
    /// use almanac_calendar::{Pattern, PatternText, PatternWindow, Zone};
    ///
    /// let on = |days| Pattern::parse(PatternText { days: Some(days), ..PatternText::default() }).unwrap();
    /// let window = PatternWindow::new(on("1"), on("8")).unwrap().in_zone(Zone::utc());
    /// assert_eq!(window.days_of_month(2026, 2), [1 << 1, 1 << 8]);
    /// ```
    #[must_use]
    pub fn days_of_month(&self, year: i16, month: i8) -> [u32; 2] {
        [&self.start, &self.end].map(|it| it.dates.days_of(i32::from(year), month.unsigned_abs()))
    }

    /// Whether the window is the same every week.
    ///
    /// ```
    /// use almanac_calendar::{DailyWindow, Zone};
    ///
    /// assert!(DailyWindow::parse("08:00", "20:00").unwrap().in_zone(Zone::utc()).repeats_weekly());
    /// ```
    #[must_use]
    pub fn repeats_weekly(&self) -> bool {
        self.start.dates.is_any_date() && self.end.dates.is_any_date()
    }

    /// The meaning of the schedule, in one English line with its zone.
    ///
    /// ```
    /// use almanac_calendar::{DailyWindow, Zone};
    ///
    /// let night = DailyWindow::parse("22:00", "06:00").unwrap().in_zone(Zone::utc());
    /// assert_eq!(night.describe(), "open from 22:00 to 06:00 the next day, every day (UTC)");
    /// ```
    #[must_use]
    pub fn describe(&self) -> String {
        format!("{} ({})", describe::window(&self.start, &self.end), self.zone)
    }

    /// The clock changes in `[from, to)` that affect the window, each with its effect.
    ///
    /// ```
    /// use almanac_calendar::{DailyWindow, Zone};
    ///
    /// let zone = Zone::named("Europe/Berlin").unwrap();
    /// let night = DailyWindow::parse("22:00", "06:00").unwrap().in_zone(zone);
    /// let (from, to) = ("2026-01-01T00:00:00Z".parse().unwrap(), "2026-06-01T00:00:00Z".parse().unwrap());
    /// let effects: Vec<String> = night.clock_effects(from, to).map(|it| it.to_string()).collect();
    /// assert_eq!(effects, [
    ///     "on 2026-03-29 the clock jumps from 02:00 to 03:00: the window is open for 1h less",
    /// ]);
    /// ```
    pub fn clock_effects(
        &self,
        from: Timestamp,
        to: Timestamp,
    ) -> impl Iterator<Item = ClockEffect> {
        self.zone.changes(from, to).flat_map(|change| {
            let open = |at| self.position(at).open;
            clock_effect::on_windows(&self.start, &self.end, self.closes, open, change)
        })
    }

    fn position(&self, now: i64) -> Position {
        let reached = self.reached_at(now);
        Position { reached, open: self.is_open_at(reached) }
    }

    /// The progress of the wall clock at an instant.
    fn reached_at(&self, now: i64) -> CivilMinute {
        CivilMinute::from_second(self.zone.reached_at(now))
    }

    /// The progress of the wall clock at a reading, which may be of another zone.
    fn reached_by(&self, reading: Reading) -> CivilMinute {
        if reading.zone == self.zone { reading.reached } else { self.reached_at(reading.second) }
    }

    /// Whether the last start at or before a civil minute is at or after the last end.
    fn is_open_at(&self, reached: CivilMinute) -> bool {
        // `None` is before everything: never started is closed, never ended is open.
        let started = self.start.previous(reached);
        started.is_some() && started >= self.end.previous(reached)
    }

    /// The first instant after a position at which the state differs, and that state.
    fn after(&self, mut position: Position) -> Option<(i64, bool)> {
        let furthest = position.reached.minute() + FURTHEST / SECONDS_A_MINUTE;
        while position.reached.minute() < furthest {
            let changed = self.next_change(position)?;
            let at = self.zone.first_instant(changed * SECONDS_A_MINUTE);
            let reached = self.zone.reached_at(at);
            if reached == changed * SECONDS_A_MINUTE {
                return Some((at, !position.open));
            }
            // In a gap the clock passes several events at once; only what it arrives at counts.
            let arrived = self.position(at);
            if arrived.open != position.open {
                return Some((at, arrived.open));
            }
            position = arrived;
        }
        None
    }

    /// The first civil minute after a position at which the state changes on the wall clock.
    /// A start wins over an end of the same minute.
    fn next_change(&self, Position { reached, open }: Position) -> Option<i64> {
        match (open, self.closes) {
            (true, true) => self.end.without(&self.start).next(reached.after()),
            (true, false) => None,
            (false, _) => self.start.next(reached.after()),
        }
    }

    /// The civil minute, at or before a position, since which its state has lasted.
    fn last_change(&self, Position { reached, open }: Position) -> Option<i64> {
        let closings = self.end.without(&self.start);
        let after = |minute| CivilMinute::new(minute).after();
        if open {
            match self.closes.then(|| closings.previous(reached)).flatten() {
                Some(closed) => self.start.next(after(closed)),
                None => self.start.first(),
            }
        } else {
            let opened = self.start.previous(reached)?;
            closings.next(after(opened))
        }
    }
}
