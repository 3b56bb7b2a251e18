//! Without a Prometheus, every kind of target with a scale is scaled exactly at the boundary. The controllers have the
//! permissions of the manifests, and follow the schedule of the published design.

use std::fs;

use almanac_fixtures::objects;
use almanac_harness::{OwnTest, ServiceAccountAccess, TestResult};
use anyhow::{Context as _, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::autoscaler::autoscalers::{
    NAMESPACE, await_condition_of, await_replicas, scalings, scheduled,
};
use crate::controller::{
    AUTOSCALER, Cluster, Controller, DEPLOYMENT, Kind, NODE_GROUP, STATEFUL, condition, deployment,
    head_start, on_cluster, schedule_of_the_design, stateful, target,
};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const ACCOUNT: &str = "system:serviceaccount:almanac-system:almanac";
/// Monday, nine o'clock in Los Angeles: the end of the weekend.
const BOUNDARY: &str = "2026-11-30T17:00:00Z";
const LATER: &str = "2026-11-30T17:05:00Z";
/// The numbers of the weekend and of the working day.
const WEEKEND: u32 = 1;
const WORKING_DAY: u32 = 3;
/// The documented limit, and an allowance for a busy machine.
const PROMISED: SignedDuration = SignedDuration::from_secs(1);
const SLACK: SignedDuration = SignedDuration::from_secs(14);

const MACHINES: Kind =
    Kind { root: "/apis/cluster.x-k8s.io/v1beta1", plural: "machinedeployments" };
const FLEET: Kind = Kind { root: "/apis/example.org/v1", plural: "fleets" };
const GROUP: &str = "autoscaling.karpenter.sh/v1alpha1";

/// The targets scaled at the boundary: name, kind, and how a reference names it.
const TARGETS: [(&str, Kind, [&str; 2]); 4] = [
    ("web", DEPLOYMENT, ["apps/v1", "Deployment"]),
    ("store", STATEFUL, ["apps/v1", "StatefulSet"]),
    ("nodes", NODE_GROUP, [GROUP, "ScalableNodeGroup"]),
    ("machines", MACHINES, ["cluster.x-k8s.io/v1beta1", "MachineDeployment"]),
];

/// Kinds that the manifests do not list, each with its scope.
const KINDS: [([&str; 3], &str); 2] = [
    (["cluster.x-k8s.io", "v1beta1", "MachineDeployment"], "Namespaced"),
    (["example.org", "v1", "Fleet"], "Cluster"),
];

/// Grants the permissions that the page about the controllers lists for custom kinds, for the two kinds of this test.
async fn grant(test: &OwnTest, cluster: &Cluster) -> Result<ServiceAccountAccess> {
    cluster.kubectl(&["apply", "-f", &format!("{ROOT}/deploy")]).await?;
    let page = fs::read_to_string(format!("{ROOT}/docs/controller.md"))?;
    let (_, section) = page.split_once("## Scale your own kinds").context("no such section")?;
    let block = section.split_once("```yaml\n").and_then(|(_, rest)| rest.split_once("```"));
    let (rights, _) = block.context("the section grants nothing")?;
    for (group, plural) in [("cluster.x-k8s.io", "machinedeployments"), ("example.org", "fleets")] {
        let rights = rights.replace("argoproj.io", group).replace("rollouts", plural);
        cluster.create_text("", &rights).await?;
    }
    test.service_account("almanac-system", "almanac").await
}

async fn make_targets(cluster: &Cluster) -> TestResult {
    cluster.create_text(NAMESPACE, &schedule_of_the_design()).await?;
    for (name, kind, [version, kind_name]) in TARGETS {
        let object = match kind_name {
            "Deployment" => deployment(name, WEEKEND),
            "StatefulSet" => stateful(name, WEEKEND),
            _ => {
                let mut object = objects::scalable(version, kind_name, name, WEEKEND);
                object["spec"]["type"] = json!("AWSEKSNodeGroup");
                object["spec"]["id"] = json!(name);
                object
            }
        };
        cluster.create(kind, NAMESPACE, &object).await?;
        autoscale_existing(cluster, name, &target(version, kind_name, name)).await?;
    }
    let fleet = objects::scalable("example.org/v1", "Fleet", "north", WEEKEND);
    cluster.create(FLEET, "", &fleet).await?;
    autoscale_existing(cluster, "north", &target("example.org/v1", "Fleet", "north")).await
}

async fn autoscale_existing(cluster: &Cluster, name: &str, target: &Value) -> TestResult {
    let object = objects::horizontal_autoscaler(name, target, &scheduled(cluster, "scheduling"));
    cluster.create(AUTOSCALER, NAMESPACE, &object).await
}

#[test]
fn a_boundary_scales_every_kind_with_a_scale_once_within_a_second() -> TestResult {
    on_cluster(async |test, cluster| {
        cluster.define(&KINDS).await?;
        let access = grant(test, cluster).await?;
        make_targets(cluster).await?;
        let before = BOUNDARY.parse::<Timestamp>()? - head_start();
        // The period is longer than the slack: an autoscaler that evaluates only once in a period is late.
        let period = ["--query-period=60s"];
        let controller = Controller::start(&access.kubeconfig(), &before.to_string(), &period)?;
        nothing_happens_before(cluster, &controller).await?;
        for (name, kind, _) in TARGETS {
            await_replicas(cluster, (kind, NAMESPACE, name), WORKING_DAY).await?;
        }
        everything_was_on_time(cluster, &controller).await?;
        the_node_group_reports_its_replicas(cluster).await?;
        controller.stop().await?;
        let fleet = cluster.get(FLEET, "", "north").await?;
        assert_eq!(fleet["spec"]["replicas"], WEEKEND, "cluster-scoped targets are not allowed");

        let allow = ["--allow-cluster-scoped-targets"];
        let controller = Controller::start(&access.kubeconfig(), LATER, &allow)?;
        await_replicas(cluster, (FLEET, "", "north"), WORKING_DAY).await?;
        await_condition_of(cluster, "north", ["Ready", "True", "Scaling"]).await?;
        controller.stop().await?;
        let writes = cluster.writes().await?;
        let refused: Vec<_> = writes.iter().filter(|write| write.code == 403).collect();
        ensure!(refused.is_empty(), "not all that is needed is granted: {refused:?}");
        Ok(())
    })
}

async fn nothing_happens_before(cluster: &Cluster, controller: &Controller) -> TestResult {
    for (name, ..) in TARGETS {
        await_condition_of(cluster, name, ["Ready", "True", "Scaling"]).await?;
    }
    let expected = ["AbleToScale", "False", "ClusterScopedTarget"];
    let message = await_condition_of(cluster, "north", expected).await?;
    assert_eq!(
        message,
        "Fleet.example.org north is cluster-scoped; start the controller with \
         --allow-cluster-scoped-targets to allow it"
    );
    ensure!(cluster.target_writes().await?.is_empty(), "something was scaled too early");
    controller.ensure_before(BOUNDARY)
}

/// Uses the instant of the response in the audit log.
async fn everything_was_on_time(cluster: &Cluster, controller: &Controller) -> TestResult {
    let boundary: Timestamp = BOUNDARY.parse()?;
    for (name, ..) in TARGETS {
        let writes = scalings(cluster, name).await?;
        let [write] = &writes[..] else { anyhow::bail!("{name} was not scaled once: {writes:?}") };
        assert_eq!((&*write.user, &*write.verb, write.code), (ACCOUNT, "patch", 200));
        let late = controller.time_of(write)?.duration_since(boundary);
        eprintln!("{name} was scaled {late:#} after the boundary");
        ensure!(!late.is_negative(), "{name} was scaled {late:#} too early");
        ensure!(late < PROMISED + SLACK, "{name} was scaled {late:#} after the boundary");
    }
    Ok(())
}

/// The status that the design promises to a user.
async fn the_node_group_reports_its_replicas(cluster: &Cluster) -> TestResult {
    let is_done = |object: &Value| object["status"]["desiredReplicas"] == WORKING_DAY;
    let nodes = (NAMESPACE, "nodes");
    let object = cluster.await_object(AUTOSCALER, nodes, "to report it", is_done).await?;
    let query = scheduled(cluster, "scheduling");
    let metrics = json!([{ "query": query, "value": WORKING_DAY.to_string() }]);
    assert_eq!(object["status"]["currentMetrics"], metrics);
    assert_eq!(condition(&object["status"], "ScalingUnbounded")[..2], ["True", "WithinBounds"]);
    let event = "Normal Scaled: set the replicas of ScalableNodeGroup.autoscaling.karpenter.sh \
                 default/nodes from 1 to 3, as metrics[0] recommends";
    cluster.await_event(NAMESPACE, "nodes", event).await
}
