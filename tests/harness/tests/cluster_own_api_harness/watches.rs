//! The number of watches that the API server keeps for a program behind the proxy.

use almanac_harness::{
    ControlPlaneOptions, FaultProxy, Observation, PATIENCE, TestResult, await_condition,
    client_for, on_own_control_plane,
};
use anyhow::Result;
use k8s_openapi::api::core::v1::PodTemplate;
use kube::Client;
use kube::api::{Api, WatchParams};

/// The number of watches of pod templates. In the control plane, only the cache of the API server watches pod
/// templates.
async fn watches(client: &Client) -> Result<f64> {
    let request = http::Request::get("/metrics").body(Vec::new())?;
    let metrics = client.request_text(request).await?;
    let counts = metrics.lines().filter(|line| {
        line.starts_with("apiserver_longrunning_requests{")
            && line.contains("resource=\"podtemplates\"")
            && line.contains("verb=\"WATCH\"")
    });
    let mut sum = 0.0;
    for count in counts.filter_map(|line| line.rsplit(' ').next()) {
        sum += count.parse::<f64>()?;
    }
    Ok(sum)
}

async fn await_watches(client: &Client, wanted: f64) -> Result<()> {
    await_condition(&format!("{wanted} watches"), PATIENCE, async || {
        let held = watches(client).await?;
        Ok(Observation::from_bool((held - wanted).abs() < 0.5, held))
    })
    .await
}

#[test]
fn a_program_that_disconnects_leaves_no_watch_at_the_api_server() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let proxy = FaultProxy::start(test.client())?;
        let client = client_for(&proxy.kubeconfig())?;
        let proxied: Api<PodTemplate> = Api::default_namespaced(client);
        let before = watches(&test.client()).await?;
        let first = proxied.watch(&WatchParams::default(), "0").await?;
        let second = proxied.watch(&WatchParams::default(), "0").await?;
        await_watches(&test.client(), before + 2.0).await?;
        drop(first);
        await_watches(&test.client(), before + 1.0).await?;
        proxy.cut_all().await;
        await_watches(&test.client(), before).await?;
        drop(second);
        Ok(())
    })
}
