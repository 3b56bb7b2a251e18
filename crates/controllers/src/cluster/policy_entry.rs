//! The bookkeeping about a policy, apart from its spec.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use almanac_api::finding::{Code, Finding, Severity};
use almanac_api::kubernetes::KubernetesMinor;
use almanac_api::objects::DISABLE_ANNOTATION;
use almanac_api::status::TargetProblem;
use almanac_api::status::conditions::{ConditionReason, ConditionState, ConditionType};
use almanac_engine::metric_scaling::PatternFullness;
use almanac_shell::backoff::Backoff;
use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::report_rate_limit::ReportRateLimit;

/// A policy object, apart from its spec.
pub(crate) struct PolicyEntry {
    /// Distinguishes the policy from another object of the same name.
    pub(crate) uid: Box<str>,
    /// The known version of the object.
    pub(crate) version: Box<str>,
    /// The known revision of its spec.
    pub(crate) revision: SpecRevision,
    /// The version of the API server that the object was checked for.
    pub(crate) kubernetes: Option<KubernetesMinor>,
    /// The list in which the policy last appeared.
    pub(crate) listing: u32,
    /// The findings that appear in the conditions.
    pub(crate) findings: Box<[Finding]>,
    /// The use of the budget for patterns, if the patterns of the object exceeded it.
    pub(crate) lacked_room: Option<Box<PatternFullness>>,
    /// The problem with the target when the target was last read.
    pub(crate) problem: Option<Box<TargetProblem>>,
    /// The reason that the target could not be read, if the problem is likely to pass by itself.
    pub(crate) unreadable: Option<Box<str>>,
    /// The backoff of failed reads since the last success.
    pub(crate) read_failures: Option<Box<Backoff>>,
    /// Whether a failed write found the problem. Then a successful read proves nothing.
    pub(crate) is_not_writable: bool,
    /// The condition reason of a policy that is not ready, in the current or the next status; `None` if it is ready.
    pub(crate) not_ready: Option<ConditionReason>,
    /// The status on the API server.
    pub(crate) recorded: StatusSnapshot,
    /// Whether the status on the API server contains the whole policy state.
    pub(crate) is_written: bool,
    /// Whether the status reports that the policy is left to another controller. That controller may overwrite the
    /// status.
    pub(crate) is_left_alone: bool,
    /// The backoff of failed status writes since the last success.
    pub(crate) failures: Option<Box<Backoff>>,
    /// The number of recent warnings about the conditions.
    pub(crate) warnings: ReportRateLimit,
}

/// The known revision of a spec. It changes when a user edits the object, but not with its status or
/// labels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SpecRevision {
    /// The API server counts the revisions of the spec. An annotation can have the same effect as the spec, but is not
    /// counted.
    Generation { generation: i64, is_disabled: bool },
    /// The object has no generation, as a `ConfigMap`: a hash of the whole content.
    Content(u64),
    /// Unknown: any next version is a new revision.
    Unknown,
}

/// A version that is treated as older than any other: no object has this version, so no write with this version
/// succeeds.
pub(crate) const OLDEST_VERSION: &str = "1";

impl SpecRevision {
    fn from_object(object: &DynamicObject) -> Self {
        if let Some(generation) = object.metadata.generation {
            let annotations = object.metadata.annotations.as_ref();
            let disabled = annotations.and_then(|it| it.get(DISABLE_ANNOTATION));
            let is_disabled = disabled.is_some_and(|it| it == "true");
            return Self::Generation { generation, is_disabled };
        }
        let mut hasher = DefaultHasher::new();
        if let Value::Object(fields) = &object.data {
            for (name, value) in fields.iter().filter(|(name, _)| *name != "status") {
                (name, value.to_string()).hash(&mut hasher);
            }
        }
        Self::Content(hasher.finish())
    }

    /// The generation, for objects that have one.
    pub(crate) fn generation(self) -> Option<i64> {
        match self {
            Self::Generation { generation, .. } => Some(generation),
            Self::Content(_) | Self::Unknown => None,
        }
    }
}

impl PolicyEntry {
    /// An entry for an object from a list or a watch.
    pub(crate) fn from_object(object: &DynamicObject, listing: u32) -> Self {
        let metadata = &object.metadata;
        Self {
            uid: metadata.uid.as_deref().unwrap_or_default().into(),
            version: metadata.resource_version.as_deref().unwrap_or_default().into(),
            revision: SpecRevision::from_object(object),
            kubernetes: None,
            listing,
            findings: Box::default(),
            lacked_room: None,
            problem: None,
            unreadable: None,
            read_failures: None,
            is_not_writable: false,
            not_ready: None,
            recorded: StatusSnapshot::from_status(&object.data["status"]),
            is_written: true,
            is_left_alone: false,
            failures: None,
            warnings: ReportRateLimit::default(),
        }
    }

    /// Accepts any next version as newer, because versions have gone back.
    pub(crate) fn reset_versions(&mut self) {
        self.version = OLDEST_VERSION.into();
        self.revision = SpecRevision::Unknown;
    }

