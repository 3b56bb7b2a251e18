//! What families have in common: what each of them is asked, and what it is given to look at.
//!
//! Nothing here knows a family, and no family knows another one. Which families there are is up to `families`.

mod family;
mod influence;
mod open;
mod start;
mod state;
mod view;

pub use family::{Happened, ObjectOf, PolicyFamily, Said, Start};
pub use influence::InfluenceLimit;
pub use open::{DecisionParts, Effect, OpenDecision, Opening, PolicyDecision, Settlement, Times};
pub use start::{Beginning, PriorWrite, Replayed, RunStart};
pub use state::{FamilyState, Policies, PolicyObject};
pub use view::{Peers, Publisher, PublishesNumber, View, ViewMut};
