//! The results of queries over published numbers, as Prometheus would compute them.

use std::sync::Arc;

use almanac_engine::metric_scaling::{
    Aggregation, Condition, Expression, FiniteNumber, Label, Matcher, Operator, Pattern,
    PublishedMetric, SampleProblem, Selector, Selects, Step, evaluate,
};
use almanac_engine::{Exemptions, NamespaceMark, PolicyObject, World};
use almanac_fixtures::names;

use crate::support::monday;
use crate::support::schedule::Schedule;

/// The steps of an expression.
type Steps = Vec<Step>;

fn all() -> Steps {
    matching(Box::default())
}

fn matching(matchers: Box<[Matcher]>) -> Steps {
    let metric = PublishedMetric::ScheduledCapacity;
    vec![Step::Selector(Selector { metric, selects: Selects::Matching(matchers) })]
}

fn named(condition: Condition) -> Steps {
    matching(Box::from([Matcher { label: Label::Name, condition }]))
}

fn one(name: &str) -> Steps {
    named(Condition::Equals(name.into()))
}

fn max(of: Steps) -> Steps {
    [of, vec![Step::Aggregate(Aggregation::Max)]].concat()
}

fn or(left: Steps, right: Steps) -> Steps {
    [left, right, vec![Step::Or]].concat()
}

fn calculated(left: Steps, operator: Operator, right: f64) -> Steps {
    [left, vec![Step::Number(right), Step::Arithmetic(operator)]].concat()
}

/// The result of an expression where `a` publishes 2, `b` publishes 5 and `broken` publishes nothing.
fn answer(steps: Steps) -> Result<f64, SampleProblem> {
    answer_where(steps, |_| {})
}

/// The result with exemptions.
fn answer_where(steps: Steps, exempt: impl FnOnce(&mut Exemptions)) -> Result<f64, SampleProblem> {
    let mut world = World::default();
    for (name, value) in [("a", 2), ("b", 5)] {
        let object = PolicyObject::new(Schedule::utc(value).checked());
        world.scheduled_capacity.policies.insert(names::metrics_producer(name).identity, object);
    }
    let broken = PolicyObject { policy: None, created: None, memory: None };
    world.scheduled_capacity.policies.insert(names::metrics_producer("broken").identity, broken);
    exempt(Arc::make_mut(&mut world.objects.exempt));
    let answer = evaluate(&Expression::new(steps).unwrap(), world.view(), monday("09:00"));
    answer.map(FiniteNumber::get)
}

#[test]
fn a_query_must_yield_exactly_one_sample() {
    assert_eq!(answer(one("a")), Ok(2.0));
    assert_eq!(answer(one("c")), Err(SampleProblem::NoSample));
    assert_eq!(answer(all()), Err(SampleProblem::SeveralSamples { count: 2 }));
    assert_eq!(answer(vec![Step::Number(3.0)]), Ok(3.0));
}

#[test]
fn a_schedule_that_cannot_be_used_publishes_nothing() {
    assert_eq!(answer(one("broken")), Err(SampleProblem::NoSample));
    assert_eq!(answer(max(or(one("broken"), one("a")))), Ok(2.0));
}

#[test]
fn an_unreadable_namespace_of_a_schedule_leaves_the_query_without_a_number() {
    let unread = |exempt: &mut Exemptions| {
        let namespace = names::metrics_producer("a").identity;
        exempt.mark_namespace(namespace.namespace(), NamespaceMark::Unread);
    };
    let zero = or(one("a"), vec![Step::Number(0.0)]);
    for steps in [one("a"), max(all()), zero] {
        let why = answer_where(steps, unread).unwrap_err().to_string();
        let expected = "was not answered: the namespace default of a schedule cannot be read";
        assert!(why.starts_with(expected), "{why}");
    }
    assert_eq!(answer_where(one("c"), unread), Err(SampleProblem::NoSample));
    assert_eq!(answer_where(one("broken"), unread), Err(SampleProblem::NoSample));
}

#[test]
fn an_aggregation_of_nothing_is_nothing() {
    assert_eq!(answer(max(one("c"))), Err(SampleProblem::NoSample));
    assert_eq!(answer(max(all())), Ok(5.0));
}

#[test]
fn or_uses_the_left_one_of_two_equal_series() {
    let doubled = calculated(one("a"), Operator::Multiply, 2.0);
    assert_eq!(answer(or(doubled.clone(), one("a"))), Ok(4.0));
    assert_eq!(answer(or(one("a"), doubled)), Ok(2.0));
}

#[test]
fn a_pattern_matches_whole_names() {
    let matches = |pattern: &str| named(Condition::Matches(Pattern::parse(pattern).unwrap()));
    assert_eq!(answer(matches("a|c")), Ok(2.0));
    assert_eq!(answer(matches("bro")), Err(SampleProblem::NoSample));
    let not = named(Condition::MatchesNot(Pattern::parse("b.*").unwrap()));
    assert_eq!(answer(not), Ok(2.0));
}

#[test]
fn a_division_by_zero_is_not_finite() {
    for operator in [Operator::Divide, Operator::Remainder] {
        let answer = answer(calculated(one("a"), operator, 0.0));
        assert_eq!(answer, Err(SampleProblem::NotFinite), "{operator:?}");
    }
}

#[test]
fn steps_without_operands_or_with_two_results_are_not_an_expression() {
    for steps in [
        Vec::new(),
        vec![Step::Negate],
        vec![Step::Number(1.0), Step::Or],
        vec![Step::Number(1.0), Step::Number(2.0)],
    ] {
        assert!(Expression::new(steps.clone()).is_none(), "{steps:?}");
    }
}

#[test]
fn a_chain_of_any_length_is_evaluated_on_a_small_stack() {
    let evaluated = || {
        let increments = (0..100_000).map(|_| calculated(Vec::new(), Operator::Add, 1.0));
        answer(max(one("a")).into_iter().chain(increments.flatten()).collect())
    };
    let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(evaluated);
    assert_eq!(thread.unwrap().join().unwrap(), Ok(100_002.0));
}
