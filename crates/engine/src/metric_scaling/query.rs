//! A checked query: its text, and whether Almanac can answer it by itself, from the numbers it publishes.
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
    /// As it is written; Prometheus is sent this.
    pub text: Arc<str>,
    /// The evaluator of the query.
    pub evaluator: QueryEvaluator,
    /// The schedules whose numbers it names, for any source of the sample.
    pub names: Box<[Selects]>,
}

/// The component that can evaluate a query.
#[derive(Clone, Debug)]
pub enum QueryEvaluator {
    /// Almanac: it is about nothing but the numbers of schedules.
    Published(Expression),
    /// Only Prometheus; why, and what to change so that Almanac can, in words for users.
    External(Arc<str>),
}

/// A query that needs no Prometheus: steps, each of which pops the results of earlier steps off a stack and pushes
/// its own. A query is as deep as it is long (`a + 1 + 1 …`), and is evaluated without recursion.
#[derive(Clone, Debug)]
pub struct Expression(Box<[Step]>);

/// A step of an expression.
#[derive(Clone, Debug)]
pub enum Step {
    /// A constant.
    Number(f64),
    /// The numbers of schedules.
    Selector(Selector),
    /// The last result with the other sign.
    Negate,
    /// Arithmetic with the last two results, between elements of the same schedule where both sides have some.
    Arithmetic(Operator),
    /// From the last two results, the elements of the left one, and those of the right one that have no counterpart
    /// there.
    Or,
    /// One number of the last result.
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
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// All together.
    Sum,
}

/// A selection of published numbers.
#[derive(Clone, Debug)]
pub struct Selector {
    /// Under which name they are published.
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
    /// The one of this name.
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
    /// Its namespace.
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
    /// Both of them.
    pub const ALL: [PublishedMetric; 2] =
        [PublishedMetric::ScheduledCapacity, PublishedMetric::ScheduledReplicasValue];

    /// As it is published.
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
    /// The schedules whose numbers it names, as far as they publish any.
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
    /// Whether this schedule is meant, if it publishes a number.
    pub(super) fn includes(&self, schedule: &Identity) -> bool {
        match self {
            Selects::One(named) => named == schedule,
            Selects::Matching(matchers) => matchers.iter().all(|it| it.holds(schedule)),
        }
    }

    /// The schedules that are meant, of those that publish a number: they can be used, and are not exempt.
    pub(super) fn schedules<'a>(
        &'a self,
        view: View<'a, Autoscalers>,
    ) -> impl Iterator<Item = Publisher<'a>> {
        self.usable(view).filter(move |(schedule, _)| view.objects.exempt.get(schedule).is_none())
    }

    /// The problem of a selected schedule in a namespace whose mark is unreadable.
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
    /// The number of results that it takes off the stack.
    fn operands(&self) -> usize {
        match self {
            Step::Number(_) | Step::Selector(_) => 0,
            Step::Negate | Step::Aggregate(_) => 1,
            Step::Arithmetic(_) | Step::Or => 2,
        }
    }
}

impl Expression {
    /// `None` if a step lacks an operand, or if the steps leave anything but one result.
    #[must_use]
    pub fn new(steps: Vec<Step>) -> Option<Expression> {
        let results = steps
            .iter()
            .try_fold(0_usize, |results, step| Some(results.checked_sub(step.operands())? + 1));
        (results == Some(1)).then(|| Expression(steps.into()))
    }

    /// The steps, in the order in which they are taken.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Every selector in it, from left to right.
    pub fn selectors(&self) -> impl Iterator<Item = &Selector> {
        self.0.iter().filter_map(|step| match step {
            Step::Selector(selector) => Some(selector),
            _ => None,
        })
    }
}
