//! What an object points to: kinds and API versions that go together.

use almanac_engine::Identity;
use almanac_engine::cron_scaling::Target;

use super::envelope::{invalid_name, why_no_subdomain};
use crate::finding::{Code, Finding, Path};
use crate::kinds::{group_and_version, nearest};
use crate::objects::ScaleTargetReference;

/// Kinds of the group `apps`; all but the last have a `scale` subresource.
const APPS: &[&str] = &["Deployment", "StatefulSet", "ReplicaSet", "DaemonSet"];

/// Checks a reference to something that can be scaled. `None` when something is wrong with it.
pub(super) fn check_target(
    reference: &ScaleTargetReference,
    path: &Path<'_>,
    namespace: &str,
    findings: &mut Vec<Finding>,
) -> Option<Target> {
    let before = findings.len();
    let ScaleTargetReference { api_version, kind, name } = reference;
    let api_version = api_version.as_deref().unwrap_or_default();
    let (group, _) = group_and_version(api_version);
    check_api_version(api_version, kind, &path.key("apiVersion"), findings);
    let kind_field = path.key("kind");
    if kind.is_empty() {
        findings.push(Finding::required(&kind_field, "say what is scaled, such as Deployment"));
    } else if let Some(finding) = kind_of_group(group, kind, &kind_field) {
        findings.push(finding);
    }
    let name_field = path.key("name");
    if name.is_empty() {
        findings.push(Finding::required(&name_field, "say which object is scaled"));
    } else if let Some(why) = why_no_subdomain(name) {
        findings.push(invalid_name(&name_field, name, &why));
    }
    if findings.len() > before {
        return None;
    }
    let identity = Identity::new(group, kind.as_str(), namespace, name.as_str());
    let autoscaler = matches!(
        (group, kind.as_str()),
        ("autoscaling.karmada.io", "FederatedHPA") | ("autoscaling", "HorizontalPodAutoscaler")
    );
    Some(if autoscaler { Target::Autoscaler(identity) } else { Target::Workload(identity) })
}

fn check_api_version(api_version: &str, kind: &str, field: &Path<'_>, findings: &mut Vec<Finding>) {
    let usual = match kind {
        kind if APPS.contains(&kind) => Some("apps/v1"),
        "ReplicationController" => Some("v1"),
        "FederatedHPA" => Some("autoscaling.karmada.io/v1alpha1"),
        "HorizontalPodAutoscaler" => Some("autoscaling/v2"),
        "ScalableNodeGroup" => Some("autoscaling.karpenter.sh/v1alpha1"),
        _ => None,
    };
    let finding = if api_version.is_empty() {
        match usual {
            Some(usual) => {
                Finding::required(field, &format!("the apiVersion of a {kind} is {usual}"))
                    .with_fix(format!("write apiVersion: {usual}"))
            }
            None => Finding::required(field, "say which API the kind is of, such as apps/v1"),
        }
    } else if api_version == "app/v1" {
        Finding::invalid(
            Code::MistypedVersion,
            field,
            api_version,
            "there is no such API; write apps/v1",
        )
        .with_fix("write apiVersion: apps/v1")
    } else if api_version.split('/').count() > 2 || api_version.split('/').any(str::is_empty) {
        let why = "an apiVersion is a group and a version, such as apps/v1";
        Finding::invalid(Code::Target, field, api_version, why)
    } else if let Some(usual) = usual
        && group_and_version(usual).0 != group_and_version(api_version).0
        && is_of_kubernetes(group_and_version(api_version).0)
    {
        let why = format!("the apiVersion of a {kind} is {usual}");
        Finding::invalid(Code::Target, field, api_version, &why)
            .with_fix(format!("write apiVersion: {usual}"))
    } else {
        return;
    };
    findings.push(finding);
}

/// Groups whose kinds we know well enough to say that a kind is not among them.
fn is_of_kubernetes(group: &str) -> bool {
    matches!(group, "" | "apps" | "batch" | "autoscaling")
}

fn kind_of_group(group: &str, kind: &str, field: &Path<'_>) -> Option<Finding> {
    match group {
        "autoscaling.karmada.io" if kind != "FederatedHPA" => {
            let why = "of autoscaling.karmada.io only a FederatedHPA can be scaled";
            Some(
                Finding::invalid(Code::Target, field, kind, why)
                    .with_fix("write kind: FederatedHPA"),
            )
        }
        "autoscaling.karpenter.sh" if kind != "ScalableNodeGroup" => {
            let why = "of autoscaling.karpenter.sh only a ScalableNodeGroup can be scaled";
            Some(
                Finding::invalid(Code::Target, field, kind, why)
                    .with_fix("write kind: ScalableNodeGroup"),
            )
        }
        "apps" if kind == "DaemonSet" => {
            let why = "a DaemonSet runs once a node and has no number of replicas";
            Some(Finding::invalid(Code::Target, field, kind, why))
        }
        "apps" if !APPS.contains(&kind) => {
            let meant = nearest(kind, APPS.iter().copied())?;
            let why = format!("the group apps has no such kind; write {meant}");
            Some(
                Finding::invalid(Code::Target, field, kind, &why)
                    .with_fix(format!("write kind: {meant}")),
            )
        }
        _ => None,
    }
}
