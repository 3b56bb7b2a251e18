//! Tools that reset the values of policies every three seconds: the writes, the conditions and the Events of the
//! policies. Substitutes write the targets as Argo CD, Flux and KEDA do: with the same kinds of requests, field
//! managers and annotations.

use std::time::Duration;

use crate::controller::condition;
use crate::harbor::{
    HARBOR, autoscaler, create, cron, metrics_producer, node_group, prepare, workload,
};
use crate::manifests::{NAMESPACE, arguments_of_the_deployment};
use crate::reading::{await_value, get};
use crate::running::{ROOT, await_metric, start};
use almanac_fixtures::objects;
use almanac_fixtures::trials::size;
use almanac_harness::{
    AuditLog, AuditedRequest, ControlPlaneOptions, Kubectl, Observation, OwnTest, PATIENCE,
    TestResult, await_condition, on_own_control_plane,
};
use anyhow::Context as _;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// The service account of the controllers.
const ACCOUNT: &str = "system:serviceaccount:almanac-system:almanac";

const KARPENTER: &str = "autoscaling.karpenter.sh/v1alpha1";
const KEDA: &str = "keda-hpa-lock";

/// The fields that policies set to seven. Each has a field of a target, as kubectl names it, and the kind of the policy
/// with the same name. Then follow the field manager that resets the field, and a part of the advice against the
/// contention.
const CONTESTED: [(&str, &str, &str, &str, &str); 5] = [
    ("deployments.apps/tide", "/spec/replicas", "horizontalautoscaler", ARGO_CD, IGNORE),
    ("deployments.apps/web", "/spec/replicas", "cronfederatedhpa", ARGO_CD, IGNORE),
    ("scalablenodegroups/spot", "/spec/replicas", "cronfederatedhpa", ARGO_CD, IGNORE),
    (
        "deployments.apps/buoy",
        "/spec/replicas",
        "cronfederatedhpa",
        "kustomize-controller",
        "leave it out of the manifest",
    ),
    (
        "horizontalpodautoscalers/keda-hpa-lock",
        "/spec/minReplicas",
        "cronfederatedhpa",
        "keda",
        "set minReplicaCount and maxReplicaCount there",
    ),
];

const ARGO_CD: &str = "argocd-controller";
const IGNORE: &str = "RespectIgnoreDifferences=true";

/// The value to which each tool resets the field.
async fn reset(kubectl: &Kubectl) -> TestResult {
    let flux = json!({"labels": {
        "kustomize.toolkit.fluxcd.io/name": "apps",
        "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
    }});
    let argo_cd = json!({"annotations": {"argocd.argoproj.io/tracking-id": "harbor:all"}});
    let deployment = |name| workload(name, "apps/v1", "Deployment");
    let of_argo_cd =
        vec![deployment("tide"), deployment("web"), node_group("spot", "AWSEKSNodeGroup")];
    tokio::try_join!(
        apply(kubectl, ARGO_CD, &argo_cd, of_argo_cd),
        apply(kubectl, "kustomize-controller", &flux, vec![deployment("buoy")]),
        replace_as_keda(kubectl, "replace"),
    )?;
    Ok(())
}

/// The objects of a repository. Both Argo CD and Flux apply the objects server-side, and own every field in them.
async fn apply(
    kubectl: &Kubectl,
    manager: &str,
    marks: &Value,
    mut items: Vec<Value>,
) -> TestResult {
    for target in &mut items {
        let name = target["metadata"]["name"].clone();
        target["metadata"] = marks.clone();
        target["metadata"]["name"] = name;
        target["metadata"]["namespace"] = json!(HARBOR);
        target["spec"]["replicas"] = json!(2);
    }
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let manager = format!("--field-manager={manager}");
    let apply = ["apply", "--server-side", "--force-conflicts", &manager, "-f", "-"];
    kubectl.run_with_input(&apply, &list).await?;
    Ok(())
}

/// KEDA replaces the whole `HorizontalPodAutoscaler` that it has created for a `ScaledObject`.
async fn replace_as_keda(kubectl: &Kubectl, verb: &str) -> TestResult {
    let mut hpa = objects::horizontal_pod_autoscaler(KEDA, Some(2), 9);
    hpa["metadata"]["labels"] = json!({
        "app.kubernetes.io/managed-by": "keda-operator",
        "app.kubernetes.io/name": KEDA,
        "app.kubernetes.io/part-of": "lock",
    });
    hpa["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "lock",
        "uid": "1f2b3c4d-0000-4000-8000-000000000001", "controller": true, "blockOwnerDeletion": true,
    }]);
    let replace = ["-n", HARBOR, verb, "--field-manager=keda", "-f", "-"];
    kubectl.run_with_input(&replace, &hpa.to_string()).await?;
    Ok(())
}

