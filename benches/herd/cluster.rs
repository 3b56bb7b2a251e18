//! Measures against a real etcd and API server: the first start, a restart that must write nothing, and the minute in
//! which all rules are due.

use std::path::Path;
use std::time::{Duration, Instant};

use almanac_harness::{Component, ControlPlane, ControlPlaneOptions};
use anyhow::{Context as _, Result, bail};
use clap::Args;
use futures::{Stream, StreamExt as _};
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::runtime::watcher;

use crate::cluster_objects::{check_applied, create, define, get, resource, set_back};
use crate::controller::{Controller, WriteLimits, writes};
use crate::exposition::{Exposition, label_of};
use crate::figures::{load, spread};
use crate::objects::{AFTER, TARGETS, firing};
use crate::processes::Processes;

/// The time for a process to become idle after a start, before the measurement.
const IDLE_AFTER: Duration = Duration::from_secs(5);

#[derive(Args)]
pub(crate) struct Cluster {
    /// The number of rules
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    rules: usize,

    /// The writes that the controller may have in flight at the same time; a run for each
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "32")]
    writes_at_once: Vec<usize>,

    /// The time between the start of the controller and the firing
    #[arg(long, value_name = "SECONDS", default_value_t = 25)]
    lead: i64,
}

impl Cluster {
    pub(crate) async fn run(&self, program: &Path) -> Result<()> {
        let plane = ControlPlane::start(&ControlPlaneOptions::api_only()).await?;
        let client = plane.client()?;
        define(&client).await?;
        let began = Instant::now();
        create(&client, self.rules).await?;
        let took = began.elapsed().as_secs_f64();
        println!("{} rules and targets created in {took:.1} s (load {})", self.rules, load()?);
        let limits = WriteLimits {
            writes_at_once: self.writes_at_once.first().copied().unwrap_or(32),
            writes_per_second: None,
            write_burst: None,
        };
        self.first_start(&plane, program, &limits).await?;
        for (day, at_once) in (0..).zip(&self.writes_at_once) {
            if day > 0 {
                set_back(&client, self.rules).await?;
            }
            let limits = WriteLimits { writes_at_once: *at_once, ..limits.clone() };
            println!("--writes-at-once {at_once} (load {})", load()?);
            self.herd(&plane, &client, program, &limits, firing(day)?).await?;
        }
        Ok(())
    }

    async fn first_start(
        &self,
        plane: &ControlPlane,
        program: &Path,
        limits: &WriteLimits,
    ) -> Result<()> {
        let long_before = firing(0)?.checked_sub(2.hours())?;
        let controller = Controller::start(program, &plane.kubeconfig(), long_before, limits)?;
        let processes = Processes::look(&running(plane, &controller)?)?;
        let armed = controller.await_armed(self.rules).await?;
        let recorded = controller.await_statuses(crate::figures::count(self.rules)).await?;
        println!("first start: armed after {:.2} s", armed.as_secs_f64());
        println!("  all statuses written after {:.2} s", recorded.as_secs_f64());
        println!("  processor time {}", processes.line()?);
        tokio::time::sleep(IDLE_AFTER).await;
        println!("  memory {}", controller.memory()?);
        controller.stop().await
    }

    async fn herd(
        &self,
        plane: &ControlPlane,
        client: &Client,
        program: &Path,
        limits: &WriteLimits,
        at: Timestamp,
    ) -> Result<()> {
        let mut changes = changed_targets(client);
        await_listed(&mut changes).await?;
        let shown = at.checked_sub(SignedDuration::from_secs(self.lead))?;
        let controller = Controller::start(program, &plane.kubeconfig(), shown, limits)?;
        let processes = Processes::look(&running(plane, &controller)?)?;
        let armed = controller.await_armed(self.rules).await?;
        println!("  start with nothing to write: armed after {:.2} s", armed.as_secs_f64());
        println!("    processor time {}", processes.line()?);
        let requests = requests(client).await?;
        let boundary = controller.on_this_machine(at)?;
        // Long enough for the controller to become idle, and short enough to end before the minute starts.
        let rest = boundary.duration_since(Timestamp::now()) - SignedDuration::from_secs(1);
        tokio::time::sleep(Duration::try_from(rest).context("the rules were armed too late")?)
            .await;
        println!("    at rest: memory {}", controller.memory()?);

        let before = controller.metrics().await?;
        let processes = Processes::look(&running(plane, &controller)?)?;
        let lags = lags(&mut changes, self.rules, boundary).await?;
        let used = processes.line()?;
        let applied = writes(&before, "status") + crate::figures::count(self.rules);
        controller.await_statuses(applied).await?;
        let recorded = Timestamp::now().duration_since(boundary).as_secs_f64();
        println!("  scheduled to applied, as a watch reported it: {}", spread(lags));
        println!("    processor time until then: {used}");
        println!("  all statuses written {recorded:.2} s after the minute began");
        println!("    processor time until then: {}", processes.line()?);
        println!("    memory {}", controller.memory()?);
        tokio::time::sleep(Duration::from_secs(2)).await;
        print_lag(&controller.metrics().await?);
        print_requests(&requests_since(client, &requests).await?);
        print_writes(&controller.metrics().await?.since(&before));
        controller.stop().await?;
        check_applied(client, self.rules, at).await
    }
}

