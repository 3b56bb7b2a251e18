//! Workloads on simulated nodes, handled by the control plane: scheduling, scale-in order, disruption budgets,
//! autoscalers' bounds and jobs.

use almanac_harness::{
    NodeSpec, Observation, PATIENCE, SharedTest, TestResult, await_condition, on_shared_cluster,
};
use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt;
use kube::api::{Api, EvictParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

fn deployment(name: &str, replicas: u32) -> Result<Deployment> {
    Ok(serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{
                    "name": "main", "image": "none",
                    "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
                }]},
            },
        },
    }))?)
}

/// Creates a Deployment and waits until all its pods are ready.
async fn create_ready(test: &SharedTest, name: &str, replicas: u32) -> Result<Vec<Pod>> {
    let deployments: Api<Deployment> = Api::default_namespaced(test.client());
    deployments.create(&PostParams::default(), &deployment(name, replicas)?).await?;
    await_ready_replicas(test, name, replicas).await?;
    let pods: Api<Pod> = Api::default_namespaced(test.client());
    Ok(pods.list(&ListParams::default().labels(&format!("app={name}"))).await?.items)
}

/// Waits until a Deployment has exactly this number of pods and all of them are ready.
async fn await_ready_replicas(test: &SharedTest, name: &str, replicas: u32) -> Result<()> {
    let deployments: Api<Deployment> = Api::default_namespaced(test.client());
    let wanted = i32::try_from(replicas)?;
    await_condition(&format!("{replicas} ready pods of {name}"), PATIENCE, async || {
        let status = deployments.get(name).await?.status.unwrap_or_default();
        let (all, ready) = (status.replicas.unwrap_or(0), status.ready_replicas.unwrap_or(0));
        Ok(Observation::from_bool(
            all == wanted && ready == wanted,
            format!("{ready} of {all} ready"),
        ))
    })
    .await
}

async fn change<K>(test: &SharedTest, name: &str, patch: &Value) -> Result<()>
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned,
{
    let api: Api<K> = Api::default_namespaced(test.client());
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

#[test]
fn a_deployments_pods_are_scheduled_to_simulated_nodes_and_become_ready() -> TestResult {
    on_shared_cluster(async |test| {
        let nodes = test.nodes(&[NodeSpec::named("small").count(3).size("1", "2Gi")]).await?;
        let pods = create_ready(test, "web", 6).await?;
        assert_eq!(pods.len(), 6);
        for pod in &pods {
            let node = node_of(pod).context("a ready pod without a node")?;
            assert!(nodes.names().iter().any(|name| name == node), "{node} is not one of ours");
            let address = pod.status.as_ref().and_then(|status| status.pod_ip.as_deref());
            assert!(address.is_some_and(|address| address.starts_with("10.")), "{address:?}");
        }
        Ok(())
    })
}

#[test]
fn pods_that_do_not_fit_stay_pending_until_there_is_a_node_for_them() -> TestResult {
    on_shared_cluster(async |test| {
        test.nodes(&[NodeSpec::named("tiny").size("300m", "1Gi")]).await?;
        let deployments: Api<Deployment> = Api::default_namespaced(test.client());
        deployments.create(&PostParams::default(), &deployment("crowd", 5)?).await?;
        await_condition("three pods to run and two to be refused", PATIENCE, async || {
            let pods: Api<Pod> = Api::default_namespaced(test.client());
            let pods = pods.list(&ListParams::default()).await?.items;
            let bound = pods.iter().filter(|pod| node_of(pod).is_some()).count();
            let refused = pods.iter().filter(|pod| is_unschedulable(pod)).count();
            Ok(Observation::from_bool((bound, refused) == (3, 2), format!("{bound} and {refused}")))
        })
        .await?;
        test.nodes(&[NodeSpec::named("more")]).await?;
        await_ready_replicas(test, "crowd", 5).await
    })
}

fn is_unschedulable(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.reason.as_deref() == Some("Unschedulable"))
}

#[test]
fn scale_in_removes_the_pod_with_the_lowest_deletion_cost() -> TestResult {
    on_shared_cluster(async |test| {
        test.nodes(&[NodeSpec::named("node").count(2)]).await?;
        let pods = create_ready(test, "web", 4).await?;
        let cheapest = pods[2].name_any();
        for (pod, cost) in pods.iter().zip([10, 20, -100, 30]) {
            let annotation = json!({"metadata": {"annotations": {
                "controller.kubernetes.io/pod-deletion-cost": cost.to_string(),
            }}});
            change::<Pod>(test, &pod.name_any(), &annotation).await?;
        }
        change::<Deployment>(test, "web", &json!({"spec": {"replicas": 3}})).await?;
        await_ready_replicas(test, "web", 3).await?;

        let left: Api<Pod> = Api::default_namespaced(test.client());
        let mut expected: Vec<_> = pods.iter().map(ResourceExt::name_any).collect();
        expected.retain(|name| *name != cheapest);
        expected.sort();
        await_condition("the cheapest pod to be gone, and only that", PATIENCE, async || {
            let list = left.list(&ListParams::default()).await?;
            let mut names: Vec<_> = list.iter().map(ResourceExt::name_any).collect();
            names.sort();
            Ok(Observation::from_bool(names == expected, format!("{names:?}, not {expected:?}")))
        })
        .await
    })
}

