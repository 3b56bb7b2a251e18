//! From the text of a query to what the engine has to know of it.
//!
//! What is `PromQL`, and what is not, is decided by a parser of it. What Almanac can answer by itself is decided
//! here; everything else is left to a Prometheus, with what stands in the way.

mod not_promql;

use std::convert::Infallible;
use std::sync::Arc;

use almanac_engine::metric_scaling::{
    Aggregation, Answer, Condition, Expression, Label, Matcher, Operator, Pattern, PublishedMetric,
    Query, Selector, Selects,
};
use promql_parser::label::{METRIC_NAME, MatchOp, Matcher as WrittenMatcher};
use promql_parser::parser::value::ValueType;
use promql_parser::parser::{
    AggregateExpr, BinaryExpr, Expr, VectorMatchCardinality, VectorSelector, parse, token,
};
use promql_parser::util::visitor::{ExprVisitor, walk_expr};

use crate::finding::{Code, Finding, Path};
use crate::kinds::Kind;

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
    let parsed = match parse(text) {
        Ok(parsed) => parsed,
        Err(why) => {
            findings.push(not_promql::finding(text, &why, path));
            return None;
        }
    };
    match parsed.value_type() {
        ValueType::Scalar | ValueType::Vector => {}
        ValueType::Matrix => {
            let why = "yields a range of samples instead of one; use a function such as \
                       max_over_time";
            findings.push(Finding::invalid(Code::Query, path, text, why));
            return None;
        }
        ValueType::String => {
            let why = "yields a text instead of a number";
            findings.push(Finding::invalid(Code::Query, path, text, why));
            return None;
        }
    }
    let answer = match published(&parsed) {
        Ok(expression) => Answer::Published(expression),
        Err(obstacle) => Answer::External(obstacle.into()),
    };
    Some(Query { text: Arc::from(text), answer, names: named(&parsed) })
}

/// The schedules whose numbers a query names, whatever else it says. What nobody but Prometheus knows of a
/// selector leaves more of them.
fn named(written: &Expr) -> Box<[Selects]> {
    let mut selectors = Selectors(Vec::new());
    match walk_expr(&mut selectors, written) {
        Ok(_) => {}
        Err(never) => match never {},
    }
    selectors.0.into()
}

struct Selectors(Vec<Selects>);

impl ExprVisitor for Selectors {
    type Error = Infallible;

    fn pre_visit(&mut self, written: &Expr) -> Result<bool, Infallible> {
        let selector = match written {
            Expr::VectorSelector(selector) => Some(selector),
            Expr::MatrixSelector(range) => Some(&range.vs),
            _ => None,
        };
        let selector = selector.filter(|it| published_metric(it).is_ok());
        self.0.extend(selector.map(|selector| {
            let labels = of_labels(selector).filter_map(|matcher| matcher_of(matcher).ok());
            selects(labels.collect())
        }));
        Ok(true)
    }
}

/// The expression, if Almanac can answer it from what it publishes.
fn published(written: &Expr) -> Result<Expression, Obstacle> {
    match written {
        Expr::NumberLiteral(literal) => Ok(Expression::Number(literal.val)),
        Expr::Paren(inner) => published(&inner.expr),
        Expr::Unary(inner) => Ok(Expression::Negated(Box::new(published(&inner.expr)?))),
        Expr::VectorSelector(selector) => Ok(Expression::Selector(selector_of(selector)?)),
        Expr::Aggregate(aggregate) => aggregate_of(aggregate),
        Expr::Binary(binary) => binary_of(binary),
        Expr::Call(call) => Err(format!("it calls {}()", call.func.name)),
        Expr::Subquery(_) | Expr::MatrixSelector(_) => Err("it looks back in time".to_owned()),
        Expr::StringLiteral(_) | Expr::Extension(_) => Err("it is not about numbers".to_owned()),
    }
}

fn aggregate_of(written: &AggregateExpr) -> Result<Expression, Obstacle> {
    let aggregation = match written.op.id() {
        token::T_MAX => Aggregation::Max,
        token::T_MIN => Aggregation::Min,
        token::T_SUM => Aggregation::Sum,
        _ => return Err(format!("it aggregates by {}, not by max, min or sum", written.op)),
    };
    if written.modifier.is_some() {
        return Err("it groups by labels".to_owned());
    }
    Ok(Expression::Aggregate(aggregation, Box::new(published(&written.expr)?)))
}

