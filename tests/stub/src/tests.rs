//! Tests of the faults. `tests/cluster_own_api_agreement` compares all other responses with those of an API server.

use almanac_fixtures::objects;
use http::StatusCode;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;

use super::*;

fn code(result: kube::Result<impl std::fmt::Debug>) -> u16 {
    match result {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("not a refusal: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_fault_strikes_n_times_and_a_lost_response_hides_an_applied_request() {
    let stub = Stub::new();
    let api = Api::<ConfigMap>::namespaced(stub.client(), "default");
    let object = serde_json::from_value(objects::config_map("a", &json!({}))).unwrap();
    stub.inject(Fault::wait(StatusCode::TOO_MANY_REQUESTS, 7).method(http::Method::POST));
    stub.inject(Fault::refuse().path_contains("configmaps"));
    stub.inject(Fault::lose_response().matching(ReceivedRequest::is_write));
    let create = async || api.create(&PostParams::default(), &object).await;
    assert_eq!(code(create().await), 429);
    let cut = |result| matches!(result, Err(kube::Error::Service(_)));
    assert!(cut(create().await));
    assert_eq!(stub.object("configmaps", "default", "a"), None);
    assert!(cut(create().await));
    assert!(stub.object("configmaps", "default", "a").is_some());
    assert_eq!(code(create().await), 409);
    assert_eq!(stub.requests_where(ReceivedRequest::is_write).len(), 4);
}
