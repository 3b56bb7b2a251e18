//! The stub compared with a real API server: both get the same sequence of requests and must give the same responses,
//! in the parts that Almanac reads.
//!
//! The features that only a real API server has (validation, defaulting, permissions, field ownership) are not
//! covered.

mod recorder;

use almanac_fixtures::objects;
use almanac_harness::{Component, ControlPlaneOptions, OwnTest, TestResult, on_own_control_plane};
use almanac_stub::Stub;
use anyhow::{Context as _, Result};
use http::{Method, Request};
use kube::Client;
use recorder::{JSON, MERGE, METADATA, Recorder, request, version};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

fn config_map(name: &str) -> Value {
    objects::config_map(name, &json!({ "a": "1", "b": "2" }))
}

/// An object as returned, with changed content.
fn changed(object: &Value, field: &str, to: Value) -> Value {
    let mut object = object.clone();
    object[field] = to;
    object
}

async fn ask_of_existence(recorder: &mut Recorder) -> Result<()> {
    recorder.get("a missing object", &format!("{MAPS}/missing")).await?;
    recorder.get("an unserved group", "/apis/nobody.expects/v1").await?;
    recorder.get("what a group has", "/apis/apps/v1").await?;
    recorder.get("a missing scale", &format!("{DEPLOYMENTS}/missing/scale")).await?;
    let created = recorder.post("creation", MAPS, &config_map("a")).await?;
    recorder.note_version("creation", &created)?;
    recorder.post("a second creation", MAPS, &config_map("a")).await?;
    let of_scale = json!({ "spec": { "replicas": 3 } });
    let missing = format!("{DEPLOYMENTS}/missing");
    recorder.patch("a patch of a missing object", &missing, &of_scale).await?;
    recorder.patch("a patch of no scale", &format!("{missing}/scale"), &of_scale).await?;
    recorder.put("an update of nothing", &format!("{MAPS}/b"), &config_map("b")).await?;
    recorder.delete("a deletion of nothing", &format!("{MAPS}/b"), &Value::Null).await?;
    Ok(())
}

async fn ask_of_versions(recorder: &mut Recorder) -> Result<()> {
    let path = format!("{MAPS}/a");
    let first = recorder.get("an existing object", &path).await?;
    let second = changed(&first, "data", json!({ "a": "3" }));
    let updated = recorder.put("an update of a known version", &path, &second).await?;
    recorder.note_version("an update of a known version", &updated)?;
    recorder.put("an update of an older version", &path, &first).await?;
    let change =
        json!({ "metadata": { "resourceVersion": version(&first)? }, "data": { "a": "4" } });
    recorder.patch("a patch of an older version", &path, &change).await?;
    let change = json!({ "data": { "a": null, "c": "5" } });
    let tried = request(Method::PATCH, &format!("{path}?dryRun=All"), MERGE, &change)?;
    recorder.record("a dry run", tried).await?;
    let unchanged = recorder.get("after a dry run", &path).await?;
    recorder.note_version("after a dry run", &unchanged)?;
    let patched = recorder.patch("a patch that takes away", &path, &change).await?;
    recorder.note_version("a patch that takes away", &patched)?;
    let again = recorder.patch("a patch that changes nothing", &path, &change).await?;
    recorder.note_version("a patch that changes nothing", &again)?;
    let metadata = request(Method::PATCH, &path, METADATA, &json!({ "data": { "e": "6" } }))?;
    recorder.record("a patch of which the metadata are wanted", metadata).await?;
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": "a", "namespace": "default" }, "spec": { "holderIdentity": "one" },
    });
    let lease = recorder.post("a lease", LEASES, &lease).await?;
    let path = format!("{LEASES}/a");
    let taken = changed(&lease, "spec", json!({ "holderIdentity": "two" }));
    recorder.put("an update of a lease", &path, &taken).await?;
    recorder.put("an update by the slower client", &path, &lease).await?;
    recorder.delete("its deletion", &path, &Value::Null).await?;
    recorder.put("an update of a deleted lease", &path, &taken).await?;
    Ok(())
}

async fn ask_of_subresources(recorder: &mut Recorder) -> Result<()> {
    let path = format!("{DEPLOYMENTS}/shop");
    let first = recorder.post("a Deployment", DEPLOYMENTS, &objects::deployment("shop", 1)).await?;
    let both = json!({ "spec": { "replicas": 3 }, "status": { "replicas": 2 } });
    recorder.patch("a patch of the status", &format!("{path}/status"), &both).await?;
    let stale =
        json!({ "metadata": { "resourceVersion": version(&first)? }, "status": { "replicas": 4 } });
    recorder.patch("a patch of an older version", &format!("{path}/status"), &stale).await?;
    recorder.get("the scale", &format!("{path}/scale")).await?;
    recorder.patch("a patch of the scale", &format!("{path}/scale"), &both).await?;
    let stale =
        json!({ "metadata": { "resourceVersion": version(&first)? }, "spec": { "replicas": 4 } });
    recorder.patch("a patch of an older version", &format!("{path}/scale"), &stale).await?;
    recorder.patch("an empty patch", &format!("{path}/scale"), &json!({})).await?;
    let tried = request(Method::PATCH, &format!("{path}/scale?dryRun=All"), MERGE, &json!({}))?;
    recorder.record("a dry run of an empty patch", tried).await?;
    recorder
        .patch("a patch of the whole leaves the status", &path, &json!({ "status": null }))
        .await?;
    recorder.get("in the end", &path).await?;
    let regarding =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "default" });
    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": { "name": "a.1", "namespace": "default" },
        "eventTime": "2026-11-20T08:00:00.000000Z", "reportingController": "almanac",
        "reportingInstance": "test", "action": "Scale", "reason": "So", "type": "Normal",
        "note": "it is so", "regarding": regarding,
    });
    recorder.post("an Event", EVENTS, &event).await?;
    recorder.post("an Event of the same name", EVENTS, &event).await?;
    Ok(())
}

