//! The status of a `ResourcePolicy`: the usage of its units, and its conditions.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::units::{Conflict, GroupReport, PolicyReport, ResourcePolicy, UnitCount};
use almanac_engine::{Exempt, Identity, counted, few, few_joined};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::finding::Finding;
use crate::lenient;
use crate::objects::{
    MAX_GROUPS, MAX_POLICIES, Observed, ResourcePolicyStatus, UnitGroupStatus, UnitStatus,
};
use crate::status::conditions::{
    ConditionReason, ConditionState, ConditionType, errors, exempt_conditions,
};

/// The inputs of the status of a policy.
pub struct StatusInput<'a> {
    /// The identity of the policy.
    pub policy: &'a Identity,
    /// The findings about the policy.
    pub findings: &'a [Finding],
    /// The exemption of the policy; `None` if the policy is not exempt.
    pub exempt: Option<Exempt>,
    /// Whether the namespace has the maximum number of older policies, so that this policy is not reconciled.
    pub is_surplus: bool,
    /// The counts of the policy; `None` if no pods are counted.
    pub report: Option<&'a PolicyReport>,
}

/// Writes the status.
#[must_use]
pub fn write(
    counted: Option<(&ResourcePolicy, &PolicyReport)>,
    conditions: Vec<Condition>,
    observed_generation: Option<i64>,
) -> ResourcePolicyStatus {
    let observed = Observed { observed_generation, conditions };
    let Some((policy, report)) = counted else {
        return ResourcePolicyStatus { observed, ..ResourcePolicyStatus::default() };
    };
    let units: Vec<UnitStatus> =
        (0..policy.units.len()).map(|index| unit(policy, report, index)).collect();
    let used = units.iter().map(|unit| i64::from(unit.used)).sum::<i64>();
    let spilled: u64 = report.groups.iter().map(|group| u64::from(group.spilled)).sum();
    ResourcePolicyStatus {
        observed,
        used: Some(i32::try_from(used).unwrap_or(i32::MAX)),
        spilled: Some(i32::try_from(spilled).unwrap_or(i32::MAX)),
        units,
    }
}

fn unit(policy: &ResourcePolicy, report: &PolicyReport, index: usize) -> UnitStatus {
    let spec = &policy.units[index];
    let counts = || report.groups.iter().filter_map(|group| Some((group, group.units.get(index)?)));
    let total = |count: fn(&UnitCount) -> u32| {
        counts().map(|(_, unit)| count(unit)).fold(0, u32::saturating_add)
    };
    let mut groups: Vec<(&GroupReport, &UnitCount)> = counts()
        .filter(|(group, unit)| !group.labels.is_empty() && unit.used + unit.leased > 0)
        .collect();
    groups.sort_by_key(|(_, unit)| std::cmp::Reverse(unit.used));
    let group = |(group, unit): (&GroupReport, &UnitCount)| UnitGroupStatus {
        labels: labels(group),
        used: lenient::number(unit.used),
        leased: lenient::number(unit.leased),
    };
    UnitStatus {
        name: spec.name.to_string(),
        max: spec.max.map(lenient::number),
        used: lenient::number(total(|unit| unit.used)),
        leased: lenient::number(total(|unit| unit.leased)),
        groups: groups.into_iter().take(MAX_GROUPS).map(group).collect(),
    }
}

