//! Schedules on the wall clock: cron expressions, daily windows and windows between two patterns,
//! in every IANA time zone, with one rule for every clock change.
//!
//! The crate answers two kinds of questions. [`Firings`] are instants: when is the next one, which
//! was the last, which are in between? [`Windows`] are open or closed at every instant: are they
//! now, since when, until when? Everything takes `now` as an argument; nothing here reads a clock,
//! the host's time zone or its database, so the same input gives the same answer everywhere. The
//! crate does not depend on Kubernetes.
//!
//! The rule for clock changes: **a civil time means the first instant at which the wall clock has
//! reached it.** In a gap that is the first instant after the jump, in a fold the first of the two.
//! A cron expression that is a rhythm (`*/15 * * * *`) rather than a time of day follows what the
//! clock shows instead; see [`Cron::is_fixed`].
//!
//! ```
//! use almanac_calendar::{Cron, Zone};
//!
//! let zone = Zone::named("America/New_York")?;
//! let firings = Cron::parse("30 2 * * *")?.in_zone(zone);
//! // On 8 March 2026 there is no half past two in New York.
//! let next = firings.next("2026-03-08T05:00:00Z".parse()?).unwrap();
//! assert_eq!(next.to_string(), "2026-03-08T07:00:00Z");
//! assert_eq!(zone.civil(next).to_string(), "2026-03-08T03:00:00");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! No search runs forever. A date that exists comes back within forty years (29 February on a
//! Monday, across 2100, is the rarest). Schedules without any date are rejected when they are
//! parsed. No schedule is searched further than four hundred years from `now`, after which the
//! calendar repeats.
//!
//! # Where to change what
//!
//! All readers of a cron rule use [`Firings`]: decisions, forecasts, messages and checks. [`Cron::in_zone`] is its only
//! constructor. So a change of the instants that a rule has, such as a day that is skipped, belongs in [`Firings`]. These places
//! do not follow from its searches, and change with it:
//!
//! | what | where |
//! |---|---|
//! | `days_of_month` and `repeats_weekly` read the recurrence | `firings.rs` |
//! | the shortest time between two firings, which limits an allowed delay, reads the cron expression | `closest_firings.rs` |
//! | the effects of clock changes; the words | `clock_effect.rs`, `describe.rs` |
//! | firings that are made again from `cron()` | `crates/forecast/tests/forecast/builders.rs`; for a `CronJob`: `crates/api/src/reading/cron_jobs.rs` |
//! | generated firings that are checked against laws | `tests/expected/laws.rs` |
//! | the second evaluator, and faults that its comparison must find | `tests/oracle/src/schedule.rs`, `tests/oracle/src/walk.rs`, `tests/oracle/tests/comparison/mutants.rs` |
//!
//! `tests/checker` uses [`Firings`] itself, so it needs no change, and proves nothing about them.
//!
//! | to change | go to |
//! |---|---|
//! | what a cron expression means, and its messages | `cron/parse.rs`, `cron/error.rs`; `cron/note.rs` has the surprises that are not errors |
//! | what is recognized of other dialects of cron | `cron/dialect.rs` |
//! | which instants a cron rule has | `firings.rs`; dates and times of day in `recurrence.rs`; the shortest interval in `closest_firings.rs` |
//! | a daily window, a pattern | `daily.rs`, `pattern/parse.rs` |
//! | when a window opens and closes | `windows.rs` |
//! | how a gap or a fold is resolved; which zones exist | `zone.rs` and its directory |
//! | what is reported about clock changes | `clock_effect.rs` |
//! | the words for a schedule | `describe.rs` |
//!
//! `tests/expected` has the rules. A second evaluator, which shares no code, is compared with this one in every zone
//! (`tests/oracle` of the workspace).

mod civil;
mod clock_effect;
mod closest_firings;
mod cron;
mod daily;
mod describe;
mod firings;
mod instant;
mod names;
mod pattern;
mod quoted;
mod recurrence;
mod windows;
mod zone;

pub use clock_effect::{ClockEffect, Effect};
pub use cron::{Cron, CronError, CronErrorKind, CronField, CronNote, Dialect, OtherDialect};
pub use daily::{DailyWindow, DailyWindowError, DailyWindowErrorKind, DailyWindowPart};
pub use firings::Firings;
pub use pattern::{
    Pattern, PatternError, PatternErrorKind, PatternField, PatternText, PatternWindow,
    PatternWindowError,
};
pub use windows::{Transition, Windows};
pub use zone::{ClockChange, Reading, Zone, ZoneError, ZoneErrorKind, tzdata_version};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_and_errors_may_cross_threads() {
        fn may_cross_threads<T: Send + Sync + 'static>() {}
        may_cross_threads::<Zone>();
        may_cross_threads::<Firings>();
        may_cross_threads::<Windows>();
        may_cross_threads::<ZoneError>();
        may_cross_threads::<CronError>();
        may_cross_threads::<DailyWindowError>();
        may_cross_threads::<PatternError>();
        may_cross_threads::<PatternWindowError>();
    }
}
