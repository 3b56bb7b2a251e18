//! PromQL: the query of an autoscaler is checked as the webhook checks it.
#![no_main]

use almanac_api::checking::{CheckContext, check_json};
use almanac_api::kinds::Kind;
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|query: &str| {
    let target = json!({ "type": "AverageValue", "value": 4 });
    let object = json!({
        "apiVersion": "autoscaling.karpenter.sh/v1alpha1",
        "kind": "HorizontalAutoscaler",
        "metadata": { "name": "a" },
        "spec": {
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "a" },
            "minReplicas": 1,
            "maxReplicas": 9,
            "metrics": [{ "prometheus": { "query": query, "target": target } }],
        },
    });
    let context = CheckContext::new("default", Timestamp::UNIX_EPOCH);
    let _ = check_json(Kind::HorizontalAutoscaler, object, context);
});
