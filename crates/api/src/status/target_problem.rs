//! The reason that the target of an object cannot be used, and its fix.
//!
//! The client of the API server detects the problem; this module composes the message.

use almanac_engine::Identity;

use super::conditions::ConditionReason;
use crate::lenient;

/// The maximum number of repeated characters of the API server's message.
const REPEATED_CHARACTERS: usize = 2_000;

/// The reason that a target cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TargetProblem {
    /// No object has the name of the target.
    NotFound,
    /// The target has no `scale` subresource.
    NotScalable,
    /// The API server denies reading or changing the target, with this message.
    Forbidden(String),
    /// The cluster does not serve the kind of the target.
    UnknownKind,
    /// The target is cluster-scoped, which is not allowed.
    ClusterScoped,
}

impl TargetProblem {
    /// The condition reason for this problem.
    #[must_use]
    pub fn reason(&self) -> ConditionReason {
        match self {
            Self::NotFound => ConditionReason::TargetNotFound,
            Self::NotScalable => ConditionReason::TargetNotScalable,
            Self::Forbidden(_) => ConditionReason::TargetForbidden,
            Self::UnknownKind => ConditionReason::TargetUnknownKind,
            Self::ClusterScoped => ConditionReason::ClusterScopedTarget,
        }
    }

    /// The problem, and its fix.
    #[must_use]
    pub fn message(&self, target: &Identity) -> String {
        match self {
            Self::NotFound => {
                format!("{target} was not found: create it, or correct spec.scaleTargetRef")
            }
            Self::NotScalable => {
                format!("{target} has no scale subresource; a rule can only scale what has one")
            }
            Self::Forbidden(words) => forbidden(target, words),
            Self::UnknownKind => {
                let (kind, group) = (target.kind(), target.group());
                let group = if group.is_empty() {
                    "the core group".to_owned()
                } else {
                    format!("group {group}")
                };
                format!(
                    "the cluster does not serve the kind {kind} in {group}: is its CRD \
                         installed?"
                )
            }
            Self::ClusterScoped => format!(
                "{} is cluster-scoped; start the controller with \
                 --allow-cluster-scoped-targets to allow it",
                Identity::new(target.group(), target.kind(), "", target.name())
            ),
        }
    }
}

fn forbidden(target: &Identity, words: &str) -> String {
    if let Some(grant) = missing_grant(words) {
        return lenient::cut(&format!("{target} cannot be accessed: {grant}"), REPEATED_CHARACTERS);
    }
    // Systems other than Kubernetes' access control may deny the access, so the original message matters more than any
    // advice.
    let words = lenient::cut(words, REPEATED_CHARACTERS);
    format!("the API server denies access to {target}: {words}")
}

/// The missing permission, from the words of Kubernetes' access control: `… is forbidden: User "u"
/// cannot patch resource "deployments/scale" in API group "apps" in the namespace "shop"`.
fn missing_grant(words: &str) -> Option<String> {
    let (_, rest) = words.split_once("User \"")?;
    let (user, rest) = rest.split_once("\" cannot ")?;
    let (verb, rest) = rest.split_once(" resource \"")?;
    let (resource, rest) = rest.split_once("\" in API group \"")?;
    let (group, rest) = rest.split_once('"')?;
    let namespace = rest.strip_prefix(" in the namespace \"");
    let place = match namespace.and_then(|rest| rest.split_once('"')) {
        Some((namespace, _)) => format!("in the namespace {namespace:?}"),
        None => "in the whole cluster".to_owned(),
    };
    Some(format!(
        "grant {user} the verb {verb:?} on the resource {resource:?} of the API group {group:?} \
         {place}"
    ))
}
