//! From objects to checked policies: what is usable is used, what is not is reported.
//!
//! Two steps. The shape of an object is what its schema can express; the API server checks it, and
//! so does this, for files. Its meaning is what a schema cannot express; the same functions serve
//! files, admission and the controllers.

mod cel_words;
mod clock_changes;
mod coincidence;
mod cron_federated_hpa;
mod cron_job;
mod described_nodes;
mod envelope;
mod everything;
mod horizontal_autoscaler;
mod hub;
mod label_selector;
mod label_sets;
mod max_delay;
mod meaning;
mod metrics_producer;
mod misnamed;
mod object;
mod placement;
mod places;
mod pod_demand;
mod pods_together;
mod qos_levels;
mod query;
mod resource_policy;
mod shapes;
mod target;
mod together;
mod unit_caps;
mod units_together;

use crate::finding::Finding;

pub use clock_changes::{clock_changes, field_of_rule, placed};
pub use cron_job::cron_jobs_over_time;
pub use described_nodes::{DescribedEffect, DescribedNodes, DescribedTaint, check_described_nodes};
pub use envelope::why_no_namespace;
pub use everything::{Everything, check_everything};
pub use object::{CheckContext, CheckedObject, check, check_json};
pub use places::{Layout, Place, Places};
pub use pod_demand::pod_demands;
pub use query::lacks_room;
pub use together::check_together;
pub use units_together::{Governed, check_units_together};

/// The outcome of checking a part: its usable value, and the findings.
struct Checked<T> {
    /// The usable value; `None` if there is none.
    value: Option<T>,
    /// What is wrong, or worth knowing.
    findings: Vec<Finding>,
}
