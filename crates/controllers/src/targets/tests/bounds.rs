//! Concurrent changes of an autoscaler by other field managers during a firing.

use almanac_stub::{Fault, Kind as StubKind, ReceivedRequest, Stub};
use serde_json::json;

use super::BEGIN;
use crate::bench::{TestBench, at_nine};

#[tokio::test(start_paused = true)]
async fn a_conflicting_change_of_bounds_leads_to_a_fresh_decision() {
    let stub = Stub::new();
    let kind = ("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers");
    stub.serve(StubKind::new(kind.0, kind.1, kind.2));
    stub.put(json!({
        "apiVersion": kind.0, "kind": kind.1,
        "metadata": { "name": "shop", "namespace": "default" },
        "spec": { "minReplicas": 2, "maxReplicas": 5 },
    }));
    let room = json!({ "spec": { "maxReplicas": 12 } });
    let during_write =
        Fault::concurrent_change(move |stub| stub.change(kind.2, "default", "shop", &room));
    stub.inject(during_write.matching(ReceivedRequest::is_write));
    let mut bench = TestBench::at(BEGIN, &stub);
    let mut policy = at_nine("shop", kind.0, kind.1);
    policy["spec"]["rules"] =
        json!([{ "name": "nine", "schedule": "0 9 * * *", "targetMinReplicas": 8 }]);
    bench.upsert(policy);
    bench.run(60).await;
    let bounds = stub.object(kind.2, "default", "shop").expect("the object exists");
    assert_eq!(
        bounds["spec"],
        json!({ "minReplicas": 8, "maxReplicas": 12 }),
        "neither bound is replaced"
    );
}