fn binary_of(written: &BinaryExpr) -> Result<Expression, Obstacle> {
    let is_matched_by_labels = written.modifier.as_ref().is_some_and(|modifier| {
        let is_plain = matches!(
            modifier.card,
            VectorMatchCardinality::OneToOne | VectorMatchCardinality::ManyToMany
        );
        let fill = &modifier.fill_values;
        !is_plain || modifier.matching.is_some() || fill.lhs.is_some() || fill.rhs.is_some()
    });
    if is_matched_by_labels {
        return Err("it matches series by some of their labels".to_owned());
    }
    let operator = match written.op.id() {
        token::T_LOR => None,
        token::T_ADD => Some(Operator::Add),
        token::T_SUB => Some(Operator::Subtract),
        token::T_MUL => Some(Operator::Multiply),
        token::T_DIV => Some(Operator::Divide),
        token::T_MOD => Some(Operator::Remainder),
        token::T_POW => Some(Operator::Power),
        _ => return Err(format!("it has the operator {}", written.op)),
    };
    let (left, right) = (Box::new(published(&written.lhs)?), Box::new(published(&written.rhs)?));
    Ok(match operator {
        None => Expression::Or(left, right),
        Some(operator) => Expression::Arithmetic(operator, left, right),
    })
}

fn selector_of(written: &VectorSelector) -> Result<Selector, Obstacle> {
    if written.offset.is_some() || written.at.is_some() {
        return Err("it looks at another time".to_owned());
    }
    if !written.matchers.or_matchers.is_empty() {
        return Err("it has 'or' between label matchers".to_owned());
    }
    let metric = published_metric(written)?;
    let matchers = of_labels(written).map(matcher_of).collect::<Result<Vec<_>, _>>()?;
    Ok(Selector { metric, selects: selects(matchers) })
}

fn of_labels(written: &VectorSelector) -> impl Iterator<Item = &WrittenMatcher> {
    written.matchers.matchers.iter().filter(|it| it.name != METRIC_NAME)
}

fn published_metric(written: &VectorSelector) -> Result<PublishedMetric, Obstacle> {
    let of_metric = written.matchers.matchers.iter().filter(|it| it.name == METRIC_NAME);
    let of_metric = of_metric.map(|it| matches!(it.op, MatchOp::Equal).then_some(&*it.value));
    let metric: Option<Vec<&str>> = of_metric.chain(written.name.as_deref().map(Some)).collect();
    let Some([name]) = metric.as_deref() else {
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
    let label = match written.name.as_str() {
        NAME => Label::Name,
        NAMESPACE => Label::Namespace,
        other => return Err(format!("only Prometheus adds the label {other}")),
    };
    let value = || Box::from(written.value.as_str());
    let pattern = || {
        let why = || format!("'{}' is a pattern that only Prometheus knows", written.value);
        Pattern::parse(&written.value).ok_or_else(why)
    };
    let condition = match written.op {
        MatchOp::Equal => Condition::Equals(value()),
        MatchOp::NotEqual => Condition::Differs(value()),
        MatchOp::Re(_) => Condition::Matches(pattern()?),
        MatchOp::NotRe(_) => Condition::MatchesNot(pattern()?),
    };
    Ok(Matcher { label, condition })
}

#[cfg(test)]
mod tests {
    use super::not_promql::several_vectors;
    use super::*;

    fn checked(text: &str) -> Result<Answer, Finding> {
        let mut findings = Vec::new();
        let query = check(text, &Path::Root.key("query"), &mut findings);
        query.map(|query| query.answer).ok_or_else(|| findings.remove(0))
    }

    #[test]
    fn a_comma_between_vectors_is_told_from_commas_within_them() {
        assert_eq!(
            several_vectors(r#"max(a{x="1",y=","}, b{name="schedules"})"#),
            Some(("max", r#"max(a{x="1",y=","} or b{name="schedules"})"#.to_owned()))
        );
        assert_eq!(several_vectors("max(a or b)"), None);
        assert_eq!(several_vectors("max(a) + min(b, c)"), None);
        assert_eq!(several_vectors("quantile(0.9, a)"), None);
    }

    #[test]
    fn what_is_no_promql_is_refused_with_what_was_meant_where_that_is_known() {
        for (text, message, fix) in [
            (
                "max(a, b)",
                "max takes one vector in PromQL; join several with 'or'",
                Some("write max(a or b)"),
            ),
            (
                "max(a, 3)",
                "not valid PromQL: wrong number of arguments for aggregate expression provided, \
                 expected 1, got 2",
                None,
            ),
            ("max(a", "not valid PromQL: unclosed left parenthesis", None),
            ("sum(a) bx (job)", "not valid PromQL: unexpected \"bx\", behind \"sum(a)\"", None),
            (
                "sum(\n  rate(a[5m])\n) / / 2",
                "not valid PromQL: unexpected \"/\" in line 3, behind \")\"",
                None,
            ),
            (
                "a or 3",
                "not valid PromQL: set operator 'or' not allowed in binary scalar expression",
                None,
            ),
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
