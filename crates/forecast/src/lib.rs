//! The future: the engine's decisions under a virtual clock.
//!
//! A [`Simulation`] lets every policy of a world take its turns, jumping from one instant at which something can
//! change to the next. It is the same loop that the controllers run, with a virtual clock and a world that never
//! fails, so a preview cannot disagree with production. It computes every value over a period ([`Forecast`]), the
//! reason for a value at an instant ([`explain`]), and the next events ([`Upcoming`]). It also compares two forecasts
//! ([`Comparison`]), finds policies that probably do something unintended ([`Doubt`]), and compares the total needs
//! of all workloads with their allowances ([`Fit`]).
//!
//! Unknown facts about the world are assumed, and every [`Assumption`] is reported.
//!
//! Nothing here reads files, reads the current time, or draws; the caller does.

mod assumption;
mod difference;
mod doubt;
mod excess;
mod explain;
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

pub use assumption::{AssumedValues, Assumption, Sentence, told_together};
pub use difference::{
    CivilStretch, Compared, Comparison, Days, Difference, Edge, Presence, Recurrence, Side, Span,
    Stretch, Told, difference, recurrences,
};
pub use doubt::{About, Doubt, standing_doubts};
pub use excess::Excess;
pub use explain::{Change, Explainer, Explanation, explain};
pub use fit::Fit;
pub use origin::{Origin, Writer};
pub use overlap::{OpenWindows, Outranked, Overlap};
pub use part::{Forecast, Part};
pub use period::Period;
pub use series::{Segment, Series};
pub use simulation::{LastWrite, Set, Simulation, Step};
pub use totals::{PodHours, Total};
pub use upcoming::{Event, Upcoming};
