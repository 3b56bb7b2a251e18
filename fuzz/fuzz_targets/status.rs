//! Statuses: an object of each kind is read with any JSON as its status, and so is a policy with rules.
#![no_main]

use almanac_api::checking::{CheckContext, check_json};
use almanac_api::kinds::Kind;
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|text: &str| {
    let Ok(status) = serde_json::from_str::<Value>(text) else { return };
    let context = CheckContext::new("default", Timestamp::UNIX_EPOCH);
    for kind in Kind::ALL {
        let object = json!({ "metadata": { "name": "a" }, "spec": {}, "status": status });
        let _ = check_json(*kind, object, context);
    }
    let rules = json!([
        { "name": "a", "schedule": "0 8 * * *", "targetReplicas": 3 },
        { "name": "b", "schedule": "not a schedule", "targetReplicas": 1 },
    ]);
    let policy = json!({
        "apiVersion": "autoscaling.karmada.io/v1alpha1",
        "kind": "CronFederatedHPA",
        "metadata": { "name": "a" },
        "spec": {
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "a" },
            "rules": rules,
        },
        "status": status,
    });
    let _ = check_json(Kind::CronFederatedHPA, policy, context);
});
