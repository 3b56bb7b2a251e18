//! What the manifests have put into a cluster.

use almanac_harness::Kubectl;
use anyhow::Context as _;

use crate::reading::get;

pub(crate) const NAMESPACE: &str = "almanac-system";

/// The arguments that the Deployment in the cluster gives its container.
pub(crate) async fn arguments_of_the_deployment(kubectl: &Kubectl) -> anyhow::Result<Vec<String>> {
    let deployment = get(kubectl, &["-n", NAMESPACE, "deployment", "almanac"]).await?;
    let arguments = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
    serde_json::from_value(arguments.clone()).context("the container has no arguments")
}
