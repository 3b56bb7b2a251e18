//! The setup of a test: a namespace with pods and a `ConfigMap`, nodes for the pods, and agents. No other test uses the
//! namespace or the nodes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use almanac_api::slim::{ORIGINAL_QOS_LEVEL, QOS_APPLIED, QOS_LEVEL, QOS_POLICY};
use almanac_fixtures::objects;
use almanac_harness::{
    AuditedRequest, FaultProxy, NodeSimulator, NodeSpec, Observation, PATIENCE, TestResult,
    await_condition,
};
use almanac_local::log_tail;
use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub(crate) use crate::controller::Controller as Agent;
use crate::controller::{Cluster, Kind, head_start, memory_in, mixed_program};

pub(crate) const POD: Kind = Kind { root: "/api/v1", plural: "pods" };
pub(crate) const CONFIG_MAP: Kind = Kind { root: "/api/v1", plural: "configmaps" };
pub(crate) const NAMESPACE: Kind = Kind { root: "/api/v1", plural: "namespaces" };

/// The `ConfigMap` of the design, and the one that Volcano installs.
pub(crate) const OF_THE_DESIGN: &str = "volcano-agent-config";
pub(crate) const OF_VOLCANO: &str = "volcano-agent-configuration";

/// The start of a policy of [`daily`], an instant in its window, and the end.
pub(crate) const OPENS: &str = "2026-11-30T09:00:00Z";
pub(crate) const INSIDE: &str = "2026-11-30T12:00:00Z";
pub(crate) const CLOSES: &str = "2026-11-30T17:00:00Z";
pub(crate) const AFTER: &str = "2026-11-30T18:00:00Z";

/// The number of log lines of each agent that a failed test prints.
const LINES: usize = 30;

/// A policy from nine to five for the pods of an app.
pub(crate) fn daily(name: &str, app: &str, target: i64) -> Value {
    policy(name, ("09:00", "17:00"), app, target)
}

/// A policy for the pods of an app. The agent's own resync is too late for any test.
pub(crate) fn policy(name: &str, window: (&str, &str), app: &str, target: i64) -> Value {
    let mut policy = objects::level_policy(name, window, app, target);
    policy["checkInterval"] = json!("1h");
    policy
}

/// The annotations of a pod while a policy sets its level. An empty string is a missing level.
pub(crate) fn under(policy: &str, level: &str, original: &str) -> Value {
    let mut annotations = json!({
        ORIGINAL_QOS_LEVEL: original, QOS_POLICY: policy, QOS_APPLIED: level,
    });
    if !level.is_empty() {
        annotations[QOS_LEVEL] = json!(level);
    }
    annotations
}

/// The annotations of a pod that no policy changes.
pub(crate) fn own(level: &str) -> Value {
    if level.is_empty() { json!({}) } else { json!({ QOS_LEVEL: level }) }
}

/// A namespace with nodes.
pub(crate) struct TestNamespace {
    pub(crate) cluster: Cluster,
    /// The name of the namespace.
    pub(crate) name: String,
    pub(crate) nodes: NodeSimulator,
    logs: Mutex<Vec<PathBuf>>,
}

impl TestNamespace {
    pub(crate) async fn prepare(cluster: Cluster, name: &str, nodes: usize) -> Result<Self> {
        cluster.namespace(name).await?;
        let spec = NodeSpec::named(name).count(nodes);
        let nodes = NodeSimulator::start(&cluster.client(), &[spec]).await?;
        Ok(Self { cluster, name: name.to_owned(), nodes, logs: Mutex::default() })
    }

    /// Prints the end of each agent's log.
    pub(crate) fn show_logs(&self) {
        for folder in &*self.logs.lock().unwrap_or_else(PoisonError::into_inner) {
            eprintln!("{}", log_tail::tails_of(folder, LINES));
        }
    }

    /// Writes the global list of policies into the `ConfigMap` of the design.
    pub(crate) async fn configure(&self, policies: &[Value]) -> TestResult {
        self.configure_with(&json!({"globalConfig": {"timeBasedQoSPolicies": policies}})).await
    }

    /// Writes a document into the `ConfigMap` of the design.
    pub(crate) async fn configure_with(&self, document: &Value) -> TestResult {
        self.write_config((&self.name, OF_THE_DESIGN), &format!("{document:#}")).await
    }

