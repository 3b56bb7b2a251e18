//! The value of an expression over published numbers at an instant: exactly the value in a Prometheus that has scraped
//! the numbers at that instant.
//! The series of a schedule differ only in the name and the namespace of the schedule, and in the name of the metric,
//! which neither `or` nor an aggregation reads. So the schedule identifies an element; the element of an aggregation
//! has none.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::query::{Aggregation, Expression, Operator, Step};
use super::{Autoscalers, FiniteNumber, SampleProblem};
use crate::Identity;
use crate::seam::View;

/// The value of an expression, or of one of its parts.
enum Evaluated<'a> {
    Scalar(f64),
    Vector(Vec<Element<'a>>),
}

struct Element<'a> {
    schedule: Option<&'a Identity>,
    value: f64,
}

/// The one number that an expression yields over the numbers that schedules publish at an instant. A schedule that
/// cannot be used, or is exempt, publishes none. While the ignore annotation of a namespace is unreadable, an
/// expression that reads one of its schedules has no value.
pub fn evaluate(
    expression: &Expression,
    view: View<'_, Autoscalers>,
    at: Timestamp,
) -> Result<FiniteNumber, SampleProblem> {
    if let Some(problem) = expression.selectors().find_map(|it| it.selects.unread(view)) {
        return Err(problem);
    }
    let number = match evaluated(expression, view, at) {
        Evaluated::Scalar(number) => number,
        Evaluated::Vector(elements) => match elements.as_slice() {
            [] => return Err(SampleProblem::NoSample),
            [only] => only.value,
            several => {
                let count = u32::try_from(several.len()).unwrap_or(u32::MAX);
                return Err(SampleProblem::SeveralSamples { count });
            }
        },
    };
    FiniteNumber::new(number).ok_or(SampleProblem::NotFinite)
}

fn evaluated<'a>(
    expression: &'a Expression,
    view: View<'a, Autoscalers>,
    at: Timestamp,
) -> Evaluated<'a> {
    let mut results: Vec<Evaluated<'a>> = Vec::new();
    for step in expression.steps() {
        // Every step has its operands, see `Expression::new`.
        let mut operand = || results.pop().unwrap_or(Evaluated::Vector(Vec::new()));
        let result = match step {
            Step::Number(number) => Evaluated::Scalar(*number),
            Step::Selector(selector) => {
                let published = selector.selects.schedules(view).map(|(schedule, published)| {
                    let value = f64::from(published.number_at(at));
                    Element { schedule: Some(schedule), value }
                });
                Evaluated::Vector(published.collect())
            }
            Step::Negate => operand().map(|value| -value),
            Step::Arithmetic(operator) => {
                let right = operand();
                match (operand(), right) {
                    (Evaluated::Scalar(left), right) => right.map(|it| operator.apply(left, it)),
                    (left, Evaluated::Scalar(right)) => left.map(|it| operator.apply(it, right)),
                    (Evaluated::Vector(left), Evaluated::Vector(right)) => {
                        Evaluated::Vector(matched(*operator, left, &right))
                    }
                }
            }
            Step::Or => {
                let right = operand().elements();
                Evaluated::Vector(joined(operand().elements(), right))
            }
            Step::Aggregate(aggregation) => {
                let value = aggregation.apply(&operand().elements());
                let element = value.map(|value| Element { schedule: None, value });
                Evaluated::Vector(element.into_iter().collect())
            }
        };
        results.push(result);
    }
    results.pop().unwrap_or(Evaluated::Vector(Vec::new()))
}

/// The elements of the left side, and the elements of the right side without a counterpart on the left.
fn joined<'a>(mut left: Vec<Element<'a>>, right: Vec<Element<'a>>) -> Vec<Element<'a>> {
    let schedules: BTreeSet<_> = left.iter().map(|it| it.schedule).collect();
    left.extend(right.into_iter().filter(|it| !schedules.contains(&it.schedule)));
    left
}

/// Arithmetic between elements of the same schedule.
fn matched<'a>(
    operator: Operator,
    left: Vec<Element<'a>>,
    right: &[Element<'a>],
) -> Vec<Element<'a>> {
    let right: BTreeMap<_, _> = right.iter().map(|it| (it.schedule, it.value)).collect();
    let pairs = left.into_iter().filter_map(|element| {
        let other = right.get(&element.schedule)?;
        Some(Element { value: operator.apply(element.value, *other), ..element })
    });
    pairs.collect()
}

impl<'a> Evaluated<'a> {
    fn map(self, change: impl Fn(f64) -> f64) -> Evaluated<'a> {
        match self {
            Evaluated::Scalar(number) => Evaluated::Scalar(change(number)),
            Evaluated::Vector(mut elements) => {
                for element in &mut elements {
                    element.value = change(element.value);
                }
                Evaluated::Vector(elements)
            }
        }
    }

    /// The elements. `or` and aggregations require vectors; a constant operand makes a query invalid.
    fn elements(self) -> Vec<Element<'a>> {
        match self {
            Evaluated::Scalar(value) => vec![Element { schedule: None, value }],
            Evaluated::Vector(elements) => elements,
        }
    }
}

impl Operator {
    fn apply(self, left: f64, right: f64) -> f64 {
        match self {
            Operator::Add => left + right,
            Operator::Subtract => left - right,
            Operator::Multiply => left * right,
            Operator::Divide => left / right,
            Operator::Remainder => left % right,
            Operator::Power => left.powf(right),
        }
    }
}

impl Aggregation {
    /// Aggregates elements into one number; `None` without elements.
    fn apply(self, elements: &[Element<'_>]) -> Option<f64> {
        let values = elements.iter().map(|element| element.value);
        match self {
            // NaN applies only without any other number, as in Prometheus.
            Aggregation::Max => values.reduce(f64::max),
            Aggregation::Min => values.reduce(f64::min),
            Aggregation::Sum => (!elements.is_empty()).then(|| sum(values)),
        }
    }
}

/// The sum with Neumaier's correction, which newer versions of Prometheus also use: without it, the last digit may
/// differ.
fn sum(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut correction) = (0.0_f64, 0.0_f64);
    for value in values {
        let next = sum + value;
        if next.is_infinite() {
            correction = 0.0;
        } else if sum.abs() >= value.abs() {
            correction += (sum - next) + value;
        } else {
            correction += (value - next) + sum;
        }
        sum = next;
    }
    sum + correction
}
