//! `PromQL`, the query language of Prometheus: whether a string is a query, the type of its result, and its parts.
//!
//! The language is that of Prometheus 3.16 with its experimental functions and modifiers, because the Prometheus that
//! receives a query may have enabled these. In addition, `holt_winters` is accepted, the name of
//! `double_exponential_smoothing` in version 2. Names with characters beyond ASCII must be quoted, as by default.
//!
//! A parsed query is a list of nodes in the order of evaluation: the operands of a node precede the node. Without a
//! tree, no reader of a query recurses, however long or deep the query is. The time is linear in the length. The length
//! and the number of nested brackets are limited. The family of autoscalers selects the queries that Almanac evaluates
//! by itself.

mod clauses;
mod durations;
mod lexer;
mod number;
mod parser;
mod types;

#[cfg(test)]
mod tests;

use almanac_engine::metric_scaling::PatternBudget;

use lexer::{Kind, Lexer};
use parser::Parser;

/// The maximum number of characters of a query, as in the CRD.
const MAX_CHARACTERS: usize = 4096;
/// The maximum number of open brackets: parentheses, calls, aggregations. The limit applies separately to durations.
const MAX_NESTED: usize = 100;
/// The maximum number of characters of a query that a message repeats.
const MAX_REPEATED: usize = 30;

/// The label with the name of a metric.
pub(crate) const METRIC_NAME: &str = "__name__";

/// A valid query.
#[derive(Debug)]
pub(crate) struct ParsedQuery {
    /// The type of the result.
    pub(crate) result: Type,
    /// The nodes. The operands of a node are the last results before the node.
    pub(crate) nodes: Vec<Node>,
}

/// The type of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    /// A number.
    Scalar,
    /// One sample of each series.
    Vector,
    /// Several samples of each series.
    Range,
    /// A string.
    Text,
}

/// Whether two strings are the same query: the words are equal, regardless of spaces and comments. Strings that are not
/// queries are equal if they look the same.
#[must_use]
pub fn is_same_query(one: &str, other: &str) -> bool {
    let (mut words, mut others) = (Lexer::new(one), Lexer::new(other));
    loop {
        let (word, of_other) = (words.next(), others.next());
        let are_same = match (&word.kind, &of_other.kind) {
            (Kind::End, Kind::End) => return true,
            (Kind::Invalid(_), _) | (_, Kind::Invalid(_)) => return one.trim() == other.trim(),
            (Kind::Name, Kind::Name) => {
                one[word.start..word.end] == other[of_other.start..of_other.end]
            }
            // NaN is equal to no number.
            (Kind::Number(it), Kind::Number(of_other)) => it.total_cmp(of_other).is_eq(),
            (kind, of_other) => kind == of_other,
        };
        if !are_same {
            return false;
        }
    }
}

/// A part of a query.
#[derive(Debug)]
pub(crate) enum Node {
    /// A number.
    Number(f64),
    /// A string.
    Text,
    /// The last samples of series.
    Selector(Selector),
    /// The samples of series in a period.
    Range(Selector),
    /// The results of the operand in a period.
    Subquery,
    /// The operand with the opposite sign.
    Negation,
    /// An operator between two operands.
    Binary { operator: &'static str, matches_labels: bool },
    /// An aggregation of the last operand; an operand before that is the parameter.
    Aggregation { name: &'static str, operands: usize, groups: bool },
    /// A call of a function.
    Call { name: &'static str, operands: usize },
}

/// A selector of series, and whether its time is modified.
#[derive(Debug)]
pub(crate) struct Selector {
    /// The conditions for the labels, including [`METRIC_NAME`].
    pub(crate) matchers: Vec<Matcher>,
    /// Whether the selector has `offset`, `@`, `anchored` or `smoothed`.
    pub(crate) is_modified: bool,
}

/// A condition for a label.
#[derive(Debug)]
pub(crate) struct Matcher {
    /// The name of the label.
    pub(crate) label: String,
    /// The comparison with the value of the label.
    pub(crate) comparison: Comparison,
    /// The value to compare with.
    pub(crate) value: String,
}

/// The comparisons with the value of a label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comparison {
    /// `=`
    Equals,
    /// `!=`
    Differs,
    /// `=~`
    Matches,
    /// `!~`
    MatchesNot,
}

/// The reason that a string is not a query.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    /// The byte index of the problem in the query.
    pub(crate) at: usize,
    /// The problem, with the line and the word.
    pub(crate) message: String,
    /// The fix, if known.
    pub(crate) fix: Option<String>,
    /// The query that was probably meant, for two or more vectors in an aggregation of one.
    pub(crate) joined: Option<String>,
}

/// Parses a query. Regular expressions beyond the budget are not checked.
pub(crate) fn parse(text: &str, patterns: &mut PatternBudget) -> Result<ParsedQuery, Refusal> {
    if text.chars().nth(MAX_CHARACTERS).is_some() {
        let message = format!("longer than {MAX_CHARACTERS} characters");
        return Err(Refusal::too_much(0, message));
    }
    Parser::new(text, patterns).query()
}

impl Refusal {
    fn new(at: usize, message: String) -> Refusal {
        Refusal { at, message, fix: None, joined: None }
    }

    fn too_much(at: usize, message: String) -> Refusal {
        let fix =
            "record a part of it with a recording rule of Prometheus, and query that".to_owned();
        Refusal { fix: Some(fix), ..Refusal::new(at, message) }
    }

    /// Refuses the word at a byte, with the text before the word.
    fn for_word(text: &str, at: usize, message: &str) -> Refusal {
        let before = text.get(..at).unwrap_or(text);
        let line = before.trim_end().lines().last().unwrap_or_default().trim();
        let beginning = line.char_indices().rev().nth(MAX_REPEATED - 1).map_or(0, |(at, _)| at);
        let after = match (&line[beginning..], beginning) {
            ("", _) => String::new(),
            (excerpt, 0) => format!(", after {excerpt:?}"),
            (excerpt, _) => format!(", after \"…\" and {excerpt:?}"),
        };
        Refusal::new(at, format!("{message}{}{after}", in_line(text, at)))
    }
}

/// The line of a byte for a message; empty for a query of one line.
fn in_line(text: &str, at: usize) -> String {
    if !text.trim().contains('\n') {
        return String::new();
    }
    let line = text.get(..at).unwrap_or(text).matches('\n').count() + 1;
    format!(" in line {line}")
}
