//! What a clock change does to a schedule: the gaps and folds it meets, and what becomes of it.

use std::fmt;

use jiff::SignedDuration;
use jiff::civil::DateTime;

use crate::civil::{SECONDS_A_MINUTE, datetime_of};
use crate::instant;
use crate::recurrence::{CivilMinute, Recurrence};
use crate::zone::ClockChange;

/// A clock change that touches a schedule, and what becomes of it.
///
/// Its `Display` is a sentence for a person.
///
/// ```
/// use almanac_calendar::{Cron, Effect, Zone};
///
/// let zone = Zone::named("America/New_York").unwrap();
/// let firings = Cron::parse("*/15 1 * * *").unwrap().in_zone(zone);
/// let (from, to) = ("2026-06-01T00:00:00Z".parse().unwrap(), "2027-01-01T00:00:00Z".parse().unwrap());
/// let met = firings.clock_effects(from, to).next().unwrap();
/// assert_eq!(met.effect, Effect::Twice { runs: 4 });
/// assert_eq!(
///     met.to_string(),
///     "on 2026-11-01 the clock goes back from 02:00 to 01:00: 4 runs happen twice",
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockEffect {
    /// The clock change.
    pub change: ClockChange,
    /// What becomes of the schedule there.
    pub effect: Effect,
}

/// What becomes of a schedule at a clock change.
///
/// ```
/// use almanac_calendar::{DailyWindow, Effect, Zone};
///
/// let window = DailyWindow::parse("02:15", "02:45").unwrap();
/// let window = window.in_zone(Zone::named("America/New_York").unwrap());
/// let (from, to) = ("2026-03-01T00:00:00Z".parse().unwrap(), "2026-04-01T00:00:00Z".parse().unwrap());
/// let met = window.clock_effects(from, to).next().unwrap();
/// assert!(matches!(met.effect, Effect::NeverOpens { .. }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// Runs at civil times that are never shown happen together, when the gap ends.
    RunsLate {
        /// The first of those times.
        first: DateTime,
        /// How many there are.
        runs: usize,
    },
    /// Runs of a rhythm at civil times that are never shown do not happen.
    Skipped {
        /// How many there are.
        runs: usize,
    },
    /// Runs at civil times that are shown twice happen the first time only.
    RunsOnce {
        /// The first of those times.
        first: DateTime,
        /// How many there are.
        runs: usize,
    },
    /// Runs of a rhythm at civil times that are shown twice happen twice.
    Twice {
        /// How many happen twice.
        runs: usize,
    },
    /// The window opens when the gap ends, because its start is never shown.
    OpensLate {
        /// Its start.
        start: DateTime,
    },
    /// The window closes when the gap ends, because its end is never shown.
    ClosesLate {
        /// Its end.
        end: DateTime,
    },
    /// The whole window lies in the gap: it has no length, and does not open.
    NeverOpens {
        /// Its start.
        start: DateTime,
        /// Its end.
        end: DateTime,
    },
    /// The time between two windows lies in the gap: they become one.
    NeverCloses {
        /// The end of the first.
        end: DateTime,
        /// The start of the second.
        start: DateTime,
    },
    /// The window's start is shown twice; it opens the first time.
    OpensFirst {
        /// Its start.
        start: DateTime,
    },
    /// The window's end is shown twice; it closes the first time.
    ClosesFirst {
        /// Its end.
        end: DateTime,
    },
    /// The window is open across the change, and so for less time than the clock says.
    Shorter {
        /// By how much.
        by: SignedDuration,
    },
    /// The window is open across the change, and so for more time than the clock says.
    Longer {
        /// By how much.
        by: SignedDuration,
    },
}

/// What becomes of a cron expression at a clock change, if anything.
pub(crate) fn on_firings(
    recurrence: &Recurrence,
    fixed: bool,
    change: ClockChange,
) -> Option<ClockEffect> {
    let (from, to) = affected_minutes(change);
    let first = recurrence.next(CivilMinute::of(from)).filter(|minute| *minute < to)?;
    let (first, runs) = (shown(first), recurrence.between(from, to).count());
    let effect = match (change.is_gap(), fixed) {
        (true, true) => Effect::RunsLate { first, runs },
        (true, false) => Effect::Skipped { runs },
        (false, true) => Effect::RunsOnce { first, runs },
        (false, false) => Effect::Twice { runs },
    };
    Some(ClockEffect { change, effect })
}

