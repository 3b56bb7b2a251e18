//! The desired properties of nodes, and the node objects with these properties. The caller keeps the nodes alive.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

/// The label and taint that keep a test's nodes for that test.
pub const OWNER: &str = "test.almanac/namespace";

/// The effect of a taint on pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaintEffect {
    /// Pods without a toleration are not scheduled to the node.
    NoSchedule,
    /// Pods without a toleration are scheduled to the node only if no other node fits.
    PreferNoSchedule,
    /// Pods without a toleration are not scheduled to the node, and running ones are evicted.
    NoExecute,
}

impl TaintEffect {
    fn name(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
}

/// A number of nodes that differ in nothing but their names: `NAME-0`, `NAME-1` and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    name: String,
    count: usize,
    cpu: String,
    memory: String,
    pods: u32,
    labels: BTreeMap<String, String>,
    taints: Vec<(String, String, TaintEffect)>,
}

impl NodeSpec {
    /// One node with 4 CPUs, 16 GiB and a capacity of 110 pods.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            count: 1,
            cpu: "4".into(),
            memory: "16Gi".into(),
            pods: 110,
            labels: BTreeMap::new(),
            taints: Vec::new(),
        }
    }

    /// Sets the number of nodes.
    #[must_use]
    pub fn count(mut self, count: usize) -> Self {
        self.count = count;
        self
    }

    /// Sets the CPUs and the memory of each node, as Kubernetes quantities.
    #[must_use]
    pub fn size(self, cpu: &str, memory: &str) -> Self {
        self.cpu(cpu).memory(memory)
    }

    /// Sets the CPUs of each node.
    #[must_use]
    pub fn cpu(mut self, cpu: &str) -> Self {
        cpu.clone_into(&mut self.cpu);
        self
    }

    /// Sets the memory of each node.
    #[must_use]
    pub fn memory(mut self, memory: &str) -> Self {
        memory.clone_into(&mut self.memory);
        self
    }

    /// Sets the pod capacity of each node.
    #[must_use]
    pub fn pods(mut self, pods: u32) -> Self {
        self.pods = pods;
        self
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Adds a taint.
    #[must_use]
    pub fn taint(mut self, key: &str, value: &str, effect: TaintEffect) -> Self {
        self.taints.push((key.to_owned(), value.to_owned(), effect));
        self
    }

    /// Reserves the nodes for one namespace: its name as a prefix, its label, and, with a fence,
    /// the taint that only its pods tolerate.
    pub(crate) fn owned_by(&self, namespace: &str, is_fenced: bool) -> Self {
        let mut owned = self.clone().label(OWNER, namespace);
        owned.name = format!("{namespace}-{}", self.name);
        if is_fenced { owned.taint(OWNER, namespace, TaintEffect::NoSchedule) } else { owned }
    }

    /// The node objects that a kubelet registers, including their statuses.
    pub(crate) fn objects(&self) -> Result<Vec<Node>> {
        (0..self.count).map(|number| self.node(&format!("{}-{number}", self.name))).collect()
    }

    /// The node object with this name.
    pub(crate) fn node(&self, name: &str) -> Result<Node> {
        serde_json::from_value(self.object(name))
            .with_context(|| format!("failed to describe node {name}"))
    }

    fn object(&self, name: &str) -> Value {
        let mut labels = self.labels.clone();
        labels.entry("kubernetes.io/hostname".into()).or_insert_with(|| name.to_owned());
        labels.entry("kubernetes.io/os".into()).or_insert_with(|| "linux".into());
        labels.entry("kubernetes.io/arch".into()).or_insert_with(|| "amd64".into());
        let taints: Vec<_> = self
            .taints
            .iter()
            .map(
                |(key, value, effect)| json!({"key": key, "value": value, "effect": effect.name()}),
            )
            .collect();
        let room = json!({
            "cpu": self.cpu, "memory": self.memory, "pods": self.pods.to_string(),
            "ephemeral-storage": "100Gi",
        });
        json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": taints},
            "status": {
                "capacity": room,
                "allocatable": room,
                "conditions": conditions(true, super::simulator::WELL),
                "addresses": [{"type": "Hostname", "address": name}],
                "nodeInfo": {
                    "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "",
                    "osImage": "simulated", "containerRuntimeVersion": "simulated://1",
                    "kubeletVersion": "v1.36.0", "kubeProxyVersion": "",
                    "operatingSystem": "linux", "architecture": "amd64",
                },
            },
        })
    }
}

/// The conditions that a kubelet reports: no resource pressure, and ready or not ready.
pub(crate) fn conditions(is_ready: bool, because: &str) -> Value {
    let now = Timestamp::now();
    let one = |kind: &str, status: bool, reason: &str, message: &str| {
        json!({
            "type": kind,
            "status": if status { "True" } else { "False" },
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        })
    };
    let ready = if is_ready { "KubeletReady" } else { "KubeletNotReady" };
    json!([
        one("MemoryPressure", false, "KubeletHasSufficientMemory", "simulated"),
        one("DiskPressure", false, "KubeletHasNoDiskPressure", "simulated"),
        one("PIDPressure", false, "KubeletHasSufficientPID", "simulated"),
        one("Ready", is_ready, ready, because),
    ])
}
