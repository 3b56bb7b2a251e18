//! Requirements on any decision, in any world.
//!
//! The checker compares inputs and decisions, and reports violations in sentences: a number that no open behavior has,
//! a firing recorded twice, a wake-up that is too late. The checker uses the engine's data types and the calendar's
//! results. It decides nothing itself and calls no engine logic, so it cannot repeat the engine's mistakes. Every test
//! that makes a decision calls the checker.
//!
//! `faults` proves that every check can fail: each check rejects some decision.
//!
//! The checker does not check sequences. The ledger of the property tests checks that a firing is applied once over
//! restarts and retries.

mod cron_recorded;
mod cron_scaling;
mod cron_settled;
mod cron_waking;
mod cron_write;
mod faults;
mod metric_scaling;
mod placement;
mod qos_levels;
mod schedule_settled;
mod scheduled_capacity;
mod units;
mod violations;

pub use cron_scaling::check_cron_scaling;
pub use cron_settled::{ClosedTurn, check_cron_settled};
pub use faults::{Fault, prove};
pub use metric_scaling::check_metric_scaling;
pub use placement::check_placement;
pub use qos_levels::check_qos_levels;
pub use schedule_settled::{ClosedSchedule, check_schedule_settled};
pub use scheduled_capacity::check_scheduled_capacity;
pub use units::check_units;
pub use violations::Violations;
