//! The conditions of a status, following the Kubernetes conventions.
//!
//! A [`ConditionState`] is a condition without its transition time, which is derived from the previous conditions.

use almanac_engine::Exempt;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::Value;

use crate::finding::{Finding, Severity};
use crate::lenient;
use crate::objects::MAX_CONDITION_MESSAGE;

/// The maximum number of findings that a message lists; the others are counted.
const MAX_FINDINGS_IN_MESSAGE: usize = 5;

/// The maximum number of characters of a finding in a message.
const FINDING_CHARACTERS: usize = 1_000;

/// The type of a condition. A status lists its conditions in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ConditionType {
    /// The object is reconciled, at least in part.
    Active,
    /// The target can be scaled.
    AbleToScale,
    /// The recommended number of replicas is within the bounds.
    ScalingUnbounded,
    /// A placement cannot be used as written. True is bad, as in Open Cluster Management.
    PlacementMisconfigured,
    /// A placement has as many clusters as it requires.
    PlacementSatisfied,
    /// A node unit has more pods than its cap. True is bad.
    OverCap,
    /// Other policies for units of nodes select some of the pods as well. True is bad.
    Conflict,
    /// Nothing about the object needs its user's attention.
    Ready,
    /// The CRD in the cluster lacks fields of ours. True is bad, and the condition is only present if True.
    SchemaIncomplete,
}

/// The reason of a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConditionReason {
    /// Rules are active, and fire at their times.
    Armed,
    /// Every rule is suspended.
    Suspended,
    /// Some rules are invalid as written.
    RulesInvalid,
    /// No rule is usable.
    NoUsableRule,
    /// All attempts at the last firing of a rule failed until it was too late.
    LastFiringFailed,
    /// Another field manager has immediately replaced the value that a rule has set.
    UndoneByAnotherWriter,
    /// No object has the name of the target.
    TargetNotFound,
    /// The target has nothing to scale.
    TargetNotScalable,
    /// The API server denies reading or changing the target.
    TargetForbidden,
    /// The cluster does not serve the target's kind.
    TargetUnknownKind,
    /// The target is cluster-scoped, which is not allowed.
    ClusterScopedTarget,
    /// The schedule is published.
    Scheduled,
    /// The schedule is invalid as written.
    ScheduleInvalid,
    /// A part of the design that is not supported.
    Unsupported,
    /// An autoscaler is invalid as written.
    AutoscalerInvalid,
    /// Every query has a number.
    MetricsAvailable,
    /// A query has no number that could be used.
    MetricUnavailable,
    /// Only a Prometheus can evaluate a query, and none is configured.
    PrometheusRequired,
    /// A recommendation is applied immediately.
    ReadyForNewScale,
    /// The window for scaling up holds a recommendation back.
    ScaleUpStabilized,
    /// The window for scaling down holds a recommendation back.
    ScaleDownStabilized,
    /// The policies hold a recommendation back.
    RateLimited,
    /// The direction is disabled.
    ScalingDisabled,
    /// The last attempt to scale failed.
    ScaleFailed,
    /// The target could not be read for now.
    TargetUnreadable,
    /// A recommendation depends on the current number of replicas, which is unknown.
    ReplicasUnknown,
    /// Neither bound makes a difference.
    WithinBounds,
    /// More replicas are recommended than the upper bound allows.
    TooManyReplicas,
    /// Fewer replicas are recommended than the lower bound allows.
    TooFewReplicas,
    /// Nothing about an autoscaler needs attention.
    Scaling,
    /// The provider adds and removes the nodes of a group as specified.
    NodesProvided,
    /// The provider does not support the specification of a group.
    GroupInvalid,
    /// A node with the name of one of the group's nodes does not belong to the group.
    NodeNameTaken,
    /// The provider of nodes failed to create, remove or list some.
    ProviderFailed,
    /// A placement has a decision.
    Selecting,
    /// An annotation keeps the selection of a placement unchanged.
    Disabled,
    /// A placement, or a set that it selects from, is invalid as written.
    PlacementInvalid,
    /// A placement is invalid as written, in the term of Open Cluster Management.
    Misconfigured,
    /// A placement can be used as written.
    Succeedconfigured,
    /// No set that exists is bound to the namespace of a placement.
    NoManagedClusterSetBindings,
    /// None of the sets that a placement names is bound to its namespace.
    NoIntersection,
    /// The sets of a placement contain no clusters.
    AllManagedClusterSetsEmpty,
    /// No cluster can be selected.
    NoManagedClusterMatched,
    /// The evaluation of the expressions of a placement takes too many steps.
    ExpressionsTooCostly,
    /// More clusters are requested than may be selected.
    NotAllDecisionsScheduled,
    /// As many clusters are selected as requested.
    AllDecisionsScheduled,
    /// The selection of a placement could not be written.
    DecisionNotWritten,
    /// Another owner's object has the name of a decision.
    DecisionNameTaken,
    /// A taint does not have the time of its addition, so its toleration never ends.
    TaintWithoutTimeAdded,
    /// Pods are counted in units, and scheduled by these counts.
    UnitsCounted,
    /// A policy for units is invalid as written.
    PolicyInvalid,
    /// No unit has more pods than its cap.
    WithinCaps,
    /// A unit has more pods than its cap.
    TooManyPods,
    /// No other policy selects the pods.
    OnlyPolicy,
    /// Other policies select some of the pods as well.
    SeveralPolicies,
    /// The namespace has more policies than are reconciled.
    TooManyPolicies,
    /// The cluster does not serve a kind that the object depends on.
    KindNotServed,
    /// The stop annotation stops all writes.
    Stopped,
    /// The object or its target is exempt from all policies.
    Exempt,
    /// The namespace of the object cannot be read, so it is unknown whether the object is exempt.
    NamespaceUnreadable,
    /// The upstream controller of its kind runs in the cluster, and reconciles the object.
    UpstreamController,
    /// Writes to some fields are lost, because the CRD lacks these fields.
    FieldsMissing,
    /// The CRD now has the fields that were missing.
    FieldsServed,
}

