//! Converts a query string to the form of the engine.
//!
//! The module `promql` checks whether a string is `PromQL`. This module selects the queries that Almanac evaluates by
//! itself. All others need a Prometheus, and the findings give the reason.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use almanac_engine::metric_scaling::{
    Aggregation, Condition, Expression, Label, MAX_NAMESPACE_PATTERN_BYTES, MAX_OBJECT_COMPARISONS,
    MAX_OBJECT_PATTERN_BYTES, MAX_OBJECT_PATTERNS, MAX_PATTERN_BYTES, MAX_PROCESS_PATTERN_BYTES,
    Matcher, Operator, PatternBudget, PatternExcess, PublishedMetric, Query, QueryEvaluator,
    Selector, Selects, Step,
};

use crate::finding::{Code, Finding, Path};
use crate::kinds::Kind;
use crate::promql::{
    Comparison, METRIC_NAME, Matcher as WrittenMatcher, Node, Refusal, Selector as WrittenSelector,
    Type, parse,
};

/// The labels of a schedule's name and of its namespace.
const NAME: &str = "name";
const NAMESPACE: &str = "namespace";

/// The reason that Almanac cannot evaluate a query.
enum Obstacle {
    /// The reason in words: only a Prometheus can evaluate the query.
    External(String),
    /// The query is refused for its patterns.
    Excess(PatternExcess),
}

/// The end of a finding about the budget of a namespace or the process.
const NO_ROOM: &str = "and the existing policies leave less";

/// Whether the patterns of an object exceeded the budget. A later check may succeed.
#[must_use]
pub fn lacks_room(findings: &[Finding]) -> bool {
    findings.iter().any(|it| it.code == Code::Query && it.message.ends_with(NO_ROOM))
}

/// Checks a query. Adds a finding and returns `None` if the result is not a sample, or if the patterns exceed the
/// budget.
pub(super) fn check(
    text: &str,
    path: &Path<'_>,
    patterns: &mut PatternBudget,
    findings: &mut Vec<Finding>,
) -> Option<Query> {
    if text.trim().is_empty() {
        findings.push(Finding::required(path, "a PromQL query"));
        return None;
    }
    let invalid = |why: &str| Finding::invalid(Code::Query, path, text, why);
    let parsed = match parse(text, patterns) {
        Ok(parsed) => parsed,
        Err(refusal) => {
            findings.push(refused(refusal, patterns, invalid));
            return None;
        }
    };
    match parsed.result {
        Type::Scalar | Type::Vector => {}
        Type::Range => {
            findings.push(invalid(
                "yields a range of samples instead of one; use a function such as max_over_time",
            ));
            return None;
        }
        Type::Text => {
            findings.push(invalid("yields a text instead of a number"));
            return None;
        }
    }
    let evaluator = match published(&parsed.nodes, patterns) {
        Ok(expression) => Ok(QueryEvaluator::Published(expression)),
        Err(Obstacle::External(obstacle)) => Ok(QueryEvaluator::External(obstacle.into())),
        Err(Obstacle::Excess(excess)) => Err(excess),
    };
    match evaluator.and_then(|evaluator| Ok((evaluator, named(&parsed.nodes, patterns)?))) {
        Ok((evaluator, names)) => Some(Query { text: Arc::from(text), evaluator, names }),
        // If several queries are refused, only the first gets a finding.
        Err(PatternExcess::Earlier) => None,
        Err(excess) => {
            findings.push(exceeding(excess, invalid));
            None
        }
    }
}

