//! What queries over published numbers come to, as Prometheus would have it.

use almanac_engine::metric_scaling::{
    Aggregation, Condition, Expression, FiniteNumber, Label, Matcher, Operator, Pattern,
    PublishedMetric, SampleProblem, Selector, Selects, evaluate,
};
use almanac_engine::{PolicyObject, World};
use almanac_fixtures::names;

use crate::support::monday;
use crate::support::schedule::Schedule;

fn all() -> Expression {
    matching(Box::default())
}

fn matching(matchers: Box<[Matcher]>) -> Expression {
    let metric = PublishedMetric::ScheduledCapacity;
    Expression::Selector(Selector { metric, selects: Selects::Matching(matchers) })
}

fn named(condition: Condition) -> Expression {
    matching(Box::from([Matcher { label: Label::Name, condition }]))
}

fn one(name: &str) -> Expression {
    named(Condition::Equals(name.into()))
}

fn max(of: Expression) -> Expression {
    Expression::Aggregate(Aggregation::Max, Box::new(of))
}

fn or(left: Expression, right: Expression) -> Expression {
    Expression::Or(Box::new(left), Box::new(right))
}

fn calculated(left: Expression, operator: Operator, right: f64) -> Expression {
    Expression::Arithmetic(operator, Box::new(left), Box::new(Expression::Number(right)))
}

/// What an expression comes to where `a` publishes 2, `b` publishes 5 and `broken` publishes nothing.
fn answer(expression: &Expression) -> Result<f64, SampleProblem> {
    let mut world = World::default();
    for (name, value) in [("a", 2), ("b", 5)] {
        let object = PolicyObject::new(Schedule::utc(value).checked());
        world.scheduled_capacities.insert(names::metrics_producer(name).identity, object);
    }
    let broken = PolicyObject { policy: None, created: None, memory: None };
    world.scheduled_capacities.insert(names::metrics_producer("broken").identity, broken);
    let answer = evaluate(expression, &world, monday("09:00"));
    answer.map(FiniteNumber::get)
}

#[test]
fn a_query_has_to_come_to_exactly_one_sample() {
    assert_eq!(answer(&one("a")), Ok(2.0));
    assert_eq!(answer(&one("c")), Err(SampleProblem::NoSample));
    assert_eq!(answer(&all()), Err(SampleProblem::SeveralSamples { count: 2 }));
    assert_eq!(answer(&Expression::Number(3.0)), Ok(3.0));
}

#[test]
fn a_schedule_that_cannot_be_used_publishes_nothing() {
    assert_eq!(answer(&one("broken")), Err(SampleProblem::NoSample));
    assert_eq!(answer(&max(or(one("broken"), one("a")))), Ok(2.0));
}

#[test]
fn an_aggregation_of_nothing_is_nothing() {
    assert_eq!(answer(&max(one("c"))), Err(SampleProblem::NoSample));
    assert_eq!(answer(&max(all())), Ok(5.0));
}

#[test]
fn of_the_same_series_on_both_sides_of_or_the_left_one_counts() {
    let doubled = calculated(one("a"), Operator::Multiply, 2.0);
    assert_eq!(answer(&or(doubled.clone(), one("a"))), Ok(4.0));
    assert_eq!(answer(&or(one("a"), doubled)), Ok(2.0));
}

#[test]
fn a_pattern_matches_whole_names() {
    let matches = |pattern: &str| named(Condition::Matches(Pattern::parse(pattern).unwrap()));
    assert_eq!(answer(&matches("a|c")), Ok(2.0));
    assert_eq!(answer(&matches("bro")), Err(SampleProblem::NoSample));
    let not = named(Condition::MatchesNot(Pattern::parse("b.*").unwrap()));
    assert_eq!(answer(&not), Ok(2.0));
}

#[test]
fn what_is_divided_by_zero_is_no_finite_number() {
    for operator in [Operator::Divide, Operator::Remainder] {
        let answer = answer(&calculated(one("a"), operator, 0.0));
        assert_eq!(answer, Err(SampleProblem::NotFinite), "{operator:?}");
    }
}