impl ConditionType {
    /// All types, in the order of a status.
    pub const ALL: [ConditionType; 9] = [
        Self::Active,
        Self::AbleToScale,
        Self::ScalingUnbounded,
        Self::PlacementMisconfigured,
        Self::PlacementSatisfied,
        Self::OverCap,
        Self::Conflict,
        Self::Ready,
        Self::SchemaIncomplete,
    ];

    /// The `type` of the condition.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "Active",
            Self::AbleToScale => "AbleToScale",
            Self::ScalingUnbounded => "ScalingUnbounded",
            Self::PlacementMisconfigured => "PlacementMisconfigured",
            Self::PlacementSatisfied => "PlacementSatisfied",
            Self::OverCap => "OverCap",
            Self::Conflict => "Conflict",
            Self::Ready => "Ready",
            Self::SchemaIncomplete => "SchemaIncomplete",
        }
    }
}

impl ConditionReason {
    /// The `reason` of the condition.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Armed => "Armed",
            Self::Suspended => "Suspended",
            Self::RulesInvalid => "RulesInvalid",
            Self::NoUsableRule => "NoUsableRule",
            Self::LastFiringFailed => "LastFiringFailed",
            Self::UndoneByAnotherWriter => "UndoneByAnotherWriter",
            Self::TargetNotFound => "TargetNotFound",
            Self::TargetNotScalable => "TargetNotScalable",
            Self::TargetForbidden => "TargetForbidden",
            Self::TargetUnknownKind => "TargetUnknownKind",
            Self::ClusterScopedTarget => "ClusterScopedTarget",
            Self::Scheduled => "Scheduled",
            Self::ScheduleInvalid => "ScheduleInvalid",
            Self::Unsupported => "Unsupported",
            Self::AutoscalerInvalid => "AutoscalerInvalid",
            Self::MetricsAvailable => "MetricsAvailable",
            Self::MetricUnavailable => "MetricUnavailable",
            Self::PrometheusRequired => "PrometheusRequired",
            Self::ReadyForNewScale => "ReadyForNewScale",
            Self::ScaleUpStabilized => "ScaleUpStabilized",
            Self::ScaleDownStabilized => "ScaleDownStabilized",
            Self::RateLimited => "RateLimited",
            Self::ScalingDisabled => "ScalingDisabled",
            Self::ScaleFailed => "ScaleFailed",
            Self::TargetUnreadable => "TargetUnreadable",
            Self::ReplicasUnknown => "ReplicasUnknown",
            Self::WithinBounds => "WithinBounds",
            Self::TooManyReplicas => "TooManyReplicas",
            Self::TooFewReplicas => "TooFewReplicas",
            Self::Scaling => "Scaling",
            Self::NodesProvided => "NodesProvided",
            Self::GroupInvalid => "GroupInvalid",
            Self::NodeNameTaken => "NodeNameTaken",
            Self::ProviderFailed => "ProviderFailed",
            Self::Selecting => "Selecting",
            Self::Disabled => "Disabled",
            Self::PlacementInvalid => "PlacementInvalid",
            Self::Misconfigured => "Misconfigured",
            Self::Succeedconfigured => "Succeedconfigured",
            Self::NoManagedClusterSetBindings => "NoManagedClusterSetBindings",
            Self::NoIntersection => "NoIntersection",
            Self::AllManagedClusterSetsEmpty => "AllManagedClusterSetsEmpty",
            Self::NoManagedClusterMatched => "NoManagedClusterMatched",
            Self::ExpressionsTooCostly => "ExpressionsTooCostly",
            Self::NotAllDecisionsScheduled => "NotAllDecisionsScheduled",
            Self::AllDecisionsScheduled => "AllDecisionsScheduled",
            Self::DecisionNotWritten => "DecisionNotWritten",
            Self::DecisionNameTaken => "DecisionNameTaken",
            Self::TaintWithoutTimeAdded => "TaintWithoutTimeAdded",
            Self::UnitsCounted => "UnitsCounted",
            Self::PolicyInvalid => "PolicyInvalid",
            Self::WithinCaps => "WithinCaps",
            Self::TooManyPods => "TooManyPods",
            Self::OnlyPolicy => "OnlyPolicy",
            Self::SeveralPolicies => "SeveralPolicies",
            Self::TooManyPolicies => "TooManyPolicies",
            Self::KindNotServed => "KindNotServed",
            Self::Stopped => "Stopped",
            Self::Exempt => "Exempt",
            Self::NamespaceUnreadable => "NamespaceUnreadable",
            Self::UpstreamController => "UpstreamController",
            Self::FieldsMissing => "FieldsMissing",
            Self::FieldsServed => "FieldsServed",
        }
    }
}

