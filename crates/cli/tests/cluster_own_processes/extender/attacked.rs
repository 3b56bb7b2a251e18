//! Units of many nodes while everything changes: nodes change units, caps are lowered, other schedulers bind pods, pods
//! belong to a `DaemonSet`, and pods terminate without an end. No binding exceeds a cap, and no free capacity is lost.
//!
//! `ALMANAC_UNITS_NODES` is the number of nodes. Nothing renews their Leases and no controller manager runs, so that
//! only the extender and kube-scheduler determine the cost of large numbers. The faults depend on the seed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use almanac_fixtures::trials::{announce, seed, size};
use almanac_harness::{
    self as harness, ControlPlaneOptions, Observation, OwnTest, TestResult, await_condition,
    on_own_control_plane,
};
use anyhow::{Context as _, Result, ensure};
use fastrand::Rng;
use futures::{StreamExt as _, TryStreamExt as _, future::try_join};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::extender::in_order::{Observer, Units};
use crate::extender::scene::Scene;
use crate::extender::stage::{Stage, pod, policy};
use crate::reading::get;

/// Two policies for the same nodes. The second ignores terminating pods.
const APPS: [&str; 2] = ["steady", "leaving"];
const UNITS: [&str; 2] = ["best", "middle"];
/// The labels of nodes: a unit, or no unit.
const LABELS: [&str; 3] = ["best", "middle", "spare"];
/// The number of concurrent requests.
const AT_ONCE: usize = 16;
/// With thousands of nodes, kube-scheduler binds some forty pods a second.
const PATIENCE: Duration = Duration::from_mins(5);

fn nodes() -> usize {
    size("ALMANAC_UNITS_NODES", 60, 5_000)
}

/// The number of rounds of all faults.
fn rounds() -> usize {
    if nodes() > 100 { 8 } else { 3 }
}

/// The number of pods of each policy that a round creates.
fn wave() -> usize {
    30 + nodes() / 20
}

/// A change by another party than kube-scheduler and the extender.
#[derive(Clone, Copy, Debug)]
enum Fault {
    NodesChangeUnits,
    PodsComeWithANode,
    AnotherSchedulerBinds,
    ADaemonSetComes,
    PodsTerminate,
    ACapIsLowered,
    CapsAreRaised,
}

const FAULTS: [Fault; 7] = [
    Fault::NodesChangeUnits,
    Fault::PodsComeWithANode,
    Fault::AnotherSchedulerBinds,
    Fault::ADaemonSetComes,
    Fault::PodsTerminate,
    Fault::ACapIsLowered,
    Fault::CapsAreRaised,
];

/// The source of the faults in the cluster.
struct Attacker<'a> {
    scene: &'a Scene,
    pods: Api<Pod>,
    nodes: Api<Node>,
    observer: Observer,
    random: Rng,
    /// The caps by policy, in the order of the units.
    caps: BTreeMap<&'static str, [usize; 2]>,
    /// The label of each node.
    labels: Vec<&'static str>,
    /// The number of created pods so far.
    created: usize,
}

fn node_name(number: usize) -> String {
    format!("node-{number}")
}

impl<'a> Attacker<'a> {
    async fn prepare(test: &OwnTest, scene: &'a Scene, random: Rng) -> Result<Self> {
        let labels: Vec<_> = (0..nodes()).map(|number| LABELS[number % LABELS.len()]).collect();
        let nodes: Api<Node> = Api::all(test.client());
        let creations = labels.iter().enumerate().map(|it| create_node(&nodes, it));
        futures::stream::iter(creations).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
        let pods = Api::namespaced(test.client(), "default");
        let caps = APPS.map(|app| (app, [wave() / 3; 2])).into();
        for app in APPS {
            scene.govern(&policy_of(app, [wave() / 3; 2])).await?;
        }
        let observer = Observer::begin(&test.client()).await?;
        Ok(Self { scene, pods, nodes, observer, random, caps, labels, created: 0 })
    }

    /// A new pod. Some pods have a finalizer, so that they are never deleted.
    fn pod(&mut self, app: &str, kind: &str) -> Value {
        self.created += 1;
        let mut pod = pod(&format!("{app}-{kind}-{}", self.created), app);
        // Nothing removes the taint of new nodes.
        pod["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
        if self.random.u8(..3) == 0 {
            pod["metadata"]["finalizers"] = json!(["test.almanac/stays"]);
        }
        pod
    }

    fn app(&mut self) -> &'static str {
        APPS[self.random.usize(..APPS.len())]
    }

