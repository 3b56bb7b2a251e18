//! Units of nodes: which pods a resource policy governs, which of its units they may use, how many are counted in each,
//! and what it costs to delete them.

mod ledger;
mod node;
mod pod;
mod policy;
mod slots;

pub use ledger::{
    BindOutcome, Bound, Conflict, CostChange, GroupReport, Ledger, PodExplanation, PolicyReport,
    Preemption, ReservationId, Reserved, Ruling, Standing, TooEarly, UnitCount, Unreserved,
    Unsettled, Verdict, Verdicts,
};
pub use node::{Node, Resources};
pub use pod::{DeletionCost, Owner, Pod, Ungoverned};
pub use policy::{ResourcePolicy, Strategy, Unit};
pub use slots::NodeId;