/// The finding for patterns beyond a budget.
fn exceeding(excess: PatternExcess, invalid: impl Fn(&str) -> Finding) -> Finding {
    let by_name = "match names by = instead of =~";
    let (why, fix) = match excess {
        PatternExcess::Pattern | PatternExcess::Earlier => (
            format!(
                "one of the regular expressions is too large, or takes too long to compile: {} KiB is the most",
                MAX_PATTERN_BYTES >> 10
            ),
            "match fewer names, by = instead of =~, or without repetitions such as {100}",
        ),
        PatternExcess::Comparisons => (
            format!(
                "the queries of an object may compare all schedules with {MAX_OBJECT_COMPARISONS} \
                 conditions, and those up to here have more"
            ),
            "name one schedule by name= and namespace=, or split the object",
        ),
        PatternExcess::Object => (
            format!(
                "the regular expressions of an object, {MAX_OBJECT_PATTERNS} at most, may take {} \
                 KiB compiled, and those up to here take more",
                MAX_OBJECT_PATTERN_BYTES >> 10
            ),
            "match names by = instead of =~, without repetitions such as {100}, or split the object",
        ),
        PatternExcess::Namespace => (
            format!(
                "the regular expressions of a namespace may take {} MiB compiled, {NO_ROOM}",
                MAX_NAMESPACE_PATTERN_BYTES >> 20
            ),
            by_name,
        ),
        PatternExcess::Process => (
            format!(
                "the regular expressions of all policies may take {} MiB compiled, {NO_ROOM}",
                MAX_PROCESS_PATTERN_BYTES >> 20
            ),
            by_name,
        ),
    };
    invalid(&why).with_fix(fix)
}

/// The finding for a string that is not a query.
fn refused(
    refusal: Refusal,
    patterns: &mut PatternBudget,
    invalid: impl Fn(&str) -> Finding,
) -> Finding {
    let Refusal { message, fix, joined, .. } = refusal;
    if let Some(joined) = joined {
        let finding = invalid(&message);
        let is_query = parse(&joined, patterns).is_ok();
        return if is_query { finding.meaning(joined) } else { finding };
    }
    let finding = invalid(&format!("not valid PromQL: {message}"));
    match fix {
        None => finding,
        Some(fix) => finding.with_fix(fix),
    }
}

/// The schedules whose values a query names. Matchers that only a Prometheus can evaluate do not narrow the result.
fn named(nodes: &[Node], patterns: &mut PatternBudget) -> Result<Box<[Selects]>, PatternExcess> {
    let selectors = nodes.iter().filter_map(|node| match node {
        Node::Selector(selector) | Node::Range(selector) => Some(selector),
        _ => None,
    });
    let published = selectors.filter(|selector| published_metric(selector).is_ok());
    let selects = published.map(|selector| {
        let matchers = label_matchers(selector).filter_map(|it| match matcher_of(it, patterns) {
            Ok(matcher) => Some(Ok(matcher)),
            Err(Obstacle::External(_)) => None,
            Err(Obstacle::Excess(excess)) => Some(Err(excess)),
        });
        let selects = selects(matchers.collect::<Result<_, _>>()?);
        if let Selects::Matching(matchers) = &selects {
            patterns.compare(matchers.len().max(1))?;
        }
        Ok(selects)
    });
    selects.collect()
}

/// The expression, if Almanac can evaluate it from its published values; otherwise the first obstacle. A node comes
/// before its operands, and an operand before the operands after it.
fn published(nodes: &[Node], patterns: &mut PatternBudget) -> Result<Expression, Obstacle> {
    let mut steps = Vec::with_capacity(nodes.len());
    let mut obstacles: Vec<Option<Obstacle>> = Vec::new();
    for node in nodes {
        let (operands, step) = step_of(node, patterns);
        let (step, own) = step.map_or_else(|own| (None, Some(own)), |step| (Some(step), None));
        if let Some(Obstacle::Excess(excess)) = own {
            return Err(Obstacle::Excess(excess));
        }
        let within = obstacles.split_off(obstacles.len().saturating_sub(operands));
        obstacles.push(own.or_else(|| within.into_iter().flatten().next()));
        steps.extend(step);
    }
    match obstacles.pop().flatten() {
        Some(obstacle) => Err(obstacle),
        None => Expression::new(steps).ok_or_else(not_about_numbers),
    }
}

fn not_about_numbers() -> Obstacle {
    Obstacle::from("it is not about numbers")
}

impl From<&str> for Obstacle {
    fn from(why: &str) -> Obstacle {
        Obstacle::External(why.to_owned())
    }
}

/// The number of operands of a node, and its step in the evaluation by Almanac.
fn step_of(node: &Node, patterns: &mut PatternBudget) -> (usize, Result<Step, Obstacle>) {
    match node {
        Node::Number(number) => (0, Ok(Step::Number(*number))),
        Node::Text => (0, Err(not_about_numbers())),
        Node::Selector(selector) => (0, selector_of(selector, patterns).map(Step::Selector)),
        Node::Range(_) => (0, Err("it looks back in time".into())),
        Node::Subquery => (1, Err("it looks back in time".into())),
        Node::Negation => (1, Ok(Step::Negate)),
        Node::Binary { matches_labels: true, .. } => {
            (2, Err("it matches series by some of their labels".into()))
        }
        Node::Binary { operator, .. } => (2, operator_of(operator)),
        Node::Aggregation { name, operands, groups } => (*operands, aggregation_of(name, *groups)),
        Node::Call { name, operands } => {
            (*operands, Err(Obstacle::External(format!("it calls {name}()"))))
        }
    }
}