    /// A node of a unit.
    fn node(&mut self) -> String {
        loop {
            let number = self.random.usize(..self.labels.len());
            if UNITS.contains(&self.labels[number]) {
                return node_name(number);
            }
        }
    }

    /// Waits until more pods are bound, or no pod can be bound.
    async fn await_bindings(&self, more: usize) -> TestResult {
        let before = self.observer.replay().bindings;
        await_condition("more bindings", PATIENCE, async || {
            let units = self.observer.replay();
            let is_so = units.bindings >= before + more || still_to_bind(&units).is_empty();
            Ok(Observation::from_bool(is_so, units.bindings))
        })
        .await
    }

    /// Waits until all units with pending pods are full.
    async fn await_full(&self) -> TestResult {
        await_condition("no free capacity while pods are pending", PATIENCE, async || {
            let remaining = still_to_bind(&self.observer.replay());
            Ok(Observation::from_bool(remaining.is_empty(), format!("{remaining:?}")))
        })
        .await
    }

    async fn do_it(&mut self, fault: Fault) -> TestResult {
        match fault {
            Fault::NodesChangeUnits => {
                for _ in 0..=nodes() / 30 {
                    let number = self.random.usize(..nodes());
                    let label = LABELS[self.random.usize(..LABELS.len())];
                    self.labels[number] = label;
                    let patch = json!({"metadata": {"labels": {"unit": label}}});
                    let name = node_name(number);
                    self.nodes.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await?;
                }
            }
            Fault::PodsComeWithANode => {
                for _ in 0..3 {
                    let (app, node) = (self.app(), self.node());
                    let mut pod = self.pod(app, "bare");
                    pod["spec"]["nodeName"] = json!(node);
                    create(&self.pods, pod).await?;
                }
            }
            Fault::AnotherSchedulerBinds => {
                for _ in 0..3 {
                    let (app, node) = (self.app(), self.node());
                    let mut pod = self.pod(app, "foreign");
                    pod["spec"]["schedulerName"] = json!("another-scheduler");
                    let name = create(&self.pods, pod).await?;
                    self.bind(&name, &node).await?;
                }
            }
            Fault::ADaemonSetComes => {
                for _ in 0..3 {
                    let (app, node) = (self.app(), self.node());
                    let mut pod = self.pod(app, "daemon");
                    pod["spec"]["nodeName"] = json!(node);
                    pod["metadata"]["ownerReferences"] = json!([{
                        "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "daemon",
                        "uid": "5d0a3b5e-0000-4000-8000-000000000000", "controller": true,
                    }]);
                    create(&self.pods, pod).await?;
                }
            }
            Fault::PodsTerminate => self.delete_some(1 + wave() / 8).await?,
            Fault::ACapIsLowered => {
                let (app, unit) = (self.app(), self.random.usize(..UNITS.len()));
                let caps = self.caps.get_mut(app).context("a policy without caps")?;
                // Mostly to just above the current number of pods, so that the next bindings would exceed the cap.
                let place = (app.to_owned(), UNITS[unit].to_owned());
                let count = self.observer.replay().counts().get(&place).copied().unwrap_or(0);
                let near = usize::try_from(count)? + self.random.usize(..3);
                let far = self.random.usize(..=caps[unit]);
                let cap = if self.random.u8(..4) == 0 { far } else { near };
                caps[unit] = cap.min(caps[unit]);
                self.scene.apply(&policy_of(app, *caps)).await?;
            }
            Fault::CapsAreRaised => {
                for (app, caps) in &mut self.caps {
                    *caps = caps.map(|cap| cap + wave() / 3);
                    self.scene.apply(&policy_of(app, *caps)).await?;
                }
            }
        }
        Ok(())
    }

