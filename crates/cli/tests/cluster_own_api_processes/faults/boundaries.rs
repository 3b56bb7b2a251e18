//! Faults of the API server or of etcd at each boundary of every family: no boundary is lost, and none is applied
//! twice.
//!
//! `ALMANAC_BOUNDARIES` is the number of minutes. Each minute has a fault, and a boundary of a rule, of a schedule, of
//! the autoscaler that follows the schedule, of a placement and of a level. The seed decides the order of the faults.

use std::collections::BTreeMap;
use std::time::Duration;

use almanac_fixtures::trials::{announce, seed, size};
use almanac_fixtures::{hub, objects};
use almanac_harness::{
    self as harness, Component, Fault, FaultProxy, Injected, InjectedResponse, OwnTest, TestResult,
};
use anyhow::{Context as _, Result, ensure};
use http::{Method, Request, StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::agent::test_namespace::{Agent, TestNamespace, own, policy, under};
use crate::controller::{
    AUTOSCALER, CRON, Cluster, Controller, DEPLOYMENT, PRODUCER, cron, deployment, head_start,
    target,
};
use crate::placement::stage::{PLACEMENT, await_selected, on_hub};

const NAMESPACE: &str = "default";
/// The node of the pods.
const LEVELS: &str = "levels";
/// The first boundary: an even minute.
const FIRST: &str = "2026-11-26T09:00:00Z";
/// The seconds from the start of a fault to the boundary, and from there to its end.
const AROUND: i64 = 4;
const ALL: &[&str] = &[
    "--leader-elect=false",
    "--controllers=metrics-producer,cron-federated-hpa,horizontal-autoscaler,placement",
];

fn minutes() -> i64 {
    size("ALMANAC_BOUNDARIES", 1, 40)
}

/// A fault of the API server or of etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Trouble {
    ApiServerKilled,
    EtcdKilled,
    BothKilled,
    EtcdFrozen,
    /// Compacts and defragments etcd, and restarts the API server.
    Compacted,
    /// Rejects every watch and every list at a version, since the version has expired.
    VersionsGone,
    WritesFail,
    WritesRefused,
    AnswersLost,
}

const TROUBLES: [Trouble; 9] = [
    Trouble::ApiServerKilled,
    Trouble::EtcdKilled,
    Trouble::BothKilled,
    Trouble::EtcdFrozen,
    Trouble::Compacted,
    Trouble::VersionsGone,
    Trouble::WritesFail,
    Trouble::WritesRefused,
    Trouble::AnswersLost,
];

/// The processes, each behind a proxy.
struct Processes {
    controller: Controller,
    agent: Agent,
    proxies: [FaultProxy; 2],
}

impl Processes {
    async fn start(test: &OwnTest, test_namespace: &TestNamespace) -> Result<Self> {
        let proxies = [FaultProxy::start(test.client())?, FaultProxy::start(test.client())?];
        let [of_controller, of_agent] = &proxies;
        let instant = (FIRST.parse::<Timestamp>()? - 2 * head_start()).to_string();
        let agent = test_namespace.start_behind(of_agent, &instant, &[]).await?;
        let instant = agent.now().to_string();
        let controller = Controller::start(&of_controller.kubeconfig(), &instant, ALL)?;
        controller.program.await_ready().await?;
        Ok(Self { controller, agent, proxies })
    }

    /// Waits until the clock is this many seconds past an instant.
    async fn await_time(&self, instant: Timestamp, seconds: i64) -> TestResult {
        self.controller.await_clock(instant + SignedDuration::from_secs(seconds)).await
    }

    /// Injects a fault into the requests of both that match.
    fn spoil(&self, fault: impl Fn() -> Fault, is_write: bool) -> Vec<Injected> {
        let fits = move |method: &Method, query: &str| {
            if is_write { method != Method::GET } else { query.contains("resourceVersion=") }
        };
        let inject = |proxy: &FaultProxy| {
            proxy.inject(fault().matching(move |it| fits(&it.method, &it.query)).always())
        };
        self.proxies.iter().map(inject).collect()
    }

    fn check_running(&self) -> TestResult {
        self.controller.program.check_running()?;
        self.agent.program.check_running()
    }
}

