//! Many autoscalers on a Prometheus that slows down, freezes, restarts and loses its samples. A target has only
//! replicas that a sample or a documented default allows. A cron rule of the same process is on time.
//!
//! `ALMANAC_STORM` is the number of autoscalers. Each target must have exactly the values of its query, in order. No
//! value is skipped, and no other value occurs in between.

use std::collections::BTreeSet;
use std::time::Duration;

use almanac_fixtures::objects;
use almanac_fixtures::trials::{announce, size};
use almanac_harness::{
    self as harness, Fault, FaultProxy, Observation, OwnTest, Prometheus, PrometheusPlace,
    TestResult, await_condition,
};
use anyhow::{Context as _, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use serde_json::{Value, json};

use crate::autoscaler::autoscalers::NAMESPACE;
use crate::autoscaler::histories::Observer;
use crate::autoscaler::readings::Readings;
use crate::controller::{
    AUTOSCALER, CRON, Cluster, Controller, DEPLOYMENT, condition, cron, deployment, on_cluster,
    target,
};

/// The seconds are chosen so that the first freeze starts shortly before a firing.
const BEFORE: &str = "2026-11-30T08:59:42Z";
/// The allowed delay of the cron rule. It has no query, so queries that hang for 8 s do not delay it.
const LATE: SignedDuration = SignedDuration::from_secs(6);
/// The delay of the responses of a slow Prometheus.
const DELAY: Duration = Duration::from_secs(2);
/// The time limit of a step for all autoscalers. After a timeout, the backoff of a query is at most a minute.
const PATIENCE: Duration = Duration::from_mins(4);
/// The initial value of the gauge. All targets have one replica.
const FIRST: u32 = 3;
/// The minimum of the second metric of an autoscaler with a default.
const FLOOR: u32 = 2;
/// The number of objects in one request.
const AT_ONCE: usize = 200;
/// The name of the policy with the cron rule, and of its target.
const CLOCKWORK: &str = "clockwork";

fn count() -> usize {
    size("ALMANAC_STORM", 12, 500)
}

/// The number of rounds through all faults of Prometheus.
fn rounds() -> u32 {
    if count() > 100 { 3 } else { 1 }
}

/// The kinds of autoscalers, by their metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// A query with the value of the gauge.
    Plain,
    /// The same query in an aggregation. Without the gauge, the aggregation also has no sample.
    Aggregated,
    /// A query with the default 0 and a floor: the floor applies while the gauge is absent.
    Default,
    /// An autoscaler that never scales down.
    OnlyUp,
    /// An autoscaler whose value always equals the target value, so that any change is an error.
    Constant,
}

const SHAPES: [Shape; 5] =
    [Shape::Plain, Shape::Aggregated, Shape::Default, Shape::OnlyUp, Shape::Constant];

impl Shape {
    fn from_number(number: usize) -> Self {
        SHAPES[number % SHAPES.len()]
    }

    /// A query that differs from all other queries.
    fn autoscaler(self, number: usize) -> Value {
        let name = format!("shop-{number}");
        let unlike = |query: &str| format!("{query} + {number} - {number}");
        let query = match self {
            Self::Plain | Self::OnlyUp => unlike("tide"),
            Self::Aggregated => unlike("max(tide)"),
            Self::Default => unlike("(sum(tide) or vector(0))"),
            Self::Constant => unlike("tide / tide"),
        };
        let scale_target = target("apps/v1", "Deployment", &name);
        let mut object = objects::horizontal_autoscaler(&name, &scale_target, &query);
        let metrics = &mut object["spec"]["metrics"];
        if self == Self::Default {
            let mut floor = metrics[0].clone();
            floor["prometheus"]["query"] = json!(unlike(&format!("vector({FLOOR})")));
            metrics.as_array_mut().into_iter().for_each(|all| all.push(floor.clone()));
        }
        if self == Self::Constant {
            metrics[0]["prometheus"]["target"] = json!({ "type": "Value", "value": 1 });
        }
        object["spec"]["behavior"] = match self {
            Self::OnlyUp => json!({ "scaleDown": { "selectPolicy": "Disabled" } }),
            _ => json!({ "scaleDown": { "stabilizationWindowSeconds": 0 } }),
        };
        object
    }

