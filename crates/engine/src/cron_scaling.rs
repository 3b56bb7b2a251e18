//! Cron scaling: rules that set a workload's replicas or an autoscaler's bounds at given instants.

mod begin;
mod decide;
mod execution;
mod fingerprint;
mod gather;
mod held_back;
mod logic;
mod memory;
mod plan;
mod policy;
mod reasons;
mod request;
mod settle;
mod undone;

pub use decide::{Decision, decide, explain, next_firing, skip_stopped, wake_at};
pub use execution::{Applied, Ending, Execution, MAX_COUNTED, Recorded};
pub use fingerprint::{RuleContent, stored_fingerprint};
pub use gather::{Input, TargetState, gather};
pub use held_back::HeldBack;
pub use memory::{Memory, Pending, RuleMemory};
pub use policy::{Bounds, CronRule, CronScaling, DesiredScale, InvalidBounds, UnusableRule};
pub use reasons::{Cause, render};
pub use settle::{Settled, settle};
pub use undone::{ANOTHER_WRITER, Undone};

use decide::deadline;
pub use logic::{CronRules, FiringBacklog, SUPERSEDED, firing_backlog};
