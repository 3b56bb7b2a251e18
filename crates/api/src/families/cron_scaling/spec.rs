//! From a `CronFederatedHPA` to its usable rules.
//!
//! An invalid rule never stops the others: it is skipped and reported.

use std::collections::BTreeSet;

use almanac_engine::cron_scaling::{
    Bounds, CronRule, CronScaling, DesiredScale, InvalidBounds, RuleContent, UnusableRule,
};
use almanac_engine::{Target, TargetReference};
use jiff::Timestamp;

use super::coincidence;
use super::max_delay::check_max_delay;
use crate::families::Checked;
use crate::fields::target::check_target;
use crate::finding::{Code, FieldPath, Finding, Path, Severity};
use crate::kinds::Kind;
use crate::kubernetes::KubernetesMinor;
use crate::objects::{CronFederatedHPARule, CronFederatedHPASpec};
use crate::reading::ConfusableCharacter;
use crate::schedule::check_firings;

/// Checks an object of `namespace` for a version of Kubernetes; `now` is the start of warnings about the future.
pub(super) fn check(
    written: &CronFederatedHPASpec,
    namespace: &str,
    now: Timestamp,
    kubernetes: Option<KubernetesMinor>,
) -> Checked<CronScaling> {
    let mut findings = Vec::new();
    let spec = Path::Root.key("spec");
    let reference = spec.key("scaleTargetRef");
    let reference = check_target(&written.scale_target_ref, &reference, namespace, &mut findings);
    let target = reference.as_ref().map(|it| &it.target);
    let list = spec.key("rules");
    check_unique_names(&written.rules, &list, &mut findings);
    let mut rules = Vec::new();
    let mut unusable = Vec::new();
    for (position, rule) in written.rules.iter().enumerate() {
        let path = list.index(position);
        let mut of_rule = Vec::new();
        let checked = check_rule(rule, position, (target, kubernetes), &path, &mut of_rule);
        let named_twice = findings.iter().any(|finding| finding.field.is_within(&(&path).into()));
        match checked.filter(|_| !named_twice) {
            Some(checked) => rules.push(checked),
            None if rule.name.is_empty() || named_twice => {}
            None => unusable.push(UnusableRule {
                name: rule.name.as_str().into(),
                position: u32::try_from(position).unwrap_or(u32::MAX),
            }),
        }
        findings.extend(of_rule);
    }
    coincidence::check(&rules, &list, now, &mut findings);
    let value = reference.map(|TargetReference { target, api_version }| CronScaling {
        target,
        target_version: api_version,
        rules: rules.into(),
        unusable_rules: unusable.into(),
    });
    Checked { value, findings }
}

fn check_unique_names(
    rules: &[CronFederatedHPARule],
    path: &Path<'_>,
    findings: &mut Vec<Finding>,
) {
    let mut seen = BTreeSet::new();
    for (position, rule) in rules.iter().enumerate() {
        if !rule.name.is_empty() && !seen.insert(rule.name.as_str()) {
            let message = format!("Duplicate value: {:?}", rule.name);
            let rule = path.index(position);
            findings
                .push(Finding::new(Code::DuplicateItem, rule.key("name"), message).with_fix(
                    "give every rule a unique name; its history is kept under that name",
                ));
        }
    }
}

