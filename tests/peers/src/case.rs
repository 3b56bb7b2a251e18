//! A case: one autoscaler over a period, in the terms that Kubernetes and Almanac share. `kubernetes` and the tests run
//! the cases.

use std::fmt;

/// The default window of scaling down in seconds, for Kubernetes and Almanac.
pub const DEFAULT_DOWN_WINDOW: u32 = 300;

/// The maximum window in a case, in seconds.
pub const MAX_WINDOW: u32 = 600;

/// The maximum period of a policy in a case, in seconds.
pub const MAX_PERIOD: u32 = 600;

/// One autoscaler over a period.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// The lower bound.
    pub minimum: u32,
    /// The upper bound.
    pub maximum: u32,
    /// The replicas in the target's spec at the start.
    pub replicas: u32,
    /// The tolerated deviation of a metric from its target, in thousandths of the target.
    pub tolerance: u32,
    /// Whether the target's status follows its spec one step late, and not immediately.
    pub is_behind: bool,
    /// The number of seconds after an own write during which the autoscaler keeps a change by another field manager.
    pub query_period: u32,
    /// The number of the target's replicas that are not ready.
    pub unready: u32,
    /// The behavior of scaling up.
    pub up: Rules,
    /// The behavior of scaling down.
    pub down: Rules,
    /// The measured metrics.
    pub metrics: Vec<Metric>,
    /// The reconciliations, and what is measured at each.
    pub steps: Vec<Step>,
}

/// The behavior of scaling in one direction. A `None` is absent in the spec.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    /// The stabilization window, in seconds.
    pub window: Option<u32>,
    /// The policy that applies.
    pub select: Option<Select>,
    /// The allowed changes, each within a period.
    pub policies: Vec<Policy>,
}

/// The selection of one of several policies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the words of the API")]
pub enum Select {
    Max,
    Min,
    Disabled,
}

/// A policy: the allowed change within a period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// The allowed change.
    pub amount: Amount,
    /// The period in seconds.
    pub period: u32,
}

/// The change that a policy allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// A number of replicas.
    Count(u32),
    /// A percentage of the replicas.
    Percent(u32),
}

/// A measured metric, and its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metric {
    /// The comparison with the target.
    pub kind: MetricKind,
    /// The target, in thousandths.
    pub target: u32,
}

/// The comparison of a metric with its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetricKind {
    /// With the target itself; the current replicas change the recommendation.
    Value,
    /// With the target for each replica.
    AverageValue,
}

/// One reconciliation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// Seconds since the start of the case.
    pub second: u32,
    /// The sample of each metric, in thousandths; `None` without a sample.
    pub samples: Vec<Option<u32>>,
    /// The replicas that another client has just set.
    pub written: Option<u32>,
}

impl Case {
    /// A case without limits, for tests that set only the relevant fields. It has one metric with a target of one for
    /// each replica, so that the recommendation equals the sample.
    #[must_use]
    pub fn following(replicas: u32, recommended: &[(u32, u32)]) -> Case {
        let steps = recommended.iter().map(|&(second, replicas)| Step {
            second,
            samples: vec![Some(replicas * 1_000)],
            written: None,
        });
        Case {
            minimum: 1,
            maximum: 1_000,
            replicas,
            tolerance: 0,
            is_behind: false,
            query_period: 0,
            unready: 0,
            up: Rules { window: Some(0), ..Rules::default() },
            down: Rules { window: Some(0), ..Rules::default() },
            metrics: vec![Metric { kind: MetricKind::AverageValue, target: 1_000 }],
            steps: steps.collect(),
        }
    }
}

/// A readable form of a case, on several lines.
impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { minimum, maximum, replicas, tolerance, .. } = self;
        writeln!(
            formatter,
            "{replicas} replicas, bounds {minimum} to {maximum}, tolerance 0.{tolerance:03}"
        )?;
        writeln!(
            formatter,
            "status {}",
            if self.is_behind { "one step late" } else { "immediately" }
        )?;
        for (direction, rules) in [("up", &self.up), ("down", &self.down)] {
            let Rules { window, select, policies } = rules;
            writeln!(
                formatter,
                "{direction}: window {window:?}, select {select:?}, policies {policies:?}"
            )?;
        }
        for (index, Metric { kind, target }) in self.metrics.iter().enumerate() {
            writeln!(formatter, "metric {index}: {kind:?}, target {target}m")?;
        }
        for (index, Step { second, samples, written }) in self.steps.iter().enumerate() {
            write!(formatter, "step {index}, second {second}: {samples:?}")?;
            match written {
                Some(replicas) => writeln!(formatter, ", written {replicas}")?,
                None => writeln!(formatter)?,
            }
        }
        Ok(())
    }
}
