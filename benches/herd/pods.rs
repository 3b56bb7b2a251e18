//! Many pods whose level one boundary changes, against a real etcd and API server: an agent for the whole cluster, or
//! one on every node.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use almanac_harness::{Component, ControlPlane, ControlPlaneOptions, Program};
use anyhow::{Context as _, Result, ensure};
use clap::Args;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::runtime::watcher;
use serde_json::{Value, json};

use crate::cluster::{Changes, await_listed, requests, requests_since};
use crate::cluster_objects::resource;
use crate::exposition::{Exposition, label_of};
use crate::figures::{count, load, megabytes, spread};
use crate::processes::Processes;

/// The opening of the window, on the policy clock.
const BOUNDARY: &str = "2027-03-02T22:00:00Z";
const NAMESPACE: &str = "default";
const LEVEL: &str = "volcano.sh/qos-level";
/// The number of our requests in flight at the same time.
const MAX_IN_FLIGHT: usize = 64;

#[derive(Args)]
pub(crate) struct Pods {
    /// The number of pods
    #[arg(long = "pods", value_name = "N", default_value_t = 10_000)]
    count: usize,

    /// The number of nodes
    #[arg(long, value_name = "N", default_value_t = 100)]
    nodes: usize,

    /// The number of policies; the last policy selects the pods
    #[arg(long, value_name = "N", default_value_t = 20)]
    policies: usize,

    /// Run an agent on this number of nodes, instead of one for the whole cluster
    #[arg(long, value_name = "N")]
    agents: Option<usize>,

    /// Further arguments of the agents
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    with: Vec<String>,

    /// The time between the start of the agents and the boundary
    #[arg(long, value_name = "SECONDS", default_value_t = 25)]
    lead: i64,

    /// Measure the consumption of idle agents for this number of seconds, without a boundary
    #[arg(long, value_name = "SECONDS")]
    idle: Option<u32>,
}

impl Pods {
    pub(crate) async fn run(&self, program: &Path) -> Result<()> {
        let plane = ControlPlane::start(&ControlPlaneOptions::api_only()).await?;
        let client = plane.client()?;
        self.create(&client).await?;
        println!("{} pods on {} nodes created (load {})", self.count, self.nodes, load()?);
        let mut changes = changed_pods(&client);
        let lead = if self.idle.is_some() { 7200 } else { self.lead };
        let shown = BOUNDARY.parse::<Timestamp>()? - SignedDuration::from_secs(lead);
        let offset = shown.duration_since(Timestamp::now());
        let boundary = Timestamp::now() + SignedDuration::from_secs(lead);
        let agents = self.start(program, &plane, offset).await?;
        println!("agents: {}, {}", agents.len(), memory(&agents)?);
        if let Some(seconds) = self.idle {
            let before = times(&agents)?;
            tokio::time::sleep(Duration::from_secs(seconds.into())).await;
            let used = times(&agents)?.saturating_sub(before);
            let an_hour = used.as_secs_f64() * 3600.0 / count(agents.len()) / f64::from(seconds);
            println!("idle for {seconds} s: processor time {an_hour:.2} s an hour of each agent");
            println!("  {}", memory(&agents)?);
            return stop(agents).await;
        }
        await_listed(&mut changes).await?;
        let rest = boundary.duration_since(Timestamp::now()) - SignedDuration::from_secs(1);
        tokio::time::sleep(Duration::try_from(rest).context("the agents came too late")?).await;
        println!("  at rest: {}", memory(&agents)?);
        let requests = requests(&client).await?;
        let processes = Processes::look(&running(&plane, &agents)?)?;
        let due = agents.len().min(self.nodes);
        let due = if self.agents.is_some() { self.count * due / self.nodes } else { self.count };
        let lags = lags(&mut changes, due, boundary).await?;
        println!("  boundary to level, as a watch reported it: {}", spread(lags));
        println!("    processor time until then: {}", processes.line()?);
        println!("    {}", memory(&agents)?);
        tokio::time::sleep(Duration::from_secs(2)).await;
        print_requests(&requests_since(&client, &requests).await?);
        let text = agents.first().context("no agent")?.get("/metrics").await?.1;
        for line in text.lines().filter(|line| line.starts_with("almanac_writes_total")) {
            println!("    the first agent: {line}");
        }
        stop(agents).await
    }

    async fn create(&self, client: &Client) -> Result<()> {
        let policy = |number: usize| {
            let app =
                if number + 1 == self.policies { "batch".into() } else { format!("a{number}") };
            json!({
                "name": format!("policy-{number}"), "startTime": "22:00", "endTime": "06:00",
                "selector": {"matchLabels": {"app": app}}, "targetQoSLevel": -1,
            })
        };
        let policies: Vec<Value> = (0..self.policies).map(policy).collect();
        let config = json!({"globalConfig": {"timeBasedQoSPolicies": policies}}).to_string();
        let namespace = json!({"metadata": {"name": "volcano-system"}});
        post(client, "/api/v1/namespaces", &namespace).await?;
        let config = json!({
            "metadata": {"name": "volcano-agent-config"}, "data": {"config.yaml": config},
        });
        post(client, "/api/v1/namespaces/volcano-system/configmaps", &config).await?;
        each(self.nodes, |number| {
            let node = json!({"metadata": {"name": node(number), "labels": {"pool": "batch"}}});
            async move { post(client, "/api/v1/nodes", &node).await }
        })
        .await?;
        each(self.count, |number| {
            let pod = json!({
                "metadata": {
                    "name": format!("pod-{number}"), "labels": {"app": "batch", "tier": "low"},
                    "annotations": {LEVEL: "1"},
                },
                "spec": {
                    "nodeName": node(number % self.nodes),
                    "containers": [{"name": "a", "image": "registry.example.com/batch:1"}],
                },
            });
            async move { post(client, &format!("/api/v1/namespaces/{NAMESPACE}/pods"), &pod).await }
        })
        .await
    }

