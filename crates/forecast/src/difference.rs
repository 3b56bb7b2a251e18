//! The differences between two forecasts of one period: at which instants, between which values, and who sets each.
//!
//! Only values count. A rule with another name, a schedule in two parts, or a policy replaced by one with the same
//! effect changes nothing in the cluster, so none of them counts as a difference. Neither is the name of a policy that
//! only publishes a number, if only policies in the input read that number.

mod carriers;
mod comparison;
mod recurrence;
mod renamed;
mod stretch;

pub use comparison::{Comparison, GroupDifferences};
pub use recurrence::{CivilStretch, Days, Edge, Recurrence, Span, StretchGroup, recurrences};
pub use stretch::{Difference, Presence, Side, Stretch, difference};
