//! Decides whether an object may be applied, by the findings of `validate`, including those against the known objects
//! of the cluster.

use std::collections::BTreeMap;

use almanac_api::checking::{
    CheckContext, CheckedObject, GovernedPod, check_json, check_together, check_units_together,
};
use almanac_api::finding::{Code, Finding, Severity};
use almanac_api::kinds::Kind;
use almanac_engine::{Identity, Slim};
use serde_json::Value;

use super::object_index::{IndexedObject, SharedIndex};

/// An object that a client applies.
pub(super) struct ProposedObject<'a> {
    pub(super) kind: Kind,
    pub(super) namespace: &'a str,
    pub(super) object: Value,
    /// The stored object, if the request replaces one.
    pub(super) before: Option<&'a Value>,
}

/// The findings about an object.
#[derive(Debug)]
pub(super) struct Verdict {
    /// The reasons to reject the object.
    pub(super) errors: Vec<Finding>,
    /// Further warnings, as sentences.
    pub(super) warnings: Vec<String>,
}

/// Decides about an object. An object that is being deleted, is exempt, or differs in metadata and status only may
/// always be applied: labels and finalizers change, too, and its findings have been reported. A finding that only other
/// objects cause does not reject the object: a tool that renames an object applies the new one before it deletes the
/// old one.
pub(super) fn decide(
    index: &SharedIndex,
    proposed: ProposedObject<'_>,
    context: CheckContext<'_>,
) -> Verdict {
    let ProposedObject { kind, namespace, object, before } = proposed;
    let nothing = Verdict { errors: Vec::new(), warnings: Vec::new() };
    if !object["metadata"]["deletionTimestamp"].is_null() {
        return nothing;
    }
    let is_as_before = before.is_some_and(|before| has_same_content(before, &object));
    // This may take a while, and does not use the index.
    let mut checked = check_json(kind, object, CheckContext { namespace, ..context });
    if checked.is_marked {
        return nothing;
    }
    let findings = std::mem::take(&mut checked.findings);
    let findings = findings.into_iter().map(Finding::with_some_fix);
    let neighbors = index.read().neighbors(&checked);
    let (of_object, of_others) = findings_with_others(&neighbors, &checked);
    let (errors, others) = findings
        .partition::<Vec<Finding>, _>(|it| it.severity() == Severity::Error && !is_as_before);
    let findings = others.iter().chain(&of_object).filter(|it| it.severity() != Severity::Info);
    let warnings = findings.map(Finding::sentence);
    let of_others = of_others.into_iter().map(|(other, it)| format!("{other}: {}", it.sentence()));
    Verdict { errors, warnings: warnings.chain(of_others).collect() }
}

/// Whether two versions of an object differ only in their metadata and statuses.
fn has_same_content(before: &Value, object: &Value) -> bool {
    let count_fields = |object: &'_ Value| {
        let fields = object.as_object().into_iter().flatten();
        fields.filter(|(key, _)| !matches!(key.as_str(), "metadata" | "status")).count()
    };
    let (Some(fields), true) = (object.as_object(), count_fields(before) == count_fields(object))
    else {
        return false;
    };
    let mut all = fields.iter().filter(|(key, _)| !matches!(key.as_str(), "metadata" | "status"));
    all.all(|(key, value)| before.get(key) == Some(value))
}

/// The objects that may be in conflict with an object.
type Neighbors = BTreeMap<Identity, IndexedObject>;

/// Findings that only arise with other objects: of the object, and of the other objects that it affects.
fn findings_with_others(
    neighbors: &Neighbors,
    object: &CheckedObject,
) -> (Vec<Finding>, Vec<(Identity, Finding)>) {
    let mut of_object = Vec::new();
    if let Some(Slim::Units(_)) = &object.slim {
        // Each pair by itself: pairs of two other objects are not checked, because their number grows with the square.
        let is_rival = |it: &(&Identity, &IndexedObject)| it.1.checked.kind == Kind::ResourcePolicy;
        let (rivals, rest): (Vec<_>, Vec<_>) = neighbors.iter().partition(is_rival);
        of_object.extend(findings_against(&rest, object));
        for rival in rivals {
            let findings = findings_against(&[rival], object);
            of_object.extend(findings.into_iter().filter(|it| it.code == Code::TwoPolicies));
        }
        return (of_object, Vec::new());
    }
    let others: Vec<_> = neighbors.iter().collect();
    let (numbered, own) = (with_numbers(&others), others.len());
    let with = all_findings(&others, numbered.clone().chain([(own, object)]));
    let without = all_findings(&others, numbered.clone());
    let (own_findings, of_others): (Vec<_>, Vec<_>) =
        with.into_iter().partition(|(index, _)| *index == own);
    of_object.extend(own_findings.into_iter().map(|(_, finding)| finding));
    let of_others = of_others.into_iter().filter(|it| !without.contains(it));
    let of_others = of_others.map(|(index, finding)| (others[index].0.clone(), finding));
    (of_object, of_others.collect())
}

