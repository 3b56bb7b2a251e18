//! That the stub does what an API server does, where tests rely on it.

use http::StatusCode;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

use super::*;

fn config_map(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "default" }, "data": { "a": "1", "b": "2" },
    })
}

fn code(answer: kube::Result<impl std::fmt::Debug>) -> u16 {
    match answer {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("it was no refusal: {other:?}"),
    }
}

#[tokio::test]
async fn pages_tell_what_there_was_when_the_list_was_begun_until_that_is_forgotten() {
    let stub = Stub::new();
    for name in ["a", "b", "c"] {
        stub.put(config_map(name));
    }
    let api = Api::<ConfigMap>::all(stub.client());
    let first = api.list(&ListParams::default().limit(2)).await.unwrap();
    stub.delete("configmaps", "default", "c");
    let token = first.metadata.continue_.unwrap();
    let next = ListParams::default().limit(2).continue_token(&token);
    let second = api.list(&next).await.unwrap();
    let names: Vec<_> =
        first.items.iter().chain(&second.items).filter_map(|it| it.metadata.name.clone()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(first.metadata.resource_version, second.metadata.resource_version);
    assert_eq!(second.metadata.continue_, None);
    stub.compact();
    assert_eq!(code(api.list(&next).await), 410);
}

#[tokio::test]
async fn an_update_or_a_patch_of_another_version_is_a_conflict_and_so_is_a_second_creation() {
    let stub = Stub::new();
    let api = Api::<ConfigMap>::namespaced(stub.client(), "default");
    let object = serde_json::from_value(config_map("a")).unwrap();
    let created = api.create(&PostParams::default(), &object).await.unwrap();
    assert_eq!(code(api.create(&PostParams::default(), &object).await), 409);
    stub.change("configmaps", "default", "a", &json!({ "data": { "a": "3" } }));
    assert_eq!(code(api.replace("a", &PostParams::default(), &created).await), 409);
    let patch = json!({ "metadata": { "resourceVersion": created.metadata.resource_version } });
    assert_eq!(code(api.patch("a", &PatchParams::default(), &Patch::Merge(patch)).await), 409);
    assert_eq!(stub.object("configmaps", "default", "a").unwrap()["data"]["a"], "3");
}

#[tokio::test]
async fn a_merge_patch_takes_away_what_is_null_in_it_and_a_dry_run_changes_nothing() {
    let stub = Stub::new();
    stub.put(config_map("a"));
    let api = Api::<ConfigMap>::namespaced(stub.client(), "default");
    let patch = Patch::Merge(json!({ "data": { "a": null } }));
    let before = stub.object("configmaps", "default", "a").unwrap();
    let tried = PatchParams { dry_run: true, ..PatchParams::default() };
    let shown = api.patch("a", &tried, &patch).await.unwrap();
    assert_eq!(stub.object("configmaps", "default", "a").unwrap(), before);
    let patched = api.patch("a", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(patched.data, Some([("b".to_owned(), "2".to_owned())].into()));
    assert_eq!(shown.data, patched.data);
    let again = api.patch("a", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(again.metadata.resource_version, patched.metadata.resource_version);
}

#[tokio::test]
async fn a_scale_and_a_status_are_changed_by_themselves() {
    let stub = Stub::new();
    stub.put(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "shop", "namespace": "default" }, "spec": { "replicas": 1 },
    }));
    let api = Api::<Deployment>::namespaced(stub.client(), "default");
    let patch = json!({ "spec": { "replicas": 3 }, "status": { "replicas": 2 } });
    let patch = Patch::Merge(patch);
    let parameters = PatchParams::default();
    let object = || {
        let object = stub.object("deployments", "default", "shop").unwrap();
        [&object["spec"], &object["status"], &object["metadata"]["generation"]].map(Value::clone)
    };
    api.patch_status("shop", &parameters, &patch).await.unwrap();
    assert_eq!(object(), [json!({ "replicas": 1 }), json!({ "replicas": 2 }), json!(1)]);
    let scale = api.patch_scale("shop", &parameters, &patch).await.unwrap();
    assert_eq!(scale.spec.and_then(|spec| spec.replicas), Some(3));
    assert_eq!(object(), [json!({ "replicas": 3 }), json!({ "replicas": 2 }), json!(2)]);
    let patch = Patch::Merge(json!({ "spec": { "paused": true }, "status": { "replicas": 9 } }));
    api.patch("shop", &parameters, &patch).await.unwrap();
    assert_eq!(object()[1], json!({ "replicas": 2 }), "it has a resource of its own");
}

#[tokio::test(start_paused = true)]
async fn a_fault_comes_as_often_as_it_was_asked_for_and_a_lost_answer_was_carried_out() {
    let stub = Stub::new();
    let api = Api::<ConfigMap>::namespaced(stub.client(), "default");
    let object = serde_json::from_value(config_map("a")).unwrap();
    stub.inject(Fault::wait(StatusCode::TOO_MANY_REQUESTS, 7).method(http::Method::POST));
    stub.inject(Fault::refuse().path_contains("configmaps"));
    stub.inject(Fault::lose_answer().matching(Asked::is_write));
    let create = async || api.create(&PostParams::default(), &object).await;
    assert_eq!(code(create().await), 429);
    let cut = |answer| matches!(answer, Err(kube::Error::Service(_)));
    assert!(cut(create().await));
    assert_eq!(stub.object("configmaps", "default", "a"), None);
    assert!(cut(create().await));
    assert!(stub.object("configmaps", "default", "a").is_some());
    assert_eq!(code(create().await), 409);
    assert_eq!(stub.asked_for(Asked::is_write).len(), 4);
}