    /// Records the problem with the target.
    pub(crate) fn note_problem(&mut self, problem: Option<TargetProblem>, is_not_writable: bool) {
        self.problem = problem.map(Box::new);
        self.unreadable = None;
        self.is_not_writable = is_not_writable;
    }

    /// Stores the findings that appear in the conditions.
    pub(crate) fn store_findings(&mut self, findings: Vec<Finding>) {
        let matters = |finding: &Finding| {
            finding.severity() == Severity::Error
                || matches!(finding.code, Code::Unsupported | Code::NeverHolds)
        };
        self.findings = findings.into_iter().filter(matters).collect();
    }
}

/// A status on the API server, reduced to a hash for comparisons, and the last transition of each condition.
#[derive(Clone, Debug, Default)]
pub(crate) struct StatusSnapshot {
    mark: u64,
    conditions: Box<[(&'static str, bool, Timestamp)]>,
}

impl StatusSnapshot {
    /// The snapshot of a status. The status is null for an object without one.
    pub(crate) fn from_status(status: &Value) -> Self {
        let mut conditions = Vec::new();
        for about in ConditionType::ALL {
            let known = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
            let Some(condition) = known.iter().find(|it| it["type"] == about.name()) else {
                continue;
            };
            let since = condition["lastTransitionTime"].as_str().and_then(|it| it.parse().ok());
            if let Some(since) = since {
                conditions.push((about.name(), condition["status"] == "True", since));
            }
        }
        Self { mark: mark_of(status), conditions: conditions.into() }
    }

    /// Whether a status is equal to the snapshot.
    pub(crate) fn is(&self, status: &Value) -> bool {
        self.mark == mark_of(status)
    }

    /// The conditions, in the form of a status.
    pub(crate) fn conditions(&self) -> Value {
        let conditions = self.conditions.iter().map(|(about, holds, since)| {
            let status = if *holds { "True" } else { "False" };
            json!({ "type": about, "status": status, "lastTransitionTime": since.to_string() })
        });
        json!({ "conditions": conditions.collect::<Vec<_>>() })
    }

    /// Whether the status has this condition, and the condition is true.
    pub(crate) fn holds(&self, about: ConditionType) -> bool {
        self.conditions.iter().any(|(known, holds, _)| *known == about.name() && *holds)
    }

    /// The conditions that are new or have changed.
    pub(crate) fn changed_conditions<'a>(
        &self,
        condition_states: &'a [ConditionState],
    ) -> Vec<&'a ConditionState> {
        let is_unchanged = |state: &&ConditionState| {
            let mut known = self.conditions.iter();
            known.any(|(about, holds, _)| *about == state.about.name() && *holds == state.holds)
        };
        condition_states.iter().filter(|state| !is_unchanged(state)).collect()
    }
}

/// Two statuses with the same hash are treated as equal. Objects are maps ordered by key, so equal statuses serialize
/// identically.
fn mark_of(status: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    status.to_string().hash(&mut hasher);
    hasher.finish()
}

/// Whether one version of an object is older than another. Versions are increasing numbers. Should that ever change, no
/// version is older.
pub(crate) fn is_older(version: &str, than: &str) -> bool {
    match (version.parse::<u64>(), than.parse::<u64>()) {
        (Ok(version), Ok(than)) => version < than,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revision(object: Value) -> SpecRevision {
        SpecRevision::from_object(&serde_json::from_value(object).expect("the object is valid"))
    }

    #[test]
    fn an_object_without_a_generation_has_a_new_revision_when_its_data_changes() {
        let config_map = |data: &str, label: &str| {
            revision(json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": "policies", "labels": { "owner": label } },
                "data": { "policies.yaml": data },
            }))
        };
        assert_eq!(config_map("a: 1", "us"), config_map("a: 1", "them"));
        assert_ne!(config_map("a: 1", "us"), config_map("a: 2", "us"));
        assert_eq!(config_map("a: 1", "us").generation(), None);
    }

    #[test]
    fn a_changed_status_keeps_the_revision_of_an_object_with_a_generation() {
        let object = |generation: i64, status: &str| {
            revision(json!({
                "metadata": { "name": "shop", "generation": generation },
                "spec": {}, "status": { "phase": status },
            }))
        };
        assert_eq!(object(1, "a"), object(1, "b"));
        assert_ne!(object(1, "a"), object(2, "a"));
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(is_older("99", "100"));
        assert!(!is_older("100", "100"));
        assert!(!is_older("abc", "100"));
    }

    #[test]
    fn the_order_of_fields_does_not_change_a_status() {
        let one: Value =
            serde_json::from_str(r#"{"a": 1, "b": [2]}"#).expect("the string is valid JSON");
        let other: Value =
            serde_json::from_str(r#"{"b": [2], "a": 1}"#).expect("the string is valid JSON");
        assert!(StatusSnapshot::from_status(&one).is(&other));
        assert!(!StatusSnapshot::from_status(&one).is(&Value::Null));
    }
}
