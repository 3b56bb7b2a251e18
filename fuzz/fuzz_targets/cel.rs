//! CEL: an expression is compiled and evaluated over a cluster.
#![no_main]

use std::sync::LazyLock;

use almanac_expressions::{Document, Expression, Meter, Subject};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

static CLUSTER: LazyLock<Document> = LazyLock::new(|| {
    Document::from_json(&json!({
        "metadata": { "name": "a", "labels": { "tier": "gold", "region": "eu" } },
        "status": {
            "allocatable": { "cpu": "500m", "memory": "16Gi" },
            "clusterClaims": [{ "name": "version", "value": "v1.30.2" }, { "name": "cidr", "value": "10.0.0.0/8" }],
            "conditions": [{ "type": "Available", "lastTransitionTime": "2026-01-05T00:00:00Z" }],
            "url": "https://example.com:8443/a?b=c",
        },
    }))
});

fuzz_target!(|text: &str| {
    if let Ok(expression) = Expression::compile(text) {
        let subject = Subject { object: &CLUSTER, scores: &|_| None };
        let _ = expression.holds(&subject, &Meter::new());
    }
});
