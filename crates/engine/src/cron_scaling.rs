//! Cron scaling: rules that set a workload's replicas or an autoscaler's bounds at given instants.

mod policy;
mod target;

pub use policy::{Bounds, CronRule, CronScaling, InvalidBounds, Setting, Target};
pub use target::{Autoscaler, Workload};