impl Trouble {
    /// Injects the fault. The caller withdraws the returned faults.
    async fn begin(self, test: &OwnTest, processes: &Processes) -> Result<Vec<Injected>> {
        let plane = &test.plane;
        match self {
            Self::ApiServerKilled => plane.kill(Component::ApiServer)?,
            Self::EtcdKilled => plane.kill(Component::Etcd)?,
            Self::BothKilled => {
                plane.kill(Component::Etcd)?;
                plane.kill(Component::ApiServer)?;
            }
            Self::EtcdFrozen => plane.pause(Component::Etcd)?,
            Self::Compacted => {
                compact(test).await?;
                plane.kill(Component::ApiServer)?;
            }
            Self::VersionsGone => {
                let gone = || Fault::respond(InjectedResponse::with(StatusCode::GONE));
                let injected = processes.spoil(gone, false);
                for proxy in &processes.proxies {
                    proxy.cut_all().await;
                }
                return Ok(injected);
            }
            Self::WritesFail => {
                let failed =
                    || Fault::respond(InjectedResponse::with(StatusCode::INTERNAL_SERVER_ERROR));
                return Ok(processes.spoil(failed, true));
            }
            Self::WritesRefused => {
                let refused = || Fault::respond(InjectedResponse::with(StatusCode::FORBIDDEN));
                return Ok(processes.spoil(refused, true));
            }
            Self::AnswersLost => return Ok(processes.spoil(Fault::lose_response, true)),
        }
        Ok(Vec::new())
    }

    async fn end(self, test: &OwnTest, injected: Vec<Injected>) -> TestResult {
        injected.iter().for_each(Injected::withdraw);
        let plane = &test.plane;
        match self {
            Self::ApiServerKilled | Self::Compacted => plane.restart(Component::ApiServer).await,
            Self::EtcdKilled => {
                plane.restart(Component::Etcd).await?;
                plane.await_ready(Component::ApiServer).await
            }
            Self::BothKilled => {
                plane.restart(Component::Etcd).await?;
                plane.restart(Component::ApiServer).await
            }
            Self::EtcdFrozen => {
                plane.resume(Component::Etcd)?;
                plane.await_ready(Component::ApiServer).await
            }
            Self::VersionsGone | Self::WritesFail | Self::WritesRefused | Self::AnswersLost => {
                Ok(())
            }
        }
    }
}

/// Compacts etcd to its last revision, and defragments it.
async fn compact(test: &OwnTest) -> TestResult {
    let etcd = test.plane.etcd_client()?;
    let ask = async |path: &str, body: Value| -> Result<Value> {
        let request = Request::post(path).body(body.to_string().into_bytes())?;
        etcd.request(request).await.with_context(|| format!("failed to request {path} from etcd"))
    };
    let last = ask("/v3/kv/range", json!({"key": "AA=="})).await?;
    let revision = last["header"]["revision"].clone();
    ask("/v3/kv/compaction", json!({"revision": revision, "physical": true})).await?;
    ask("/v3/maintenance/defragment", json!({})).await?;
    Ok(())
}

/// A minute, and whether the minute is even.
fn minute(number: i64) -> Result<(Timestamp, bool)> {
    let at = FIRST.parse::<Timestamp>()? + SignedDuration::from_mins(number);
    Ok((at, number % 2 == 0))
}

/// Policies that have a boundary every minute.
async fn prepare_scaling(cluster: &Cluster) -> TestResult {
    let deployment_target = |name: &str| target("apps/v1", "Deployment", name);
    cluster.create(DEPLOYMENT, NAMESPACE, &deployment("ruled", 1)).await?;
    let rules = json!([
        {"name": "even", "schedule": "*/2 * * * *", "targetReplicas": 4},
        {"name": "odd", "schedule": "1-59/2 * * * *", "targetReplicas": 7},
    ]);
    cluster.create(CRON, NAMESPACE, &cron("ruled", &deployment_target("ruled"), &rules)).await?;

    let every_other = |first: u32| {
        let all = (first..60).step_by(2).map(|it| it.to_string()).collect::<Vec<_>>();
        json!({"minutes": all.join(","), "hours": "9"})
    };
    let even = json!({"replicas": 9, "start": every_other(0), "end": every_other(1)});
    let schedule = json!({"defaultReplicas": 2, "behaviors": [even]});
    cluster.create(PRODUCER, NAMESPACE, &objects::metrics_producer("tide", &schedule)).await?;
    cluster.create(DEPLOYMENT, NAMESPACE, &deployment("tide", 2)).await?;
    let query = "karpenter_scheduled_capacity{name=\"tide\"}";
    let mut autoscaler = objects::horizontal_autoscaler("tide", &deployment_target("tide"), query);
    autoscaler["spec"]["behavior"] = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
    cluster.create(AUTOSCALER, NAMESPACE, &autoscaler).await
}

