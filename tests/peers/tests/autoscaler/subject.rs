//! Runs a case with Almanac's autoscaler: the engine's own turns, over a world of one policy and one target.

use std::sync::Arc;

use almanac_engine::metric_scaling::{
    self, FiniteNumber, MetricScaling, MetricTarget, Query, QueryEvaluator, RatePolicy,
    ReplicaBounds, Sample, SampleProblem, ScalingRules, TargetType,
};
use almanac_engine::{
    Family, Identity, PolicyName, PolicyObject, Slim, Target, Workload, World, turn,
};
use almanac_peers::{Amount, Case, DEFAULT_DOWN_WINDOW, Metric, MetricKind, Rules, Select, Step};
use jiff::{SignedDuration, Timestamp};

/// The replicas after each step of a case.
pub(crate) fn live(case: &Case) -> Vec<u32> {
    let policy = PolicyName::new(
        Family::MetricScaling,
        named("autoscaling.karpenter.sh", "HorizontalAutoscaler"),
    );
    let target = named("apps", "Deployment");
    let mut world = World::default();
    world.metric_scaling.extra.settings.query_period =
        SignedDuration::from_secs(case.query_period.into());
    world.metric_scaling.extra.settings.tolerance = f64::from(case.tolerance) / 1_000.0;
    let object = PolicyObject::new(meaning(case, &target));
    world.upsert(policy.identity.clone(), Slim::MetricScaling(object));

    let (mut replicas, mut shown) = (case.replicas, case.replicas);
    let mut results = Vec::with_capacity(case.steps.len());
    for step in &case.steps {
        replicas = step.written.unwrap_or(replicas);
        let current = if case.is_behind { shown } else { replicas };
        shown = replicas;
        let workload = Workload { replicas: Some(replicas), current: Some(current) };
        world.upsert(target.clone(), Slim::Workload(workload));
        let now = instant(step.second);
        for (index, sample) in samples(step).enumerate() {
            let query = query(index).text;
            world
                .metric_scaling
                .extra
                .hold(&policy.identity, Sample::requested(query, now, sample));
        }
        turn::take(&mut world, &policy, now).expect("the policy has a turn");
        let workload = world.objects.workloads.get(&target).expect("the target exists");
        replicas = workload.replicas.expect("the target has replicas");
        results.push(replicas);
    }
    results
}

fn samples(step: &Step) -> impl Iterator<Item = Result<FiniteNumber, SampleProblem>> {
    step.samples.iter().map(|sample| match sample {
        Some(thousandths) => {
            Ok(FiniteNumber::new(f64::from(*thousandths) / 1_000.0).expect("the sample is finite"))
        }
        None => Err(SampleProblem::NoSample),
    })
}

fn meaning(case: &Case, target: &Identity) -> MetricScaling {
    MetricScaling {
        target: Target::Workload(target.clone()),
        target_version: Arc::from("apps/v1"),
        bounds: ReplicaBounds::new(case.minimum, case.maximum).expect("the bounds are ordered"),
        metrics: case.metrics.iter().enumerate().map(metric).collect(),
        up: rules(&case.up, 0),
        down: rules(&case.down, DEFAULT_DOWN_WINDOW),
    }
}

fn metric((index, metric): (usize, &Metric)) -> metric_scaling::Metric {
    let billionths = u128::from(metric.target) * 1_000_000;
    metric_scaling::Metric {
        query: query(index),
        target_type: match metric.kind {
            MetricKind::Value => TargetType::Value,
            MetricKind::AverageValue => TargetType::AverageValue,
        },
        target: MetricTarget::from_billionths(billionths).expect("the target is valid"),
    }
}

fn query(index: usize) -> Query {
    let text = Arc::from(format!("metric_{index}"));
    Query { text, evaluator: QueryEvaluator::External(Arc::from("")), names: Box::default() }
}

fn rules(rules: &Rules, default_window: u32) -> ScalingRules {
    let policies = rules.policies.iter().map(|policy| RatePolicy {
        amount: match policy.amount {
            Amount::Count(count) => metric_scaling::Amount::Replicas(count),
            Amount::Percent(percent) => metric_scaling::Amount::Percent(percent),
        },
        period_seconds: policy.period,
    });
    ScalingRules {
        window_seconds: rules.window.unwrap_or(default_window),
        select: match rules.select {
            None | Some(Select::Max) => metric_scaling::Select::Max,
            Some(Select::Min) => metric_scaling::Select::Min,
            Some(Select::Disabled) => metric_scaling::Select::Disabled,
        },
        policies: policies.collect(),
    }
}

fn instant(second: u32) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + i64::from(second)).expect("the instant is in range")
}

fn named(group: &str, kind: &str) -> Identity {
    Identity::new(group, kind, "default", "case")
}
