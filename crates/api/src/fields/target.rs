//! Checks references to targets: kinds and API versions that belong together.

use std::sync::Arc;

use almanac_engine::{Identity, Target, TargetReference};

use super::envelope::{invalid_name, why_no_subdomain};
use crate::finding::{Code, Finding, Path, Severity};
use crate::kinds::{
    APPS_MISTYPED, Kind, Role, group_and_version, is_group_of_kubernetes, is_group_of_ours,
    nearest, removed_version,
};
use crate::objects::ScaleTargetReference;

/// A kind that users try to scale although it cannot be scaled. It is in the group of Deployments.
const DAEMON_SET: &str = "DaemonSet";

/// Checks a reference to an object that can be scaled. `None` if the reference has an error.
pub(crate) fn check_target(
    reference: &ScaleTargetReference,
    path: &Path<'_>,
    namespace: &str,
    findings: &mut Vec<Finding>,
) -> Option<TargetReference> {
    let before = findings.len();
    let ScaleTargetReference { api_version, kind, name } = reference;
    let api_version = api_version.as_deref().unwrap_or_default();
    let (group, _) = group_and_version(api_version);
    check_api_version(api_version, kind, &path.key("apiVersion"), findings);
    let kind_field = path.key("kind");
    if kind.is_empty() {
        findings.push(Finding::required(
            &kind_field,
            "the kind of the object to scale, such as Deployment",
        ));
    } else if let Some(finding) = kind_of_group(group, kind, &kind_field) {
        findings.push(finding);
    }
    let name_field = path.key("name");
    if name.is_empty() {
        findings.push(Finding::required(&name_field, "the name of the object to scale"));
    } else if let Some(why) = why_no_subdomain(name) {
        findings.push(invalid_name(&name_field, name, &why));
    }
    if findings.iter().skip(before).any(|it| it.severity() == Severity::Error) {
        return None;
    }
    let known = Kind::find(group, kind);
    let identity = Identity::new(group, kind.as_str(), namespace, name.as_str());
    let target = match known.map(Kind::role) {
        Some(Role::Bounds) => Target::Autoscaler(identity),
        // The cluster decides whether a foreign kind has a scale; a policy of ours was refused above.
        Some(Role::Workload { .. } | Role::Hub | Role::Policy(_)) | None => {
            Target::Workload(identity)
        }
    };
    let api_version = match known {
        // The bounds of an autoscaler are read and written in the version whose fields the rules use.
        Some(known @ Kind::HorizontalPodAutoscaler) => Arc::from(known.api_version()),
        Some(_) | None => Arc::from(api_version),
    };
    Some(TargetReference { target, api_version })
}

/// Whether objects of a kind can be scaled, by their replicas or by their bounds.
fn can_be_scaled(kind: Kind) -> bool {
    match kind.role() {
        Role::Bounds | Role::Workload { .. } => true,
        Role::Hub | Role::Policy(_) => false,
    }
}

/// Whether a kind, in any letter case, belongs to the group that is mistyped.
fn is_of_apps(kind: &str) -> bool {
    let mut kinds = Kind::ALL.iter().filter(|it| it.name().eq_ignore_ascii_case(kind));
    kinds.any(|it| it.api_version() == "apps/v1")
}

fn check_api_version(api_version: &str, kind: &str, field: &Path<'_>, findings: &mut Vec<Finding>) {
    let known = if kind == DAEMON_SET { Some(Kind::Deployment) } else { Kind::written(kind) };
    let known = known.filter(|it| can_be_scaled(*it));
    let finding = if api_version.is_empty() {
        match known.map(Kind::api_version) {
            Some(usual) => {
                Finding::required(field, &format!("the apiVersion of a {kind} is {usual}"))
                    .with_fix(format!("write apiVersion: {usual}"))
            }
            None => Finding::required(field, "the API version of the kind, such as apps/v1"),
        }
    } else if api_version == APPS_MISTYPED {
        Finding::invalid(
            Code::MistypedVersion,
            field,
            api_version,
            "there is no such API; write apps/v1",
        )
        .with_fix("write apiVersion: apps/v1")
        .with_replacement(is_of_apps(kind).then_some("apps/v1"))
    } else if api_version.split('/').count() > 2 || api_version.split('/').any(str::is_empty) {
        let why = "an apiVersion is a group and a version, such as apps/v1";
        Finding::invalid(Code::Target, field, api_version, why)
            .with_fix("write a group and a version, such as apps/v1")
    } else if let Some(known) = known
        && let Some(removed) = removed_version(api_version, kind)
        && removed.now == known.api_version()
    {
        // The bounds of an autoscaler are set in the current version, but replicas in the version as written.
        let code = match known.role() {
            Role::Bounds => Code::RemovedVersion,
            Role::Workload { .. } | Role::Hub | Role::Policy(_) => Code::Target,
        };
        Finding::invalid(code, field, api_version, &removed.message(kind))
            .with_fix(format!("write apiVersion: {}", removed.now))
            .with_replacement(Some(removed.now))
    } else if let Some(known) = known
        && known.group() != group_and_version(api_version).0
        && is_group_of_kubernetes(group_and_version(api_version).0)
    {
        let usual = known.api_version();
        let why = format!("the apiVersion of a {kind} is {usual}");
        Finding::invalid(Code::Target, field, api_version, &why)
            .with_fix(format!("write apiVersion: {usual}"))
            .with_replacement(Some(usual))
    } else {
        return;
    };
    findings.push(finding);
}

/// The finding about a kind in a group whose kinds are all known.
fn kind_of_group(group: &str, kind: &str, field: &Path<'_>) -> Option<Finding> {
    let of_group = || Kind::ALL.iter().copied().filter(|it| it.group() == group);
    let scalable = || of_group().filter(|it| can_be_scaled(*it)).map(Kind::name);
    if scalable().any(|it| it == kind) {
        return None;
    }
    if is_group_of_ours(group) {
        let Some(first) = scalable().next() else {
            // The cluster decides whether an unknown kind has a scale.
            of_group().find(|it| it.name() == kind)?;
            let why = format!("a {kind} has no replicas to set");
            return Some(
                Finding::invalid(Code::Target, field, kind, &why)
                    .with_fix("name the object to scale, such as a Deployment"),
            );
        };
        let choices = scalable().collect::<Vec<_>>().join(" or a ");
        let why = format!("in {group}, only a {choices} can be scaled");
        return Some(
            Finding::invalid(Code::Target, field, kind, &why)
                .with_fix(format!("write kind: {first}")),
        );
    }
    if group != Kind::Deployment.group() {
        return None;
    }
    if kind == DAEMON_SET {
        let why = "a DaemonSet runs once per node and has no replica count";
        return Some(
            Finding::invalid(Code::Target, field, kind, why)
                .with_fix("name a Deployment or a StatefulSet, or delete the policy"),
        );
    }
    let meant = nearest(kind, scalable().chain([DAEMON_SET]))?;
    let why = format!("the group {group} has no such kind; write {meant}");
    Some(
        Finding::invalid(Code::Target, field, kind, &why)
            .with_fix(format!("write kind: {meant}"))
            .with_replacement(Some(meant)),
    )
}