    /// Writes a `ConfigMap`, creating it if absent.
    pub(crate) async fn write_config(
        &self,
        (namespace, name): (&str, &str),
        text: &str,
    ) -> TestResult {
        let key = if name == OF_VOLCANO { "colocation-config" } else { "config.yaml" };
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name}, "data": {key: text},
        });
        if self.cluster.get(CONFIG_MAP, namespace, name).await?.is_null() {
            self.cluster.create(CONFIG_MAP, namespace, &object).await?;
        } else {
            self.cluster.patch(CONFIG_MAP, namespace, name, &object).await?;
        }
        Ok(())
    }

    /// Creates a pod of an app on the first node, with the original level; empty for none.
    pub(crate) async fn pod(&self, name: &str, app: &str, level: &str) -> TestResult {
        self.pod_with(name, json!({"app": app}), own(level), 0).await
    }

    /// Creates a pod on one of the nodes.
    pub(crate) async fn pod_with(
        &self,
        name: &str,
        labels: Value,
        annotations: Value,
        node: usize,
    ) -> TestResult {
        let mut pod = pod_object(name, &labels, &annotations);
        pod["spec"]["nodeName"] = json!(self.node(node)?);
        self.cluster.create(POD, &self.name, &pod).await
    }

    /// Creates `count` pods of an app with the level 1; returns their names.
    pub(crate) async fn many_pods(&self, app: &str, count: usize) -> Result<Vec<String>> {
        let names: Vec<String> = (0..count).map(|number| format!("{app}-{number:03}")).collect();
        try_join_all(names.iter().map(|name| self.pod(name, app, "1"))).await?;
        Ok(names)
    }

    pub(crate) fn node(&self, index: usize) -> Result<&str> {
        Ok(self.nodes.names().get(index).context("no such node")?)
    }

    /// Changes the metadata of a pod, as a user does.
    pub(crate) async fn change(&self, pod: &str, metadata: &Value) -> TestResult {
        self.cluster.patch(POD, &self.name, pod, &json!({ "metadata": metadata })).await?;
        Ok(())
    }

    /// Writes or removes the level of a pod, as its user.
    pub(crate) async fn edit(&self, pod: &str, level: Option<&str>) -> TestResult {
        self.change(pod, &json!({"annotations": {QOS_LEVEL: level}})).await
    }

    pub(crate) async fn relabel(&self, pod: &str, app: &str) -> TestResult {
        self.change(pod, &json!({"labels": {"app": app}})).await
    }

    /// The level annotations of the pods of a namespace.
    pub(crate) async fn levels_in(&self, namespace: &str) -> Result<BTreeMap<String, Value>> {
        let pods = self.cluster.list(POD, namespace).await?;
        let named = |pod: &Value| Some((pod["metadata"]["name"].as_str()?.to_owned(), levels(pod)));
        pods.iter().map(|pod| named(pod).context("a pod without a name")).collect()
    }

    /// Waits until these pods have these annotations and no other level annotations.
    pub(crate) async fn await_pods(&self, expected: &[(&str, Value)]) -> TestResult {
        await_condition(&format!("the pods {expected:?}"), PATIENCE, async || {
            let actual = self.levels_in(&self.name).await?;
            let differs = |(name, expected): &&(&str, Value)| actual.get(*name) != Some(expected);
            let other = expected.iter().find(differs).map(|(name, _)| (name, actual.get(*name)));
            Ok(Observation::from_bool(other.is_none(), format!("{other:?}")))
        })
        .await
    }

    /// Checks the pods without waiting.
    pub(crate) async fn ensure_pods(&self, expected: &[(&str, Value)]) -> TestResult {
        let actual = self.levels_in(&self.name).await?;
        for (name, expected) in expected {
            ensure!(
                actual.get(*name) == Some(expected),
                "{name} is {:?}, not {expected}",
                actual.get(*name)
            );
        }
        Ok(())
    }

    /// Starts an agent of the first node, unless the arguments differ, and waits until it is ready.
    pub(crate) async fn start(&self, instant: &str, further: &[&str]) -> Result<Agent> {
        let agent = self.launch(self.cluster.kubeconfig(), instant, further)?;
        agent.program.await_ready().await?;
        Ok(agent)
    }

    /// Starts an agent behind a proxy.
    pub(crate) async fn start_behind(
        &self,
        proxy: &FaultProxy,
        instant: &str,
        further: &[&str],
    ) -> Result<Agent> {
        let agent = self.launch(&proxy.kubeconfig(), instant, further)?;
        agent.program.await_ready().await?;
        Ok(agent)
    }

    /// Starts an agent without waiting.
    pub(crate) fn launch(
        &self,
        kubeconfig: &Path,
        instant: &str,
        further: &[&str],
    ) -> Result<Agent> {
        let defaults = [
            ("--node-name", self.node(0)?),
            ("--config-namespace", &self.name),
            ("--spread", "0s"),
        ];
        let mut arguments = further.to_vec();
        for (flag, value) in defaults {
            if !further.iter().any(|it| it.starts_with(flag)) {
                arguments.extend([flag, value]);
            }
        }
        let memory = memory_in(include_str!("../../../../../deploy/agent/daemonset.yaml"))?;
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        let program = mixed_program(logs.len());
        let agent =
            Agent::start_command(&program, "agent", memory, kubeconfig, instant, &arguments)?;
        logs.push(agent.program.folder().to_owned());
        Ok(agent)
    }

    /// Runs an agent across a boundary, and checks the pods before and after the boundary.
    pub(crate) async fn cross(
        &self,
        boundary: &str,
        before: &[(&str, Value)],
        after: &[(&str, Value)],
    ) -> TestResult {
        let agent = self.start(&early(boundary)?, &[]).await?;
        agent.await_done().await?;
        self.ensure_pods(before).await?;
        agent.ensure_before(boundary)?;
        agent.await_time(boundary).await?;
        self.await_pods(after).await?;
        agent.await_done().await?;
        self.ensure_pods(after).await?;
        agent.stop().await
    }

    /// The writes of agents to the pods of this namespace, by the pod.
    pub(crate) async fn writes_by_pod(&self) -> Result<BTreeMap<String, usize>> {
        let mut writes = BTreeMap::new();
        let is_applied = |it: &AuditedRequest| it.code == 200;
        for write in self.pod_writes().await?.into_iter().filter(is_applied) {
            *writes.entry(write.name).or_default() += 1;
        }
        Ok(writes)
    }

    /// All requests of agents to change pods of this namespace.
    pub(crate) async fn pod_writes(&self) -> Result<Vec<AuditedRequest>> {
        let mut writes = self.cluster.writes().await?;
        writes.retain(|it| it.namespace == self.name && it.resource == "pods");
        Ok(writes)
    }

    /// Checks the number of changes to each of these pods, and that no other pod was changed.
    pub(crate) async fn ensure_written(&self, expected: &[(&str, usize)]) -> TestResult {
        let writes = self.writes_by_pod().await?;
        let expected = expected.iter().map(|(name, times)| ((*name).to_owned(), *times)).collect();
        ensure!(writes == expected, "{writes:?}, not {expected:?}");
        Ok(())
    }

    /// Waits for an Event about an object here whose text starts like this, and returns it.
    pub(crate) async fn await_event(&self, about: &str, beginning: &str) -> Result<String> {
        self.cluster.await_events((&self.name, about), beginning, 1..).await
    }
}

