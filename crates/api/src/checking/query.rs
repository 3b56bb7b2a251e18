//! From the text of a query to what the engine has to know of it.
//!
//! What is `PromQL`, and what is not, is decided by `promql`. What Almanac can answer by itself is decided here;
//! everything else is left to a Prometheus, with what stands in the way.

use std::sync::Arc;

use almanac_engine::metric_scaling::{
    Aggregation, Answer, Condition, Expression, Label, Matcher, Operator, Pattern, PublishedMetric,
    Query, Selector, Selects, Step,
};

use crate::finding::{Code, Finding, Path};
use crate::kinds::Kind;
use crate::promql::{
    Comparison, METRIC_NAME, Matcher as WrittenMatcher, Node, Refusal, Selector as WrittenSelector,
    Type, parse,
};

/// The label of a schedule's name, and that of its namespace.
const NAME: &str = "name";
const NAMESPACE: &str = "namespace";

/// What stands between a query and an answer by Almanac.
type Obstacle = String;

/// Checks a query. `None`, and a finding, for what no Prometheus would answer with a sample.
pub(super) fn check(text: &str, path: &Path<'_>, findings: &mut Vec<Finding>) -> Option<Query> {
    if text.trim().is_empty() {
        findings.push(Finding::required(path, "a PromQL query"));
        return None;
    }
    let invalid = |why: &str| Finding::invalid(Code::Query, path, text, why);
    let parsed = match parse(text) {
        Ok(parsed) => parsed,
        Err(refusal) => {
            findings.push(refused(refusal, invalid));
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
    let answer = match published(&parsed.nodes) {
        Ok(expression) => Answer::Published(expression),
        Err(obstacle) => Answer::External(obstacle.into()),
    };
    Some(Query { text: Arc::from(text), answer, names: named(&parsed.nodes) })
}

/// The finding for what is not a query.
fn refused(refusal: Refusal, invalid: impl Fn(&str) -> Finding) -> Finding {
    let Refusal { message, fix, joined, .. } = refusal;
    if let Some(joined) = joined {
        let finding = invalid(&message);
        let is_query = parse(&joined).is_ok();
        return if is_query { finding.with_fix(format!("write {joined}")) } else { finding };
    }
    let finding = invalid(&format!("not valid PromQL: {message}"));
    match fix {
        None => finding,
        Some(fix) => finding.with_fix(fix),
    }
}

/// The schedules whose numbers a query names, whatever else it says. What nobody but Prometheus knows of a
/// selector leaves more of them.
fn named(nodes: &[Node]) -> Box<[Selects]> {
    let selectors = nodes.iter().filter_map(|node| match node {
        Node::Selector(selector) | Node::Range(selector) => Some(selector),
        _ => None,
    });
    let published = selectors.filter(|selector| published_metric(selector).is_ok());
    let selects = published.map(|selector| {
        selects(of_labels(selector).filter_map(|matcher| matcher_of(matcher).ok()).collect())
    });
    selects.collect()
}

/// The expression, if Almanac can answer it from what it publishes; if not, what stands in the way: of a node before
/// its operands, and of an operand before those after it.
fn published(nodes: &[Node]) -> Result<Expression, Obstacle> {
    let mut steps = Vec::with_capacity(nodes.len());
    let mut obstacles: Vec<Option<Obstacle>> = Vec::new();
    for node in nodes {
        let (operands, step) = step_of(node);
        let (step, own) = step.map_or_else(|own| (None, Some(own)), |step| (Some(step), None));
        let within = obstacles.split_off(obstacles.len().saturating_sub(operands));
        obstacles.push(own.or_else(|| within.into_iter().flatten().next()));
        steps.extend(step);
    }
    match obstacles.pop().flatten() {
        Some(obstacle) => Err(obstacle),
        None => Expression::new(steps).ok_or_else(|| "it is not about numbers".to_owned()),
    }
}

/// How many operands a node has, and what Almanac evaluates for it.
fn step_of(node: &Node) -> (usize, Result<Step, Obstacle>) {
    match node {
        Node::Number(number) => (0, Ok(Step::Number(*number))),
        Node::Text => (0, Err("it is not about numbers".to_owned())),
        Node::Selector(selector) => (0, selector_of(selector).map(Step::Selector)),
        Node::Range(_) => (0, Err("it looks back in time".to_owned())),
        Node::Subquery => (1, Err("it looks back in time".to_owned())),
        Node::Negation => (1, Ok(Step::Negate)),
        Node::Binary { matches_labels: true, .. } => {
            (2, Err("it matches series by some of their labels".to_owned()))
        }
        Node::Binary { operator, .. } => (2, operator_of(operator)),
        Node::Aggregation { name, operands, groups } => (*operands, aggregation_of(name, *groups)),
        Node::Call { name, operands } => (*operands, Err(format!("it calls {name}()"))),
    }
}

fn aggregation_of(name: &str, groups: bool) -> Result<Step, Obstacle> {
    let aggregation = match name {
        "max" => Aggregation::Max,
        "min" => Aggregation::Min,
        "sum" => Aggregation::Sum,
        _ => return Err(format!("it aggregates by {name}, not by max, min or sum")),
    };
    if groups { Err("it groups by labels".to_owned()) } else { Ok(Step::Aggregate(aggregation)) }
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
        _ => return Err(format!("it has the operator {written}")),
    };
    Ok(Step::Arithmetic(operator))
}

fn selector_of(written: &WrittenSelector) -> Result<Selector, Obstacle> {
    if written.is_modified {
        return Err("it looks at another time".to_owned());
    }
    let metric = published_metric(written)?;
    let matchers = of_labels(written).map(matcher_of).collect::<Result<Vec<_>, _>>()?;
    Ok(Selector { metric, selects: selects(matchers) })
}

fn of_labels(written: &WrittenSelector) -> impl Iterator<Item = &WrittenMatcher> {
    written.matchers.iter().filter(|it| it.label != METRIC_NAME)
}

fn published_metric(written: &WrittenSelector) -> Result<PublishedMetric, Obstacle> {
    let mut of_metric = written.matchers.iter().filter(|it| it.label == METRIC_NAME);
    let (Some(WrittenMatcher { comparison: Comparison::Equals, value: name, .. }), None) =
        (of_metric.next(), of_metric.next())
    else {
        return Err("it selects by patterns of metric names".to_owned());
    };
    let metric = PublishedMetric::ALL.into_iter().find(|it| it.name() == *name);
    metric.ok_or_else(|| format!("Almanac does not publish {name}"))
}

/// The one schedule that matchers say by name and namespace, or whichever they match.
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

fn matcher_of(written: &WrittenMatcher) -> Result<Matcher, Obstacle> {
    let label = match written.label.as_str() {
        NAME => Label::Name,
        NAMESPACE => Label::Namespace,
        other => return Err(format!("only Prometheus adds the label {other}")),
    };
    let value = || Box::from(written.value.as_str());
    let pattern = || {
        let why = || format!("'{}' is a pattern that only Prometheus knows", written.value);
        let parsed = if written.is_costly { None } else { Pattern::parse(&written.value) };
        parsed.ok_or_else(why)
    };
    let condition = match written.comparison {
        Comparison::Equals => Condition::Equals(value()),
        Comparison::Differs => Condition::Differs(value()),
        Comparison::Matches => Condition::Matches(pattern()?),
        Comparison::MatchesNot => Condition::MatchesNot(pattern()?),
    };
    Ok(Matcher { label, condition })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<Answer, Finding> {
        let mut findings = Vec::new();
        let query = check(text, &Path::Root.key("query"), &mut findings);
        query.map(|query| query.answer).ok_or_else(|| findings.remove(0))
    }

    #[test]
    fn what_is_no_promql_is_refused_with_what_was_meant_where_that_is_known() {
        for (text, message, fix) in [
            (
                "max(a, b)",
                "max takes one vector in PromQL; join several with 'or'",
                Some("write max(a or b)"),
            ),
            ("max(a, 3)", "not valid PromQL: max takes 1 argument, not 2", None),
            ("max(a", "not valid PromQL: unclosed \"max(\"", None),
            ("sum(a) bx (job)", "not valid PromQL: unexpected \"bx\", after \"sum(a)\"", None),
            (
                "sum(\n  rate(a[5m])\n) / / 2",
                "not valid PromQL: unexpected \"/\" in line 3, after \") /\"",
                None,
            ),
            ("a or 3", "not valid PromQL: 'or' takes two vectors, not a number", None),
            (
                "a[5m]",
                "yields a range of samples instead of one; use a function such as max_over_time",
                None,
            ),
            ("\"a\"", "yields a text instead of a number", None),
        ] {
            let finding = checked(text).unwrap_err();
            assert!(finding.message.ends_with(message), "{text}: {}", finding.message);
            assert_eq!(finding.fix.as_deref(), fix, "{text}");
        }
    }

    #[test]
    fn what_is_about_published_numbers_alone_is_answered_by_almanac() {
        for text in [
            "karpenter_scheduled_capacity",
            "{__name__=\"karpenter_scheduled_capacity\", namespace!=\"dev\"}",
            "karpenter_scheduled_replicas_value{name=~\"a|b\", name!~\"b.*\"}",
            "max(karpenter_scheduled_capacity or karpenter_scheduled_replicas_value)",
            "-2 ^ (sum(karpenter_scheduled_capacity) % 3) / 4 - +1",
            "3",
        ] {
            assert!(matches!(checked(text), Ok(Answer::Published(_))), "{text}");
        }
    }

    #[test]
    fn what_only_a_prometheus_can_answer_says_why() {
        for (text, why) in [
            ("up", "Almanac does not publish up"),
            ("max(karpenter_scheduled_capacity or queue)", "Almanac does not publish queue"),
            ("{name=\"a\"}", "it selects by patterns of metric names"),
            ("{__name__=~\"karpenter_.*\"}", "it selects by patterns of metric names"),
            ("karpenter_scheduled_capacity{job=\"almanac\"}", "only Prometheus adds the label job"),
            ("karpenter_scheduled_capacity offset 5m", "it looks at another time"),
            ("karpenter_scheduled_capacity @ 0", "it looks at another time"),
            ("max_over_time(karpenter_scheduled_capacity[5m])", "it calls max_over_time()"),
            ("sum by (name) (karpenter_scheduled_capacity)", "it groups by labels"),
            ("avg(karpenter_scheduled_capacity)", "it aggregates by avg, not by max, min or sum"),
            ("karpenter_scheduled_capacity > 3", "it has the operator >"),
            (
                "karpenter_scheduled_capacity + on (name) karpenter_scheduled_replicas_value",
                "it matches series by some of their labels",
            ),
        ] {
            match checked(text) {
                Ok(Answer::External(obstacle)) => assert_eq!(&*obstacle, why, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
