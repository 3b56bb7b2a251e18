//! The future: the engine's decisions under a virtual clock.
//!
//! A [`Simulation`] lets every policy of a world take its turns, jumping from one instant at which something can
//! change to the next. It is the same loop that the controllers run, with a virtual clock and a world that never
//! fails, so a preview cannot disagree with production. It computes every value over a period ([`Forecast`]), the
//! reason for a value at an instant ([`explain`]), and the next events ([`Upcoming`]). It also compares two forecasts
//! ([`Comparison`]), finds policies that probably do something unintended ([`ForecastFinding`]), and compares the total needs
//! of all workloads with their allowances ([`Fit`]).
//!
//! Unknown facts about the world are assumed, and every [`Assumption`] is reported.
//!
//! The callers read files, pass the current time, and render the results.
//!
//! # Islands
//!
//! Each island of connected policies runs alone, in any order, so that memory grows with the largest island and not with the
//! number of policies. The binary chooses the threads and the order of output.
//!
//! # Where a run starts
//!
//! - **A cluster**: at the instant of the snapshot. Each policy has its first turn then, with the live values and the
//!   status of each rule. So a missed firing is missed in the forecast too.
//! - **Files with a status**: at the status, and the run goes on to the start of the period.
//! - **Files without a status**, or a start before the known state: all current rules apply since the creation of their
//!   object or, if that is unknown, always. The past is replayed as far back as it matters, and an assumption reports that.
//! - **The new side of a comparison** takes over the values of the old side (`part/takeover.rs`). New and edited rules start
//!   then. With `--new`, all rules do, with the values of the files.
//!
//! # Where to change what
//!
//! | to change | go to |
//! |---|---|
//! | what a forecast assumes | `assumption.rs`; the words of a family: `presumed` or `logic` in `almanac-engine` |
//! | where segments start and end | `simulation.rs`, `series.rs` |
//! | a new kind of target, a field that is a bound | `simulation/given.rs` |
//! | the next events, and their details | `upcoming.rs`; which records of a turn are events: `occurrence` of the family, as in `crates/engine/src/cron_scaling/execution.rs` |
//! | explanations | `explain.rs`, `explain/past.rs` |
//! | probable mistakes that `lint` reports | `findings.rs` and its directory; codes and locations: `crates/cli/src/lint/over_time.rs` |
//! | checks of replicas against quotas and nodes | `fit.rs`, `excess.rs` |
//! | rules that another rule overrides | `overlap.rs` |
//! | the differences of two forecasts, and recurrences | `difference.rs` and its directory |

mod assumption;
mod difference;
mod excess;
mod explain;
mod findings;
mod fit;
mod last_turn;
mod origin;
mod overlap;
mod part;
mod period;
mod series;
mod simulation;
mod totals;
mod upcoming;

pub use assumption::{AssumedValues, Assumption, Sentence, merge_sentences};
pub use difference::{
    CivilStretch, Comparison, Days, Difference, Edge, GroupDifferences, Presence, Recurrence, Side,
    Span, Stretch, StretchGroup, difference, recurrences,
};
pub use excess::Excess;
pub use explain::{Change, Explainer, Explanation, explain};
pub use findings::{ForecastFinding, Problem, standing_findings};
pub use fit::Fit;
pub use origin::{Origin, Writer};
pub use overlap::{OpenWindows, Outranked, Overlap};
pub use part::{Forecast, Part};
pub use period::Period;
pub use series::{Segment, Series};
pub use simulation::{LastWrite, Set, Simulation, Step};
pub use totals::{PodHours, Total};
pub use upcoming::{Event, Upcoming};
