//! Two installations, as described in `docs/some-namespaces.md`: the installation for the whole cluster exempts a
//! namespace, and the other installation is limited to that namespace. The first writes nothing there for any kind of
//! policy. The second works as if it were alone.

use std::collections::BTreeMap;

use crate::harbor::{HARBOR, cron, metrics_producer, node_group, prepare, workload};
use crate::manifests::arguments_of;
use crate::reading::{await_value, get};
use crate::running::{BOUNDARY, ROOT, start};
use almanac_fixtures::{hub, objects};
use almanac_harness::{
    AuditLog, AuditedRequest, ControlPlaneOptions, Kubectl, Observation, OwnTest, PATIENCE,
    Program, ProgramPort, ServiceAccountAccess, TestResult, await_condition, on_own_control_plane,
};
use anyhow::ensure;
use jiff::SignedDuration;
use serde_json::{Value, json};

/// The namespace with the separate installation.
const TEAM: &str = "team";
/// The namespace of the controllers and the agent of the team.
const OF_TEAM: &str = "almanac-team";
/// The maximum number of writes in a minute of each process of the team: a few statuses, Events and targets.
const MOST_WRITES: usize = 40;

/// The processes of the installation for the whole cluster, and the account of each.
const WHOLE: [(&str, &str); 3] = [
    ("almanac-system", "almanac"),
    ("almanac-cluster-agent", "almanac-cluster-agent"),
    ("almanac-scheduler", "almanac-scheduler"),
];

/// Creates policies of every kind with their targets.
fn everything_in(namespace: &str) -> Vec<Value> {
    let batch = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "batch", "labels": {"app": "batch"},
            // The state that another extender leaves.
            "annotations": {
                "controller.kubernetes.io/pod-deletion-cost": "100",
                "almanac.dev/deletion-cost-owner": "almanac/100",
            },
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "batch", "uid": "1",
                "controller": true,
            }],
        },
        "spec": {"nodeName": "worker", "containers": [{"name": "a", "image": "a"}]},
    });
    let units = json!({
        "apiVersion": "scheduling.sigs.x-k8s.io/v1alpha1", "kind": "ResourcePolicy",
        "metadata": {"name": "units"},
        "spec": {
            "podSelector": {"matchLabels": {"app": "shop"}}, "strategy": "required",
            "units": [{
                "name": "best", "priority": 1,
                "nodeSelector": {"matchLabels": {"capacity": "reserved"}},
            }],
        },
    });
    let query = format!("karpenter_scheduled_capacity{{name=\"hours\",namespace=\"{namespace}\"}}");
    let tide = objects::target("apps/v1", "Deployment", "tide");
    vec![
        workload("boat", "apps/v1", "Deployment"),
        cron("boat", "apps/v1", "Deployment", &json!({"targetReplicas": 4})),
        workload("tide", "apps/v1", "Deployment"),
        metrics_producer("hours"),
        objects::horizontal_autoscaler("tide", &tide, &query),
        node_group("pool", "AWSEKSNodeGroup"),
        hub::placement("web", &json!({})),
        units,
        batch,
    ]
}

/// A policy that sets this level at the boundary.
async fn configure(kubectl: &Kubectl, namespace: &str, level: i64) -> TestResult {
    let policy = objects::level_policy("day", ("09:00", "17:00"), "batch", level);
    create_in(kubectl, namespace, &[objects::agent_config(&[policy])]).await
}

async fn create_in(kubectl: &Kubectl, namespace: &str, objects: &[Value]) -> TestResult {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    kubectl.run_with_input(&["-n", namespace, "create", "-f", "-"], &list).await?;
    Ok(())
}

/// Applies both installations. The limited installation is in a separate namespace, whose name replaces the original in
/// all files.
async fn install(kubectl: &Kubectl) -> TestResult {
    for folder in ["hub-crds", "units-crds"] {
        kubectl.run(&["apply", "-f", &format!("{ROOT}/deploy/{folder}")]).await?;
    }
    kubectl.run(&["wait", "--for=condition=Established", "crd", "--all", "--timeout=90s"]).await?;
    for namespace in [TEAM, OF_TEAM, "volcano-system"] {
        kubectl.run(&["create", "namespace", namespace]).await?;
    }
    for file in ["", "placement", "agent/whole-cluster.yaml", "extender/second-scheduler.yaml"] {
        kubectl.run(&["apply", "-f", &format!("{ROOT}/deploy/{file}")]).await?;
    }
    for (namespace, file) in [
        (TEAM, "rights.yaml"),
        (TEAM, "agent-rights.yaml"),
        (OF_TEAM, "almanac.yaml"),
        (OF_TEAM, "agent.yaml"),
    ] {
        let text = std::fs::read_to_string(format!("{ROOT}/deploy/namespaced/{file}"))?;
        let text = text.replace("almanac-system", OF_TEAM).replace("shop,warehouse", TEAM);
        kubectl.run_with_input(&["-n", namespace, "apply", "-f", "-"], &text).await?;
    }
    Ok(())
}

/// A process, and its access to the cluster.
type Started = (Program, ServiceAccountAccess);