async fn ask_of_deletions(recorder: &mut Recorder) -> Result<()> {
    let object = recorder.post("an object to delete", MAPS, &config_map("gone")).await?;
    let path = format!("{MAPS}/gone");
    let precondition = |name: &str, value: &Value| json!({ "preconditions": { name: value } });
    let other = json!("00000000-0000-4000-8000-00000000ffff");
    recorder.delete("of another uid", &path, &precondition("uid", &other)).await?;
    recorder.patch("a change", &path, &json!({ "data": { "a": "9" } })).await?;
    let older = precondition("resourceVersion", &object["metadata"]["resourceVersion"]);
    recorder.delete("of an older version", &path, &older).await?;
    let uid = precondition("uid", &object["metadata"]["uid"]);
    recorder.delete("of this uid", &path, &uid).await?;
    recorder.get("a deleted object", &path).await?;
    let change = json!({ "metadata": { "uid": object["metadata"]["uid"] }, "data": { "a": "9" } });
    recorder.patch("a patch of a deleted object with its uid", &path, &change).await?;
    recorder.put("an update of a deleted object with its uid", &path, &object).await?;
    let other = recorder.post("a new object with the same name", MAPS, &config_map("gone")).await?;
    recorder.put("an update of the previous object", &path, &object).await?;
    let newer = &other["metadata"]["resourceVersion"];
    let before = json!({ "metadata": { "resourceVersion": version(&object)? }, "data": {} });
    recorder.patch("a patch of the version that was there before", &path, &before).await?;
    let other = json!({ "metadata": { "resourceVersion": newer }, "data": { "a": "9" } });
    recorder.patch("a patch of this version", &path, &other).await?;
    Ok(())
}

async fn ask_of_lists(
    recorder: &mut Recorder,
    compact: impl AsyncFn() -> TestResult,
) -> Result<()> {
    for name in ["page-1", "page-2", "page-3"] {
        recorder.post(name, MAPS, &config_map(name)).await?;
    }
    let first = recorder.get("the first page", &format!("{MAPS}?limit=2")).await?;
    let from = version(&first)?.to_owned();
    recorder.delete("an object of a later page", &format!("{MAPS}/page-3"), &Value::Null).await?;
    recorder
        .patch("an object of the first page", &format!("{MAPS}/page-1"), &json!({ "data": null }))
        .await?;
    let token = first["metadata"]["continue"].as_str().context("no token")?;
    let next = format!("{MAPS}?limit=2&continue={token}");
    let second = recorder.get("the next page", &next).await?;
    let is_same = version(&second)? == from;
    recorder.responses.push(("pages are of one version".to_owned(), json!(is_same)));
    recorder
        .post(
            "something else",
            LEASES,
            &json!({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": { "name": "else", "namespace": "default" },
            }),
        )
        .await?;
    recorder.watch("a watch from the version of the list", MAPS, &from).await?;
    compact().await?;
    recorder.watch("a watch from the version before all", MAPS, "1").await?;
    recorder.get("a page of what is forgotten", &next).await?;
    Ok(())
}

async fn ask_everything(
    client: Client,
    compact: impl AsyncFn() -> TestResult,
) -> Result<Vec<(String, Value)>> {
    let mut recorder = Recorder::new(client);
    ask_of_existence(&mut recorder).await?;
    ask_of_versions(&mut recorder).await?;
    ask_of_subresources(&mut recorder).await?;
    ask_of_deletions(&mut recorder).await?;
    ask_of_lists(&mut recorder, compact).await?;
    Ok(recorder.responses)
}

/// Makes etcd compact its history.
async fn compact(test: &OwnTest) -> TestResult {
    let etcd = test.plane.etcd_client()?;
    let range = request(Method::POST, "/v3/kv/range", JSON, &json!({ "key": "AA==" }))?;
    let now: Value = etcd.request(range.map(|_| br#"{"key":"AA=="}"#.to_vec())).await?;
    let revision = now["header"]["revision"].as_str().context("no revision")?;
    let body = json!({ "revision": revision, "physical": true }).to_string().into_bytes();
    let request = Request::post("/v3/kv/compaction").body(body)?;
    let _: Value = etcd.request(request).await?;
    // The API server has a cache of its own, so a restart follows.
    test.plane.restart(Component::ApiServer).await
}

#[test]
fn the_stub_responds_like_an_api_server() -> TestResult {
    // Otherwise etcd notifies the API server of its progress only every ten minutes.
    let progress = "--watch-progress-notify-interval=1s";
    let options = ControlPlaneOptions::api_only().flag(Component::Etcd, progress);
    on_own_control_plane(&options, async |test| {
        let stub = Stub::new();
        let expire = async || {
            stub.compact();
            Ok(())
        };
        // Concurrently, because both sequences wait for watches.
        let (real, stubbed) = tokio::try_join!(
            ask_everything(test.client(), async || compact(test).await),
            ask_everything(stub.client(), expire),
        )?;
        let differences: Vec<String> = real
            .iter()
            .zip(&stubbed)
            .filter(|(real, stubbed)| real != stubbed)
            .map(|((what, real), (_, stubbed))| {
                format!("{what}\n  an API server: {real}\n  the stub:      {stubbed}")
            })
            .collect();
        assert!(differences.is_empty(), "{}", differences.join("\n"));
        assert_eq!(real.len(), stubbed.len());
        Ok(())
    })
}
