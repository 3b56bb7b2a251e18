//! The interface of a family: the methods that each family implements, and the data that it may read.
//!
//! Nothing here depends on a family, and families do not depend on each other. The list of families is in `families`.

mod family;
mod influence;
mod open;
mod start;
mod state;
mod view;

pub use family::{Happened, ObjectOf, PolicyFamily, ReasonText, Start};
pub use influence::InfluenceLimit;
pub use open::{DecisionParts, Effect, OpenDecision, Opening, PolicyDecision, Settlement, Times};
pub use start::{Beginning, PriorWrite, Replayed, RunStart};
pub use state::{FamilyState, Policies, PolicyObject};
pub use view::{Peers, Publisher, PublishesNumber, View, ViewMut};
