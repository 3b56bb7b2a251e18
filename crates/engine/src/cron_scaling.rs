//! Cron scaling: rules that set a workload's replicas or an autoscaler's bounds at given instants.

mod decide;
mod execution;
mod gather;
mod memory;
mod plan;
mod policy;
mod reasons;
mod settle;

pub use decide::{decide, explain, next_firing, wake_at};
pub use execution::{Applied, Ending, Execution};
pub use gather::{Input, TargetState, gather};
pub use memory::{Memory, Pending, RuleMemory};
pub use policy::{Bounds, CronRule, CronScaling, InvalidBounds, Setting, Target, UnusableRule};
pub use reasons::{Because, render};
pub use settle::settle;
