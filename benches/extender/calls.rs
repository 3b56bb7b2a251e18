//! The duration of each request at the socket, and the share of JSON in the duration.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use serde_json::{Value, json};

use crate::cluster::{Cluster, UNITS, node_name};
use crate::connection::Connection;

#[derive(Args)]
pub(crate) struct Calls {
    /// The numbers of nodes, in ascending order; a line for each
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "100,1000,5000")]
    nodes: Vec<usize>,

    /// The number of requests of each kind
    #[arg(long = "calls", value_name = "N", default_value_t = 1000)]
    times: usize,

    /// The number of bound pods
    #[arg(long, value_name = "N", default_value_t = 200)]
    bindings: usize,
}

impl Calls {
    pub(crate) async fn run(&self) -> Result<()> {
        let cluster = Cluster::start().await?;
        let names: Vec<String> = (0..=self.bindings).map(|it| format!("pod-{it}")).collect();
        println!("| nodes | call | p50 | p99 | JSON alone |\n|--:|---|--:|--:|--:|");
        let mut there = 0;
        for nodes in &self.nodes {
            cluster.add_nodes(there..*nodes).await?;
            there = *nodes;
            let pods = cluster.add_pods("shop", &names).await?;
            let pod = serde_json::to_value(&pods[0])?;
            self.measure(&cluster, *nodes, &pod).await?;
            self.bind(&cluster, *nodes, &pods[1..]).await?;
            cluster.delete_pods().await?;
        }
        Ok(())
    }

    async fn measure(&self, cluster: &Cluster, nodes: usize, pod: &Value) -> Result<()> {
        let mut connection = Connection::open(cluster.port.number()).await?;
        let names: Vec<String> = (0..nodes).map(node_name).collect();
        let arguments = json!({"Pod": pod, "Nodes": null, "NodeNames": names}).to_string();
        // The number of nodes on which kube-scheduler searches for victims.
        let candidates = names.iter().take((nodes / 10).max(100).min(nodes));
        let victims = candidates.map(|name| {
            (name, json!({"Pods": [{"UID": format!("of-{name}")}], "NumPDBViolations": 0}))
        });
        let victims: BTreeMap<_, _> = victims.collect();
        let preempting = json!({"Pod": pod, "NodeNameToMetaVictims": victims}).to_string();
        await_nodes(&mut connection, &arguments, nodes).await?;
        for (path, body) in [
            ("/filter", &arguments),
            ("/prioritize", &arguments),
            ("/preempt", &preempting),
            ("/none", &arguments),
        ] {
            let mut times = Vec::new();
            for _ in 0..self.times {
                let begun = Instant::now();
                let (status, _) = connection.post(path, body.as_bytes()).await?;
                times.push(begun.elapsed());
                ensure!(status == if path == "/none" { 404 } else { 200 }, "{path}: {status}");
            }
            let (_, response) = connection.post(path, body.as_bytes()).await?;
            let json = match path {
                "/filter" => format!("{:.0} µs", json_alone(body, response)?.as_secs_f64() * 1e6),
                _ => String::new(),
            };
            print_line(nodes, path, &mut times, &json);
        }
        Ok(())
    }

    async fn bind(
        &self,
        cluster: &Cluster,
        nodes: usize,
        pods: &[k8s_openapi::api::core::v1::Pod],
    ) -> Result<()> {
        let mut connection = Connection::open(cluster.port.number()).await?;
        let mut times = Vec::new();
        for (number, pod) in pods.iter().enumerate() {
            let node = node_name(number * UNITS.len() % (nodes / UNITS.len() * UNITS.len()));
            let metadata = &pod.metadata;
            let arguments = json!({
                "PodName": metadata.name, "PodNamespace": metadata.namespace,
                "PodUID": metadata.uid, "Node": node,
            });
            let begun = Instant::now();
            let (_, response) = connection.post("/bind", arguments.to_string().as_bytes()).await?;
            times.push(begun.elapsed());
            let response: Value = serde_json::from_slice(response)?;
            ensure!(response["Error"] == "", "{response}");
        }
        print_line(nodes, "/bind", &mut times, "");
        Ok(())
    }
}

/// The extender follows the nodes in a watch.
async fn await_nodes(connection: &mut Connection, arguments: &str, nodes: usize) -> Result<()> {
    loop {
        let (_, response) = connection.post("/filter", arguments.as_bytes()).await?;
        let response: Value = serde_json::from_slice(response)?;
        let remaining = response["NodeNames"].as_array().context("no names")?.len();
        if remaining == nodes.div_ceil(UNITS.len())
            && !response.to_string().contains("still unknown")
        {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[derive(serde::Deserialize)]
struct FilterArguments<'a> {
    #[serde(rename = "Pod")]
    _pod: serde::de::IgnoredAny,
    #[serde(rename = "NodeNames", borrow)]
    names: Vec<&'a str>,
}

#[derive(serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "PascalCase")]
struct FilterResult<'a> {
    #[serde(borrow)]
    node_names: Vec<&'a str>,
    failed_nodes: BTreeMap<&'a str, String>,
    failed_and_unresolvable_nodes: BTreeMap<&'a str, String>,
}

/// Reads and writes only the JSON of a filter request: the pod is skipped, and names are not copied.
fn json_alone(body: &str, response: &[u8]) -> Result<Duration> {
    let result: FilterResult<'_> = serde_json::from_slice(response)?;
    let rounds = 200;
    let begun = Instant::now();
    for _ in 0..rounds {
        let arguments: FilterArguments<'_> = serde_json::from_str(black_box(body))?;
        black_box(arguments.names.len());
        black_box(serde_json::to_vec(black_box(&result))?);
    }
    Ok(begun.elapsed() / rounds)
}

pub(crate) fn print_line(nodes: usize, call: &str, times: &mut [Duration], more: &str) {
    times.sort();
    let at = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1e3;
    println!("| {nodes} | {call} | {:.2} ms | {:.2} ms | {more} |", at(50), at(99));
}
