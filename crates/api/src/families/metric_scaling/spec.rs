//! The rules for a `HorizontalAutoscaler` and other autoscalers.

use almanac_engine::metric_scaling::{
    Amount, Metric, MetricScaling, PatternBudget, PatternPool, RatePolicy, ReplicaBounds,
    ScalingRules, Select, TargetType,
};
use almanac_engine::{Target, TargetReference};

use super::query;
use crate::families::Checked;
use crate::fields::target::check_target;
use crate::finding::{Code, Finding, Path, Severity};
use crate::objects::{
    self, FederatedHPASpec, HorizontalAutoscalerSpec, MetricTargetType, PrometheusMetric,
    ScalingPolicyType, SelectPolicy,
};
use crate::slim::quantity;

/// Checks a `HorizontalAutoscaler`. The value is present only if the whole object is valid: scaling by some of the
/// metrics would be wrong.
pub(super) fn check(
    written: &HorizontalAutoscalerSpec,
    namespace: &str,
    patterns: Option<&PatternPool>,
) -> Checked<MetricScaling> {
    let mut patterns = PatternBudget::new(patterns, namespace);
    let mut findings = Vec::new();
    let spec = Path::Root.key("spec");
    let reference = spec.key("scaleTargetRef");
    let target = check_target(&written.scale_target_ref, &reference, namespace, &mut findings);
    if let Some(Target::Autoscaler(autoscaler)) = target.as_ref().map(|it| &it.target) {
        let why = "an autoscaler has no replicas; name what it scales";
        let kind = autoscaler.kind();
        findings.push(Finding::invalid(Code::Target, &reference.key("kind"), kind, why));
    }
    let (min, max) = (written.min_replicas, written.max_replicas);
    for (name, bound) in [("minReplicas", min), ("maxReplicas", max)] {
        if bound < 0 {
            let why = "must be greater than or equal to 0";
            findings.push(Finding::invalid(Code::OutOfRange, &spec.key(name), bound, why));
        }
    }
    check_order(min, max, &spec, &mut findings);
    let list = spec.key("metrics");
    let metrics = written.metrics.iter().enumerate().map(|(position, metric)| {
        let metric_path = list.index(position);
        let path = metric_path.key("prometheus");
        check_metric(&metric.prometheus, &path, &mut patterns, &mut findings)
    });
    let metrics: Vec<Option<Metric>> = metrics.collect();
    let sound = !findings.iter().any(|finding| finding.severity() == Severity::Error);
    let behavior = written.behavior.as_ref();
    let policy = || {
        let TargetReference { target, api_version } = target?;
        Some(MetricScaling {
            target,
            target_version: api_version,
            bounds: ReplicaBounds::new(min.try_into().ok()?, max.try_into().ok()?).ok()?,
            metrics: metrics.into_iter().collect::<Option<_>>()?,
            up: rules(behavior.and_then(|it| it.scale_up.as_ref()), ScalingRules::default_up())?,
            down: rules(
                behavior.and_then(|it| it.scale_down.as_ref()),
                ScalingRules::default_down(),
            )?,
        })
    };
    let value = if sound { policy() } else { None };
    Checked { value, findings }
}

/// The rules of a direction, with defaults for omitted fields. `None` for numbers that the schema forbids.
fn rules(
    written: Option<&objects::ScalingRules>,
    by_default: ScalingRules,
) -> Option<ScalingRules> {
    let Some(written) = written else { return Some(by_default) };
    let policies = written.policies.iter().map(|policy| {
        let value = u32::try_from(policy.value).ok().filter(|value| *value > 0)?;
        let amount = match policy.kind {
            ScalingPolicyType::Count | ScalingPolicyType::Pods => Amount::Replicas(value),
            ScalingPolicyType::Percent => Amount::Percent(value),
        };
        let period_seconds = u32::try_from(policy.period_seconds).ok().filter(|it| *it > 0)?;
        Some(RatePolicy { amount, period_seconds })
    });
    let window_seconds = match written.stabilization_window_seconds {
        Some(seconds) => seconds.try_into().ok()?,
        None => by_default.window_seconds,
    };
    let select = match written.select_policy {
        Some(SelectPolicy::Max) => Select::Max,
        Some(SelectPolicy::Min) => Select::Min,
        Some(SelectPolicy::Disabled) => Select::Disabled,
        None => by_default.select,
    };
    Some(ScalingRules { window_seconds, select, policies: policies.collect::<Option<_>>()? })
}

/// Checks the bounds and the target of a `FederatedHPA`. The checked value is the target.
pub(in crate::families) fn check_federated(
    written: &FederatedHPASpec,
    namespace: &str,
) -> Checked<Target> {
    let mut findings = Vec::new();
    let spec = Path::Root.key("spec");
    let reference = spec.key("scaleTargetRef");
    let target = check_target(&written.scale_target_ref, &reference, namespace, &mut findings);
    let (min, max) = (written.min_replicas.unwrap_or(1), written.max_replicas);
    for (name, bound, least) in [("minReplicas", min, 0), ("maxReplicas", max, 1)] {
        if bound < least {
            let why = format!("must be greater than or equal to {least}");
            findings.push(Finding::invalid(Code::OutOfRange, &spec.key(name), bound, &why));
        }
    }
    if written.min_replicas.is_some() {
        check_order(min, max, &spec, &mut findings);
    }
    let sound = !findings.iter().any(|finding| finding.severity() == Severity::Error);
    let target = target.filter(|_| sound).map(|reference| reference.target);
    Checked { value: target, findings }
}

fn check_order(min: i32, max: i32, spec: &Path<'_>, findings: &mut Vec<Finding>) {
    if min > max {
        let why = format!("must not exceed maxReplicas, which is {max}");
        findings.push(Finding::invalid(Code::CrossedBounds, &spec.key("minReplicas"), min, &why));
    }
}

fn check_metric(
    metric: &PrometheusMetric,
    path: &Path<'_>,
    patterns: &mut PatternBudget,
    findings: &mut Vec<Finding>,
) -> Option<Metric> {
    let query = query::check(&metric.query, &path.key("query"), patterns, findings);
    let value = quantity::positive(&metric.target.value.0);
    if value.is_none() {
        let why = "must be a quantity greater than 0, such as 10 or 500m";
        let (target, written) = (path.key("target"), &metric.target.value.0);
        findings.push(Finding::invalid(Code::OutOfRange, &target.key("value"), written, why));
    }
    let target_type = match metric.target.kind {
        MetricTargetType::Value => TargetType::Value,
        MetricTargetType::AverageValue => TargetType::AverageValue,
        MetricTargetType::Utilization => TargetType::Utilization,
    };
    Some(Metric { query: query?, target_type, target: value? })
}
