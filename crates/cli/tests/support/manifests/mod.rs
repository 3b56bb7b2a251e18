//! The objects that the manifests have created in a cluster.

use almanac_harness::Kubectl;
use anyhow::Context as _;

use crate::reading::get;

pub(crate) const NAMESPACE: &str = "almanac-system";

/// The arguments of the container in the Deployment in the cluster.
pub(crate) async fn arguments_of_the_deployment(kubectl: &Kubectl) -> anyhow::Result<Vec<String>> {
    arguments_of(kubectl, [NAMESPACE, "deployment", "almanac"], 0).await
}

/// The arguments of a container of a workload in the cluster.
pub(crate) async fn arguments_of(
    kubectl: &Kubectl,
    [namespace, kind, name]: [&str; 3],
    container: usize,
) -> anyhow::Result<Vec<String>> {
    let workload = get(kubectl, &["-n", namespace, kind, name]).await?;
    let arguments = &workload["spec"]["template"]["spec"]["containers"][container]["args"];
    serde_json::from_value(arguments.clone()).context("the container has no arguments")
}
