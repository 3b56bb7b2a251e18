//! Others who change a target: before a firing, and just when it is carried out.

use almanac_stub::{Asked, Fault, Kind as Served, Stub};
use serde_json::{Value, json};

use super::{BEGIN, stub};
use crate::bench::{TestBench, at_nine, policy};

#[tokio::test(start_paused = true)]
async fn bounds_that_somebody_changes_at_the_same_time_are_decided_over_as_they_are_by_then() {
    let stub = Stub::new();
    let kind = ("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers");
    stub.serve(Served::new(kind.0, kind.1, kind.2));
    stub.put(json!({
        "apiVersion": kind.0, "kind": kind.1,
        "metadata": { "name": "shop", "namespace": "default" },
        "spec": { "minReplicas": 2, "maxReplicas": 5 },
    }));
    let room = json!({ "spec": { "maxReplicas": 12 } });
    let meanwhile = Fault::meanwhile(move |stub| stub.change(kind.2, "default", "shop", &room));
    stub.inject(meanwhile.matching(Asked::is_write));
    let mut bench = TestBench::at(BEGIN, &stub);
    let mut policy = at_nine("shop", kind.0, kind.1);
    policy["spec"]["rules"] =
        json!([{ "name": "nine", "schedule": "0 9 * * *", "targetMinReplicas": 8 }]);
    bench.upsert(policy);
    bench.run(60).await;
    let bounds = stub.object(kind.2, "default", "shop").expect("it is there");
    assert_eq!(bounds["spec"], json!({ "minReplicas": 8, "maxReplicas": 12 }), "nobody makes way");
}

/// Somebody has set the replicas of a Deployment.
fn set_by(manager: &str, replicas: u32) -> Value {
    json!({
        "metadata": { "managedFields": [{
            "manager": manager, "operation": "Update",
            "fieldsV1": { "f:spec": { "f:replicas": {} } },
        }] },
        "spec": { "replicas": replicas },
    })
}

#[tokio::test(start_paused = true)]
async fn what_somebody_has_set_before_a_firing_is_not_held_against_it() {
    let stub = stub(0);
    let mut bench = TestBench::at(BEGIN, &stub);
    bench.upsert(at_nine("healthy-1", "apps/v1", "Deployment"));
    bench.run(5).await;
    stub.change("deployments", "default", "healthy-1", &set_by("kubectl", 2));
    bench.run(60).await;
    let target = stub.object("deployments", "default", "healthy-1").expect("it is there");
    assert_eq!(target["spec"]["replicas"], 3);
    let state = bench.cluster.lock();
    let object = &state.world.cron_scalings[&policy("healthy-1").identity];
    let undone = &object.memory.as_ref().expect("it has one").rules[0].undone;
    assert!(undone.is_none(), "{undone:?}");
}
