//! Units of nodes: which pods a resource policy governs, which of its units they may use, how many are counted in each,
//! and what it costs to delete them.

mod elapsed;
mod ledger;
mod node;
mod pod;
mod policy;
mod slots;

pub use elapsed::{Elapsed, LongestBind};
pub use ledger::{
    BindOutcome, Bound, Confirmed, Conflict, CostChange, GroupReport, Ledger, NotServing,
    PodExplanation, PolicyReport, Preemption, ReservationId, Ruling, Standing, TooEarly, UnitCount,
    Unreserved, Unsettled, Verdict, Verdicts,
};
pub use node::{Node, Resources};
pub use pod::{DeletionCost, Owner, Pod, Ungoverned};
pub use policy::{ResourcePolicy, Strategy, Unit};
pub use slots::NodeId;