    /// The replicas after a change of the gauge; `None` for a missing gauge.
    fn next(self, before: u32, gauge: Option<u32>) -> u32 {
        match (self, gauge) {
            (Self::Default, None) => FLOOR,
            (Self::Constant, _) | (_, None) => before,
            (Self::Default, Some(value)) => value.max(FLOOR),
            (Self::OnlyUp, Some(value)) => value.max(before),
            (Self::Plain | Self::Aggregated, Some(value)) => value,
        }
    }
}

/// The resources that the process uses.
#[derive(Clone, Copy, Debug)]
struct Usage {
    megabytes: f64,
    descriptors: f64,
    tasks: f64,
}

impl Usage {
    async fn now(controller: &Controller) -> Result<Self> {
        Ok(Self {
            megabytes: figure(controller, "process_resident_memory_bytes ").await? / 1e6,
            descriptors: figure(controller, "process_open_fds ").await?,
            tasks: figure(controller, "almanac_tasks ").await?,
        })
    }

    /// Whether the process uses no more resources than before, apart from idle connections and freed memory.
    fn is_level(self, before: Self) -> bool {
        self.megabytes <= before.megabytes * 1.25 + 10.0
            && self.descriptors <= before.descriptors + 8.0
            && self.tasks <= before.tasks + 16.0
    }
}

/// A metric of the process; 0 if absent.
async fn figure(controller: &Controller, metric: &str) -> Result<f64> {
    let lines = controller.scrape(metric).await?;
    let Some(line) = lines.first() else { return Ok(0.0) };
    let (_, number) = line.rsplit_once(' ').context("a metric has a number")?;
    Ok(number.parse()?)
}

struct Storm<'a> {
    cluster: &'a Cluster,
    controller: Controller,
    prometheus: Prometheus,
    /// The proxy between the process and Prometheus.
    way: FaultProxy,
    readings: Readings,
    /// The observed replicas of each target.
    expected: Vec<Vec<u32>>,
    latest: SignedDuration,
}

impl<'a> Storm<'a> {
    async fn begin(cluster: &'a Cluster) -> Result<Self> {
        let place = PrometheusPlace::reserve()?;
        let readings = Readings::serve().await?;
        let way = FaultProxy::start(Client::try_from(kube::Config::new(place.url().parse()?))?)?;
        let address = format!("--prometheus-uri={}", way.url());
        let prometheus = place.start_honoring_labels(&[readings.address()]).await?;
        readings.publish(&prometheus, &[&FIRST.to_string()]).await?;
        create_all(cluster).await?;
        // With many autoscalers, a shorter period would test the machine.
        let period = if count() > 100 { "--query-period=10s" } else { "--query-period=2s" };
        let controller =
            cluster.start_at(BEFORE, &[&address, period, "--leader-elect=false"]).await?;
        let after = |number| Shape::from_number(number).next(1, Some(FIRST));
        let all = (0..count()).map(|number| BTreeSet::from([1, after(number)]));
        let expected = all.map(|it| it.into_iter().collect()).collect();
        let latest = SignedDuration::ZERO;
        Ok(Self { cluster, controller, prometheus, way, readings, expected, latest })
    }

    /// Changes the gauge; returns the expected replicas of each target.
    fn show(&mut self, gauge: Option<u32>) {
        let text = gauge.map(|it| it.to_string());
        self.readings.show(&text.iter().map(String::as_str).collect::<Vec<_>>());
        for (number, history) in self.expected.iter_mut().enumerate() {
            let before = history[history.len() - 1];
            let after = Shape::from_number(number).next(before, gauge);
            if after != before {
                history.push(after);
            }
        }
    }

