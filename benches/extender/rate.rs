//! The pods per second that a stock kube-scheduler places, with and without the extender, and the wait of one pod.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use almanac_harness::{Binaries, Program};
use anyhow::{Context as _, Result, bail};
use clap::Args;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, WatchEvent, WatchParams};

use crate::calls::print_line;
use crate::cluster::{Cluster, PATIENCE};

#[derive(Args)]
pub(crate) struct Rate {
    /// The number of nodes
    #[arg(long, value_name = "N", default_value_t = 5000)]
    nodes: usize,

    /// The number of pods that are pending when kube-scheduler starts
    #[arg(long, value_name = "N", default_value_t = 2000)]
    pods: usize,

    /// The number of pods without a policy that are created one by one after that
    #[arg(long, value_name = "N", default_value_t = 100)]
    single: usize,
}

type Bound = Arc<Mutex<HashMap<String, Instant>>>;

impl Rate {
    pub(crate) async fn run(&self) -> Result<()> {
        let cluster = Cluster::start().await?;
        cluster.add_nodes(0..self.nodes).await?;
        for (name, has_extender, share) in [
            ("without the extender, all nodes", false, Some(100)),
            ("with the extender, all nodes", true, Some(100)),
            ("without the extender, as many nodes as by default", false, None),
        ] {
            self.measure(&cluster, name, has_extender, share).await?;
            cluster.delete_pods().await?;
        }
        Ok(())
    }

    async fn measure(
        &self,
        cluster: &Cluster,
        name: &str,
        has_extender: bool,
        share: Option<u32>,
    ) -> Result<()> {
        let names = |kind: &str, count: usize| -> Vec<String> {
            (0..count).map(|number| format!("{kind}-{number}")).collect()
        };
        cluster.add_pods("shop", &names("pod", self.pods)).await?;
        let bound = Bound::default();
        let pods: Api<Pod> = Api::default_namespaced(cluster.client.clone());
        let watching = tokio::spawn(watch(pods, Arc::clone(&bound)));
        let scheduler = start_scheduler(cluster, has_extender, share)?;
        let used_before = cluster.extender.processor_time()?;
        await_bound(&bound, self.pods).await?;
        let extender = cluster.extender.processor_time()?.saturating_sub(used_before);
        let used = [scheduler.processor_time()?, extender];
        let times: Vec<Instant> = lock(&bound).values().copied().collect();
        let (first, last) = (times.iter().min(), times.iter().max());
        let took = last.zip(first).map(|(last, first)| *last - *first).context("none is bound")?;
        let count = u32::try_from(self.pods - 1)?;
        println!(
            "{name}: {:.0} pods a second; processor time: kube-scheduler {:.1} s, extender {:.1} s",
            f64::from(count) / took.as_secs_f64(),
            used[0].as_secs_f64(),
            used[1].as_secs_f64()
        );
        let mut waited = Vec::new();
        for (number, single) in names("single", self.single).into_iter().enumerate() {
            let begun = Instant::now();
            cluster.add_pods("other", std::slice::from_ref(&single)).await?;
            await_bound(&bound, self.pods + number + 1).await?;
            waited.push(lock(&bound)[&single] - begun);
        }
        print_line(self.nodes, "a pod of no policy, created to bound", &mut waited, "");
        watching.abort();
        scheduler.kill()
    }
}

fn start_scheduler(cluster: &Cluster, has_extender: bool, share: Option<u32>) -> Result<Program> {
    let kubeconfig = cluster.plane.kubeconfig();
    let mut text = format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
         leaderElection: {{leaderElect: false}}\n\
         clientConnection: {{kubeconfig: {}, qps: 5000, burst: 10000}}\n",
        kubeconfig.display()
    );
    if let Some(share) = share {
        writeln!(text, "percentageOfNodesToScore: {share}")?;
    }
    if has_extender {
        writeln!(
            text,
            "extenders:\n- {{urlPrefix: 'http://127.0.0.1:{}', filterVerb: filter, prioritizeVerb: prioritize, \
             preemptVerb: preempt, bindVerb: bind, weight: 1, nodeCacheCapable: true, ignorable: false, \
             httpTimeout: 20s}}",
            cluster.port.number()
        )?;
    }
    let file = kubeconfig.with_file_name("scheduler.yaml");
    std::fs::write(&file, text)?;
    let program = Binaries::provide()?.program("kube-scheduler")?;
    let config = format!("--config={}", file.display());
    Program::start(&program, &[&config, "--secure-port=0"], &[])
}

async fn await_bound(bound: &Bound, count: usize) -> Result<()> {
    let begun = Instant::now();
    while lock(bound).len() < count {
        if begun.elapsed() > PATIENCE {
            bail!("only {} of {count} pods are bound", lock(bound).len());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

/// Records the instant at which a watch reported each pod as bound.
async fn watch(pods: Api<Pod>, bound: Bound) -> Result<()> {
    loop {
        let mut changes = pods.watch(&WatchParams::default().timeout(290), "0").await?.boxed();
        while let Some(change) = changes.next().await {
            let (WatchEvent::Added(pod) | WatchEvent::Modified(pod)) = change? else { continue };
            if pod.spec.is_some_and(|spec| spec.node_name.is_some()) {
                let name = pod.metadata.name.unwrap_or_default();
                lock(&bound).entry(name).or_insert_with(Instant::now);
            }
        }
    }
}

fn lock(bound: &Bound) -> std::sync::MutexGuard<'_, HashMap<String, Instant>> {
    bound.lock().unwrap_or_else(PoisonError::into_inner)
}
