//! The results of Kubernetes' own `HorizontalPodAutoscaler` controller for thousands of cases, and of its libraries for
//! CEL for a thousand expressions. The results are recorded, so that a comparison with Almanac's results does not
//! require Go.
//!
//! - A [`Case`] is one autoscaler over a period. [`random_case`] builds a case from a seed and a number.
//! - [`for_kubernetes`] writes a case in the format of Kubernetes. Where the same fields behave differently, an
//!   [`Adjustment`] of the case makes both behave in the same way.
//! - `kubernetes/hpa` runs a case with the code of Kubernetes; [`run_kubernetes`] runs that program.
//! - A [`Record`] contains the results, with the data that show whether the results are current.
//!
//! - [`expressions`] are evaluated over [`clusters`]. `kubernetes/cel` does so with the code of Kubernetes, and an
//!   [`ExpressionsRecord`] contains the results.
//!
//! The tests of this package compare Almanac with the records.

mod case;
mod differences;
mod expressions;
mod kubernetes;
mod random;
mod record;

pub use case::{
    Amount, Case, DEFAULT_DOWN_WINDOW, MAX_PERIOD, MAX_WINDOW, Metric, MetricKind, Policy, Rules,
    Select, Step,
};
pub use differences::{Difference, differences};
pub use expressions::{
    EXPRESSIONS_RECORD, ExpressionsRecord, ask_expressions, clusters, expressions,
    expressions_digest, random_expression, scores_of,
};
pub use kubernetes::{Adjustment, for_kubernetes, run_kubernetes, version};
pub use random::random_case;
pub use record::{Record, RecordError};

/// The number of recorded random cases.
pub const CASES: usize = 4_000;

/// The seed of the recorded cases.
pub const SEED: u64 = 20_261_121;

/// The file of the record, in the directory of this package.
pub const RECORD: &str = "kubernetes.txt";

/// All cases for Kubernetes, in the order of the record: first the random cases, adjusted so that Kubernetes behaves
/// like Almanac, then the differences, unchanged.
#[must_use]
pub fn requests(seed: u64, cases: usize) -> Vec<serde_json::Value> {
    let random =
        (0..cases).map(|number| for_kubernetes(&random_case(seed, number), &Adjustment::ALL));
    let differences = differences().into_iter().map(|it| for_kubernetes(&it.case, &[]));
    random.chain(differences).collect()
}
