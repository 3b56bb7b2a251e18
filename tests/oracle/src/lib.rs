//! A brute-force evaluator of schedules, to test the calendar against.
//!
//! The oracle is slow and plain on purpose, and shares no code with the calendar. It uses jiff for one thing only: the
//! offset at an instant, which is never ambiguous. Clock changes are not looked up but observed: the oracle walks along
//! the line of instants, minute by minute, and watches what the wall clock shows and the latest time it has ever shown.
//!
//! - A civil time *is reached* at the first instant at which the wall clock shows it or a later
//!   time. That alone settles gaps (the first instant after) and folds (the first occurrence).
//! - A civil time *is shown* whenever the wall clock shows it: never in a gap, twice in a fold.
//!
//! The oracle trusts that the text of a schedule is well formed: texts that must be rejected are tested
//! in the calendar itself. The comparison with the calendar is in `tests/`.

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
