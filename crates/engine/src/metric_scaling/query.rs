//! A checked query: its string, and whether Almanac can evaluate it from the numbers that it publishes.
//!
//! Parsing `PromQL` is up to `almanac-api`; `evaluate` computes the result of an expression at an instant.

use std::sync::Arc;

use super::pattern::Pattern;
use super::{Autoscalers, SampleProblem};
use crate::seam::{Publisher, View};
use crate::{Exemption, Identity};

/// A query of an autoscaler.
#[derive(Clone, Debug)]
pub struct Query {
    /// The query as written. Prometheus receives this string.
    pub text: Arc<str>,
    /// The evaluator of the query.
    pub evaluator: QueryEvaluator,
    /// The schedules that the query names, for any source of the sample.
    pub names: Box<[Selects]>,
}

/// The component that can evaluate a query.
#[derive(Clone, Debug)]
pub enum QueryEvaluator {
    /// Almanac evaluates the query, because it reads only the numbers of schedules.
    Published(Expression),
    /// Only Prometheus can evaluate the query. The message contains the reason, and the change that makes Almanac able
    /// to.
    External(Arc<str>),
}

/// A query that requires no Prometheus: steps, each of which removes the results of earlier steps from a stack and
/// pushes its own. A query is as deep as it is long (`a + 1 + 1 …`), and is evaluated without recursion.
#[derive(Clone, Debug)]
pub struct Expression(Box<[Step]>);

/// A step of an expression.
#[derive(Clone, Debug)]
pub enum Step {
    /// A constant.
    Number(f64),
    /// The numbers of schedules.
    Selector(Selector),
    /// Negates the last result.
    Negate,
    /// Arithmetic with the last two results, between elements of the same schedule if both sides have elements.
    Arithmetic(Operator),
    /// Of the last two results, the elements of the left one, and the elements of the right one without a counterpart
    /// on the left.
    Or,
    /// Aggregates the last result into one number.
    Aggregate(Aggregation),
}

/// An operator between two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`, with the sign of the left side
    Remainder,
    /// `^`
    Power,
}

/// The aggregation of several numbers into one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aggregation {
    /// The largest number.
    Max,
    /// The smallest number.
    Min,
    /// The sum.
    Sum,
}

/// A selection of published numbers.
#[derive(Clone, Debug)]
pub struct Selector {
    /// The metric name of the numbers.
    pub metric: PublishedMetric,
    /// The schedules.
    pub selects: Selects,
}

/// The names under which a schedule publishes its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PublishedMetric {
    /// `karpenter_scheduled_capacity`
    ScheduledCapacity,
    /// `karpenter_scheduled_replicas_value`
    ScheduledReplicasValue,
}

/// The schedules that a selector selects.
#[derive(Clone, Debug)]
pub enum Selects {
    /// The schedule of this name.
    One(Identity),
    /// The schedules that meet all of these conditions.
    Matching(Box<[Matcher]>),
}

/// The requirement for a label.
#[derive(Clone, Debug)]
pub struct Matcher {
    /// The label.
    pub label: Label,
    /// The requirement.
    pub condition: Condition,
}

/// A label of a published number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Label {
    /// The name of the schedule.
    Name,
    /// The namespace of the schedule.
    Namespace,
}

/// The requirement for a label's value.
#[derive(Clone, Debug)]
pub enum Condition {
    /// `=`
    Equals(Box<str>),
    /// `!=`
    Differs(Box<str>),
    /// `=~`
    Matches(Pattern),
    /// `!~`
    MatchesNot(Pattern),
}

impl PublishedMetric {
    /// Both metric names.
    pub const ALL: [PublishedMetric; 2] =
        [PublishedMetric::ScheduledCapacity, PublishedMetric::ScheduledReplicasValue];

    /// The name of the published metric.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PublishedMetric::ScheduledCapacity => "karpenter_scheduled_capacity",
            PublishedMetric::ScheduledReplicasValue => "karpenter_scheduled_replicas_value",
        }
    }
}

