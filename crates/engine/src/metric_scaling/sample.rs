//! The samples of queries, or the error of each. A failed request is an input of a decision, like everything else.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::FiniteNumber;
use crate::Identity;

/// The sample of a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    /// The query as written. A sample of the query before an edit does not count.
    pub query: Arc<str>,
    /// The instant of the request; `None` for a value that a user specifies for all times.
    pub at: Option<Timestamp>,
    /// The number, or the problem.
    pub value: Result<FiniteNumber, SampleProblem>,
    /// The instant of the request that last yielded a number. [`Samples::hold`] keeps it.
    pub last_number_at: Option<Timestamp>,
}

impl Sample {
    /// A sample of a query requested at this instant.
    #[must_use]
    pub fn requested(
        query: Arc<str>,
        at: Timestamp,
        value: Result<FiniteNumber, SampleProblem>,
    ) -> Sample {
        let last_number_at = value.is_ok().then_some(at);
        Sample { query, at: Some(at), value, last_number_at }
    }

    /// A sample that applies at all times.
    #[must_use]
    pub fn assumed(query: Arc<str>, value: Result<FiniteNumber, SampleProblem>) -> Sample {
        Sample { query, at: None, value, last_number_at: None }
    }
}

/// The reason that a query has no usable number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SampleProblem {
    /// The query selects nothing.
    NoSample,
    /// The query selects several series.
    SeveralSamples {
        /// The number of samples.
        count: u32,
    },
    /// The number is infinite, or not a number.
    NotFinite,
    /// The server did not respond.
    NoAnswer {
        /// The kind of reason.
        kind: &'static str,
        /// The reason, as a message for users.
        why: Arc<str>,
    },
    /// No request was sent yet.
    NotAsked,
    /// The query requires a Prometheus, and none is configured. The message contains the reason and the required
    /// change.
    External(Arc<str>),
    /// The last sample is too old.
    Stale {
        /// The instant of the sample.
        at: Timestamp,
    },
}

/// The source of samples for queries over metrics that Almanac itself publishes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Answerer {
    /// Almanac itself, at the instant of a decision.
    #[default]
    Almanac,
    /// Prometheus, which evaluates all other queries too.
    Prometheus,
}

/// The settings of all autoscalers of a process.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// The source of samples that Almanac could compute itself.
    pub answerer: Answerer,
    /// The age from which a sample does not count; `None` when samples do not expire.
    pub oldest: Option<SignedDuration>,
    /// The interval between two requests of a query.
    pub query_period: SignedDuration,
    /// The tolerance: a sample that differs from its target by at most this ratio changes nothing.
    pub tolerance: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        let query_period = SignedDuration::from_secs(10);
        Settings { answerer: Answerer::default(), oldest: None, query_period, tolerance: 0.0 }
    }
}

/// The samples of all queries, and the settings.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// The settings of all autoscalers.
    pub settings: Settings,
    by_policy: BTreeMap<Identity, Vec<Sample>>,
}

impl Samples {
    /// Stores the sample of a query of a policy, in place of an earlier one.
    pub fn hold(&mut self, policy: &Identity, mut sample: Sample) {
        let of_policy = match self.by_policy.get_mut(policy) {
            Some(known) => known,
            None => self.by_policy.entry(policy.clone()).or_default(),
        };
        match of_policy.iter_mut().find(|known| known.query == sample.query) {
            Some(known) => {
                sample.last_number_at = sample.last_number_at.or(known.last_number_at);
                *known = sample;
            }
            None => of_policy.push(sample),
        }
    }

    /// The last sample of a query of a policy.
    #[must_use]
    pub fn get(&self, policy: &Identity, query: &str) -> Option<&Sample> {
        self.by_policy.get(policy)?.iter().find(|sample| *sample.query == *query)
    }

    /// Removes the samples of queries that a policy no longer has.
    pub fn keep_only(&mut self, policy: &Identity, is_kept: impl Fn(&str) -> bool) {
        if let Some(known) = self.by_policy.get_mut(policy) {
            known.retain(|sample| is_kept(&sample.query));
            if known.is_empty() {
                self.by_policy.remove(policy);
            }
        }
    }

    /// The samples of some policies, with the same settings.
    pub(crate) fn part<'a>(&self, policies: impl Iterator<Item = &'a Identity>) -> Samples {
        let samples = policies.filter_map(|it| self.by_policy.get_key_value(it));
        let by_policy = samples.map(|(policy, all)| (policy.clone(), all.clone())).collect();
        Samples { by_policy, settings: self.settings }
    }
}

impl fmt::Display for SampleProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SampleProblem::NoSample => {
                formatter.write_str("selects nothing; it must yield exactly one sample")
            }
            SampleProblem::SeveralSamples { count } => write!(
                formatter,
                "yields {count} samples instead of one; select one series, or aggregate them with \
                 max, min or sum"
            ),
            SampleProblem::NotFinite => formatter.write_str("does not yield a finite number"),
            SampleProblem::NoAnswer { why, .. } => write!(formatter, "was not answered: {why}"),
            SampleProblem::NotAsked => formatter.write_str("has not been answered yet"),
            SampleProblem::External(why) => {
                write!(formatter, "cannot be answered without a Prometheus, because {why}")
            }
            SampleProblem::Stale { at } => write!(formatter, "was answered last at {at:.0}"),
        }
    }
}