    /// Waits until every target has its last expected value.
    async fn await_followed(&self) -> TestResult {
        await_condition("all targets to follow the gauge", PATIENCE, async || {
            let deployments = self.cluster.list(DEPLOYMENT, NAMESPACE).await?;
            let follows = |(number, history): (usize, &Vec<u32>)| {
                let name = format!("shop-{number}");
                let mut matching = deployments.iter().filter(|it| it["metadata"]["name"] == *name);
                matching
                    .any(|it| history.last().is_some_and(|last| it["spec"]["replicas"] == *last))
            };
            let followed = self.expected.iter().enumerate().filter(|it| follows(*it)).count();
            Ok(Observation::from_bool(followed == count(), format!("{followed} of {}", count())))
        })
        .await
    }

    /// Waits until every autoscaler without a default reports the reason for its missing number.
    async fn await_reported(&self, why: &str) -> TestResult {
        await_condition(&format!("all autoscalers to report {why:?}"), PATIENCE, async || {
            let all = self.cluster.list(AUTOSCALER, NAMESPACE).await?;
            let reports = |it: &&Value| {
                let [holds, reason, message] = condition(&it["status"], "Active");
                [holds, reason] == ["False", "MetricUnavailable"] && message.contains(why)
            };
            let reporting = all.iter().filter(reports).count();
            let with_default =
                (0..count()).filter(|it| Shape::from_number(*it) == Shape::Default).count();
            let is_so = reporting >= count() - with_default;
            Ok(Observation::from_bool(is_so, format!("{reporting} of {}", count())))
        })
        .await
    }

    /// Prometheus responds late, but before a query times out.
    async fn slow_down(&mut self, gauge: u32) -> TestResult {
        let slow = self.way.inject(Fault::delay(DELAY).always());
        self.show(Some(gauge));
        self.await_followed().await?;
        slow.withdraw();
        ensure!(slow.taken() >= count(), "only {} responses were late", slow.taken());
        Ok(())
    }

    /// Prometheus hangs until queries have timed out and the cron rule has fired, on time. The gauge changes during the
    /// hang.
    async fn freeze(&mut self, gauge: u32) -> TestResult {
        let timeouts = "almanac_prometheus_queries_total{result=\"timeout\"}";
        let before = figure(&self.controller, timeouts).await?;
        let begun = self.controller.now();
        self.prometheus.pause()?;
        self.show(Some(gauge));
        let wanted = f64::from(u32::try_from(count().min(16))?);
        await_condition("queries to time out", PATIENCE, async || {
            let more = figure(&self.controller, timeouts).await? - before;
            Ok(Observation::from_bool(more >= wanted, more))
        })
        .await?;
        let mut late = None;
        await_condition("the cron rule to fire", PATIENCE, async || {
            let policy = self.cluster.get(CRON, NAMESPACE, CLOCKWORK).await?;
            late = first_firing_after(&policy, begun)?;
            Ok(Observation::from_bool(late.is_some(), policy["status"].to_string()))
        })
        .await?;
        let late = late.context("the rule has not fired")?;
        ensure!(late < LATE, "the cron rule fired {late:#} late while queries hung");
        self.latest = self.latest.max(late);
        self.prometheus.resume()
    }

    /// Injects one fault after the other. After each, the desired replicas differ.
    async fn round(&mut self, number: u32) -> TestResult {
        let up = 40 + number;
        self.show(Some(up));
        self.await_followed().await?;
        self.slow_down(up - 20).await?;
        self.freeze(7).await?;
        self.await_followed().await?;

        self.prometheus.kill()?;
        self.await_reported("was not answered").await?;
        self.prometheus.start_again().await?;
        self.show(Some(up - 10));
        self.await_followed().await?;

        // Without samples and without a gauge, the value is unknown, not 0.
        self.prometheus.kill()?;
        self.prometheus.lose_data()?;
        self.show(None);
        self.prometheus.start_again().await?;
        self.await_reported("selects nothing").await?;
        self.await_followed().await?;
        self.show(Some(5));
        self.await_followed().await
    }
}