#[test]
fn a_job_completes_when_its_pods_have_slept() -> TestResult {
    on_shared_cluster(async |test| {
        test.nodes(&[NodeSpec::named("node")]).await?;
        let jobs: Api<Job> = Api::default_namespaced(test.client());
        let job = serde_json::from_value(json!({
            "metadata": {"name": "report"},
            "spec": {"completions": 2, "parallelism": 2, "template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "none", "command": ["sleep", "1"]}],
            }}},
        }))?;
        jobs.create(&PostParams::default(), &job).await?;
        await_condition("the job to complete", PATIENCE, async || {
            let status = jobs.get("report").await?.status.unwrap_or_default();
            let done = status.completion_time.is_some() && status.succeeded == Some(2);
            Ok(Observation::from_bool(done, format!("{status:?}")))
        })
        .await
    })
}

#[test]
fn a_disruption_budget_refuses_the_second_eviction() -> TestResult {
    on_shared_cluster(async |test| {
        test.nodes(&[NodeSpec::named("node")]).await?;
        // Pods without a controller: nothing replaces the first pod. A replacement would allow the second eviction.
        let pods: Api<Pod> = Api::default_namespaced(test.client());
        for name in ["first", "second"] {
            let pod = serde_json::from_value(json!({
                "metadata": {"name": name, "labels": {"app": "db"}},
                "spec": {"containers": [{"name": "main", "image": "none"}]},
            }))?;
            pods.create(&PostParams::default(), &pod).await?;
        }
        let budgets: Api<PodDisruptionBudget> = Api::default_namespaced(test.client());
        let budget = serde_json::from_value(json!({
            "metadata": {"name": "db"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}},
        }))?;
        budgets.create(&PostParams::default(), &budget).await?;
        await_condition("the budget to allow one disruption", PATIENCE, async || {
            let status = budgets.get("db").await?.status.unwrap_or_default();
            let allowed = status.disruptions_allowed;
            Ok(Observation::from_bool(allowed == 1, format!("{allowed} allowed")))
        })
        .await?;

        pods.evict("first", &EvictParams::default()).await?;
        let refusal = pods.evict("second", &EvictParams::default()).await;
        let Err(kube::Error::Api(status)) = refusal else {
            anyhow::bail!("the second eviction was not refused: {refusal:?}");
        };
        assert_eq!(status.code, 429, "{status:?}");
        assert!(status.message.contains("disruption budget"), "{status:?}");
        await_condition("the first pod to be gone", PATIENCE, async || {
            Ok(Observation::from_bool(pods.get_opt("first").await?.is_none(), "there"))
        })
        .await?;
        ensure!(pods.get_opt("second").await?.is_some(), "the second pod was evicted after all");
        Ok(())
    })
}

#[test]
fn an_autoscalers_bounds_move_a_deployment_both_ways() -> TestResult {
    on_shared_cluster(async |test| {
        test.nodes(&[NodeSpec::named("node")]).await?;
        create_ready(test, "web", 1).await?;
        let autoscalers: Api<HorizontalPodAutoscaler> = Api::default_namespaced(test.client());
        let autoscaler = serde_json::from_value(json!({
            "metadata": {"name": "web"},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "minReplicas": 3, "maxReplicas": 10,
                "metrics": [{"type": "Resource", "resource": {
                    "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50},
                }}],
            },
        }))?;
        autoscalers.create(&PostParams::default(), &autoscaler).await?;
        await_ready_replicas(test, "web", 3).await?;
        let lower = json!({"spec": {"minReplicas": 1, "maxReplicas": 2}});
        change::<HorizontalPodAutoscaler>(test, "web", &lower).await?;
        await_ready_replicas(test, "web", 2).await
    })
}

#[test]
fn two_tests_with_identical_node_specs_do_not_share_nodes() -> TestResult {
    on_shared_cluster(async |one| {
        // A second namespace in the same cluster, like that of a concurrent test.
        let ours = one.nodes(&[NodeSpec::named("node")]).await?;
        std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    on_shared_cluster(async |other| {
                        let theirs = other.nodes(&[NodeSpec::named("node").count(2)]).await?;
                        for pod in create_ready(other, "web", 4).await? {
                            let node = node_of(&pod).context("a ready pod without a node")?;
                            assert!(theirs.names().iter().any(|name| name == node), "{node}");
                            assert!(!ours.names().iter().any(|name| name == node), "{node}");
                        }
                        Ok(())
                    })
                })
                .join()
                .map_err(|_| anyhow::anyhow!("the other test panicked"))?
        })
    })
}
