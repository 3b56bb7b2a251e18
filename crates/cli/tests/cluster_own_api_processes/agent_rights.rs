//! The permissions in the manifests of the agents are exactly those that agents need: no request is forbidden, and no
//! permission is unused. The admission policy restricts the permissions further.

use crate::manifests::arguments_of;
use crate::pod_attacks::{PodName, annotate, create_victim, ensure_others_may, ensure_powerless};
use crate::reading::await_value;
use crate::rights::{compare, granted, requests_by, used};
use crate::running::start_at;
use almanac_harness::{
    AuditedRequest, ControlPlaneOptions, Kubectl, OwnTest, Program, ServiceAccountAccess,
    TestResult, on_own_control_plane,
};
use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// Just before the window of the policy opens.
const BEFORE: &str = "2027-03-02T21:59:55Z";
const LEVEL: &str = "volcano.sh/qos-level";
const REFUSAL: &str = "an agent may only";
const VICTIM: PodName<'static> = ("kube-system", "proxy");

/// An installation of the agent: on each node, or for the whole cluster.
struct Installation {
    manifest: &'static str,
    workload: &'static str,
    name: &'static str,
    arguments: usize,
}

const INSTALLATIONS: [Installation; 2] = [
    Installation {
        manifest: "daemonset",
        workload: "daemonset",
        name: "almanac-agent",
        arguments: 7,
    },
    Installation {
        manifest: "whole-cluster",
        workload: "deployment",
        name: "almanac-cluster-agent",
        arguments: 9,
    },
];

fn objects(policy: &Value) -> [Value; 4] {
    let node = |name: &str| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"n": name}}});
    let config = json!({
        "globalConfig": {"timeBasedQoSPolicies": [policy]},
        "nodesConfig": [{"selector": {"matchLabels": {"n": "other"}}, "timeBasedQoSPolicies": []}],
    });
    [
        node("worker"),
        node("other"),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "volcano-system"}}),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "volcano-agent-config", "namespace": "volcano-system"},
            "data": {"config.yaml": config.to_string()},
        }),
    ]
}

fn pod(name: &str, node: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "default", "labels": {"app": "batch"},
            "annotations": {"owner": "us"},
        },
        "spec": {"nodeName": node, "containers": [{"name": "a", "image": "a"}]},
    })
}

async fn create(kubectl: &Kubectl, objects: &[Value]) -> TestResult {
    for object in objects {
        kubectl.run_with_input(&["create", "-f", "-"], &object.to_string()).await?;
    }
    Ok(())
}

/// Starts the agent as its workload in the cluster would start it on the node `worker`.
async fn start(
    kubectl: &Kubectl,
    installation: &Installation,
    account: &ServiceAccountAccess,
) -> anyhow::Result<Program> {
    let mut arguments =
        arguments_of(kubectl, [installation.name, installation.workload, installation.name], 0)
            .await?;
    ensure!(
        arguments.len() == installation.arguments,
        "other arguments than expected: {arguments:?}"
    );
    for argument in &mut arguments {
        *argument = argument.replace("$(NODE_NAME)", "worker");
    }
    start_at(&arguments, &account.kubeconfig(), BEFORE.parse()?)
}

fn account_of(installation: &Installation) -> String {
    format!("system:serviceaccount:{0}:{0}", installation.name)
}

async fn await_level(kubectl: &Kubectl, pod: &str) -> TestResult {
    let level = "/metadata/annotations/volcano.sh~1qos-level";
    await_value(kubectl, &["pod", pod], level, &json!("-1")).await
}