/// The delay of the first firing after an instant; `None` without a firing.
fn first_firing_after(policy: &Value, instant: Timestamp) -> Result<Option<SignedDuration>> {
    let mut earliest: Option<(Timestamp, SignedDuration)> = None;
    let histories = policy["status"]["executionHistories"].as_array();
    for history in histories.into_iter().flatten() {
        for it in history["successfulExecutions"].as_array().into_iter().flatten() {
            let time = |field: &str| -> Result<Timestamp> {
                Ok(it[field].as_str().context("an execution has times")?.parse()?)
            };
            let at = time("scheduleTime")?;
            if at > instant && earliest.is_none_or(|(first, _)| at < first) {
                earliest = Some((at, time("executionTime")?.duration_since(at)));
            }
        }
    }
    Ok(earliest.map(|(_, late)| late))
}

async fn create_all(cluster: &Cluster) -> TestResult {
    let named = |number: usize| deployment(&format!("shop-{number}"), 1);
    let both = |number: usize| [named(number), Shape::from_number(number).autoscaler(number)];
    let all: Vec<Value> = (0..count()).flat_map(both).collect();
    for some in all.chunks(2 * AT_ONCE) {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": some });
        cluster.create_text(NAMESPACE, &list.to_string()).await?;
    }
    cluster.create(DEPLOYMENT, NAMESPACE, &deployment(CLOCKWORK, 1)).await?;
    let rules = json!([
        { "name": "even", "schedule": "*/2 * * * *", "targetReplicas": 4 },
        { "name": "odd", "schedule": "1-59/2 * * * *", "targetReplicas": 7 },
    ]);
    let scale_target = target("apps/v1", "Deployment", CLOCKWORK);
    cluster.create(CRON, NAMESPACE, &cron(CLOCKWORK, &scale_target, &rules)).await
}

async fn weather(test: &OwnTest, cluster: &Cluster) -> TestResult {
    let mut storm = Storm::begin(cluster).await?;
    let observer = Observer::start(test, NAMESPACE).await?;
    storm.await_followed().await?;
    let before = Usage::now(&storm.controller).await?;
    for number in 0..rounds() {
        storm.round(number).await?;
        storm.controller.limit.check(&storm.controller.program)?;
    }
    let mut after = before;
    await_condition("the process to take no more than before", PATIENCE, async || {
        after = Usage::now(&storm.controller).await?;
        Ok(Observation::from_bool(after.is_level(before), format!("{after:?}, before {before:?}")))
    })
    .await?;
    storm.controller.stop().await?;
    let histories = observer.histories()?;
    for (number, expected) in storm.expected.iter().enumerate() {
        let name = format!("shop-{number}");
        let history = histories.get(&name).with_context(|| format!("{name} has no history"))?;
        // The first query may get a response before the watch starts.
        let is_so = history == expected || history[..] == expected[1..];
        ensure!(is_so, "{name} {:?}: {history:?}, not {expected:?}", Shape::from_number(number));
    }
    let changes: usize = storm.expected.iter().map(|it| it.len() - 1).sum();
    ensure!(changes >= 3 * count(), "only {changes} changes");
    announce(&format!(
        "storm: {} autoscalers, {changes} changes, a cron rule at most {:#} late; {before:?}, then {after:?}",
        count(),
        storm.latest
    ));
    Ok(())
}

#[test]
fn a_prometheus_that_freezes_restarts_and_loses_its_samples_scales_by_fresh_samples_only()
-> TestResult {
    harness::lasting(PATIENCE * rounds() * 2);
    on_cluster(weather)
}