    async fn start(
        &self,
        program: &Path,
        plane: &ControlPlane,
        offset: SignedDuration,
    ) -> Result<Vec<Program>> {
        let kubeconfig = format!("--kubeconfig={}", plane.kubeconfig().display());
        let offset = format!("--clock-offset={offset:#}");
        let names = match self.agents {
            Some(agents) => (0..agents).map(node).collect(),
            None => vec!["*".to_owned()],
        };
        let mut agents = Vec::new();
        for name in names {
            let name = format!("--node-name={name}");
            let mut arguments = vec!["agent", &name, "--leader-elect=false", &kubeconfig, &offset];
            arguments.extend(self.with.iter().map(String::as_str));
            agents.push(Program::start_listening(program, &arguments, &[])?);
        }
        for agent in &agents {
            agent.await_ready().await?;
        }
        Ok(agents)
    }
}

fn node(number: usize) -> String {
    format!("node-{number}")
}

async fn post(client: &Client, path: &str, object: &Value) -> Result<()> {
    let request = http::Request::post(path).header("Content-Type", "application/json");
    let request = request.body(object.to_string().into_bytes())?;
    client.request_text(request).await.with_context(|| format!("failed to create {object}"))?;
    Ok(())
}

async fn each<Sent: Future<Output = Result<()>>>(
    count: usize,
    send: impl Fn(usize) -> Sent,
) -> Result<()> {
    stream::iter(0..count).map(send).buffer_unordered(MAX_IN_FLIGHT).try_collect().await
}

async fn stop(agents: Vec<Program>) -> Result<()> {
    for agent in agents {
        ensure!(agent.stop().await?.success(), "an agent did not end well");
    }
    Ok(())
}

/// The average memory of the agents, the part that is not the program itself, and the maximum peak of any agent.
fn memory(agents: &[Program]) -> Result<String> {
    let average = |amounts: Result<Vec<u64>>| -> Result<f64> {
        Ok(megabytes(amounts?.iter().sum()) / count(agents.len()))
    };
    let resident = average(agents.iter().map(Program::resident_memory).collect())?;
    let own = average(agents.iter().map(own_memory).collect())?;
    let peak: Result<Vec<u64>> = agents.iter().map(Program::peak_resident_memory).collect();
    let peak = megabytes(peak?.into_iter().max().unwrap_or_default());
    Ok(format!("memory {resident:.1} MB each, {own:.1} MB of it data; {peak:.1} MB at most"))
}

/// The memory without pages of files, such as the program. All processes share those pages, and the kernel may drop
/// them.
fn own_memory(agent: &Program) -> Result<u64> {
    let id = agent.id().context("an agent is down")?;
    let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|it| it.trim().strip_suffix(" kB")).context("no RssAnon")?;
    Ok(kilobytes.trim().parse::<u64>()? << 10)
}

fn times(agents: &[Program]) -> Result<Duration> {
    agents.iter().map(Program::processor_time).sum()
}

fn running(plane: &ControlPlane, agents: &[Program]) -> Result<Vec<(&'static str, u32)>> {
    let component = |component| plane.process_id(component).context("a component is down");
    let mut running = vec![
        ("kube-apiserver", component(Component::ApiServer)?),
        ("etcd", component(Component::Etcd)?),
        ("this program", std::process::id()),
    ];
    for agent in agents.iter().take(3) {
        running.push(("agent", agent.id().context("an agent is down")?));
    }
    Ok(running)
}

fn changed_pods(client: &Client) -> Changes {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource("/v1", "Pod", "pods"));
    watcher(api, watcher::Config::default()).boxed()
}

/// The time from the boundary until each of the `due` pods had its level.
async fn lags(changes: &mut Changes, due: usize, boundary: Timestamp) -> Result<Vec<Duration>> {
    let mut lags = BTreeMap::new();
    while lags.len() < due {
        let next = tokio::time::timeout(Duration::from_mins(5), changes.next());
        let change = next.await.context("no pod has changed for five minutes")?;
        if let watcher::Event::Apply(pod) = change.context("the watch ended")??
            && pod
                .metadata
                .annotations
                .as_ref()
                .is_some_and(|it| it.get(LEVEL).is_some_and(|level| level == "-1"))
        {
            let lag = Timestamp::now().duration_since(boundary);
            let lag = Duration::try_from(lag).context("a pod changed too early")?;
            lags.entry(pod.metadata.name).or_insert(lag);
        }
    }
    Ok(lags.into_values().collect())
}

/// The requests to the API server about pods and Events.
fn print_requests(requests: &Exposition) {
    println!("  requests as the API server counts them, since just before the boundary:");
    for (sample, more) in requests.samples() {
        let label = |name| label_of(sample, name).unwrap_or_default();
        if ["pods", "events", "nodes", "configmaps"].contains(&label("resource")) {
            println!("    {} {} {}: {more}", label("verb"), label("resource"), label("code"));
        }
    }
}