/// The desired state of a condition, without its time of transition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConditionState {
    /// The type of the condition.
    pub about: ConditionType,
    /// Whether the status is True.
    pub holds: bool,
    /// The reason of the condition.
    pub reason: ConditionReason,
    /// The message: the problem, and the next step of the user.
    pub message: String,
}

impl ConditionState {
    /// Whether the condition needs the user's attention. An object that was suspended, stopped, disabled or exempted on
    /// purpose is inactive as intended, and reaching a bound is normal.
    #[must_use]
    pub fn needs_attention(&self) -> bool {
        let is_bad_when_it_holds = [
            ConditionType::PlacementMisconfigured,
            ConditionType::OverCap,
            ConditionType::Conflict,
            ConditionType::SchemaIncomplete,
        ];
        if is_bad_when_it_holds.contains(&self.about) {
            return self.holds;
        }
        let intended = [
            ConditionReason::Suspended,
            ConditionReason::Disabled,
            ConditionReason::Stopped,
            ConditionReason::Exempt,
        ];
        let is_intended =
            intended.contains(&self.reason) || self.about == ConditionType::ScalingUnbounded;
        !self.holds && !is_intended
    }
}

/// Builds the conditions. `previous` is the previous status: a condition whose status is unchanged keeps the time of
/// its last transition. If two states have the same type, the first is used. Other previous conditions are removed.
#[must_use]
pub fn conditions(
    previous: &Value,
    condition_states: &[ConditionState],
    observed_generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let mut condition_states: Vec<&ConditionState> = condition_states.iter().collect();
    condition_states.sort_by_key(|it| it.about);
    condition_states.dedup_by_key(|it| it.about);
    let condition = |state: &ConditionState| {
        let status = if state.holds { "True" } else { "False" };
        let since = last_transition(previous, state.about.name(), status).unwrap_or(now);
        Condition {
            type_: state.about.name().to_owned(),
            status: status.to_owned(),
            reason: state.reason.name().to_owned(),
            message: lenient::cut(&state.message, MAX_CONDITION_MESSAGE),
            observed_generation: observed_generation.filter(|generation| *generation >= 0),
            last_transition_time: lenient::time(since),
        }
    };
    condition_states.into_iter().map(condition).collect()
}

