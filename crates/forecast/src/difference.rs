//! What differs between two forecasts of one period: when, from what to what, and who sets each.
//!
//! Only values count. A rule that has another name, a schedule that is written in two parts, a policy that has
//! been replaced by one with the same effect: what nobody would notice in the cluster is no difference. Neither is the
//! name of a policy that only counts, or whose number is read by policies here.

mod carriers;
mod comparison;
mod recurrence;
mod renamed;
mod stretch;

pub use comparison::{Compared, Comparison};
pub use recurrence::{CivilStretch, Days, Edge, Recurrence, Span, Told, recurrences};
pub use stretch::{Difference, Presence, Side, Stretch, difference};
