//! Units of nodes: which pods a resource policy governs, which of its units they may use, how many are counted in each,
//! and what it costs to delete them.
//!
//! The code that schedules pods, prices them or explains their location reads the ledger. As a family of policies,
//! units serve a forecast without a scheduler, which assigns the pods of workloads to them by the ledger's verdicts.

mod begin;
mod decide;
mod elapsed;
mod explain;
mod filling;
mod fleet;
mod gather;
mod ledger;
mod logic;
mod node;
mod pod;
mod policy;
mod pouring;
pub mod presumed;
mod reasons;
mod renamed;
mod settle;
mod slots;

pub use decide::{Decision, decide};
pub use elapsed::{Elapsed, LongestBind};
pub use filling::Filling;
pub use fleet::{Fleet, FleetObject, FleetState, Replicas};
pub use gather::{Input, gather};
pub use ledger::{
    BindOutcome, Bound, Confirmed, Conflict, CostChange, Eviction, GroupReport, LabelSnapshot,
    Ledger, NotServing, PodExplanation, PolicyReport, PreparedPolicy, ReservationId, Ruling,
    StaleNominations, Standing, TooEarly, UnitCount, Unreserved, Unsettled, Verdict, Verdicts,
};
pub use node::{Node, Resources, Space};
pub use pod::{DeletionCost, Owner, Pod, Ungoverned};
pub use policy::{OUTSIDE, ResourcePolicy, Strategy, Unit};
pub use pouring::Pouring;
pub use reasons::{Cause, UnitSet, render};
pub use renamed::Renamed;
pub use settle::{Memory, Recorded, Settled, settle};
pub use slots::NodeId;

use ledger::{count_of_pods, price};
pub use logic::Units;
pub(crate) use logic::pour;
