//! A cluster fills and leaves units as `almanac forecast` predicts, minute by minute. Cron rules change the pods of
//! every policy, kube-scheduler and the extender place them, and a `ReplicaSet` removes those of the lowest deletion
//! cost.
//!
//! `ALMANAC_UNITS_MINUTES` is the number of boundaries. A single forecast, from before the first boundary, covers all
//! of them. The policies depend on the seed.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::time::{Duration, Instant};

use almanac_fixtures::trials::{announce, seed, size};
use almanac_harness::{
    self as harness, ControlPlaneOptions, NodeSpec, Observation, OwnTest, PATIENCE, TestResult,
    await_condition, on_own_control_plane,
};
use anyhow::{Context as _, Result, ensure};
use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::controller::{ALMANAC, Controller, cron, head_start, target};
use crate::extender::in_order::{Observer, Units};
use crate::extender::scene::Scene;
use crate::extender::stage::{ROOT, Stage, deployment, policy, unit_nodes};
use crate::reading::get;

const UNITS: [&str; 3] = ["best", "middle", "worst"];
const POLICIES: usize = 8;
const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
/// The time limit for all pods to follow a boundary; the next boundary is a minute later.
const FOLLOWS: Duration = Duration::from_secs(45);
/// The time without changes after the last boundary. After other boundaries, the check ends shortly before the next.
const QUIET: SignedDuration = SignedDuration::from_secs(10);
const ALMOST: SignedDuration = SignedDuration::from_secs(57);

fn minutes() -> usize {
    size("ALMANAC_UNITS_MINUTES", 1, 30)
}

/// The pods of each unit, the pods outside all units, and the pending pods.
type Spread = BTreeMap<String, i64>;

/// A policy, and the values of its cron rules minute by minute.
struct ScheduledPolicy {
    name: String,
    policy: Value,
    replicas: Vec<u32>,
}

impl ScheduledPolicy {
    /// At each boundary, the replicas change.
    fn random(number: usize, random: &mut Rng) -> Self {
        let name = format!("shop-{number}");
        let mut units = vec![(UNITS[0], 3, Some(random.u32(1..=4)))];
        if random.bool() {
            units.push((UNITS[1], 2, Some(random.u32(0..=3))));
        }
        if random.bool() {
            units.push((UNITS[2], 1, random.bool().then(|| random.u32(1..=3))));
        }
        let strategy = if random.bool() { "required" } else { "prefer" };
        let policy = policy(&name, strategy, &units);
        // The first value follows the last value.
        let mut replicas = vec![random.u32(..6)];
        for _ in 1..minutes().max(2) {
            let before = replicas[replicas.len() - 1];
            replicas.push((before + random.u32(1..=6)) % 12);
        }
        if replicas.first() == replicas.last() {
            replicas[0] += 12;
        }
        Self { name, policy, replicas }
    }

    /// The rules of the policy, by the minute of the hour. The forecast assumes that the last rule fired at most an
    /// hour before. With a single boundary, the last rule is a separate rule half an hour away, since a slow machine
    /// may need more than a minute.
    fn rules(&self, first: Timestamp) -> Value {
        let rule = |(index, replicas): (usize, &u32)| {
            let after =
                if index < minutes() { i64::try_from(index).unwrap_or_default() } else { 30 };
            let minute = (first.as_second() / 60 + after) % 60;
            json!({
                "name": format!("minute-{index}"), "schedule": format!("{minute} * * * *"),
                "targetReplicas": replicas,
            })
        };
        json!(self.replicas.iter().enumerate().map(rule).collect::<Vec<_>>())
    }
}

/// Creates all objects except the rules before the first boundary, and waits until nothing changes.
async fn prepare(scene: &Scene, all: &[ScheduledPolicy]) -> TestResult {
    let crds = format!("{ROOT}/deploy/crds");
    scene.kubectl.run(&["apply", "--server-side", "-f", &crds]).await?;
    let established = ["wait", "crd", "--all", "--for=condition=Established", "--timeout=60s"];
    scene.kubectl.run(&established).await?;
    for scheduled in all {
        scene.govern(&scheduled.policy).await?;
        let replicas = scheduled.replicas.last().context("a policy without rules")?;
        scene.apply(&deployment(&scheduled.name, *replicas)).await?;
    }
    scene.check_export().await
}

/// The output of a command for the cluster, as JSON.
async fn almanac(test: &OwnTest, arguments: &[&str]) -> Result<Value> {
    let mut command = Command::new(ALMANAC);
    command.args(arguments).args(["-n", "default", "-o", "json"]);
    command.env("KUBECONFIG", test.plane.kubeconfig()).stdin(Stdio::null());
    let output = command.output().await?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).context(errors)
}

