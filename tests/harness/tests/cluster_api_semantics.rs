//! What the API server alone is trusted for: streaming lists and apply conflicts.

use std::sync::{Arc, Mutex};

use almanac_harness::{TestResult, on_shared_cluster};
use anyhow::{Context as _, bail};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams};
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::{Value, json};
use tower::util::MapRequestLayer;

fn config_map(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

#[test]
fn a_watch_with_streaming_lists_lists_nothing() -> TestResult {
    on_shared_cluster(async |test| {
        let params = PatchParams::apply("harness");
        let maps: Api<ConfigMap> = Api::default_namespaced(test.client());
        for name in ["one", "two"] {
            maps.patch(name, &params, &Patch::Apply(config_map(name, &json!({})))).await?;
        }
        // A client that writes down what is asked.
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let recorder = MapRequestLayer::new(move |request: http::Request<kube::client::Body>| {
            log.lock().expect("nobody panics with it").push(request.uri().to_string());
            request
        });
        let read = Kubeconfig::read_from(test.kubeconfig())?;
        let config =
            kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?;
        let client = ClientBuilder::try_from(config)?.with_layer(&recorder).build();

        let watched: Api<ConfigMap> = Api::namespaced(client, test.namespace());
        let config = watcher::Config::default().streaming_lists();
        let mut events = std::pin::pin!(watcher(watched, config));
        let mut initial = Vec::new();
        loop {
            match events.next().await.context("the watch ended")?? {
                Event::InitApply(map) => initial.push(map.name_any()),
                Event::InitDone => break,
                Event::Init => {}
                other => bail!("{other:?} before the initial state was complete"),
            }
        }
        // The controller manager may have put its own map there as well.
        assert!(initial.contains(&"one".into()) && initial.contains(&"two".into()), "{initial:?}");
        maps.patch("three", &params, &Patch::Apply(config_map("three", &json!({})))).await?;
        loop {
            if let Event::Apply(map) = events.next().await.context("the watch ended")??
                && map.name_any() == "three"
            {
                break;
            }
        }
        let asked = asked.lock().expect("nobody panics with it").clone();
        assert_eq!(asked.len(), 1, "one request serves it all: {asked:?}");
        assert!(asked[0].contains("watch=true"), "{asked:?}");
        assert!(asked[0].contains("sendInitialEvents=true"), "{asked:?}");
        Ok(())
    })
}

#[test]
fn applying_a_field_somebody_else_owns_is_a_conflict() -> TestResult {
    on_shared_cluster(async |test| {
        let maps: Api<ConfigMap> = Api::default_namespaced(test.client());
        let ours = config_map("tide", &json!({"level": "high"}));
        let theirs = config_map("tide", &json!({"level": "low"}));
        maps.patch("tide", &PatchParams::apply("ours"), &Patch::Apply(&ours)).await?;
        let refusal =
            maps.patch("tide", &PatchParams::apply("theirs"), &Patch::Apply(&theirs)).await;
        let Err(kube::Error::Api(status)) = refusal else {
            bail!("it was not refused: {refusal:?}");
        };
        assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"), "{status:?}");
        assert!(status.message.contains("\"ours\""), "it names the owner: {}", status.message);
        let kept = maps.get("tide").await?.data.unwrap_or_default();
        assert_eq!(kept.get("level").map(String::as_str), Some("high"));
        Ok(())
    })
}
