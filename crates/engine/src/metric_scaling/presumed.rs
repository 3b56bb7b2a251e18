//! The assumptions of a forecast about an autoscaler, in words.

use std::sync::Arc;

use crate::{Consequence, Identity, Presumption};

/// The assumption that a query has no sample, with the reason, so that a policy changes nothing.
pub(super) fn unanswered(
    policy: &Identity,
    target: &Identity,
    query: &Arc<str>,
    why: &Arc<str>,
) -> Presumption {
    let sentence = format!("{policy} does not change {target}: {query} {why}");
    Presumption::new(0, [policy, target], sentence)
        .with_texts([query, why])
        .with_consequence(Consequence::Unchanged(target.clone()))
}

/// The assumption that a query always has the same sample, as the user specified.
pub(super) fn answered(query: &Arc<str>, answer: &Arc<str>) -> Presumption {
    let sentence = format!("{query} is always {answer}, as specified");
    Presumption::new(1, [], sentence).with_texts([query, answer])
}

/// The assumption that a target reaches the set replicas immediately.
pub(super) fn follows_at_once(target: &Identity) -> Presumption {
    let sentence = format!("{target} reaches the set replicas immediately");
    Presumption::new(6, [target], sentence).with_subject(target.to_string())
}