/// The number of writes of the controllers to a target.
async fn written(test: &OwnTest, target: &str) -> anyhow::Result<usize> {
    let (kind, name) = target.split_once('/').context("it has a kind")?;
    let kind = kind.split('.').next().unwrap_or_default();
    let requests = AuditLog::open(&test.plane)?.writes(&test.client()).await?;
    let is_ours = |it: &&AuditedRequest| {
        it.user == ACCOUNT && it.resource == kind && it.name == name && it.subresource != "status"
    };
    Ok(requests.iter().filter(is_ours).count())
}

/// Waits until the condition of a policy has the fix, and an Event also names the other field manager.
async fn await_event(
    kubectl: &Kubectl,
    (kind, name): (&str, &str),
    (manager, advice): (&str, &str),
) -> TestResult {
    await_condition(&format!("{kind} {name} to report the fix"), PATIENCE, async || {
        let object = get(kubectl, &["-n", HARBOR, kind, name]).await?;
        let ready @ [_, reason, message] = condition(&object["status"], "Ready");
        let holds = reason == "UndoneByAnotherWriter" && message.contains(advice);
        Ok(Observation::from_bool(holds, format!("{ready:?}")))
    })
    .await?;
    let selector = format!("reason=UndoneByAnotherWriter,regarding.name={name}");
    let events = ["-n", HARBOR, "events.events.k8s.io", "--field-selector", &selector];
    await_condition(&format!("an Event of {name}"), PATIENCE, async || {
        let note = get(kubectl, &events).await?["items"][0]["note"].to_string();
        Ok(Observation::from_bool(note.contains(manager) && note.contains(advice), note))
    })
    .await
}

#[test]
fn a_tool_that_resets_a_target_is_named_with_a_fix_and_rarely_overwritten() -> TestResult {
    let options = ControlPlaneOptions::api_only().audited_with_reads_of(ACCOUNT);
    // The number of seconds for which the tool continues.
    let lasting = size("ALMANAC_GITOPS_SECONDS", 40, 300);
    on_own_control_plane(&options, async |test| {
        let kubectl = test.kubectl().await?;
        prepare(&kubectl).await?;
        kubectl.run(&["apply", "-f", &format!("{ROOT}/deploy")]).await?;
        replace_as_keda(&kubectl, "create").await?;
        reset(&kubectl).await?;
        let replicas = json!({"targetReplicas": 7});
        let bounds = json!({"targetMinReplicas": 7});
        let policies = [
            metrics_producer("hours"),
            autoscaler("tide", "hours"),
            cron("web", "apps/v1", "Deployment", &replicas),
            cron("buoy", "apps/v1", "Deployment", &replicas),
            cron("spot", KARPENTER, "ScalableNodeGroup", &replicas),
            cron(KEDA, "autoscaling/v2", "HorizontalPodAutoscaler", &bounds),
        ];
        create(&kubectl, &policies).await?;
        let account = test.service_account(NAMESPACE, "almanac").await?;
        let mut arguments = arguments_of_the_deployment(&kubectl).await?;
        arguments.push("--query-period=2s".to_owned());
        let controller = start(&arguments, &account.kubeconfig(), SignedDuration::from_secs(5))?;
        for (target, field, ..) in CONTESTED {
            await_value(&kubectl, &["-n", HARBOR, target], field, &json!(7)).await?;
        }

        let begun = Instant::now();
        // For the first time, a query period has passed as well, so that the autoscaler reacts in the same turn.
        let between = Duration::from_secs(3);
        let mut ticks = interval_at(begun + between, between);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut resets = 0;
        while begun.elapsed() < Duration::from_secs(lasting) {
            ticks.tick().await;
            reset(&kubectl).await?;
            resets += 1;
        }
        await_metric(&controller, "almanac_autoscaler_undone_total 1").await?;
        await_metric(&controller, "almanac_cron_undone_total 4").await?;
        for (target, _, kind, manager, advice) in CONTESTED {
            let (_, name) = target.split_once('/').context("it has a kind")?;
            await_event(&kubectl, (kind, name), (manager, advice)).await?;
        }
        let fought = written(test, CONTESTED[0].0).await?;
        println!("{resets} resets in {lasting} s: the autoscaler wrote {fought} times");
        // A few writes immediately, then after 1, 2, 4, 8, 16 and 20 minutes.
        let minutes = lasting / 60 + 1;
        let pauses = (1..20).filter(|count| (1_u64 << count) - 1 <= minutes).count();
        assert!((3..=5 + pauses).contains(&fought), "{fought} writes in {lasting} s");
        for (target, ..) in &CONTESTED[1..] {
            let writes = written(test, target).await?;
            assert_eq!(writes, 1, "a rule that has fired does not insist on {target}");
        }
        Ok(())
    })
}
