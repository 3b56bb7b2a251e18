//! Hostile expressions: none of them panics, and none of them takes long.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helping functions too"
)]

mod depth;
mod nested;
mod patterns;
mod random;
mod steps;
mod work;

use almanac_expressions::{Document, Expression, Failure, MAX_STEPS, Meter, Subject};
use serde_json::json;

/// An object with a list, a text and a map that are as long as an object can make them.
pub(crate) fn large() -> Document {
    let list: Vec<_> =
        (0..5_000).map(|it| json!({ "name": format!("claim-{it}"), "value": it })).collect();
    let labels: serde_json::Map<_, _> =
        (0..5_000).map(|it| (format!("label-{it}"), json!("x"))).collect();
    let text = "a".repeat(500_000);
    Document::from_json(&json!({
        "metadata": { "name": "east", "labels": labels },
        "status": { "clusterClaims": list, "text": text }
    }))
}

/// The steps of an expression over an object, and its result.
pub(crate) fn steps(text: &str, object: &Document) -> (usize, Result<bool, Failure>) {
    let subject = Subject { object, scores: &|_| None };
    let expression = Expression::compile(text).unwrap_or_else(|it| panic!("{it}: {text:.200}"));
    let meter = Meter::new();
    let result = expression.holds(&subject, &meter);
    (MAX_STEPS - meter.remaining_steps(), result)
}

pub(crate) fn error(text: &str) -> String {
    Expression::compile(text).map(|_| ()).unwrap_err().to_string()
}

pub(crate) fn holds(text: &str, object: &Document) -> Result<bool, Failure> {
    steps(text, object).1
}

/// Runs a function on a small stack, and panics if the function panics.
pub(crate) fn on_small_stack(run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap();
    thread.join().unwrap();
}