    async fn bind(&self, name: &str, node: &str) -> TestResult {
        let target = json!({"apiVersion": "v1", "kind": "Node", "name": node});
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target,
        });
        let created: Value =
            self.pods.create_subresource("binding", name, &PostParams::default(), &binding).await?;
        ensure!(created["status"] == "Success", "{created}");
        Ok(())
    }

    /// Deletes pods. Without a kubelet, pods with a grace period or a finalizer terminate forever.
    async fn delete_some(&mut self, count: usize) -> TestResult {
        let mut bound = self.observer.replay().bound();
        self.random.shuffle(&mut bound);
        for name in bound.iter().take(count) {
            let grace = if self.random.bool() { 30 } else { 0 };
            self.pods.delete(name, &DeleteParams::default().grace_period(grace)).await?;
        }
        Ok(())
    }

    /// Creates many pods, and injects all faults during their scheduling.
    async fn round(&mut self) -> TestResult {
        let apps = (0..2 * wave()).map(|number| APPS[number % 2]);
        let wave: Vec<Value> = apps.map(|app| self.pod(app, "wave")).collect();
        let step = wave.len() / (FAULTS.len() + 2);
        let pods = self.pods.clone();
        let creations = wave.into_iter().map(|pod| create(&pods, pod));
        let creations = futures::stream::iter(creations).buffer_unordered(AT_ONCE);
        let attack = async {
            let mut faults = FAULTS;
            self.random.shuffle(&mut faults);
            for fault in faults {
                self.await_bindings(step).await?;
                self.do_it(fault).await.with_context(|| format!("{fault:?}"))?;
            }
            Ok(())
        };
        try_join(creations.try_for_each(async |_| Ok(())), attack).await?;
        self.await_full().await
    }

    /// Waits until the counts in the statuses equal those of the observer.
    async fn await_statuses(&self) -> TestResult {
        await_condition("the statuses to have the counts", PATIENCE, async || {
            let units = self.observer.replay();
            let mut used = BTreeMap::new();
            for app in APPS {
                let policy = get(&self.scene.kubectl, &["resourcepolicy", app]).await?;
                for unit in policy["status"]["units"].as_array().into_iter().flatten() {
                    let name = unit["name"].as_str().unwrap_or_default().to_owned();
                    used.insert((app.to_owned(), name), unit["used"].as_i64().unwrap_or(-1));
                }
            }
            let counts = units.counts();
            Ok(Observation::from_bool(used == *counts, format!("{used:?}, not {counts:?}")))
        })
        .await
    }
}

async fn create_node(nodes: &Api<Node>, (number, unit): (usize, &&str)) -> TestResult {
    let name = node_name(number);
    let node = json!({"metadata": {"name": name, "labels": {"unit": unit}}});
    nodes.create(&PostParams::default(), &serde_json::from_value(node)?).await?;
    let capacity = json!({"cpu": "64", "memory": "256Gi", "pods": "110"});
    let ready = json!({"type": "Ready", "status": "True", "reason": "Simulated", "message": ""});
    let status = json!({"status": {
        "capacity": capacity, "allocatable": capacity, "conditions": [ready],
    }});
    nodes.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}

async fn create(pods: &Api<Pod>, pod: Value) -> Result<String> {
    let created = pods.create(&PostParams::default(), &serde_json::from_value(pod)?).await?;
    created.metadata.name.context("an object without a name")
}

fn policy_of(app: &str, caps: [usize; 2]) -> Value {
    let cap = |unit: usize| u32::try_from(caps[unit]).ok();
    let mut policy = policy(app, "required", &[(UNITS[0], 2, cap(0)), (UNITS[1], 1, cap(1))]);
    policy["spec"]["matchPolicy"] = json!({"ignoreTerminatingPod": app == "leaving"});
    policy
}

/// The units with free capacity while pods of their policy are pending.
fn still_to_bind(units: &Units) -> Vec<String> {
    let waiting = units.waiting();
    let all = units.excess().into_iter();
    let free = all.filter(|((app, _), excess)| *excess < 0 && waiting.contains_key(app));
    free.map(|((app, unit), excess)| format!("{app} {unit}: {excess}")).collect()
}

#[test]
fn no_binding_exceeds_a_cap_while_pods_nodes_and_caps_change() -> TestResult {
    harness::lasting(Duration::from_mins(10));
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let random = Rng::with_seed(seed("attacked"));
        let stage = Stage::set(test).await?;
        let scene = Scene::whole(test).await?;
        let mut attacker = Attacker::prepare(test, &scene, random).await?;
        let begun = Instant::now();
        for _ in 0..rounds() {
            attacker.round().await?;
        }
        attacker.await_statuses().await?;
        let units = attacker.observer.replay();
        ensure!(units.violations.is_empty(), "{:#?}", units.violations);
        ensure!(units.bindings > rounds() * wave() / 2, "only {} bindings", units.bindings);
        announce(&format!(
            "{} nodes: {} of {} pods were bound in {:.0} s; {} bindings within {:?} of a change of others",
            nodes(),
            units.bindings,
            attacker.created,
            begun.elapsed().as_secs_f64(),
            units.tolerated.len(),
            units.tolerated.iter().max().copied().unwrap_or_default(),
        ));
        stage.stop().await
    })
}