/// The spread of a policy in a forecast at an instant, and whether the spread starts at that instant.
fn spread_in(forecast: &Value, policy: &str, at: Timestamp) -> Result<(Spread, bool)> {
    let (mut spread, mut begins) = (Spread::new(), false);
    let series = forecast["series"].as_array().context("a forecast has series")?;
    for series in series
        .iter()
        .filter(|it| it["target"]["kind"] == "ResourcePolicy" && it["target"]["name"] == policy)
    {
        for segment in series["segments"].as_array().into_iter().flatten() {
            let instant = |name: &str| -> Result<Timestamp> {
                Ok(segment[name].as_str().context("a segment has instants")?.parse()?)
            };
            let (from, to) = (instant("from")?, instant("to")?);
            if !(from <= at && at < to) {
                continue;
            }
            begins |= from == at;
            match &segment["value"] {
                Value::Object(units) => {
                    let pods = |it: &Value| it.as_i64().unwrap_or_default();
                    spread.extend(units.iter().map(|(name, it)| (name.clone(), pods(it))));
                }
                pending => drop(spread.insert("pending".into(), pending.as_i64().unwrap_or(-1))),
            }
        }
    }
    spread.retain(|_, pods| *pods != 0);
    Ok((spread, begins))
}

/// Checks that the forecast has changes of pods at the boundaries only.
fn check_boundaries(forecast: &Value, first: Timestamp) -> TestResult {
    let mut instants = BTreeSet::new();
    for series in forecast["series"].as_array().context("a forecast has series")? {
        let segments = series["segments"].as_array().into_iter().flatten();
        for segment in segments.skip(1).filter(|_| series["target"]["kind"] == "ResourcePolicy") {
            instants.insert(segment["from"].as_str().context("an instant")?.parse::<Timestamp>()?);
        }
    }
    let boundaries = (0..i64::try_from(minutes())?).map(SignedDuration::from_mins);
    let expected: BTreeSet<Timestamp> = boundaries.map(|after| first + after).collect();
    ensure!(instants == expected, "changes at {instants:?}, not at {expected:?}");
    Ok(())
}

/// The spread in the cluster, by an observer.
fn observed(units: &Units, policy: &str) -> Spread {
    let mut spread = Spread::new();
    for ((_, unit), count) in units.counts().iter().filter(|(place, _)| place.0 == policy) {
        spread.insert(unit.clone(), *count);
    }
    let others = [("pending", units.waiting()), ("outside all units", units.outside_all_units())];
    for (name, all) in others {
        let count = all.get(policy).copied().unwrap_or_default();
        spread.insert(name.to_owned(), i64::try_from(count).unwrap_or(i64::MAX));
    }
    spread.retain(|_, pods| *pods != 0);
    spread
}

/// Waits until the pods are in the forecast units; returns the number of changed policies.
async fn await_forecast(
    observer: &Observer,
    all: &[ScheduledPolicy],
    forecast: &Value,
    (at, deadline): (Timestamp, Duration),
) -> Result<usize> {
    let mut changes = 0;
    let mut expected = BTreeMap::new();
    for scheduled in all {
        let (spread, begins) = spread_in(forecast, &scheduled.name, at)?;
        changes += usize::from(begins);
        expected.insert(scheduled.name.clone(), spread);
    }
    await_condition(&format!("the pods to be as in the forecast at {at}"), deadline, async || {
        let units = observer.replay();
        let differs = |it: &(&String, &Spread)| observed(&units, it.0) != *it.1;
        let differences: Vec<String> = expected
            .iter()
            .filter(differs)
            .map(|(name, spread)| format!("{name}: {:?}, not {spread:?}", observed(&units, name)))
            .collect();
        Ok(Observation::from_bool(differences.is_empty(), differences.join("; ")))
    })
    .await?;
    Ok(changes)
}

/// The deletion cost of pods in each unit of a policy, from `explain`.
async fn explained_costs(test: &OwnTest, policy: &str) -> Result<BTreeMap<String, String>> {
    let explained = almanac(test, &["explain", &format!("rp/{policy}")]).await?;
    let cost = |reason: &Value| {
        let (_, after) = reason["because"].as_str()?.split_once("a pod of a ReplicaSet costs ")?;
        let (cost, _) = after.split_once(' ')?;
        Some((reason["rule"].as_str()?.to_owned(), cost.to_owned()))
    };
    let costs = explained["reasons"].as_array().into_iter().flatten().filter_map(cost).collect();
    Ok(costs)
}