/// The time of the last transition to this status, according to the previous condition.
fn last_transition(previous: &Value, type_name: &str, status: &str) -> Option<Timestamp> {
    let known = previous["conditions"].as_array()?;
    let same = known.iter().find(|it| it["type"] == type_name)?;
    if same["status"] != status {
        return None;
    }
    lenient::instant(&same["lastTransitionTime"])
}

/// The reason for not reconciling an object that is exempt, or might be exempt while its namespace cannot be read.
#[must_use]
pub fn exempt_reason(exempt: Exempt) -> (ConditionReason, String) {
    if exempt.is_unread() {
        let fix = "permit almanac to get this namespace";
        return (ConditionReason::NamespaceUnreadable, format!("not applied: {exempt}; {fix}"));
    }
    (ConditionReason::Exempt, format!("not applied: {exempt}"))
}

/// The conditions of an object that is not reconciled, because the object or its target is exempt or might be.
#[must_use]
pub fn exempt_conditions(exempt: Exempt) -> [ConditionState; 2] {
    let (reason, message) = exempt_reason(exempt);
    let attention = match reason {
        ConditionReason::Exempt => "nothing needs attention".to_owned(),
        _ => message.clone(),
    };
    let is_ready = reason == ConditionReason::Exempt;
    [
        ConditionState { about: ConditionType::Active, holds: false, reason, message },
        ConditionState { about: ConditionType::Ready, holds: is_ready, reason, message: attention },
    ]
}

/// The errors among the findings as one message; `None` without errors. Warnings are not included, since an object with
/// warnings is usable.
#[must_use]
pub fn errors(findings: &[Finding]) -> Option<String> {
    listed(findings.iter().filter(|finding| finding.severity() == Severity::Error))
}

/// Findings as one message: the first few, each with its fix.
pub(super) fn listed<'a>(findings: impl Iterator<Item = &'a Finding>) -> Option<String> {
    let all: Vec<&Finding> = findings.collect();
    match all.as_slice() {
        [] => None,
        [only] => Some(in_message(only)),
        several => {
            let numbered = several.iter().take(MAX_FINDINGS_IN_MESSAGE).enumerate();
            let numbered =
                numbered.map(|(index, it)| format!("({}) {}", index + 1, in_message(it)));
            let list = numbered.collect::<Vec<_>>().join(" ");
            let more = several.len().saturating_sub(MAX_FINDINGS_IN_MESSAGE);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            Some(format!("{} problems: {list}{more}", several.len()))
        }
    }
}

fn in_message(finding: &Finding) -> String {
    lenient::cut(&finding.sentence(), FINDING_CHARACTERS)
}
