//! The future: the engine's decisions under a virtual clock.
//!
//! A [`Simulation`] lets every policy of a world take its turns, jumping from one instant at which something
//! can change to the next. It is the same loop that the controllers run, with a virtual clock and a world that
//! never fails, so a preview cannot disagree with production. It answers three questions: what will every value
//! be over a period ([`Forecast`]), why is it what it is at an instant ([`explain`]), and what comes next
//! ([`Upcoming`]). Two forecasts are compared by what they say ([`Comparison`]), a run notices what is probably
//! not meant ([`Doubt`]), and what all workloads need together is compared with what they may have ([`Fit`]).
//!
//! What is unknown about the world is assumed, and every [`Assumption`] is reported.
//!
//! Nothing here reads files, knows the current time, or draws: that is up to the caller.

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
