//! The overhead of a request through the proxy, and the writes of an idle API server.
//! `cargo run -p almanac-harness --example proxy_overhead`

use std::time::{Duration, Instant};

use almanac_harness::{AuditLog, ControlPlane, ControlPlaneOptions, FaultProxy, client_for};
use anyhow::Result;
use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

const REQUESTS: usize = 1000;
const IDLE: Duration = Duration::from_mins(1);

#[tokio::main]
async fn main() -> Result<()> {
    let plane = ControlPlane::start(&ControlPlaneOptions::api_only().audited()).await?;
    let direct = plane.client()?;
    let proxy = FaultProxy::start(direct.clone())?;
    let proxied = client_for(&proxy.kubeconfig())?;
    // The requests alternate, so that other load on the machine affects both clients.
    for round in 1..=3 {
        for (name, client) in [("direct", &direct), ("proxy", &proxied)] {
            let (get, patch) = (gets(client).await?, patches(client, round).await?);
            println!("{round} {name}: GET {get}, PATCH {patch}");
        }
    }
    let log = AuditLog::open(&plane)?;
    let before = log.writes(&direct).await?.len();
    println!("idle for {IDLE:?} …");
    tokio::time::sleep(IDLE).await;
    let writes = log.writes(&direct).await?;
    print!("written meanwhile:\n{}", AuditLog::tally(&writes[before..]));
    Ok(())
}

async fn gets(client: &Client) -> Result<String> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let mut times = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        let start = Instant::now();
        namespaces.get("default").await?;
        times.push(start.elapsed());
    }
    Ok(spread(times))
}

async fn patches(client: &Client, round: usize) -> Result<String> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let mut times = Vec::with_capacity(REQUESTS);
    for number in 0..REQUESTS {
        let value = format!("{round}-{number}");
        let patch = Patch::Merge(json!({"metadata": {"annotations": {"number": value}}}));
        let start = Instant::now();
        namespaces.patch("default", &PatchParams::default(), &patch).await?;
        times.push(start.elapsed());
    }
    Ok(spread(times))
}

fn spread(mut times: Vec<Duration>) -> String {
    times.sort();
    format!("median {:?}, 99th percentile {:?}", times[REQUESTS / 2], times[REQUESTS * 99 / 100])
}
