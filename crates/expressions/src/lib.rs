//! Expressions over an object, in the [Common Expression Language], as Open Cluster Management selects clusters with
//! them: compiled once, and evaluated within bounds over as many objects as there are.
//!
//! The variable `managedCluster` contains the object. Expressions support all operators and macros of the language, and
//! the functions that Kubernetes adds: for strings, lists, patterns, quantities, versions, addresses and optional
//! values. Compiling rejects an unsupported function by name. An expression has no clock, and iterates maps in the
//! order of their keys, so that it has the same result for the same object everywhere.
//!
//! ```
//! use almanac_expressions::{Document, Expression, Meter, Subject};
//! use serde_json::json;
//!
//! let expression = Expression::compile("managedCluster.metadata.labels['tier'] in ['gold', 'silver']")?;
//! let object = Document::from_json(&json!({ "metadata": { "labels": { "tier": "gold" } } }));
//! let subject = Subject { object: &object, scores: &|_| None };
//! assert_eq!(expression.holds(&subject, &Meter::new()), Ok(true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The engine chooses the objects, and applies the results.
//!
//! | to change | go to |
//! |---|---|
//! | a function | `functions.rs` and its directory; a test requires its steps |
//! | an operator or a macro | `compile/operators.rs`, `compile/macros.rs` |
//! | the grammar | `syntax/parser.rs`, `syntax/tokens.rs` |
//! | the limits | `meter.rs` |
//! | the storage of an object in little RAM | `document.rs` and its directory |
//! | patterns, as Go reads them | `pattern.rs` |
//! | messages of failures | `failure.rs` at evaluation, `source.rs` at compilation |
//!
//! `tests/language.rs` tests the language, `tests/hostile` the inputs that must stay cheap. All results are compared
//! with those of Kubernetes' own libraries.
//!
//! [Common Expression Language]: https://cel.dev

mod arithmetic;
mod compile;
mod document;
mod evaluate;
mod failure;
mod functions;
mod instant;
mod json;
mod meter;
mod network;
mod node;
mod pattern;
mod quantity;
mod source;
mod syntax;
mod types;
mod url;
mod value;
mod version;

use std::fmt;
use std::sync::Arc;

pub use compile::ReadScores;
pub use document::Document;
pub use evaluate::{NamedScores, Subject};
pub use failure::Failure;
pub use meter::{Allowance, MAX_EXPRESSIONS, MAX_STEPS, MAX_TOTAL_BYTES, Meter};
pub use pattern::pattern_from_go;
pub use quantity::Quantity;
pub use source::{CompileError, Position};

use compile::Compiled;
use evaluate::Evaluation;
use value::Value;

/// A compiled expression. Two expressions are equal if their sources are equal.
#[derive(Clone)]
pub struct Expression {
    text: Arc<str>,
    compiled: Arc<Compiled>,
}

impl Expression {
    /// Compiles a single expression, with an allowance of its own.
    pub fn compile(text: &str) -> Result<Expression, CompileError> {
        Expression::compile_within(&mut Allowance::new(), text)
    }

    /// Compiles one of the expressions of a placement, within their remaining allowance.
    pub fn compile_within(
        allowance: &mut Allowance,
        text: &str,
    ) -> Result<Expression, CompileError> {
        allowance.take(text)?;
        let compiled = Arc::new(compile::compile(text, allowance)?);
        allowance.steps = compiled.steps;
        Ok(Expression { text: text.into(), compiled })
    }

    /// The source of the expression.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The scores that the expression reads.
    #[must_use]
    pub fn read_scores(&self) -> &ReadScores {
        &self.compiled.scores
    }

    /// The parts of the expression that can be evaluated, but never with a usable result: it is not a boolean, or a
    /// call in it always fails.
    #[must_use]
    pub fn warnings(&self) -> &[CompileError] {
        &self.compiled.warnings
    }

    /// Whether the expression is true for an object, within the remaining steps of the meter.
    pub fn holds<'a>(&'a self, subject: &Subject<'a>, meter: &Meter) -> Result<bool, Failure> {
        match (Evaluation { subject, meter }).evaluate(&self.compiled.node, None)? {
            Value::Bool(holds) => Ok(holds),
            other => Err(Failure::NotABoolean(other.type_name())),
        }
    }
}

impl ReadScores {
    /// Whether these include the scores in the object with this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        match self {
            ReadScores::Named(names) => names.contains(name),
            ReadScores::Any => true,
        }
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Expression) -> bool {
        self.text == other.text
    }
}

impl Eq for Expression {}

impl fmt::Debug for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(formatter)
    }
}

/// Writes the expression on one line, cut off at a maximum length.
impl fmt::Display for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_SHOWN: usize = 160;
        let line = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(MAX_SHOWN) {
            Some((end, _)) => write!(formatter, "{}…", &line[..end]),
            None => formatter.write_str(&line),
        }
    }
}
