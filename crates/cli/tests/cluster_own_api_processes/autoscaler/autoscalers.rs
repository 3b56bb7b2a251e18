//! Autoscalers, their conditions, and the values that they have set.

use almanac_fixtures::objects;
use almanac_harness::{AuditedRequest, TestResult};
use anyhow::{Context as _, Result};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controller::{
    AUTOSCALER, Cluster, DEPLOYMENT, Kind, PRODUCER, condition, deployment, target,
};

/// The namespace of a test with a separate control plane.
pub(crate) const NAMESPACE: &str = "default";

/// A schedule with 2 until nine o'clock, and with `replicas` in the hour after that.
pub(crate) async fn schedule(cluster: &Cluster, name: &str, replicas: u32) -> TestResult {
    let rush = json!({ "replicas": replicas, "start": { "hours": 9 }, "end": { "hours": 10 } });
    let spec = json!({ "defaultReplicas": 2, "behaviors": [rush] });
    cluster.create(PRODUCER, cluster.home(), &objects::metrics_producer(name, &spec)).await
}

/// The query of a schedule.
pub(crate) fn scheduled(cluster: &Cluster, name: &str) -> String {
    let home = cluster.home();
    format!("karpenter_scheduled_capacity{{name=\"{name}\",namespace=\"{home}\"}}")
}

/// An autoscaler and a Deployment of the same name, created with these replicas.
pub(crate) async fn autoscale(
    cluster: &Cluster,
    name: &str,
    (replicas, query): (u32, &str),
    behavior: &Value,
) -> TestResult {
    cluster.create(DEPLOYMENT, cluster.home(), &deployment(name, replicas)).await?;
    let target = target("apps/v1", "Deployment", name);
    let mut object = objects::horizontal_autoscaler(name, &target, query);
    object["spec"]["behavior"] = behavior.clone();
    cluster.create(AUTOSCALER, cluster.home(), &object).await
}

/// Waits until a condition has this status and this reason; returns its message.
pub(crate) async fn await_condition_of(
    cluster: &Cluster,
    name: &str,
    [about, holds, reason]: [&str; 3],
) -> Result<String> {
    let is_so = |object: &Value| condition(&object["status"], about)[..2] == [holds, reason];
    let what = format!("{about}={holds} {reason}");
    let object = cluster.await_object(AUTOSCALER, (cluster.home(), name), &what, is_so).await?;
    Ok(condition(&object["status"], about)[2].to_owned())
}

/// Waits until a target has this number of replicas.
pub(crate) async fn await_replicas(
    cluster: &Cluster,
    (kind, namespace, name): (Kind, &str, &str),
    replicas: u32,
) -> TestResult {
    let is_so = |object: &Value| object["spec"]["replicas"] == replicas;
    let what = format!("{replicas} replicas");
    cluster.await_object(kind, (namespace, name), &what, is_so).await?;
    Ok(())
}

/// The requests of Almanac to scale a target, in the order of the audit log.
pub(crate) async fn scalings(cluster: &Cluster, name: &str) -> Result<Vec<AuditedRequest>> {
    let mut writes = cluster.target_writes().await?;
    writes.retain(|write| write.name == name && write.subresource == "scale");
    Ok(writes)
}

/// The instants of the responses.
pub(crate) fn instants(writes: &[AuditedRequest]) -> Result<Vec<Timestamp>> {
    let instant = |write: &AuditedRequest| write.at.parse().context("the audit log has instants");
    writes.iter().map(instant).collect()
}