/// Waits until the annotations and the status have the same pods in the same units.
async fn await_written(
    scene: &Scene,
    scheduled: &ScheduledPolicy,
    (spread, costs): (&Spread, &BTreeMap<String, String>),
) -> TestResult {
    let name = &scheduled.name;
    await_condition(&format!("the annotations and the status of {name}"), PATIENCE, async || {
        let pods = get(&scene.kubectl, &["pods", "-l", &format!("app={name}")]).await?;
        let mut annotated = Spread::new();
        for pod in pods["items"].as_array().into_iter().flatten() {
            let annotations = &pod["metadata"]["annotations"];
            let unit = annotations["almanac.dev/unit"].as_str();
            if unit
                .is_some_and(|unit| annotations[COST].as_str() == costs.get(unit).map(|it| &**it))
            {
                *annotated.entry(unit.unwrap_or_default().to_owned()).or_default() += 1;
            }
        }
        let status = get(&scene.kubectl, &["resourcepolicy", name]).await?["status"].clone();
        let mut counted = Spread::new();
        for unit in status["units"].as_array().into_iter().flatten() {
            let used = unit["used"].as_i64().unwrap_or(-1);
            counted.insert(unit["name"].as_str().unwrap_or_default().to_owned(), used);
        }
        counted.insert("outside all units".into(), status["spilled"].as_i64().unwrap_or_default());
        counted.retain(|_, pods| *pods != 0);
        let mut expected = spread.clone();
        expected.remove("pending");
        let is_counted = counted == expected;
        expected.remove("outside all units");
        let is_so = is_counted && annotated == expected;
        Ok(Observation::from_bool(is_so, format!("{annotated:?}, {counted:?}, not {spread:?}")))
    })
    .await
}

/// Waits until the clock reaches an instant, and checks that nothing changes before.
async fn await_quiet(
    observer: &Observer,
    controller: &Controller,
    (since, until): (Instant, Timestamp),
) -> TestResult {
    controller.await_clock(until).await?;
    let passed = Duration::try_from(controller.now().duration_since(until))?;
    let end = Instant::now().checked_sub(passed).context("the machine has just started")?;
    let units = observer.replay();
    let surplus = units.changes.iter().filter(|(at, _)| since < *at && *at < end);
    let surplus: Vec<&str> = surplus.map(|(_, name)| &**name).collect();
    ensure!(surplus.is_empty(), "before {until}, pods changed that no forecast has: {surplus:?}");
    Ok(())
}

#[test]
fn pods_fill_and_leave_units_minute_by_minute_as_forecast() -> TestResult {
    harness::lasting(Duration::from_secs(60 * minutes() as u64));
    on_own_control_plane(&ControlPlaneOptions::whole(), async |test| {
        let mut random = Rng::with_seed(seed("foretold"));
        let all: Vec<_> =
            (0..POLICIES).map(|number| ScheduledPolicy::random(number, &mut random)).collect();
        let nodes = [0, 1, 2].map(|unit| unit_nodes(UNITS[unit], 2));
        let spare = [NodeSpec::named("spare").count(2)];
        let _simulator = test.nodes(&[&nodes[..], &spare[..]].concat()).await?;
        let stage = Stage::set(test).await?;
        let scene = Scene::whole(test).await?;
        scene.await_nodes().await?;
        prepare(&scene, &all).await?;
        let mut costs = Vec::new();
        for scheduled in &all {
            costs.push(explained_costs(test, &scheduled.name).await?);
        }

        // The first boundary is a minute of the policy clock, which is shortly ahead of the wall clock.
        let first = Timestamp::from_second((Timestamp::now().as_second() / 60 + 2) * 60)?;
        for scheduled in &all {
            let scale_target = target("apps/v1", "Deployment", &scheduled.name);
            scene.apply(&cron(&scheduled.name, &scale_target, &scheduled.rules(first))).await?;
        }
        let before = (first - head_start()).to_string();
        let period = format!("{}m", minutes() + 1);
        let forecast = almanac(test, &["forecast", "--from", &before, "--for", &period]).await?;
        check_boundaries(&forecast, first)?;
        let observer = Observer::begin(&test.client()).await?;
        let controller =
            Controller::start(&test.plane.kubeconfig(), &before, &["--leader-elect=false"])?;
        controller.program.await_ready().await?;
        controller.ensure_before(&first.to_string())?;

        let (mut changes, mut settled) = (0, Instant::now());
        for number in 0..minutes() {
            let at = first + SignedDuration::from_mins(i64::try_from(number)?);
            await_quiet(&observer, &controller, (settled, at)).await?;
            let is_last = number + 1 == minutes();
            let deadline = if is_last { PATIENCE } else { FOLLOWS };
            changes += await_forecast(&observer, &all, &forecast, (at, deadline)).await?;
            settled = Instant::now();
            for (scheduled, costs) in all.iter().zip(&costs) {
                let (spread, _) = spread_in(&forecast, &scheduled.name, at)?;
                await_written(&scene, scheduled, (&spread, costs)).await?;
            }
            let quiet = if is_last { QUIET } else { ALMOST };
            await_quiet(&observer, &controller, (settled, at + quiet)).await?;
            let is_in_time = controller.now() < at + SignedDuration::from_mins(1);
            ensure!(is_last || is_in_time, "too slow a machine");
        }
        let violations = observer.replay().violations;
        ensure!(violations.is_empty(), "{violations:#?}");
        ensure!(changes == POLICIES * minutes(), "only {changes} changes were in the forecast");
        announce(&format!("foretold: {changes} changes of {POLICIES} policies, and no other"));
        controller.stop().await?;
        stage.stop().await
    })
}
