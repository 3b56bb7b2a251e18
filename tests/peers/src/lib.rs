//! The answers of Kubernetes' own `HorizontalPodAutoscaler` controller to thousands of cases, and of its libraries
//! for CEL to a thousand expressions. They are recorded so that ours can be compared with them where there is no Go.
//!
//! - A [`Case`] is one autoscaler over a span of time. [`random_case`] makes one of a seed and a number.
//! - [`for_kubernetes`] writes it in the format of Kubernetes. Where the same fields behave differently, an
//!   [`Adjustment`] of the case makes both behave in the same way.
//! - `kubernetes/hpa` answers it with the code of Kubernetes; [`run_kubernetes`] runs that program.
//! - A [`Record`] is the answers in a file, with the data that show whether they are still current.
//!
//! - [`expressions`] are evaluated over [`clusters`]; `kubernetes/cel` does so with the code of Kubernetes, and an
//!   [`ExpressionsRecord`] is the answers in a file.
//!
//! The callers, which have an autoscaler to compare, do the comparison.

mod case;
mod differences;
mod expressions;
mod kubernetes;
mod random;
mod record;

pub use case::{
    Amount, Case, DEFAULT_DOWN_WINDOW, LONGEST_PERIOD, LONGEST_WINDOW, Metric, MetricKind, Policy,
    Rules, Select, Step,
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

/// The file of the record, in the folder of this package.
pub const RECORD: &str = "kubernetes.txt";

/// All cases for Kubernetes, in the order of the record's answers: random cases, adjusted so that it behaves as we
/// do, then the differences, unchanged.
#[must_use]
pub fn requests(seed: u64, cases: usize) -> Vec<serde_json::Value> {
    let random =
        (0..cases).map(|number| for_kubernetes(&random_case(seed, number), &Adjustment::ALL));
    let differences = differences().into_iter().map(|it| for_kubernetes(&it.case, &[]));
    random.chain(differences).collect()
}