fn labels(group: &GroupReport) -> BTreeMap<String, String> {
    let present = group.labels.iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
    present.map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

/// The conditions of a policy.
#[must_use]
pub fn condition_states(input: &StatusInput<'_>) -> Vec<ConditionState> {
    if let Some(exempt) = input.exempt {
        return exempt_conditions(exempt).into();
    }
    if input.is_surplus {
        let message = format!(
            "not applied: its namespace has more than {MAX_POLICIES} ResourcePolicies, and only the {MAX_POLICIES} \
             oldest are applied; delete those that you do not need"
        );
        let about = [ConditionType::Active, ConditionType::Ready];
        let surplus =
            |about| state((about, false, ConditionReason::TooManyPolicies), message.clone());
        return about.map(surplus).into();
    }
    let invalid = errors(input.findings);
    let active = match (&invalid, input.report) {
        (None, _) => state(
            (ConditionType::Active, true, ConditionReason::UnitsCounted),
            "pods are counted in units, and scheduled by these counts".to_owned(),
        ),
        (Some(why), Some(_)) => state(
            (ConditionType::Active, true, ConditionReason::PolicyInvalid),
            format!("the last valid version stays in effect: {why}"),
        ),
        (Some(why), None) => state(
            (ConditionType::Active, false, ConditionReason::PolicyInvalid),
            format!("not applied: {why}"),
        ),
    };
    let mut states = vec![active];
    let mut attention = invalid.map(|why| (ConditionReason::PolicyInvalid, why));
    if let Some(report) = input.report {
        let over = over_cap(report);
        let conflict = conflict(input.policy, &report.conflicts);
        let worse = [&over, &conflict].into_iter().find(|state| state.holds);
        attention = attention.or_else(|| worse.map(|it| (it.reason, it.message.clone())));
        states.extend([over, conflict]);
    }
    states.push(match attention {
        Some((reason, why)) => state((ConditionType::Ready, false, reason), why),
        None => state(
            (ConditionType::Ready, true, ConditionReason::UnitsCounted),
            input.report.map_or_else(nothing, without_attention),
        ),
    });
    states
}

fn over_cap(report: &PolicyReport) -> ConditionState {
    let over = |group: &GroupReport| {
        let over = group.units.iter().filter(|unit| unit.is_over_cap());
        let with = described(group);
        over.map(|unit| {
            let (name, max) = (&unit.name, unit.max.unwrap_or_default());
            format!("unit {name:?} has {} of {}{with}", unit.used, counted(max, "pod"))
        })
        .collect::<Vec<_>>()
    };
    let all: Vec<String> = report.groups.iter().flat_map(over).collect();
    if all.is_empty() {
        let within = "no unit has more pods than its maxCount".to_owned();
        return state((ConditionType::OverCap, false, ConditionReason::WithinCaps), within);
    }
    let all = few_joined(all, "; ");
    let message = format!("{all}; these units take no more pods, and none is evicted");
    state((ConditionType::OverCap, true, ConditionReason::TooManyPods), message)
}

fn conflict(policy: &Identity, conflicts: &[Conflict]) -> ConditionState {
    if conflicts.is_empty() {
        let only = "no other ResourcePolicy selects its pods".to_owned();
        return state((ConditionType::Conflict, false, ConditionReason::OnlyPolicy), only);
    }
    let one = |conflict: &Conflict| {
        let others = conflict.policies.iter().filter(|other| *other != policy);
        let others = few(others.map(Identity::name));
        let are = if conflict.pods == 1 { "pod is" } else { "pods are" };
        format!("{} {are} selected by {others} as well", conflict.pods)
    };
    let all: Vec<String> = conflicts.iter().map(one).collect();
    let all = few_joined(all, "; ");
    let message =
        format!("{all}; such pods are not scheduled; select each pod with only one policy");
    state((ConditionType::Conflict, true, ConditionReason::SeveralPolicies), message)
}

/// The message of Ready for a policy that needs no attention.
fn without_attention(report: &PolicyReport) -> String {
    let mut parts = vec![nothing()];
    let without: u32 = report.without_cost.values().copied().fold(0, u32::saturating_add);
    if without > 0 {
        let kind = |kind: &Arc<str>| match &**kind {
            "" => "no controller".to_owned(),
            kind => format!("a {kind}"),
        };
        let kinds = few(report.without_cost.keys().map(kind));
        parts.push(format!(
            "pods of {kinds}, which get no deletion cost, because only a ReplicaSet uses it: {without}"
        ));
    }
    if report.with_others_cost > 0 {
        let count = report.with_others_cost;
        parts.push(format!("pods with a deletion cost of their own, which is kept: {count}"));
    }
    parts.join("; ")
}

fn nothing() -> String {
    "nothing needs attention".to_owned()
}

/// The labels of a group in a message: ` with app=a and no pod-template-hash`.
fn described(group: &GroupReport) -> String {
    let label = |(key, value): &(Arc<str>, Option<Arc<str>>)| match value {
        Some(value) => format!("{key}={value}"),
        None => format!("no {key}"),
    };
    let labels: Vec<String> = group.labels.iter().map(label).collect();
    if labels.is_empty() { String::new() } else { format!(" with {}", labels.join(" and ")) }
}

fn state(
    (about, holds, reason): (ConditionType, bool, ConditionReason),
    message: String,
) -> ConditionState {
    ConditionState { about, holds, reason, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kind;

    fn named(number: usize) -> Identity {
        Kind::ResourcePolicy.identity("shop", &format!("{number:04}-{}", "x".repeat(245)))
    }

    #[test]
    fn a_policy_beyond_the_limit_reports_too_many_policies() {
        let policy = named(0);
        let input = StatusInput {
            policy: &policy,
            findings: &[],
            exempt: None,
            is_surplus: true,
            report: None,
        };
        let states = condition_states(&input);
        let about: Vec<ConditionType> = states.iter().map(|state| state.about).collect();
        assert_eq!(about, [ConditionType::Active, ConditionType::Ready]);
        for state in states {
            assert!(!state.holds);
            assert_eq!(state.reason, ConditionReason::TooManyPolicies);
            let expected = "not applied: its namespace has more than 64 ResourcePolicies, and only the 64 oldest \
                            are applied; delete those that you do not need";
            assert_eq!(state.message, expected);
        }
    }

    #[test]
    fn a_message_names_a_few_policies_and_owners_and_counts_the_rest() {
        let policy = named(0);
        let policies: Box<[Identity]> = (0..1_500).map(named).collect();
        let conflicts = vec![Conflict { policies, pods: 1 }];
        let without_cost = (0..1_000).map(|kind| (Arc::from(format!("Kind{kind}")), 1)).collect();
        for report in [
            PolicyReport { conflicts, ..PolicyReport::default() },
            PolicyReport { without_cost, ..PolicyReport::default() },
        ] {
            let report = Some(&report);
            let input = StatusInput {
                policy: &policy,
                findings: &[],
                exempt: None,
                is_surplus: false,
                report,
            };
            for state in condition_states(&input) {
                assert!(state.message.len() < 2_000, "{} bytes", state.message.len());
            }
        }
    }
}
