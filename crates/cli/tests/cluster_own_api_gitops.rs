//! A tool that applies a repository and resets what policies set, every three seconds: what they do about it,
//! how often they write, and what they say. A stand-in applies the target as Argo CD does, under its name.

mod harbour;
mod manifests;
mod reading;
mod running;

use std::time::Duration;

use almanac_harness::{
    AuditLog, ControlPlaneOptions, Kubectl, Observation, OwnTest, PATIENCE, TestResult,
    await_condition, on_own_control_plane,
};
use harbour::{HARBOUR, autoscaler, create, cron, metrics_producer, node_group, prepare, workload};
use jiff::SignedDuration;
use manifests::{NAMESPACE, arguments_of_the_deployment};
use reading::{await_value, get};
use running::{ROOT, await_metric, start};
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior, interval};

/// Who the controllers are.
const ACCOUNT: &str = "system:serviceaccount:almanac-system:almanac";

/// How many seconds the tool goes on; some, unless told otherwise.
const LASTING: &str = "ALMANAC_GITOPS_SECONDS";
const SOME: u64 = 40;

const TARGETS: [&str; 3] =
    ["deployments.apps/tide", "deployments.apps/web", "scalablenodegroups/spot"];

const KARPENTER: &str = "autoscaling.karpenter.sh/v1alpha1";

/// Applies all targets with two replicas, whatever they have.
async fn reset(kubectl: &Kubectl) -> TestResult {
    apply(kubectl, &json!(2)).await
}

async fn apply(kubectl: &Kubectl, replicas: &Value) -> TestResult {
    let mut items = ["tide", "web"].map(|name| workload(name, "apps/v1", "Deployment")).to_vec();
    items.push(node_group("spot", "AWSEKSNodeGroup"));
    for target in &mut items {
        target["metadata"]["namespace"] = json!(HARBOUR);
        target["spec"]["replicas"] = replicas.clone();
    }
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let apply = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--field-manager=argocd-controller",
        "-f",
        "-",
    ];
    kubectl.run_with_input(&apply, &list).await?;
    Ok(())
}

/// How often the controllers have set the replicas of a target.
async fn written(test: &OwnTest, target: &str) -> anyhow::Result<usize> {
    let requests = AuditLog::of(&test.plane)?.writes(&test.client()).await?;
    let of_target = format!("/{target}/scale");
    let ours = requests.iter().filter(|it| it.user == ACCOUNT && it.uri.contains(&of_target));
    Ok(ours.count())
}

#[test]
fn a_tool_that_resets_replicas_is_named_with_what_to_do_and_not_fought_for_long() -> TestResult {
    let options = ControlPlaneOptions::api_only().audited_with_reads_of(ACCOUNT);
    let lasting = std::env::var(LASTING).ok().and_then(|it| it.parse().ok()).unwrap_or(SOME);
    on_own_control_plane(&options, async |test| {
        let kubectl = test.kubectl().await?;
        prepare(&kubectl).await?;
        kubectl.run(&["apply", "-f", &format!("{ROOT}/deploy")]).await?;
        reset(&kubectl).await?;
        let setting = json!({"targetReplicas": 7});
        let rules = [("web", "apps/v1", "Deployment"), ("spot", KARPENTER, "ScalableNodeGroup")];
        let mut policies = vec![metrics_producer("hours"), autoscaler("tide", "hours")];
        policies.extend(rules.map(|(name, version, kind)| cron(name, version, kind, &setting)));
        create(&kubectl, &policies).await?;
        let account = test.service_account(NAMESPACE, "almanac").await?;
        let mut arguments = arguments_of_the_deployment(&kubectl).await?;
        arguments.push("--query-period=2s".to_owned());
        let controller = start(&arguments, &account.kubeconfig(), SignedDuration::from_secs(5))?;
        for target in TARGETS {
            let what = ["-n", HARBOUR, target];
            await_value(&kubectl, &what, "/spec/replicas", &json!(7)).await?;
        }

        let begun = Instant::now();
        let mut ticks = interval(Duration::from_secs(3));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut resets = 0;
        while begun.elapsed() < Duration::from_secs(lasting) {
            ticks.tick().await;
            reset(&kubectl).await?;
            resets += 1;
        }
        await_metric(&controller, "almanac_autoscaler_undone_total 1").await?;
        await_metric(&controller, "almanac_cron_undone_total 2").await?;
        let policies = [
            ("horizontalautoscaler", "tide"),
            ("cronfederatedhpa", "web"),
            ("cronfederatedhpa", "spot"),
        ];
        for (kind, name) in policies {
            await_condition(&format!("{kind} {name} to say what to do"), PATIENCE, async || {
                let object = get(&kubectl, &["-n", HARBOUR, kind, name]).await?;
                let ready = object["status"]["conditions"].as_array().into_iter().flatten();
                let ready =
                    ready.into_iter().find(|it| it["type"] == "Ready").cloned().unwrap_or_default();
                let holds = ready["reason"] == "UndoneByAnotherWriter"
                    && ready["message"].to_string().contains("RespectIgnoreDifferences=true");
                Ok(Observation::of(holds, ready.to_string()))
            })
            .await?;
            let selector = format!("reason=UndoneByAnotherWriter,regarding.name={name}");
            let events = ["-n", HARBOUR, "events.events.k8s.io", "--field-selector", &selector];
            await_condition(&format!("an Event of {name}"), PATIENCE, async || {
                let note = get(&kubectl, &events).await?["items"][0]["note"].to_string();
                let holds =
                    note.contains("argocd-controller") && note.contains("ignoreDifferences");
                Ok(Observation::of(holds, note))
            })
            .await?;
        }
        let fought = written(test, "deployments/tide").await?;
        println!("{resets} resets in {lasting} s: the autoscaler wrote {fought} times");
        // At once a few times, then after 1, 2, 4, 8, 16 and 20 minutes.
        let minutes = lasting / 60 + 1;
        let pauses = (1..20).filter(|count| (1_u64 << count) - 1 <= minutes).count();
        assert!((3..=5 + pauses).contains(&fought), "{fought} writes in {lasting} s");
        assert_eq!(
            written(test, "deployments/web").await?,
            1,
            "a rule that has fired does not insist"
        );
        Ok(())
    })
}
