//! A brute-force evaluator of schedules, to test the calendar against.
//!
//! The oracle is slow and plain on purpose, and shares no code with the calendar. It uses jiff only for the offset at
//! an instant, which is never ambiguous. The oracle observes clock changes instead of looking them up. It walks along
//! the line of instants, minute by minute, and tracks the current and the latest civil time.
//!
//! - A civil time *is reached* at the first instant at which the wall clock shows that or a later time. This rule alone
//!   defines gaps (the first instant after) and folds (the first occurrence).
//! - A civil time *is shown* whenever the wall clock shows that time: never in a gap, twice in a fold.
//!
//! The oracle requires a well-formed schedule: the calendar's own tests cover strings that must be rejected. The
//! comparison with the calendar is in `tests/`.

#![allow(clippy::expect_used, clippy::panic, reason = "this is part of tests only")]

mod beyond;
mod cron;
mod generate;
mod line;
mod moments;
mod schedule;
mod walk;
mod window;

pub use beyond::{firing_after, firing_up_to, transition_after, transition_up_to};
pub use generate::random_schedule;
pub use line::{Change, Line, Step, year_start, zone_names};
pub use moments::{Day, Moments};
pub use schedule::{PatternTexts, Rule, Schedule, Unreadable};
pub use walk::{Flip, Observation, observe};
