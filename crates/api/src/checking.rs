//! From objects to checked policies: usable parts are used, the others are reported.
//!
//! A check has two steps. The first compares an object with its schema, as the API server does; this step is for files.
//! The second checks the rules that a schema cannot express; they are in `families`. The same functions serve files,
//! admission and the controllers.

mod clock_changes;
mod cron_job;
mod described_nodes;
mod everything;
mod misnamed;
mod object;
mod places;
mod pod_demand;
mod pods_together;
mod shapes;
mod together;
mod unit_caps;
mod units_together;

pub use crate::families::metric_scaling::query::lacks_room;
pub use crate::fields::envelope::why_no_namespace;
pub use clock_changes::{clock_changes, placed};
pub use cron_job::cron_jobs_over_time;
pub use described_nodes::{DescribedEffect, DescribedNodes, DescribedTaint, check_described_nodes};
pub use everything::{CheckedReading, check_everything};
pub use object::{CheckContext, CheckedObject, check, check_json};
pub use places::{Layout, Place, Places};
pub use pod_demand::pod_demands;
pub use together::check_together;
pub use units_together::{GovernedPod, check_units_together};
