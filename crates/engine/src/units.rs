//! Node units: the pods that a resource policy governs, the units that they may use, the number of pods in each, and
//! the deletion costs.
//!
//! The code that schedules pods, prices them or explains their location reads the ledger. As a family of policies,
//! units serve a forecast without a scheduler, which assigns the pods of workloads to them by the ledger's verdicts.

mod begin;
mod decide;
mod elapsed;
mod explain;
mod filling;
mod gather;
mod ledger;
mod logic;
mod node;
mod pod;
mod pods_and_nodes;
mod policy;
pub mod presumed;
mod reasons;
mod renamed;
mod scheduling;
mod settle;
mod slots;

pub use decide::{Decision, decide};
pub use elapsed::{Elapsed, LongestBind};
pub use filling::Filling;
pub use gather::{Input, gather};
pub use ledger::{
    BindOutcome, Bound, Confirmed, Conflict, CostChange, Eviction, FilterOutcome, GroupReport,
    LabelSnapshot, Ledger, LedgerState, NotServing, PodExplanation, PolicyReport, PreparedPolicy,
    ReservationId, ReserveError, StaleNominations, TooEarly, UnitCount, UnsettledBinding, Verdict,
    Verdicts,
};
pub use node::{Node, Resources, Space};
pub use pod::{DeletionCost, Owner, Pod, Ungoverned};
pub use pods_and_nodes::{PodsAndNodes, Replicas, UnitObject, UnitsState};
pub use policy::{OUTSIDE, ResourcePolicy, Strategy, Unit};
pub use reasons::{Cause, UnitSet, render};
pub use renamed::Renamed;
pub use scheduling::SchedulingSimulation;
pub use settle::{Memory, Recorded, Settlement, settle};
pub use slots::NodeId;

use ledger::{count_of_pods, price};
pub use logic::Units;
pub(crate) use logic::schedule_pods;
