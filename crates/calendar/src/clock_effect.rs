//! The effect of a clock change on a schedule: the gaps and folds it meets, and the result of each.

use std::fmt;

use jiff::SignedDuration;
use jiff::civil::DateTime;

use crate::civil::{SECONDS_A_MINUTE, datetime_of};
use crate::instant;
use crate::recurrence::{CivilMinute, Recurrence};
use crate::zone::ClockChange;

/// A clock change that affects a schedule, and its effect.
///
/// The `Display` of an effect is a sentence for users.
///
/// ```
/// use almanac_calendar::{Cron, Effect, Zone};
///
/// let zone = Zone::named("America/New_York").unwrap();
/// let firings = Cron::parse("*/15 1 * * *").unwrap().in_zone(zone);
/// let (from, to) = ("2026-06-01T00:00:00Z".parse().unwrap(), "2027-01-01T00:00:00Z".parse().unwrap());
/// let met = firings.clock_effects(from, to).next().unwrap();
/// assert_eq!(met.effect, Effect::Twice { firings: 4 });
/// assert_eq!(
///     met.to_string(),
///     "on 2026-11-01 the clock goes back from 02:00 to 01:00: 4 firings happen twice",
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockEffect {
    /// The clock change.
    pub change: ClockChange,
    /// The effect on the schedule.
    pub effect: Effect,
}

/// The effect of a clock change on a schedule.
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
    /// Firings at skipped civil times are merged into one firing at the end of the gap.
    FiresLate {
        /// The first of these civil times.
        first: DateTime,
        /// Their number.
        firings: usize,
    },
    /// Firings of a rhythm at skipped civil times are skipped.
    Skipped {
        /// Their number.
        firings: usize,
    },
    /// Firings at civil times that are shown twice happen only the first time.
    FiresOnce {
        /// The first of these civil times.
        first: DateTime,
        /// Their number.
        firings: usize,
    },
    /// Firings of a rhythm at civil times that are shown twice happen twice.
    Twice {
        /// The number of firings that happen twice.
        firings: usize,
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
    /// The time between two windows lies in the gap: the windows become one.
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
    /// The window is open across the change, and so for less time than the clock suggests.
    Shorter {
        /// The difference.
        by: SignedDuration,
    },
    /// The window is open across the change, and so for more time than the clock suggests.
    Longer {
        /// The difference.
        by: SignedDuration,
    },
}

/// The effect of a clock change on a cron expression, if any.
pub(crate) fn on_firings(
    recurrence: &Recurrence,
    fixed: bool,
    change: ClockChange,
) -> Option<ClockEffect> {
    let Affected { from, to, .. } = Affected::by(change);
    let first = recurrence.next(CivilMinute::new(from)).filter(|minute| *minute < to)?;
    let (first, firings) = (civil_time(first), recurrence.between(from, to).count());
    let effect = match (change.is_gap(), fixed) {
        (true, true) => Effect::FiresLate { first, firings },
        (true, false) => Effect::Skipped { firings },
        (false, true) => Effect::FiresOnce { first, firings },
        (false, false) => Effect::Twice { firings },
    };
    Some(ClockEffect { change, effect })
}

/// The effect of a clock change on a window; `open` gives its state at an instant, and
/// `ever_closes` is false if that cannot change.
pub(crate) fn on_windows(
    start: &Recurrence,
    end: &Recurrence,
    ever_closes: bool,
    open: impl Fn(i64) -> bool,
    change: ClockChange,
) -> Vec<ClockEffect> {
    let effects = if change.is_gap() {
        let effect = in_gap(start, end, &open, change);
        effect.into_iter().collect()
    } else {
        in_fold(start, end, &open, change)
    };
    // The length of a window that never closes does not change.
    let is_relevant = |effect: &Effect| {
        ever_closes || !matches!(effect, Effect::Shorter { .. } | Effect::Longer { .. })
    };
    effects.into_iter().filter(is_relevant).map(|effect| ClockEffect { change, effect }).collect()
}

/// The effect of a gap on a window, by its state before and after it.
fn in_gap(
    start: &Recurrence,
    end: &Recurrence,
    open: impl Fn(i64) -> bool,
    change: ClockChange,
) -> Option<Effect> {
    let Affected { from, to, arrival } = Affected::by(change);
    let closes = end.without(start);
    let start_from = |minute| start.next(CivilMinute::new(minute));
    let end_from = |minute| closes.next(CivilMinute::new(minute));
    let first_start = start_from(from).filter(|minute| *minute < to);
    let first_end = end_from(from).filter(|minute| *minute < to);
    let shorter = Effect::Shorter { by: change.shift().abs() };
    let at = instant::floor(change.at);
    match (open(at - 1), open(at)) {
        (false, true) => Some(Effect::OpensLate { start: civil_time(first_start?) }),
        (true, false) => {
            Some(first_end.map_or(shorter, |end| Effect::ClosesLate { end: civil_time(end) }))
        }
        // The clock arrives at `arrival`: events due then coincide with those it jumped over.
        (false, false) => {
            let start = first_start?;
            let end = end_from(start + 1).filter(|minute| *minute <= arrival)?;
            Some(Effect::NeverOpens { start: civil_time(start), end: civil_time(end) })
        }
        (true, true) => match first_end {
            None => Some(shorter),
            Some(end) => {
                let start = start_from(end + 1).filter(|minute| *minute <= arrival)?;
                Some(Effect::NeverCloses { end: civil_time(end), start: civil_time(start) })
            }
        },
    }
}