/// What becomes of a window at a clock change; `open` tells its state at an instant, and
/// `ever_closes` whether that can change.
pub(crate) fn on_windows(
    start: &Recurrence,
    end: &Recurrence,
    ever_closes: bool,
    open: impl Fn(i64) -> bool,
    change: ClockChange,
) -> Vec<ClockEffect> {
    let (from, to) = affected_minutes(change);
    let closes = end.without(start);
    let first_start = start.next(CivilMinute::of(from)).filter(|minute| *minute < to).map(shown);
    let first_end = closes.next(CivilMinute::of(from)).filter(|minute| *minute < to).map(shown);
    let at = instant::floor(change.at);
    let by = change.shift().abs();
    let mut effects = Vec::new();
    if change.is_gap() {
        effects.extend(match (open(at - 1), open(at), first_start, first_end) {
            (false, true, Some(start), _) => Some(Effect::OpensLate { start }),
            (true, false, _, Some(end)) => Some(Effect::ClosesLate { end }),
            (false, false, Some(start), Some(end)) => Some(Effect::NeverOpens { start, end }),
            (true, true, Some(start), Some(end)) => Some(Effect::NeverCloses { end, start }),
            (true, true, _, None) if ever_closes => Some(Effect::Shorter { by }),
            _ => None,
        });
    } else {
        effects.extend(first_start.map(|start| Effect::OpensFirst { start }));
        effects.extend(first_end.map(|end| Effect::ClosesFirst { end }));
        if open(at - 1) && open(at) && ever_closes {
            effects.push(Effect::Longer { by });
        }
    }
    effects.into_iter().map(|effect| ClockEffect { change, effect }).collect()
}

/// The civil minutes `[from, to)` that begin in the gap or fold.
fn affected_minutes(change: ClockChange) -> (i64, i64) {
    let (from, to) = change.affected();
    let first_minute = |civil: i64| (civil + SECONDS_A_MINUTE - 1).div_euclid(SECONDS_A_MINUTE);
    (first_minute(from), first_minute(to))
}

fn shown(minute: i64) -> DateTime {
    datetime_of(minute * SECONDS_A_MINUTE)
}

impl fmt::Display for ClockEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = (self.change.shown_before(), self.change.shown_after());
        let moves = if self.change.is_gap() { "jumps" } else { "goes back" };
        if before.date() == after.date() {
            let (from, to) = (clock(before), clock(after));
            write!(f, "on {} the clock {moves} from {from} to {to}: ", before.date())?;
        } else {
            let full = |time: DateTime| format!("{} {}", time.date(), clock(time));
            write!(f, "the clock {moves} from {} to {}: ", full(before), full(after))?;
        }
        match self.effect {
            Effect::RunsLate { first, runs: 1 } => {
                write!(f, "the run at {} happens at {}", clock(first), clock(after))
            }
            Effect::RunsLate { first, runs } => write!(
                f,
                "the {runs} runs from {} on happen together, once, at {}",
                clock(first),
                clock(after)
            ),
            Effect::Skipped { runs: 1 } => f.write_str("1 run is skipped"),
            Effect::Skipped { runs } => write!(f, "{runs} runs are skipped"),
            Effect::RunsOnce { first, runs: 1 } => {
                write!(f, "the run at {} happens once, the first time", clock(first))
            }
            Effect::RunsOnce { first, runs } => {
                write!(f, "the {runs} runs from {} on happen once, the first time", clock(first))
            }
            Effect::Twice { runs: 1 } => f.write_str("1 run happens twice"),
            Effect::Twice { runs } => write!(f, "{runs} runs happen twice"),
            Effect::OpensLate { start } => {
                write!(f, "the window opens at {} instead of {}", clock(after), clock(start))
            }
            Effect::ClosesLate { end } => {
                write!(f, "the window closes at {} instead of {}", clock(after), clock(end))
            }
            Effect::NeverOpens { start, end } => {
                write!(f, "the window from {} to {} does not open", clock(start), clock(end))
            }
            Effect::NeverCloses { end, start } => {
                write!(f, "the window stays open from {} to {}", clock(end), clock(start))
            }
            Effect::OpensFirst { start } => {
                write!(f, "the window opens the first time the clock shows {}", clock(start))
            }
            Effect::ClosesFirst { end } => {
                write!(f, "the window closes the first time the clock shows {}", clock(end))
            }
            Effect::Shorter { by } => write!(f, "the window is open {by:#} less"),
            Effect::Longer { by } => write!(f, "the window is open {by:#} more"),
        }
    }
}

fn clock(time: DateTime) -> impl fmt::Display {
    let seconds = if time.second() == 0 { String::new() } else { format!(":{:02}", time.second()) };
    format!("{:02}:{:02}{seconds}", time.hour(), time.minute())
}