/// Makes the agent use every function, and compares the used permissions with the granted permissions.
fn uses_exactly_its_permissions(installation: &Installation) -> TestResult {
    let options = ControlPlaneOptions::api_only().audited_with_reads_of(account_of(installation));
    on_own_control_plane(&options, async |test| {
        let kubectl = test.kubectl().await?;
        let policy = json!({
            "name": "night", "startTime": "22:00", "endTime": "06:00", "targetQoSLevel": -1,
            "selector": {"matchLabels": {"app": "batch"}},
        });
        create(&kubectl, &objects(&policy)).await?;
        create(&kubectl, &[pod("here", "worker"), pod("elsewhere", "other")]).await?;
        for manifest in [installation.manifest, "only-annotations"] {
            let file = format!("{ROOT}/deploy/agent/{manifest}.yaml");
            kubectl.run(&["apply", "-f", &file]).await?;
        }
        let account =
            test.service_account_on_node((installation.name, installation.name), "worker").await?;
        let agent = start(&kubectl, installation, &account).await?;
        agent.await_ready().await?;
        await_level(&kubectl, "here").await?;
        // Two equal changes of a pod within a short time result in one Event with a count.
        for _ in 0..2 {
            let restored = ["annotate", "pod", "here", "almanac.dev/ignore=true"];
            kubectl.run(&restored).await?;
            let edited = ["annotate", "pod", "here", "--overwrite", "volcano.sh/qos-level=2"];
            kubectl.run(&edited).await?;
            kubectl.run(&["annotate", "pod", "here", "almanac.dev/ignore-"]).await?;
            await_level(&kubectl, "here").await?;
        }
        let events = ["-n", "default", "events.events.k8s.io", "--field-selector"];
        let events = [&events[..], &["reason=PolicyActivated,type=Normal"]].concat();
        let counted = "/items/1/series/count";
        await_value(&kubectl, &events, counted, &json!(2)).await?;
        ensure!(agent.stop().await?.success(), "it did not end well");
        drop(agent);

        let account = account_of(installation);
        let ours = requests_by(test, |it| it.user == account).await?;
        assert_requests_are_minimal(&ours, installation);
        let used = used(&ours);
        let mut roles: Vec<Vec<&str>> = vec![
            vec!["clusterrole", installation.name],
            vec!["-n", "volcano-system", "role", installation.name],
        ];
        if installation.workload == "deployment" {
            roles.push(vec!["-n", installation.name, "role", "almanac-cluster-agent-lease"]);
        }
        let roles: Vec<&[&str]> = roles.iter().map(Vec::as_slice).collect();
        compare(&used, &granted(&kubectl, &roles).await?);
        a_stolen_token_can_change_only_level_annotations(test, installation).await
    })
}

/// Checks that an agent on a node reads only the pods of that node and the node, and that each agent reads the two
/// `ConfigMaps`.
fn assert_requests_are_minimal(requests: &[AuditedRequest], installation: &Installation) {
    for request in requests.iter().filter(|it| it.verb == "list" || it.verb == "watch") {
        let uri = &request.uri;
        match (request.resource.as_str(), installation.workload) {
            ("configmaps", _) => {
                assert!(
                    uri.contains("fieldSelector=metadata.name%3Dvolcano-agent-config"),
                    "{uri}"
                );
                assert!(uri.contains("/namespaces/volcano-system/"), "{uri}");
            }
            ("pods", "daemonset") => {
                assert!(uri.contains("fieldSelector=spec.nodeName%3Dworker"), "{uri}");
            }
            ("nodes", "daemonset") => {
                assert!(uri.contains("fieldSelector=metadata.name%3Dworker"), "{uri}");
            }
            _ => {}
        }
    }
}

/// With the token of an agent, only the annotations of levels can be changed.
async fn a_stolen_token_can_change_only_level_annotations(
    test: &OwnTest,
    installation: &Installation,
) -> TestResult {
    let account =
        test.service_account_on_node((installation.name, installation.name), "worker").await?;
    let client = account.client()?;
    create_victim(&test.kubectl().await?, VICTIM, ("worker", LEVEL)).await?;
    ensure_powerless(&client, VICTIM, LEVEL, REFUSAL).await?;
    // The level of a user is kept, however long it is.
    let long_level = "l".repeat(400);
    let by_user = json!({LEVEL: long_level});
    annotate(&test.client(), VICTIM, &by_user).await.map_err(anyhow::Error::msg)?;
    let set = json!({
        LEVEL: "-1", "volcano.sh/original-qos-level": long_level,
        "almanac.dev/qos-policy": "night", "almanac.dev/qos-applied": "-1",
    });
    let restored = json!({
        LEVEL: long_level, "volcano.sh/original-qos-level": null,
        "almanac.dev/qos-policy": null, "almanac.dev/qos-applied": null,
    });
    for annotations in [set, restored] {
        annotate(&client, VICTIM, &annotations).await.map_err(anyhow::Error::msg)?;
    }
    let level = json!({LEVEL: "2"});
    let elsewhere = annotate(&client, ("default", "elsewhere"), &level).await;
    if installation.workload == "daemonset" {
        let refusal = elsewhere.err().context("it could change another node's pod")?;
        ensure!(refusal.contains("only change the pods of its own node"), "{refusal}");
    } else {
        elsewhere.map_err(anyhow::Error::msg)?;
    }
    // A token that was not created for a pod names no node, and outlives the pods.
    let unbound = test.service_account(installation.name, installation.name).await?.client()?;
    let response = annotate(&unbound, ("default", "elsewhere"), &level).await;
    let refusal = response.err().context("a token without a pod could change a level")?;
    ensure!(refusal.contains("an agent may only use the token of its pod"), "{refusal}");
    ensure_others_may(&test.client(), VICTIM).await
}

#[test]
fn an_agent_of_the_daemon_set_uses_every_permission_and_needs_no_other() -> TestResult {
    uses_exactly_its_permissions(&INSTALLATIONS[0])
}

#[test]
fn the_agent_of_the_whole_cluster_uses_every_permission_and_needs_no_other() -> TestResult {
    uses_exactly_its_permissions(&INSTALLATIONS[1])
}
