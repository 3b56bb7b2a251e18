//! Metric scaling: sets a workload's replicas by the samples of queries, within bounds and at limited speed.

mod begin;
mod decide;
mod evaluate;
mod gather;
mod limits;
mod logic;
mod memory;
mod pattern;
mod policy;
mod presumed;
mod query;
mod reasons;
mod recommend;
mod sample;
mod settle;

pub use crate::number::{FiniteNumber, MetricTarget};
pub use decide::{Decision, decide, explain};
pub use evaluate::evaluate;
pub use gather::{Input, TargetState, gather, next_boundary};
pub use limits::{LimitedReplicas, changes_at, limit};
pub use memory::{
    Contest, LastScale, MAX_RECOMMENDATIONS, MAX_SCALE_EVENTS, Memory, Recommendation, ScaleEvent,
};
pub use pattern::{
    MAX_NAMESPACE_PATTERN_BYTES, MAX_OBJECT_COMPARISONS, MAX_OBJECT_PATTERN_BYTES,
    MAX_OBJECT_PATTERNS, MAX_PATTERN_BYTES, MAX_PROCESS_PATTERN_BYTES, Pattern, PatternBudget,
    PatternExcess, PatternFullness, PatternPool,
};
pub use policy::{
    Amount, CrossedBounds, Direction, Metric, MetricScaling, RatePolicy, ReplicaBounds,
    ScalingRules, Select, TargetType,
};
pub use query::{
    Aggregation, Condition, Expression, Label, Matcher, Operator, PublishedMetric, Query,
    QueryEvaluator, Selector, Selects, Step,
};
pub use reasons::{Cause, render, render_limited};
pub use recommend::recommendation;
pub use sample::{Answerer, Sample, SampleProblem, Samples, Settings};
pub use settle::{Recorded, Settlement, settle};

pub use logic::{Autoscalers, answer};
