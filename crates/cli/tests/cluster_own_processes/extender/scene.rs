//! The part of a cluster that a test uses: a namespace, and the nodes of its pods.

use std::path::PathBuf;
use std::time::Duration;

use almanac_harness::{
    Kubectl, Observation, OwnTest, PATIENCE, SharedTest, TestResult, await_condition,
};
use almanac_local::NODE_OWNER;
use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::reading::get;

/// A namespace and its nodes.
pub(crate) struct Scene {
    kubeconfig: PathBuf,
    /// The client for the namespace.
    pub(crate) kubectl: Kubectl,
    pub(crate) namespace: String,
    /// The prefix of the names of its nodes.
    prefix: String,
    /// The label of its nodes; empty if all nodes belong to the scene.
    pub(crate) label: String,
}

impl Scene {
    /// A namespace in a cluster that other tests share.
    pub(crate) async fn shared(test: &SharedTest) -> anyhow::Result<Scene> {
        let namespace = test.namespace().to_owned();
        let prefix = format!("{namespace}-");
        let label = format!("{NODE_OWNER}={namespace}");
        let (kubeconfig, kubectl) = (test.kubeconfig(), test.kubectl().await?);
        Ok(Scene { kubeconfig, kubectl, namespace, prefix, label })
    }

    /// The default namespace of a cluster that no other test uses.
    pub(crate) async fn whole(test: &OwnTest) -> anyhow::Result<Scene> {
        let (kubeconfig, kubectl) = (test.plane.kubeconfig(), test.kubectl().await?);
        let namespace = "default".to_owned();
        Ok(Scene { kubeconfig, kubectl, namespace, prefix: String::new(), label: String::new() })
    }

    /// Another namespace with the same nodes.
    pub(crate) async fn in_namespace(&self, name: &str) -> anyhow::Result<Scene> {
        let own = get(&self.kubectl, &["namespace", &self.namespace]).await?;
        let fence = &own["metadata"]["annotations"];
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "annotations": fence},
        });
        self.apply(&namespace).await?;
        let kubectl = Kubectl::provide(&self.kubeconfig, Some(name)).await?;
        await_condition("the namespace's service account", PATIENCE, async || {
            kubectl.run(&["get", "serviceaccount", "default"]).await?;
            Ok(Observation::Holds(()))
        })
        .await?;
        let (prefix, label) = (self.prefix.clone(), self.label.clone());
        let (kubeconfig, namespace) = (self.kubeconfig.clone(), name.to_owned());
        Ok(Scene { kubeconfig, kubectl, namespace, prefix, label })
    }

    /// The full name of a node with this short name.
    pub(crate) fn node(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Waits until the controller manager has observed the ready nodes. Before, no pod can be scheduled to them.
    pub(crate) async fn await_nodes(&self) -> TestResult {
        await_condition("the nodes to take pods", PATIENCE, async || {
            let nodes = get(&self.kubectl, &["nodes", "-l", &self.label]).await?;
            let taints =
                nodes["items"].as_array().into_iter().flatten().map(|it| &it["spec"]["taints"]);
            let closed = taints.filter(|it| it.to_string().contains("not-ready")).count();
            Ok(Observation::from_bool(closed == 0, format!("{closed} take none")))
        })
        .await
    }

    pub(crate) async fn apply(&self, object: &Value) -> TestResult {
        self.kubectl.run_with_input(&["apply", "-f", "-"], &object.to_string()).await?;
        Ok(())
    }

    /// Applies a policy, and waits until the extender has observed the policy.
    pub(crate) async fn govern(&self, policy: &Value) -> TestResult {
        self.apply(policy).await?;
        self.await_observed(policy["metadata"]["name"].as_str().context("a policy without a name")?)
            .await
    }

    /// Waits until the extender has observed the current version of a policy.
    pub(crate) async fn await_observed(&self, name: &str) -> TestResult {
        await_condition(&format!("the policy {name} to be known"), PATIENCE, async || {
            let actual = get(&self.kubectl, &["resourcepolicy", name]).await?;
            let observed = &actual["status"]["observedGeneration"];
            let is_known = *observed == actual["metadata"]["generation"];
            Ok(Observation::from_bool(is_known, actual["status"].to_string()))
        })
        .await
    }

    /// The number of pods of `app` on nodes with each of these short names, and the number of pending pods.
    pub(crate) async fn spread(&self, app: &str, names: &[&str]) -> anyhow::Result<Vec<usize>> {
        let pods = get(&self.kubectl, &["pods", "-l", &format!("app={app}")]).await?;
        let pods = pods["items"].as_array().context("no list")?;
        let pods = pods.iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        let nodes: Vec<&str> =
            pods.map(|pod| pod["spec"]["nodeName"].as_str().unwrap_or_default()).collect();
        let on =
            |name: &str| nodes.iter().filter(|node| node.starts_with(&self.node(name))).count();
        let waiting = nodes.iter().filter(|node| node.is_empty()).count();
        Ok(names.iter().map(|name| on(name)).chain([waiting]).collect())
    }

    pub(crate) async fn await_spread(
        &self,
        app: &str,
        names: &[&str],
        expected: &[usize],
    ) -> TestResult {
        let what = format!("the pods of {app} to be spread over {names:?} as {expected:?}");
        await_condition(&what, PATIENCE, async || {
            let spread = self.spread(app, names).await?;
            Ok(Observation::from_bool(spread == expected, format!("{spread:?}")))
        })
        .await
    }

    /// Checks that the state stays unchanged for a time in which the scheduler could have changed it.
    pub(crate) async fn check_stays(
        &self,
        app: &str,
        names: &[&str],
        expected: &[usize],
    ) -> TestResult {
        for _ in 0..10 {
            let spread = self.spread(app, names).await?;
            ensure!(spread == expected, "{spread:?} instead of {expected:?}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        Ok(())
    }
}