fn check_rule(
    rule: &CronFederatedHPARule,
    position: usize,
    (target, kubernetes): (Option<&Target>, Option<KubernetesMinor>),
    path: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<CronRule> {
    check_name(rule, path, findings);
    let firings = check_firings(&rule.schedule, rule.time_zone.as_deref(), path, findings);
    let desired =
        target.and_then(|target| check_desired_scale(rule, (target, kubernetes), path, findings));
    let max_delay_seconds = check_max_delay(rule, firings.as_ref(), path, findings);
    let successful = check_limit(
        rule.successful_history_limit,
        1,
        &path.key("successfulHistoryLimit"),
        findings,
    );
    let failed =
        check_limit(rule.failed_history_limit, 0, &path.key("failedHistoryLimit"), findings);
    if findings.iter().any(|finding| finding.severity() == Severity::Error) {
        return None;
    }
    let (firings, desired, target) = (firings?, desired?, target?);
    let suspended = rule.suspend == Some(true);
    let content = RuleContent {
        target: target.identity(),
        schedule: &rule.schedule,
        zone: firings.zone(),
        desired,
        suspended,
    };
    let fingerprint = content.fingerprint();
    Some(CronRule {
        name: rule.name.as_str().into(),
        position: u32::try_from(position).unwrap_or(u32::MAX),
        firings,
        suspended,
        desired,
        max_delay_seconds,
        successful_history_limit: successful,
        failed_history_limit: failed,
        fingerprint,
    })
}

fn check_name(rule: &CronFederatedHPARule, path: &Path<'_>, findings: &mut Vec<Finding>) {
    if let Some(name) = &rule.rule_name {
        let why = "the field is name, not ruleName";
        findings.push(
            Finding::forbidden(Code::MistypedField, &path.key("ruleName"), why)
                .with_fix(format!("write name: {name}"))
                .with_replacement(rule.name.is_empty().then_some("name")),
        );
    } else if rule.name.is_empty() {
        findings.push(Finding::required(&path.key("name"), "every rule needs a unique name"));
    }
    if let Some(letter) = ConfusableCharacter::first_in_name(&rule.name) {
        let finding = Finding::new(Code::LookAlike, path.key("name"), letter.to_string());
        findings.push(finding.with_fix(letter.fix_inside()));
    }
    let length = rule.name.chars().count();
    if length > 32 {
        let message = format!("Too long: may not be more than 32 characters, this has {length}");
        findings.push(
            Finding::new(Code::OutOfRange, path.key("name"), message)
                .with_fix("shorten it to at most 32 characters"),
        );
    }
}

fn check_desired_scale(
    rule: &CronFederatedHPARule,
    (target, kubernetes): (&Target, Option<KubernetesMinor>),
    path: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<DesiredScale> {
    let may_be_zero = Kind::for_object(target.identity()) == Some(Kind::HorizontalPodAutoscaler);
    let is_zero_served = kubernetes.is_some_and(|it| it >= KubernetesMinor::SCALES_TO_ZERO);
    let least_min = i32::from(!(may_be_zero && is_zero_served));
    let written = [
        ("targetReplicas", rule.target_replicas, 0),
        ("targetMinReplicas", rule.target_min_replicas, least_min),
        ("targetMaxReplicas", rule.target_max_replicas, 1),
    ];
    let mut in_range = true;
    for (name, value, least) in written {
        if let Some(value) = value.filter(|value| *value < least) {
            let why = format!("must be greater than or equal to {least}");
            findings.push(Finding::invalid(Code::OutOfRange, &path.key(name), value, &why));
            in_range = false;
        }
    }
    if may_be_zero && rule.target_min_replicas == Some(0) {
        explain_zero(is_zero_served, &path.key("targetMinReplicas"), findings);
    }
    let kind = target.identity().kind();
    let ignored = |name: &str, findings: &mut Vec<Finding>| {
        let why = format!("a {kind} has no such bound, so this has no effect");
        findings.push(
            Finding::forbidden(Code::IgnoredField, &path.key(name), &why).with_fix("remove it"),
        );
    };
    let count = |value: Option<i32>| value.and_then(|value| u32::try_from(value).ok());
    match target {
        Target::Workload(_) => {
            for (name, value, _) in &written[1..] {
                if value.is_some() {
                    ignored(name, findings);
                }
            }
            if rule.target_replicas.is_none() {
                let why = format!("the number of replicas for the {kind}");
                findings.push(Finding::required(&path.key("targetReplicas"), &why));
            }
            count(rule.target_replicas).map(DesiredScale::Replicas)
        }
        Target::Autoscaler(_) => {
            if rule.target_replicas.is_some() {
                let why = format!("the {kind} decides the replicas, so this has no effect");
                findings.push(
                    Finding::forbidden(Code::IgnoredField, &path.key("targetReplicas"), &why)
                        .with_fix("set targetMinReplicas or targetMaxReplicas"),
                );
            }
            let bounds =
                Bounds::new(count(rule.target_min_replicas), count(rule.target_max_replicas));
            bounds
                .map_err(|invalid| {
                    if in_range {
                        findings.push(bounds_finding(rule, invalid, kind, path));
                    }
                })
                .ok()
                .map(DesiredScale::Bounds)
        }
    }
}

/// Reports the requirements of a lower bound of 0: a version of Kubernetes, and a CRD that allows 0.
fn explain_zero(is_served: bool, field: &Path<'_>, findings: &mut Vec<Finding>) {
    if is_served {
        let message = "a cluster with the CRD of Karmada refuses 0";
        findings.push(
            Finding::new(Code::OutOfRange, field, message)
                .with_fix("apply the CRD of Almanac to it, or write 1 or more")
                .as_info(),
        );
    } else if let Some(finding) = findings.iter_mut().find(|it| it.field == FieldPath::from(field))
    {
        let version = KubernetesMinor::SCALES_TO_ZERO;
        let fix = format!(
            "write 1 or more; 0 needs Kubernetes {version} or newer (for files: \
             --kubernetes-version {version})"
        );
        finding.fix = Some(fix.into());
    }
}

fn bounds_finding(
    rule: &CronFederatedHPARule,
    invalid: InvalidBounds,
    kind: &str,
    path: &Path<'_>,
) -> Finding {
    if let (InvalidBounds::Crossed, Some(min), Some(max)) =
        (invalid, rule.target_min_replicas, rule.target_max_replicas)
    {
        let why = format!("must not exceed targetMaxReplicas, which is {max}");
        return Finding::invalid(Code::CrossedBounds, &path.key("targetMinReplicas"), min, &why);
    }
    let why = format!("a rule for a {kind} sets targetMinReplicas, targetMaxReplicas or both");
    Finding::required(&path.key("targetMinReplicas"), &why)
}

fn check_limit(
    limit: Option<i32>,
    least: i32,
    field: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> u8 {
    let limit = limit.unwrap_or(3);
    if limit < least || limit > 32 {
        let why = format!("must be between {least} and 32");
        findings.push(Finding::invalid(Code::OutOfRange, field, limit, &why));
    }
    u8::try_from(limit).unwrap_or(3)
}
