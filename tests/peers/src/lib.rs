//! What Kubernetes' own `HorizontalPodAutoscaler` controller answers to thousands of cases, and its libraries for
//! CEL to a thousand expressions, recorded so that ours can be compared with them where there is no Go.
//!
//! - A [`Case`] is one autoscaler over a span of time. [`random_case`] makes one of a seed and a number.
//! - [`for_kubernetes`] writes it as Kubernetes takes it. Where the same fields behave
//!   differently, an [`Adjustment`] of the case makes both behave alike.
//! - `kubernetes/hpa` answers it with the code of Kubernetes; [`ask`] runs that program.
//! - A [`Record`] is the answers in a file, with all that tells whether they are still the answers.
//!
//! - [`expressions`] are asked about [`clusters`]; `kubernetes/cel` answers with the code of Kubernetes, and an
//!   [`ExpressionsRecord`] is the answers in a file.
//!
//! The comparison is up to whoever has an autoscaler to compare.

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
pub use kubernetes::{Adjustment, ask, for_kubernetes, version};
pub use random::random_case;
pub use record::{Record, RecordError};

/// How many random cases are recorded.
pub const CASES: usize = 4_000;

/// The seed of the recorded cases.
pub const SEED: u64 = 20_261_121;

/// The file of the record, in the folder of this package.
pub const RECORD: &str = "kubernetes.txt";

/// All that Kubernetes is asked, in the order of the record's answers: random cases, in which it is made to
/// mean the same as we do, then the differences, as it is.
#[must_use]
pub fn asked(seed: u64, cases: usize) -> Vec<serde_json::Value> {
    let random =
        (0..cases).map(|number| for_kubernetes(&random_case(seed, number), &Adjustment::ALL));
    let differences = differences().into_iter().map(|it| for_kubernetes(&it.case, &[]));
    random.chain(differences).collect()
}
