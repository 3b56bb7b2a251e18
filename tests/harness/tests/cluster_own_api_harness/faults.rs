//! etcd and the API server, stopped, killed and started again under a client.

use std::time::Duration;

use almanac_harness::{
    Component, ControlPlaneOptions, Observation, OwnTest, PATIENCE, TestResult, await_condition,
    on_own_control_plane,
};
use anyhow::{Result, bail};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, ResourceExt as _};
use serde_json::json;

async fn create(client: &Client, name: &str) -> kube::Result<ConfigMap> {
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": name}}))
        .map_err(kube::Error::SerdeError)?;
    Api::default_namespaced(client.clone()).create(&PostParams::default(), &map).await
}

async fn uid_of(test: &OwnTest, name: &str) -> Result<Option<String>> {
    Ok(Api::<ConfigMap>::default_namespaced(test.client()).get(name).await?.metadata.uid)
}

#[test]
fn nothing_is_written_while_etcd_is_stopped_and_writes_resume_when_it_continues() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let before = create(&test.client(), "before").await?.uid();
        test.plane.pause(Component::Etcd)?;
        // The API server waits for etcd far longer than this timeout; the test requires that no response arrives.
        let client = test.client();
        let write = create(&client, "meanwhile");
        if let Ok(Ok(_)) = tokio::time::timeout(Duration::from_secs(2), write).await {
            bail!("a write succeeded without etcd");
        }
        test.plane.resume(Component::Etcd)?;
        test.plane.await_ready(Component::Etcd).await?;
        await_condition("a write to succeed", PATIENCE, async || {
            create(&test.client(), "after").await?;
            Ok(Observation::Holds(()))
        })
        .await?;
        assert_eq!(uid_of(test, "before").await?, before);
        Ok(())
    })
}

#[test]
fn a_killed_and_restarted_api_server_serves_the_same_data_and_watches_resume() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let before = create(&test.client(), "before").await?.uid();
        let maps: Api<ConfigMap> = Api::default_namespaced(test.client());
        let config = watcher::Config::default().streaming_lists();
        let mut seen = watcher(maps.clone(), config).default_backoff().applied_objects().boxed();
        await_object(&mut seen, "before").await?;

        test.plane.kill(Component::ApiServer)?;
        assert_eq!(test.plane.process_id(Component::ApiServer), None);
        assert!(maps.get("before").await.is_err(), "a dead server responded");
        test.plane.restart(Component::ApiServer).await?;

        assert_eq!(uid_of(test, "before").await?, before);
        create(&test.client(), "after").await?;
        await_object(&mut seen, "after").await
    })
}

#[test]
fn a_killed_and_restarted_etcd_has_lost_no_acknowledged_write() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let mut written = Vec::new();
        for number in 0..50 {
            written.push(create(&test.client(), &format!("entry-{number}")).await?.uid());
        }
        test.plane.kill(Component::Etcd)?;
        test.plane.restart(Component::Etcd).await?;
        await_condition("the API server to have found etcd again", PATIENCE, async || {
            create(&test.client(), "after").await?;
            Ok(Observation::Holds(()))
        })
        .await?;
        for (number, uid) in written.into_iter().enumerate() {
            assert_eq!(uid_of(test, &format!("entry-{number}")).await?, uid);
        }
        Ok(())
    })
}

/// Waits until a watch has delivered the object of that name. Errors that the watch recovers from are ignored.
async fn await_object(
    seen: &mut (impl futures::Stream<Item = Result<ConfigMap, watcher::Error>> + Unpin),
    name: &str,
) -> Result<()> {
    let shown = async {
        while let Some(event) = seen.next().await {
            if event.is_ok_and(|map| map.name_any() == name) {
                return Ok(());
            }
        }
        bail!("the watch ended before it showed {name}")
    };
    match tokio::time::timeout(PATIENCE, shown).await {
        Ok(shown) => shown,
        Err(_) => bail!("the watch did not show {name} within {PATIENCE:?}"),
    }
}