/// Just before a boundary.
pub(crate) fn early(boundary: &str) -> Result<String> {
    Ok((boundary.parse::<Timestamp>()? - head_start()).to_string())
}

/// The start of the clock for two agents that start one after the other.
pub(crate) fn early_for_two(boundary: &str) -> Result<String> {
    Ok((boundary.parse::<Timestamp>()? - head_start() * 2).to_string())
}

/// A pod without a node.
pub(crate) fn pod_object(name: &str, labels: &Value, annotations: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {
            "containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10"}],
            // A pod without a grace period is deleted immediately.
            "terminationGracePeriodSeconds": 0,
        },
    })
}

/// The level annotations of a pod.
pub(crate) fn levels(pod: &Value) -> Value {
    let of_levels = |it: &(&String, &Value)| {
        [QOS_LEVEL, ORIGINAL_QOS_LEVEL, QOS_POLICY, QOS_APPLIED].contains(&it.0.as_str())
    };
    let all = pod["metadata"]["annotations"].as_object();
    let own = all.into_iter().flatten().filter(of_levels);
    Value::Object(own.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>())
}

impl Agent {
    /// Waits until the agent reports that no write is pending.
    pub(crate) async fn await_done(&self) -> TestResult {
        self.await_metric("almanac_qos_levels_pending 0").await?;
        self.await_metric("almanac_qos_restores_pending 0").await
    }

    /// Waits until the clock of the agent has passed this instant.
    pub(crate) async fn await_time(&self, instant: &str) -> TestResult {
        self.await_clock(instant.parse()?).await
    }
}