/// Starts every process of both installations, first the processes that exempt the team.
async fn start_all(
    test: &OwnTest,
    kubectl: &Kubectl,
    port: &ProgramPort,
) -> anyhow::Result<Vec<Started>> {
    let before = SignedDuration::from_secs(15);
    let mut programs = Vec::new();
    for (namespace, name) in WHOLE {
        let is_extender = name == "almanac-scheduler";
        let container = usize::from(is_extender);
        let mut all = arguments_of(kubectl, [namespace, "deployment", name], container).await?;
        all.retain(|it| !it.starts_with("--peer-"));
        for argument in &mut all {
            if argument.starts_with("--controllers=") {
                argument.push_str(",placement");
            } else if argument.starts_with("--scheduler-listen=") {
                *argument = format!("--scheduler-listen=127.0.0.1:{}", port.number());
            }
        }
        all.push(format!("--exempt-namespaces=kube-system,{TEAM}"));
        let account = test.service_account(namespace, name).await?;
        programs.push((start(&all, &account.kubeconfig(), before)?, account));
    }
    for name in ["almanac", "almanac-agent"] {
        let all = arguments_of(kubectl, [OF_TEAM, "deployment", name], 0).await?;
        let account = test.service_account(OF_TEAM, name).await?;
        programs.push((start(&all, &account.kubeconfig(), before)?, account));
    }
    for (program, _) in &programs {
        program.await_ready().await?;
    }
    Ok(programs)
}

/// Waits until the targets of the team have the values of its policies, with history.
async fn the_team_is_served(kubectl: &Kubectl) -> TestResult {
    let object_of_team = |kind, name| ["-n", TEAM, kind, name];
    let executed = "/status/executionHistories/0/successfulExecutions/0/scheduleTime";
    let level = "/metadata/annotations/volcano.sh~1qos-level";
    for (object, field, value) in [
        (object_of_team("deployment", "boat"), "/spec/replicas", json!(4)),
        (object_of_team("cronfederatedhpa", "boat"), executed, json!(BOUNDARY)),
        (
            object_of_team("metricsproducer", "hours"),
            "/status/scheduledCapacity/currentValue",
            json!(7),
        ),
        (object_of_team("deployment", "tide"), "/spec/replicas", json!(7)),
        (object_of_team("horizontalautoscaler", "tide"), "/status/desiredReplicas", json!(7)),
        (
            object_of_team("scalablenodegroup", "pool"),
            "/status/conditions/0/reason",
            json!("Unsupported"),
        ),
        (object_of_team("pod", "batch"), level, json!("1")),
    ] {
        await_value(kubectl, &object, field, &value).await?;
    }
    Ok(())
}

/// Waits until every process that exempts the team has observed the last created objects, in another namespace.
async fn all_is_seen(kubectl: &Kubectl) -> TestResult {
    for (kind, name) in [
        ("cronfederatedhpa", "boat"),
        ("metricsproducer", "hours"),
        ("horizontalautoscaler", "tide"),
        ("scalablenodegroup", "pool"),
        ("placement", "web"),
        ("resourcepolicy", "units"),
    ] {
        await_condition(&format!("{kind} {name} to have conditions"), PATIENCE, async || {
            let object = get(kubectl, &["-n", HARBOR, kind, name]).await?;
            let conditions = &object["status"]["conditions"];
            Ok(Observation::from_bool(conditions.is_array(), object.to_string()))
        })
        .await?;
    }
    let level = "/metadata/annotations/volcano.sh~1qos-level";
    await_value(kubectl, &["-n", HARBOR, "pod", "batch"], level, &json!("-1")).await
}

#[test]
fn an_installation_writes_nothing_in_the_namespace_of_another_installation() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only().audited(), async |test| {
        let kubectl = test.kubectl().await?;
        prepare(&kubectl).await?;
        install(&kubectl).await?;
        create_in(&kubectl, TEAM, &everything_in(TEAM)).await?;
        configure(&kubectl, "volcano-system", -1).await?;
        configure(&kubectl, OF_TEAM, 1).await?;
        let port = ProgramPort::take()?;
        let programs = start_all(test, &kubectl, &port).await?;
        let served = the_team_is_served(&kubectl).await;
        create_in(&kubectl, HARBOR, &everything_in(HARBOR)).await?;
        all_is_seen(&kubectl).await?;
        for (program, _) in &programs {
            ensure!(program.stop().await?.success(), "it did not end well");
        }

        let writes = AuditLog::open(&test.plane)?.writes(&test.client()).await?;
        let writes_by = |(namespace, name): (&str, &str)| {
            let user = format!("system:serviceaccount:{namespace}:{name}");
            let is_there = |it: &&AuditedRequest| it.namespace == TEAM && it.user == user;
            writes.iter().filter(is_there).collect::<Vec<_>>()
        };
        let of_whole: Vec<_> = WHOLE.into_iter().flat_map(writes_by).collect();
        let mut counts: BTreeMap<_, u32> = BTreeMap::new();
        for it in &of_whole {
            *counts.entry((&it.user, &it.verb, &it.resource, &it.subresource)).or_default() += 1;
        }
        ensure!(of_whole.is_empty(), "{} writes: {counts:#?}; {served:?}", of_whole.len());
        served?;
        for name in ["almanac", "almanac-agent"] {
            let of_team = writes_by((OF_TEAM, name));
            ensure!(!of_team.is_empty() && of_team.len() <= MOST_WRITES, "{name}: {of_team:#?}");
            println!("{name} of the team wrote {} times", of_team.len());
        }
        let user = format!("system:serviceaccount:{OF_TEAM}:");
        let elsewhere: Vec<_> = writes
            .iter()
            .filter(|it| it.user.starts_with(&user) && ![TEAM, OF_TEAM].contains(&&*it.namespace))
            .collect();
        ensure!(elsewhere.is_empty(), "the team wrote elsewhere: {elsewhere:#?}");
        Ok(())
    })
}
