//! The findings of Almanac for a query, as a metric of an autoscaler.

use almanac_api::checking::{CheckContext, CheckedObject, check_json};
use almanac_api::kinds::Kind;
use almanac_fixtures::{at, objects};
use serde_json::json;

pub(crate) const NOW: &str = "2026-11-20T12:00:00Z";

/// An autoscaler with this query, checked.
pub(crate) fn checked(query: &str) -> CheckedObject {
    let target = objects::target("apps/v1", "Deployment", "shop");
    let metric = json!({ "query": query, "target": { "type": "AverageValue", "value": "1" } });
    let autoscaler = json!({
        "apiVersion": objects::KARPENTER, "kind": "HorizontalAutoscaler",
        "metadata": { "name": "shop", "namespace": "default" },
        "spec": {
            "scaleTargetRef": target, "minReplicas": 0, "maxReplicas": 9,
            "metrics": [{ "prometheus": metric }],
        },
    });
    check_json(Kind::HorizontalAutoscaler, autoscaler, CheckContext::new("default", at(NOW)))
}
