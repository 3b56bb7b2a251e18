//! Kinds that come late, that change, or that cannot be targets.

use almanac_stub::{Fault, Kind as Served, Stub};
use http::{Method, StatusCode};
use serde_json::json;

use super::{BEGIN, from};
use crate::bench::{TestBench, at_nine, policy, target};

const LATE: &str = "late.example.com/v1";

fn late() -> Served {
    Served::new(LATE, "Late", "lates").with_scale()
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_installed_later_is_found_within_90_seconds() {
    let stub = Stub::new();
    let mut bench = TestBench::at("2026-11-20T08:50:00Z", &stub);
    bench.upsert(at_nine("shop", LATE, "Late"));
    bench.run(60).await;
    assert_eq!(bench.not_ready_reason(&policy("shop")), Some("TargetUnknownKind"));
    stub.serve(late());
    stub.put(target(LATE, "Late", "shop"));
    bench.run(90).await;
    assert_eq!(bench.not_ready_reason(&policy("shop")), None);
    bench.run(10 * 60).await;
    let object = stub.object("lates", "default", "shop").expect("it is there");
    assert_eq!(object["spec"]["replicas"], 3);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_served_in_another_version_is_found_again() {
    let newer = "late.example.com/v2";
    let stub = Stub::new();
    stub.serve(late());
    for name in ["one", "two"] {
        stub.put(target(LATE, "Late", name));
    }
    let mut bench = TestBench::at(BEGIN, &stub);
    bench.upsert(at_nine("one", LATE, "Late"));
    bench.run(5).await;
    stub.serve_in_version("lates", newer);
    bench.upsert(at_nine("two", newer, "Late"));
    bench.run(120).await;
    let object = stub.object("lates", "default", "two").expect("it is there");
    assert_eq!(object["spec"]["replicas"], 3, "{:?}", bench.patched());
}

#[tokio::test(start_paused = true)]
async fn an_unscalable_or_cluster_scoped_kind_is_not_a_target() {
    let stub = Stub::new();
    stub.serve(Served::new(LATE, "Late", "lates"));
    stub.put(target(LATE, "Late", "fixed"));
    let wide = Served::new("wide.example.com/v1", "Wide", "wides").with_scale();
    stub.serve(wide.cluster_scoped());
    let mut everywhere = target("wide.example.com/v1", "Wide", "wide");
    everywhere["metadata"]["namespace"] = json!("");
    stub.put(everywhere);
    let mut bench = TestBench::at(BEGIN, &stub);
    bench.upsert(at_nine("fixed", LATE, "Late"));
    bench.upsert(at_nine("wide", "wide.example.com/v1", "Wide"));
    bench.run(90).await;
    assert_eq!(bench.not_ready_reason(&policy("fixed")), Some("TargetNotScalable"));
    assert_eq!(bench.not_ready_reason(&policy("wide")), Some("ClusterScopedTarget"));
    assert_eq!(bench.patched(), []);
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_target_is_reported_until_permission_is_granted() {
    let stub = Stub::new();
    stub.serve(late());
    stub.put(target(LATE, "Late", "shop"));
    let words = "lates.late.example.com \"shop\" is forbidden: User \"almanac\" cannot get";
    let (may_not, is_given) = (Fault::answer(StatusCode::FORBIDDEN, words), from("08:59:50"));
    let may_not = may_not.method(Method::GET).path_contains("/shop/scale");
    stub.inject(may_not.matching(move |asked| !is_given(asked)).always());
    let mut bench = TestBench::at(BEGIN, &stub);
    bench.upsert(at_nine("shop", LATE, "Late"));
    bench.run(10).await;
    assert_eq!(bench.not_ready_reason(&policy("shop")), Some("TargetForbidden"));
    bench.run(120).await;
    assert_eq!(bench.not_ready_reason(&policy("shop")), None);
    assert_eq!(bench.patched().len(), 1);
}
