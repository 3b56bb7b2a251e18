//! Measures the time to create, schedule and make ready 1,000 pods on 50 simulated nodes, and the CPU time of each
//! process. The example prints figures and does not judge them.
//!
//! `cargo run -p almanac-harness --example thousand_pods`

use std::time::{Duration, Instant};

use almanac_harness::{
    Component, ControlPlaneOptions, NodeSpec, OwnTest, TestResult, on_own_control_plane,
};
use anyhow::{Context as _, Result, bail};
use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{Api, PostParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::json;
use std::collections::BTreeSet;

const PODS: usize = 1000;
const NODES: usize = 50;

fn main() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::whole(), async |test| {
        println!("ready after {:.1} s", test.plane.ready_after().as_secs_f64());
        let began = Instant::now();
        let _nodes = test.nodes(&[NodeSpec::named("node").count(NODES)]).await?;
        println!("{NODES} nodes registered after {:.1} s", began.elapsed().as_secs_f64());
        measure(test).await
    })
}

async fn measure(test: &OwnTest) -> TestResult {
    let before = processor_times(test)?;
    let began = Instant::now();
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "crowd"},
        "spec": {
            "replicas": PODS,
            "selector": {"matchLabels": {"app": "crowd"}},
            "template": {
                "metadata": {"labels": {"app": "crowd"}},
                "spec": {"containers": [{"name": "main", "image": "none",
                    "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]},
            },
        },
    }))?;
    let deployments: Api<Deployment> = Api::default_namespaced(test.client());
    deployments.create(&PostParams::default(), &deployment).await?;
    let [created, scheduled, ready] = watch_phases(test, began).await?;
    println!("{PODS} pods, from the Deployment on:");
    println!("  all created   {:6.1} s", created.as_secs_f64());
    println!("  all scheduled {:6.1} s", scheduled.as_secs_f64());
    println!("  all ready     {:6.1} s", ready.as_secs_f64());

    let cores = std::thread::available_parallelism()?;
    println!("processor time in these {:.1} s, on {cores} processors:", ready.as_secs_f64());
    let mut all = 0.0;
    for ((name, before), (_, after)) in before.into_iter().zip(processor_times(test)?) {
        println!("  {name:24} {:6.1} s", after - before);
        all += after - before;
    }
    println!("  {:24} {all:6.1} s", "all of them");
    Ok(())
}

/// The times at which the last pod was created, scheduled and ready, as a watch reported them.
async fn watch_phases(test: &OwnTest, began: Instant) -> Result<[Duration; 3]> {
    let pods: Api<Pod> = Api::default_namespaced(test.client());
    let config = watcher::Config::default().streaming_lists();
    let mut events = watcher(pods, config).default_backoff().applied_objects().boxed();
    let mut seen: [BTreeSet<String>; 3] = Default::default();
    let mut times = [None; 3];
    while let Some(pod) = events.next().await {
        let pod = pod?;
        let bound = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
        let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let ready = conditions.into_iter().any(|one| one.type_ == "Ready" && one.status == "True");
        for (phase, reached) in [true, bound, ready].into_iter().enumerate() {
            if reached {
                seen[phase].insert(pod.name_any());
            }
            if seen[phase].len() == PODS && times[phase].is_none() {
                times[phase] = Some(began.elapsed());
            }
        }
        if let [Some(created), Some(scheduled), Some(ready)] = times {
            return Ok([created, scheduled, ready]);
        }
    }
    bail!("the watch ended before all pods were ready")
}

/// The processor time of each component and of this process, which simulates the nodes, in
/// seconds.
fn processor_times(test: &OwnTest) -> Result<Vec<(String, f64)>> {
    let mut times = Vec::new();
    for component in Component::ALL {
        let id = test.plane.process_id(component).context("a component is down")?;
        times.push((component.to_string(), processor_time(id)?));
    }
    times.push(("nodes and this watch".into(), processor_time(std::process::id())?));
    Ok(times)
}

/// User and system time of a process: fields 14 and 15 of its `stat`, in hundredths of a second.
fn processor_time(id: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"))?;
    let (_, after_name) = stat.rsplit_once(')').context("no name in stat")?;
    let fields: Vec<_> = after_name.split_whitespace().collect();
    let ticks: u32 = fields
        .get(11..13)
        .context("too short")?
        .iter()
        .flat_map(|field| field.parse::<u32>())
        .sum();
    Ok(f64::from(ticks) / 100.0)
}
