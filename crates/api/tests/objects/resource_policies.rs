//! Policies for units of nodes: the design's own files, the findings about others, and their results.

#![expect(clippy::panic, reason = "what fails here fails the test")]

mod alone;
mod with_others;

use crate::written::{check, check_one, findings};
use almanac_engine::Slim;
use almanac_engine::units::ResourcePolicy;

/// A policy for the pods with `app: web`, with these units, in flow form.
fn policy(units: &str) -> String {
    with(&format!("podSelector: {{matchLabels: {{app: web}}}}, units: [{units}]"))
}

/// A policy with these fields of its spec, in flow form.
fn with(fields: &str) -> String {
    named("web", fields)
}

fn named(name: &str, fields: &str) -> String {
    format!(
        "apiVersion: scheduling.sigs.x-k8s.io/v1alpha1\nkind: ResourcePolicy\nmetadata: {{name: {name}}}\n\
         spec: {{{fields}}}\n"
    )
}

/// A policy for the pods that a selector in flow form selects.
fn for_pods(name: &str, selector: &str) -> String {
    named(name, &format!("podSelector: {selector}, units: [{SPOT}]"))
}

/// A unit of the nodes of this pool.
fn unit(fields: &str, pool: &str) -> String {
    format!("{{{fields}, nodeSelector: {{matchLabels: {{pool: {pool}}}}}}}")
}

const SPOT: &str = "{name: spot, nodeSelector: {matchLabels: {pool: spot}}}";

fn policy_of(text: &str) -> Option<ResourcePolicy> {
    match check_one(text).slim {
        Some(Slim::Units(object)) => object.policy.map(|policy| policy.as_ref().clone()),
        // An unreadable object has no policy.
        None => None,
        other => panic!("{other:?} is no policy for units"),
    }
}

fn usable(text: &str) -> ResourcePolicy {
    policy_of(text).unwrap_or_else(|| panic!("{:?}", findings(text)))
}

fn only_fix(text: &str) -> String {
    let (_, _, findings) = check(text);
    assert_eq!(findings.len(), 1, "{text}\n{findings:#?}");
    findings[0].finding.fix.clone().unwrap_or_default().into()
}

/// A Deployment with these labels and annotations of its pods, in flow form.
fn deployment(name: &str, labels: &str, annotations: &str) -> String {
    workload("apps/v1", "Deployment", name, labels, annotations)
}

fn workload(version: &str, kind: &str, name: &str, labels: &str, annotations: &str) -> String {
    format!(
        "---\napiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n  template:\n    \
         metadata: {{labels: {labels}, annotations: {annotations}}}\n    spec: {{containers: [{{name: a}}]}}\n"
    )
}
