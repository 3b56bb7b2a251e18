//! The objects of a herd, and its instants.
//!
//! Every rule is due at three in the morning UTC. The policy clock is shifted so that this is the instant of the
//! measurement.

use anyhow::Result;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use serde_json::{Value, json};

pub(crate) const POLICIES: &str = "/apis/autoscaling.karmada.io/v1alpha1";
pub(crate) const TARGETS: &str = "/apis/autoscaling.karpenter.sh/v1alpha1";

/// The replicas of a target before its rule fires, and after.
pub(crate) const BEFORE: u32 = 2;
pub(crate) const AFTER: u32 = 7;

const NAMESPACES: usize = 10;

pub(crate) fn namespaces() -> impl Iterator<Item = String> {
    (0..NAMESPACES).map(namespace)
}

pub(crate) fn namespace(number: usize) -> String {
    format!("team-{}", number % NAMESPACES)
}

pub(crate) fn name(number: usize) -> String {
    format!("shop-{number:05}")
}

pub(crate) fn policy_spec(number: usize) -> Value {
    json!({
        "scaleTargetRef": {
            "apiVersion": "autoscaling.karpenter.sh/v1alpha1",
            "kind": "ScalableNodeGroup",
            "name": name(number),
        },
        "rules": [{
            "name": "before-opening",
            "schedule": "0 3 * * *",
            "timeZone": "UTC",
            "targetReplicas": AFTER,
        }],
    })
}

pub(crate) fn target_spec(number: usize) -> Value {
    json!({ "type": "AWSEKSNodeGroup", "id": name(number), "replicas": BEFORE })
}

/// Three in the morning of one of the days from the first of January 2027 on.
pub(crate) fn firing(day: i64) -> Result<Timestamp> {
    let first: Timestamp = "2027-01-01T03:00:00Z".parse()?;
    Ok(first.checked_add((24 * day).hours())?)
}

/// The offset of the policy clock at which it shows this instant now.
pub(crate) fn offset_to_show(instant: Timestamp) -> SignedDuration {
    instant.duration_since(Timestamp::now())
}