/// The findings in the object that these other objects cause.
fn findings_against(
    others: &[(&Identity, &IndexedObject)],
    object: &CheckedObject,
) -> Vec<Finding> {
    let own = others.len();
    let all = all_findings(others, with_numbers(others).chain([(own, object)]));
    all.into_iter().filter(|(index, _)| *index == own).map(|(_, finding)| finding).collect()
}

/// Stored objects come first, so that the object is the newcomer.
fn with_numbers<'a>(
    others: &[(&'a Identity, &'a IndexedObject)],
) -> impl Iterator<Item = (usize, &'a CheckedObject)> + Clone {
    others.iter().map(|(_, known)| &*known.checked).enumerate().collect::<Vec<_>>().into_iter()
}

fn all_findings<'a>(
    others: &[(&Identity, &'a IndexedObject)],
    objects: impl Iterator<Item = (usize, &'a CheckedObject)> + Clone,
) -> Vec<(usize, Finding)> {
    let templates = others.iter().enumerate();
    let pods = templates.filter_map(|(index, (identity, known))| {
        let pod = known.template.as_deref()?;
        Some(GovernedPod { identity: (*identity).clone(), pod, index })
    });
    // The name identifies the object.
    let place = |_: usize| String::new();
    let mut findings = check_together(objects.clone(), place);
    findings.extend(check_units_together(objects, pods, place, place));
    findings
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use almanac_api::slim::unit_template;
    use kube::api::DynamicObject;
    use serde_json::json;

    use super::*;

    const NOW: &str = "2026-11-23T06:00:00Z";

    fn context() -> CheckContext<'static> {
        CheckContext::new("shop", NOW.parse().expect("the instant is valid"))
    }

    fn cron(name: &str, schedule: &str, target: &Value) -> Value {
        json!({
            "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {
                "scaleTargetRef": target,
                "rules": [{"name": "up", "schedule": schedule, "targetReplicas": 12}],
            },
        })
    }

    fn web() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"})
    }

    fn units(name: &str, max: u32) -> Value {
        json!({
            "apiVersion": "scheduling.sigs.x-k8s.io/v1alpha1", "kind": "ResourcePolicy",
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {
                "strategy": "required",
                "podSelector": {"matchLabels": {"app": "web"}},
                "units": [{"name": "own", "maxCount": max, "nodeSelector": {"matchLabels": {"pool": "own"}}}],
            },
        })
    }

    fn deployment() -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "web", "image": "web"}]},
                },
            },
        })
    }

    fn index(objects: &[(Kind, Value)]) -> SharedIndex {
        let index = SharedIndex::default();
        for (kind, object) in objects {
            let watched: DynamicObject =
                serde_json::from_value(object.clone()).expect("the object is valid");
            let template = unit_template(&watched, kind.name()).map(Arc::new);
            let checked = Arc::new(check_json(*kind, object.clone(), context()));
            let identity = checked.identity.clone().expect("the object has a name");
            index.write().upsert(&identity, IndexedObject { checked, template });
        }
        index
    }

    fn verdict(index: &SharedIndex, kind: Kind, object: Value, before: Option<&Value>) -> Verdict {
        decide(index, ProposedObject { kind, namespace: "shop", object, before }, context())
    }

    #[test]
    fn a_wrong_policy_is_refused_with_the_sentence_of_validate() {
        let wrong = cron("morning", "0 0 * *", &web());
        let verdict = verdict(&SharedIndex::default(), Kind::CronFederatedHPA, wrong, None);
        let result: Vec<String> = verdict.errors.iter().map(Finding::sentence).collect();
        assert_eq!(result.len(), 1);
        assert!(
            result[0].starts_with("spec.rules[0].schedule: Invalid value: \"0 0 * *\""),
            "{result:?}"
        );
    }

    #[test]
    fn a_wrong_policy_can_be_relabeled_and_deleted() {
        let wrong = cron("morning", "0 0 * *", &web());
        let index = SharedIndex::default();
        let mut labeled = wrong.clone();
        labeled["metadata"]["labels"] = json!({"team": "shop"});
        let result = verdict(&index, Kind::CronFederatedHPA, labeled, Some(&wrong));
        assert_eq!((result.errors.len(), result.warnings.len()), (0, 1));
        let mut going = cron("morning", "0 0 * * * *", &web());
        going["metadata"]["deletionTimestamp"] = json!(NOW);
        let result = verdict(&index, Kind::CronFederatedHPA, going, Some(&wrong));
        assert_eq!((result.errors.len(), result.warnings.len()), (0, 0));
        let other = cron("morning", "0 0 * * * *", &web());
        let result = verdict(&index, Kind::CronFederatedHPA, other, Some(&wrong));
        assert_eq!(result.errors.len(), 1, "the object has another mistake");
    }

    #[test]
    fn an_exempt_object_is_not_checked() {
        let mut wrong = cron("morning", "0 0 * *", &web());
        wrong["metadata"]["annotations"] = json!({"almanac.dev/ignore": "true"});
        let result = verdict(&SharedIndex::default(), Kind::CronFederatedHPA, wrong.clone(), None);
        assert_eq!((result.errors.len(), result.warnings.len()), (0, 0));
        wrong["metadata"]["annotations"] = json!({"almanac.dev/ignore": "false"});
        let result = verdict(&SharedIndex::default(), Kind::CronFederatedHPA, wrong, None);
        assert_eq!(result.errors.len(), 1);
    }

    #[test]
    fn another_policy_of_the_target_is_a_warning_but_not_the_object_itself() {
        let evening = cron("evening", "0 20 * * *", &web());
        let index = index(&[(Kind::CronFederatedHPA, evening.clone())]);
        let morning = cron("morning", "0 8 * * *", &web());
        let result = verdict(&index, Kind::CronFederatedHPA, morning, None);
        assert!(result.errors.is_empty());
        assert_eq!(result.warnings.len(), 1);
        let expected = "Deployment.apps shop/web is already scaled by CronFederatedHPA";
        assert!(result.warnings[0].contains(expected), "{:?}", result.warnings);
        assert!(!result.warnings[0].contains(", at "), "{:?}", result.warnings);
        let changed = cron("evening", "0 21 * * *", &web());
        let result = verdict(&index, Kind::CronFederatedHPA, changed, Some(&evening));
        assert!(result.warnings.is_empty(), "{:?}", result.warnings);
    }

    #[test]
    fn caps_below_a_schedule_are_reported_in_either_order_of_creation() {
        let schedule = cron("morning", "0 8 * * *", &web());
        let with_schedule =
            index(&[(Kind::Deployment, deployment()), (Kind::CronFederatedHPA, schedule.clone())]);
        let result = verdict(&with_schedule, Kind::ResourcePolicy, units("web", 5), None);
        let all: Vec<String> =
            result.errors.iter().map(Finding::sentence).chain(result.warnings).collect();
        assert!(all.iter().any(|it| it.contains("12 replicas")), "{all:?}");
        let with_policy =
            index(&[(Kind::Deployment, deployment()), (Kind::ResourcePolicy, units("web", 5))]);
        let result = verdict(&with_policy, Kind::CronFederatedHPA, schedule, None);
        assert!(result.errors.is_empty());
        assert_eq!(result.warnings.len(), 1, "{:?}", result.warnings);
        assert!(result.warnings[0].contains("ResourcePolicy"), "{:?}", result.warnings);
        assert!(result.warnings[0].contains("12 replicas"), "{:?}", result.warnings);
    }

    #[test]
    fn a_second_policy_for_the_same_pods_is_a_warning_so_that_a_policy_can_be_renamed() {
        let index = index(&[(Kind::ResourcePolicy, units("first", 5))]);
        let result = verdict(&index, Kind::ResourcePolicy, units("second", 5), None);
        assert!(result.errors.is_empty(), "{:?}", result.errors);
        assert_eq!(result.warnings.len(), 1, "{:?}", result.warnings);
        assert!(result.warnings[0].contains("a pod of two policies is not scheduled"));
        let result = verdict(&index, Kind::ResourcePolicy, units("first", 9), None);
        assert!(result.warnings.is_empty(), "{:?}", result.warnings);
    }

    fn autoscaler(query: &str) -> Value {
        json!({
            "apiVersion": "autoscaling.karpenter.sh/v1alpha1", "kind": "HorizontalAutoscaler",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {
                "scaleTargetRef": web(), "minReplicas": 0, "maxReplicas": 9,
                "metrics": [{"prometheus": {"query": query, "target": {"type": "Value", "value": "1"}}}],
            },
        })
    }

    #[test]
    fn a_deep_query_or_a_query_with_large_patterns_is_refused() {
        let patterns: String = ('b'..'z')
            .map(|last| format!("name=~\"[a-{last}]{{1000}}\","))
            .collect::<Vec<_>>()
            .concat();
        for query in [
            "max(".repeat(5_000),
            "max(".repeat(1_000),
            "((((".repeat(1_000),
            format!("1{}", "+1".repeat(100_000)),
            format!("{}'", "-".repeat(4_000)),
            format!("karpenter_scheduled_capacity{{{patterns}}}"),
        ] {
            let result = verdict(
                &SharedIndex::default(),
                Kind::HorizontalAutoscaler,
                autoscaler(&query),
                None,
            );
            assert_eq!(result.errors.len(), 1, "{:?}", result.errors);
            assert!(result.errors[0].message.len() < 1_000, "{:?}", result.errors[0]);
        }
    }

    #[test]
    fn a_removed_object_does_not_count_as_a_field_manager() {
        let index = index(&[(Kind::CronFederatedHPA, cron("evening", "0 20 * * *", &web()))]);
        index.write().remove(&Kind::CronFederatedHPA.identity("shop", "evening"));
        let morning = cron("morning", "0 8 * * *", &web());
        let result = verdict(&index, Kind::CronFederatedHPA, morning, None);
        assert!(result.warnings.is_empty(), "{:?}", result.warnings);
    }
}