/// The effect of a fold on a window: it changes while the clock shows the repeated times first, and
/// keeps its state while they repeat.
fn in_fold(
    start: &Recurrence,
    end: &Recurrence,
    open: impl Fn(i64) -> bool,
    change: ClockChange,
) -> Vec<Effect> {
    let Affected { from, to, .. } = Affected::by(change);
    let at = instant::floor(change.at);
    let (_, end_of_fold) = change.affected();
    let becomes = |minute: i64, opened: bool| {
        let first_shown = at - (end_of_fold - minute * SECONDS_A_MINUTE);
        open(first_shown - 1) != opened && open(first_shown) == opened
    };
    let opens = start.between(from, to).find(|minute| becomes(*minute, true)).map(civil_time);
    let closes = end.between(from, to).find(|minute| becomes(*minute, false)).map(civil_time);
    let stays_open = open(at - 1) && open(at);
    let effects = [
        opens.map(|start| Effect::OpensFirst { start }),
        closes.map(|end| Effect::ClosesFirst { end }),
        stays_open.then(|| Effect::Longer { by: change.shift().abs() }),
    ];
    effects.into_iter().flatten().collect()
}

/// The civil minutes that a clock change skips, or shows twice.
struct Affected {
    /// The first minute that starts in the gap or fold.
    from: i64,
    /// The first minute after those that start in it.
    to: i64,
    /// The minute that contains the end of the gap or fold: `to`, if that is a whole minute.
    arrival: i64,
}

impl Affected {
    fn by(change: ClockChange) -> Affected {
        let (from, to) = change.affected();
        let first_minute = |civil: i64| (civil + SECONDS_A_MINUTE - 1).div_euclid(SECONDS_A_MINUTE);
        Affected {
            from: first_minute(from),
            to: first_minute(to),
            arrival: to.div_euclid(SECONDS_A_MINUTE),
        }
    }
}

fn civil_time(minute: i64) -> DateTime {
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
            Effect::FiresLate { first, firings: 1 } => {
                write!(f, "the firing at {} is moved to {}", clock(first), clock(after))
            }
            Effect::FiresLate { first, firings } => write!(
                f,
                "the {firings} firings from {} are merged into one at {}",
                clock(first),
                clock(after)
            ),
            Effect::Skipped { firings: 1 } => f.write_str("1 firing is skipped"),
            Effect::Skipped { firings } => write!(f, "{firings} firings are skipped"),
            Effect::FiresOnce { first, firings: 1 } => {
                write!(f, "the firing at {} happens only the first time", clock(first))
            }
            Effect::FiresOnce { first, firings } => {
                write!(f, "the {firings} firings from {} happen only the first time", clock(first))
            }
            Effect::Twice { firings: 1 } => f.write_str("1 firing happens twice"),
            Effect::Twice { firings } => write!(f, "{firings} firings happen twice"),
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
            Effect::Shorter { by } => write!(f, "the window is open for {by:#} less"),
            Effect::Longer { by } => write!(f, "the window is open for {by:#} more"),
        }
    }
}

fn clock(time: DateTime) -> impl fmt::Display {
    let seconds = if time.second() == 0 { String::new() } else { format!(":{:02}", time.second()) };
    format!("{:02}:{:02}{seconds}", time.hour(), time.minute())
}

#[cfg(test)]
mod tests {
    use crate::{DailyWindow, Pattern, PatternText, PatternWindow, Windows, Zone};

    fn new_york() -> Zone {
        Zone::named("America/New_York").unwrap()
    }

    fn effects_of_2026(windows: &Windows) -> Vec<String> {
        let (from, to) = ("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
        let effects = windows.clock_effects(from.parse().unwrap(), to.parse().unwrap());
        effects.map(|effect| effect.to_string()).collect()
    }

    #[test]
    fn a_window_that_ends_with_the_gap_does_not_open() {
        let windows = DailyWindow::parse("02:30", "03:00").unwrap().in_zone(new_york());
        assert_eq!(
            effects_of_2026(&windows),
            ["on 2026-03-08 the clock jumps from 02:00 to 03:00: the window from 02:30 to 03:00 \
              does not open"],
        );
    }

    #[test]
    fn a_window_that_starts_again_at_the_end_of_the_gap_stays_open() {
        let windows = DailyWindow::parse("03:00", "02:30").unwrap().in_zone(new_york());
        assert_eq!(
            effects_of_2026(&windows),
            [
                "on 2026-03-08 the clock jumps from 02:00 to 03:00: the window stays open from \
                 02:30 to 03:00",
                "on 2026-11-01 the clock goes back from 02:00 to 01:00: the window is open for 1h more",
            ],
        );
    }

    #[test]
    fn a_start_within_an_open_window_is_not_reported_as_an_opening() {
        let at = |text| Pattern::parse(text).unwrap();
        let start = at(PatternText { hours: Some("0,1"), ..PatternText::default() });
        let end = at(PatternText { hours: Some("12"), ..PatternText::default() });
        let windows = PatternWindow::new(start, end).unwrap().in_zone(new_york());
        assert_eq!(
            effects_of_2026(&windows),
            [
                "on 2026-03-08 the clock jumps from 02:00 to 03:00: the window is open for 1h less",
                "on 2026-11-01 the clock goes back from 02:00 to 01:00: the window is open for 1h more",
            ],
        );
    }
}