fn aggregation_of(name: &str, groups: bool) -> Result<Step, Obstacle> {
    let aggregation = match name {
        "max" => Aggregation::Max,
        "min" => Aggregation::Min,
        "sum" => Aggregation::Sum,
        _ => {
            return Err(Obstacle::External(format!(
                "it aggregates by {name}, not by max, min or sum"
            )));
        }
    };
    if groups { Err("it groups by labels".into()) } else { Ok(Step::Aggregate(aggregation)) }
}

fn operator_of(written: &str) -> Result<Step, Obstacle> {
    let operator = match written {
        "or" => return Ok(Step::Or),
        "+" => Operator::Add,
        "-" => Operator::Subtract,
        "*" => Operator::Multiply,
        "/" => Operator::Divide,
        "%" => Operator::Remainder,
        "^" => Operator::Power,
        _ => return Err(Obstacle::External(format!("it has the operator {written}"))),
    };
    Ok(Step::Arithmetic(operator))
}

fn selector_of(
    written: &WrittenSelector,
    patterns: &mut PatternBudget,
) -> Result<Selector, Obstacle> {
    if written.is_modified {
        return Err("it looks at another time".into());
    }
    let metric = published_metric(written)?;
    let matchers = label_matchers(written).map(|it| matcher_of(it, patterns));
    let matchers = matchers.collect::<Result<Vec<_>, _>>()?;
    Ok(Selector { metric, selects: selects(matchers) })
}

fn label_matchers(written: &WrittenSelector) -> impl Iterator<Item = &WrittenMatcher> {
    written.matchers.iter().filter(|it| it.label != METRIC_NAME)
}

fn published_metric(written: &WrittenSelector) -> Result<PublishedMetric, Obstacle> {
    let mut of_metric = written.matchers.iter().filter(|it| it.label == METRIC_NAME);
    let (Some(WrittenMatcher { comparison: Comparison::Equals, value: name, .. }), None) =
        (of_metric.next(), of_metric.next())
    else {
        return Err("it selects by patterns of metric names".into());
    };
    let metric = PublishedMetric::ALL.into_iter().find(|it| it.name() == *name);
    metric.ok_or_else(|| Obstacle::External(format!("Almanac does not publish {name}")))
}

/// The one schedule that the matchers identify by name and namespace; otherwise all matching schedules.
fn selects(matchers: Vec<Matcher>) -> Selects {
    if let [one, other] = matchers.as_slice()
        && let (Condition::Equals(one_value), Condition::Equals(other_value)) =
            (&one.condition, &other.condition)
    {
        let schedule = |namespace: &str, name: &str| {
            Selects::One(Kind::MetricsProducer.identity(namespace, name))
        };
        match (one.label, other.label) {
            (Label::Name, Label::Namespace) => return schedule(other_value, one_value),
            (Label::Namespace, Label::Name) => return schedule(one_value, other_value),
            (Label::Name, Label::Name) | (Label::Namespace, Label::Namespace) => {}
        }
    }
    Selects::Matching(matchers.into())
}

fn matcher_of(written: &WrittenMatcher, patterns: &mut PatternBudget) -> Result<Matcher, Obstacle> {
    let label = match written.label.as_str() {
        NAME => Label::Name,
        NAMESPACE => Label::Namespace,
        other => {
            return Err(Obstacle::External(format!("only Prometheus adds the label {other}")));
        }
    };
    let value = || Box::from(written.value.as_str());
    let mut pattern = || patterns.keep(&written.value).map_err(Obstacle::Excess);
    let condition = match written.comparison {
        Comparison::Equals => Condition::Equals(value()),
        Comparison::Differs => Condition::Differs(value()),
        Comparison::Matches => Condition::Matches(pattern()?),
        Comparison::MatchesNot => Condition::MatchesNot(pattern()?),
    };
    Ok(Matcher { label, condition })
}