impl Matcher {
    fn holds(&self, schedule: &Identity) -> bool {
        let value = match self.label {
            Label::Name => schedule.name(),
            Label::Namespace => schedule.namespace(),
        };
        match &self.condition {
            Condition::Equals(text) => value == &**text,
            Condition::Differs(text) => value != &**text,
            Condition::Matches(pattern) => pattern.is_match(value),
            Condition::MatchesNot(pattern) => !pattern.is_match(value),
        }
    }
}

impl Query {
    /// The schedules that the query names and that publish a number.
    pub(super) fn schedules<'a>(
        &'a self,
        view: View<'a, Autoscalers>,
    ) -> impl Iterator<Item = Publisher<'a>> {
        self.names.iter().flat_map(move |selects| selects.schedules(view))
    }

    /// The problem of a query over a schedule in an unreadable namespace.
    pub(super) fn unread(&self, view: View<'_, Autoscalers>) -> Option<SampleProblem> {
        self.names.iter().find_map(|selects| selects.unread(view))
    }
}

impl Selects {
    /// Whether the selector selects this schedule, if the schedule publishes a number.
    pub(super) fn includes(&self, schedule: &Identity) -> bool {
        match self {
            Selects::One(named) => named == schedule,
            Selects::Matching(matchers) => matchers.iter().all(|it| it.holds(schedule)),
        }
    }

    /// The selected schedules that publish a number: they are usable, and not exempt.
    pub(super) fn schedules<'a>(
        &'a self,
        view: View<'a, Autoscalers>,
    ) -> impl Iterator<Item = Publisher<'a>> {
        self.usable(view).filter(move |(schedule, _)| view.objects.exempt.get(schedule).is_none())
    }

    /// The problem of a selected schedule in a namespace with an unreadable ignore annotation.
    pub(super) fn unread(&self, view: View<'_, Autoscalers>) -> Option<SampleProblem> {
        let mut usable =
            view.objects.exempt.has_unread().then(|| self.usable(view)).into_iter().flatten();
        let is_unread = |schedule: &Identity| {
            view.objects.exempt.get(schedule) == Some(Exemption::UnreadNamespace)
        };
        let (schedule, _) = usable.find(|(schedule, _)| is_unread(schedule))?;
        let why = format!(
            "the namespace {} of a schedule cannot be read, and may be marked with almanac.dev/ignore",
            schedule.namespace()
        );
        Some(SampleProblem::NoAnswer { kind: "unread-namespace", why: why.into() })
    }

    /// The selected schedules that are valid.
    fn usable<'a>(
        &'a self,
        view: View<'a, Autoscalers>,
    ) -> Box<dyn Iterator<Item = Publisher<'a>> + 'a> {
        match self {
            Selects::One(schedule) => Box::new(view.peers.publisher(schedule).into_iter()),
            Selects::Matching(matchers) => {
                let all = view.peers.publishers();
                Box::new(all.filter(|(it, _)| matchers.iter().all(|matcher| matcher.holds(it))))
            }
        }
    }
}

impl Step {
    /// The number of results that the step removes from the stack.
    fn operands(&self) -> usize {
        match self {
            Step::Number(_) | Step::Selector(_) => 0,
            Step::Negate | Step::Aggregate(_) => 1,
            Step::Arithmetic(_) | Step::Or => 2,
        }
    }
}

impl Expression {
    /// Creates an expression; `None` if a step lacks an operand, or if the steps leave more or less than one result.
    #[must_use]
    pub fn new(steps: Vec<Step>) -> Option<Expression> {
        let results = steps
            .iter()
            .try_fold(0_usize, |results, step| Some(results.checked_sub(step.operands())? + 1));
        (results == Some(1)).then(|| Expression(steps.into()))
    }

    /// The steps, in the order of their evaluation.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Every selector of the expression, from left to right.
    pub fn selectors(&self) -> impl Iterator<Item = &Selector> {
        self.0.iter().filter_map(|step| match step {
            Step::Selector(selector) => Some(selector),
            _ => None,
        })
    }
}