/// Creates a placement for each minute, and a window for pods in each even minute. In its minute, a placement's score
/// of the first cluster expires.
async fn prepare_others(cluster: &Cluster, test_namespace: &TestNamespace) -> TestResult {
    crate::placement::stage::prepare(cluster, &["cluster1", "cluster2"]).await?;
    for name in ["cluster1", "cluster2"] {
        cluster.namespace(name).await?;
    }
    let mut windows = Vec::new();
    for number in 0..minutes() {
        let (at, is_even) = minute(number)?;
        let name = format!("minute-{number}");
        for (cluster_name, value, until) in
            [("cluster1", 10, Some(at.to_string())), ("cluster2", 5, None)]
        {
            let kind = crate::placement::stage::SCORE;
            cluster.create(kind, cluster_name, &hub::add_on_placement_score(&name)).await?;
            let status = hub::scored(&[("now", value)], until.as_deref());
            cluster.patch_status(kind, cluster_name, &name, &status).await?;
        }
        let scores = hub::exactly(&[(&format!("{name}/now"), 1)]);
        let spec = json!({"numberOfClusters": 1, "prioritizerPolicy": scores});
        cluster.create(PLACEMENT, NAMESPACE, &hub::placement(&name, &spec)).await?;
        if is_even {
            let [start, end] = [number, number + 1].map(|it| format!("09:{it:02}"));
            windows.push(policy(&name, (&start, &end), "batch", -1));
        }
    }
    test_namespace.configure(&windows).await?;
    test_namespace.pod("batch", "batch", "1").await
}

/// Waits until all objects have the expected state of a minute.
async fn await_carried_out(
    cluster: &Cluster,
    test_namespace: &TestNamespace,
    number: i64,
) -> TestResult {
    let (at, is_even) = minute(number)?;
    let (rule, replicas, published) = if is_even { ("even", 4, 9) } else { ("odd", 7, 2) };
    let is_recorded = |status: &Value| records(status, rule, at) == 1;
    cluster.await_status(NAMESPACE, "ruled", &format!("to record {at}"), is_recorded).await?;
    let is_published = |it: &Value| it["status"]["scheduledCapacity"]["currentValue"] == published;
    let tide = (NAMESPACE, "tide");
    cluster.await_object(PRODUCER, tide, &format!("to publish for {at}"), is_published).await?;
    for (name, replicas) in [("ruled", replicas), ("tide", published)] {
        let is_scaled = |it: &Value| it["spec"]["replicas"] == replicas;
        let what = format!("to have {replicas} at {at}");
        let object = cluster.await_object(DEPLOYMENT, (NAMESPACE, name), &what, is_scaled).await?;
        let changes = object["metadata"]["generation"].as_i64().context("no generation")? - 1;
        ensure!(changes == number + 1, "{name} was changed {changes} times up to minute {number}");
    }
    let name = format!("minute-{number}");
    await_selected(cluster, &name, &["cluster2"]).await?;
    let level = if is_even { under(&name, "-1", "1") } else { own("1") };
    test_namespace.await_pods(&[("batch", level)]).await
}

/// The number of records of a rule for an instant.
fn records(status: &Value, rule: &str, at: Timestamp) -> usize {
    let histories = status["executionHistories"].as_array();
    let of_rule = histories.into_iter().flatten().filter(|it| it["ruleName"] == rule);
    let all = of_rule.flat_map(|it| it["successfulExecutions"].as_array().into_iter().flatten());
    all.filter(|it| it["scheduleTime"] == at.to_string()).count()
}

#[test]
fn no_fault_of_the_api_server_loses_or_repeats_a_boundary() -> TestResult {
    harness::lasting(Duration::from_secs(60 * minutes().unsigned_abs()));
    on_hub(async |test, cluster| {
        let mut random = fastrand::Rng::with_seed(seed("boundaries"));
        let test_namespace = TestNamespace::prepare(cluster.for_another_test()?, LEVELS, 1).await?;
        prepare_scaling(cluster).await?;
        prepare_others(cluster, &test_namespace).await?;
        let processes = Processes::start(test, &test_namespace).await?;
        for number in 0..minutes() {
            await_selected(cluster, &format!("minute-{number}"), &["cluster1"]).await?;
        }
        ensure!(processes.controller.now() < minute(0)?.0, "this machine was too slow");

        let (mut troubles, mut met) = (Vec::new(), BTreeMap::<Trouble, usize>::new());
        for number in 0..minutes() {
            if troubles.is_empty() {
                troubles = TROUBLES.to_vec();
                random.shuffle(&mut troubles);
            }
            let trouble = troubles.pop().context("no trouble")?;
            let (at, _) = minute(number)?;
            processes.await_time(at, -AROUND).await?;
            let injected = trouble.begin(test, &processes).await?;
            processes.await_time(at, AROUND).await?;
            trouble.end(test, injected).await.with_context(|| format!("{trouble:?}"))?;
            let carried_out = await_carried_out(cluster, &test_namespace, number).await;
            carried_out.with_context(|| format!("minute {number}: {trouble:?}"))?;
            processes.check_running()?;
            let is_last = number + 1 == minutes();
            let is_in_time = processes.controller.now() < minute(number + 1)?.0;
            ensure!(is_last || is_in_time, "the machine is too slow for this test");
            *met.entry(trouble).or_default() += 1;
        }
        announce(&format!("{} boundaries of five families, with {met:?}", 5 * minutes()));
        Ok(())
    })
}
