//! Kinds that are installed late, that change, or that cannot be targets.

use std::sync::Arc;
use std::time::Duration;

use almanac_api::status::TargetProblem;
use almanac_engine::Identity;
use almanac_stub::{Fault, Kind as StubKind, Stub};
use http::{Method, StatusCode};
use serde_json::json;

use super::{BEGIN, from};
use crate::bench::{TestBench, at_nine, policy, target};
use crate::runtime::core;
use crate::targets::kind::{DiscoveredKind, Kind};
use crate::targets::{Kinds, MAX_KINDS, MISSING_KIND_TTL, TargetError};

const LATE: &str = "late.example.com/v1";

fn late() -> StubKind {
    StubKind::new(LATE, "Late", "lates").with_scale()
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
    let object = stub.object("lates", "default", "shop").expect("the object exists");
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
    let object = stub.object("lates", "default", "two").expect("the object exists");
    assert_eq!(object["spec"]["replicas"], 3, "{:?}", bench.patched());
}

#[tokio::test(start_paused = true)]
async fn an_unscalable_or_cluster_scoped_kind_is_not_a_target() {
    let stub = Stub::new();
    stub.serve(StubKind::new(LATE, "Late", "lates"));
    stub.put(target(LATE, "Late", "fixed"));
    let wide = StubKind::new("wide.example.com/v1", "Wide", "wides").with_scale();
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
    let (may_not, is_given) = (Fault::respond(StatusCode::FORBIDDEN, words), from("08:59:50"));
    let may_not = may_not.method(Method::GET).path_contains("/shop/scale");
    stub.inject(may_not.matching(move |request| !is_given(request)).always());
    let mut bench = TestBench::at(BEGIN, &stub);
    bench.upsert(at_nine("shop", LATE, "Late"));
    bench.run(10).await;
    assert_eq!(bench.not_ready_reason(&policy("shop")), Some("TargetForbidden"));
    bench.run(120).await;
    assert_eq!(bench.not_ready_reason(&policy("shop")), None);
    assert_eq!(bench.patched().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn targets_read_on_demand_go_with_their_policies() {
    let stub = Stub::new();
    stub.serve(late());
    let mut bench = TestBench::at("2026-11-20T07:00:00Z", &stub);
    let read = |bench: &TestBench| bench.cluster.lock().world.objects.workloads.len();
    for round in 0..20 {
        let name = format!("shop-{round}");
        stub.put(target(LATE, "Late", &name));
        bench.upsert(at_nine(&name, LATE, "Late"));
        bench.run(2).await;
        assert_eq!(read(&bench), 1, "after round {round}");
        bench.delete(at_nine(&name, LATE, "Late"));
        bench.run(2).await;
    }
    assert_eq!(read(&bench), 0);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_removed_between_the_read_and_the_write_of_a_turn_is_found_again() {
    let stub = Stub::new();
    stub.serve(late());
    stub.put(target(LATE, "Late", "shop"));
    let mut bench = TestBench::at(BEGIN, &stub);
    let (targets, shop) =
        (Arc::clone(bench.targets()), Identity::new("late.example.com", "Late", "default", "shop"));
    let removed = Fault::concurrent_change(move |_| targets.remove_kind(&shop));
    let read = removed.method(Method::GET).path_contains("/shop/scale");
    stub.inject(read.matching(from("09:00:00")));
    bench.upsert(at_nine("shop", LATE, "Late"));
    bench.run(31).await;
    assert_eq!(bench.not_ready_reason(&policy("shop")), None);
    assert_eq!(bench.patched().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_target_whose_policy_is_deleted_during_the_read_is_not_stored() {
    let stub = Stub::new();
    stub.serve(late());
    stub.put(target(LATE, "Late", "shop"));
    let mut bench = TestBench::at("2026-11-20T07:00:00Z", &stub);
    let shop = Identity::new("late.example.com", "Late", "default", "shop");
    let (cluster, read) = (Arc::clone(&bench.cluster), shop.clone());
    let gone = Fault::concurrent_change(move |_| {
        cluster.lock().set_target_of(&policy("shop"), Some(&read), None);
    });
    stub.inject(gone.path_contains("/shop/scale"));
    bench.upsert(at_nine("shop", LATE, "Late"));
    bench.run(2).await;
    assert_ne!(bench.requests_for("/shop/scale"), 0);
    let state = bench.cluster.lock();
    assert!(state.targets.get(&shop).is_none() && state.world.objects.workloads.is_empty());
}

#[tokio::test(start_paused = true)]
async fn results_for_kinds_that_are_not_served_expire_and_are_limited_in_number() {
    let mut kinds = Kinds::default();
    let name = |number: usize| {
        ("example.com".to_owned(), format!("Kind{number}"), "example.com/v1".to_owned())
    };
    let unknown = TargetError::Problem(TargetProblem::UnknownKind);
    for number in 0..MAX_KINDS + 10 {
        kinds.note_missing(name(number), unknown.clone());
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    assert_eq!(kinds.missing.len(), MAX_KINDS);
    assert_eq!([9, 10].map(|number| kinds.missing.contains_key(&name(number))), [false, true]);
    tokio::time::advance(MISSING_KIND_TTL).await;
    kinds.note_missing(name(0), unknown);
    assert_eq!(kinds.missing.len(), 1);
}

#[test]
fn the_kinds_that_were_found_are_limited_in_number() {
    let mut kinds = Kinds::default();
    let resolved = DiscoveredKind { resource: core("Late", "lates"), is_cluster_scoped: false };
    let found = Arc::new(Kind::new(resolved, Vec::new()));
    for number in 0..3 * MAX_KINDS {
        kinds.note_found(("example.com".to_owned(), format!("Kind{number}")), &found);
        assert_eq!(
            kinds.found.len(),
            MAX_KINDS.min(number + 1),
            "a new kind replaces one other kind"
        );
    }
}