fn running(plane: &ControlPlane, controller: &Controller) -> Result<Vec<(&'static str, u32)>> {
    let component = |component| plane.process_id(component).context("a component is down");
    Ok(vec![
        ("almanac", controller.id()?),
        ("kube-apiserver", component(Component::ApiServer)?),
        ("etcd", component(Component::Etcd)?),
        ("this program", std::process::id()),
    ])
}

/// A watch of all objects of a kind.
pub(crate) type Changes =
    std::pin::Pin<Box<dyn Stream<Item = watcher::Result<watcher::Event<DynamicObject>>>>>;

fn changed_targets(client: &Client) -> Changes {
    let resource = resource(TARGETS, "ScalableNodeGroup", "scalablenodegroups");
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    watcher(api, watcher::Config::default()).boxed()
}

pub(crate) async fn await_listed(changes: &mut Changes) -> Result<()> {
    while let Some(change) = changes.next().await {
        if matches!(change?, watcher::Event::InitDone) {
            return Ok(());
        }
    }
    bail!("the watch ended")
}

/// The time from the boundary until a watch reported the change of each target.
async fn lags(changes: &mut Changes, rules: usize, boundary: Timestamp) -> Result<Vec<Duration>> {
    let mut lags = Vec::with_capacity(rules);
    while lags.len() < rules {
        let next = tokio::time::timeout(Duration::from_mins(5), changes.next());
        let change = next.await.context("no target has changed for five minutes")?;
        if let watcher::Event::Apply(target) = change.context("the watch ended")??
            && target.data["spec"]["replicas"] == AFTER
        {
            let lag = Timestamp::now().duration_since(boundary);
            lags.push(Duration::try_from(lag).context("a target changed too early")?);
        }
    }
    Ok(lags)
}

pub(crate) async fn requests(client: &Client) -> Result<Exposition> {
    let text = get(client, "/metrics").await?;
    Ok(Exposition::read(&text, &["apiserver_request_total{"]))
}

pub(crate) async fn requests_since(client: &Client, before: &Exposition) -> Result<Exposition> {
    Ok(requests(client).await?.since(before))
}

/// The requests to the API server about the objects of the herd.
fn print_requests(requests: &Exposition) {
    println!("  requests as the API server counts them, from armed until all writes succeeded:");
    for (sample, more) in requests.samples() {
        let label = |name| label_of(sample, name).unwrap_or_default();
        if label("group").starts_with("autoscaling") || label("resource") == "events" {
            let (verb, resource) = (label("verb"), label("resource"));
            let (subresource, code) = (label("subresource"), label("code"));
            println!("    {verb} {resource}/{subresource} {code}: {more}");
        }
    }
}

fn print_writes(writes: &Exposition) {
    println!("  writes as almanac counts them:");
    for (sample, more) in writes.samples() {
        if sample.starts_with("almanac_writes_total") || sample.starts_with("almanac_events") {
            println!("    {sample} {more}");
        }
    }
}

fn print_lag(metrics: &Exposition) {
    let all = metrics.sum("almanac_cron_lag_seconds_count", &[]);
    let buckets: Vec<_> = metrics
        .samples()
        .filter(|(sample, _)| sample.starts_with("almanac_cron_lag_seconds_bucket"))
        .filter_map(|(sample, below)| Some((label_of(sample, "le")?.parse::<f64>().ok()?, below)))
        .collect();
    let within = |share: f64| {
        let enough = buckets.iter().filter(|(_, below)| *below >= share * all);
        enough.map(|(le, _)| *le).fold(f64::INFINITY, f64::min)
    };
    println!(
        "  the same in almanac_cron_lag_seconds: p50 within {} s, p99 within {} s, {all} in all, mean {:.2} s",
        within(0.5),
        within(0.99),
        metrics.sum("almanac_cron_lag_seconds_sum", &[]) / all
    );
}
