//! Evaluates schedules over a period: one walk, many schedules.
//!
//! The walk is the main cost, so one walk evaluates all schedules of a zone.

use crate::line::{DAY, Line, MINUTE, Step};
use crate::moments::{Day, Moments};
use crate::schedule::Rule;

/// A window's change of state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flip {
    /// The instant.
    pub at: i64,
    /// Whether the window is open from this instant on.
    pub opens: bool,
}

/// The events and states of a schedule in `[from, to)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Observation {
    /// The instants of the firings.
    Firings(Vec<i64>),
    /// A window's state just before `from`, and its changes.
    Window {
        /// Whether the window was open just before `from`.
        open_before: bool,
        /// The changes of state.
        flips: Vec<Flip>,
    },
}

/// Watches schedules over `[from, to)` in one zone.
#[must_use]
pub fn observe(line: &Line, from: i64, to: i64, rules: &[&Rule]) -> Vec<Observation> {
    let grid = line.grid(from - DAY, to);
    let high = line.high_water(from - grid, grid);
    let mut watchers: Vec<_> = rules.iter().map(|rule| Watcher::new(rule, high)).collect();
    line.walk(from, to, |step| {
        for watcher in &mut watchers {
            watcher.look(step);
        }
    });
    watchers.into_iter().map(Watcher::into_observation).collect()
}

/// A set with the cached result for the last requested day.
struct DayLookup<'a> {
    moments: &'a Moments,
    day: i64,
    has_day: bool,
}

impl<'a> DayLookup<'a> {
    fn new(moments: &'a Moments) -> DayLookup<'a> {
        let has_day = moments.has_day(Day::numbered(0));
        DayLookup { moments, day: 0, has_day }
    }

    fn holds(&mut self, civil: i64) -> bool {
        if !self.moments.has_time(civil.rem_euclid(DAY)) {
            return false;
        }
        let day = civil.div_euclid(DAY);
        if day != self.day {
            self.day = day;
            self.has_day = self.moments.has_day(Day::numbered(day));
        }
        self.has_day
    }
}

enum Watcher<'a> {
    Reached {
        moments: DayLookup<'a>,
        firings: Vec<i64>,
    },
    Shown {
        moments: DayLookup<'a>,
        firings: Vec<i64>,
    },
    Between {
        start: DayLookup<'a>,
        end: DayLookup<'a>,
        last_start: Option<i64>,
        last_end: Option<i64>,
        open_before: bool,
        flips: Vec<Flip>,
    },
}

impl<'a> Watcher<'a> {
    fn new(rule: &'a Rule, high: i64) -> Watcher<'a> {
        match rule {
            Rule::Reached(moments) => {
                Watcher::Reached { moments: DayLookup::new(moments), firings: Vec::new() }
            }
            Rule::Shown(moments) => {
                Watcher::Shown { moments: DayLookup::new(moments), firings: Vec::new() }
            }
            Rule::Between(start, end) => {
                let last_start = start.latest_up_to(high);
                let last_end = end.latest_up_to(high);
                Watcher::Between {
                    start: DayLookup::new(start),
                    end: DayLookup::new(end),
                    last_start,
                    last_end,
                    open_before: is_open(last_start, last_end),
                    flips: Vec::new(),
                }
            }
        }
    }

    fn look(&mut self, step: Step) {
        match self {
            Watcher::Reached { moments, firings } => {
                // Several minutes reached in one step are one firing.
                if step.minutes_reached().any(|civil| moments.holds(civil)) {
                    firings.push(step.at);
                }
            }
            Watcher::Shown { moments, firings } => {
                if step.shown.rem_euclid(MINUTE) == 0 && moments.holds(step.shown) {
                    firings.push(step.at);
                }
            }
            Watcher::Between { start, end, last_start, last_end, flips, .. } => {
                let was_open = is_open(*last_start, *last_end);
                for civil in step.minutes_reached() {
                    if start.holds(civil) {
                        *last_start = Some(civil);
                    }
                    if end.holds(civil) {
                        *last_end = Some(civil);
                    }
                }
                let opens = is_open(*last_start, *last_end);
                if opens != was_open {
                    flips.push(Flip { at: step.at, opens });
                }
            }
        }
    }

    fn into_observation(self) -> Observation {
        match self {
            Watcher::Reached { firings, .. } | Watcher::Shown { firings, .. } => {
                Observation::Firings(firings)
            }
            Watcher::Between { open_before, flips, .. } => {
                Observation::Window { open_before, flips }
            }
        }
    }
}

/// Open when the last start is at or after the last end.
///
/// Comparing civil times is sufficient: a later civil time is never reached at an earlier instant, so the order by
/// (instant, civil time) equals the order by civil time.
pub(crate) fn is_open(last_start: Option<i64>, last_end: Option<i64>) -> bool {
    last_start.is_some() && last_start >= last_end
}
