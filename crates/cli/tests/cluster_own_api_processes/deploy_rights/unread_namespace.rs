//! The permissions of the manifests for the whole cluster allow a process to watch all namespaces. A process that is
//! limited to some namespaces gets each namespace instead, which these permissions do not allow.

use super::*;
use crate::controller::condition;

#[test]
fn firings_in_an_unreadable_namespace_wait_for_the_permission() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let kubectl = test.kubectl().await?;
        prepare(&kubectl).await?;
        kubectl.run(&["apply", "-f", &format!("{ROOT}/deploy")]).await?;
        let setting = json!({"targetReplicas": 4});
        let policy = cron("web", "apps/v1", "Deployment", &setting);
        let tide = workload("tide", "apps/v1", "Deployment");
        let (hours, scaling) = (metrics_producer("hours"), autoscaler("tide", "hours"));
        let web = workload("web", "apps/v1", "Deployment");
        create(&kubectl, &[web, policy, tide, hours, scaling]).await?;
        let account = test.service_account(NAMESPACE, "almanac").await?;
        let mut arguments = arguments_of_the_deployment(&kubectl).await?;
        arguments.push(format!("--namespaces={HARBOR}"));
        let controller = start(&arguments, &account.kubeconfig(), SignedDuration::from_secs(5))?;
        let objects = [
            ("cronfederatedhpa", "web"),
            ("metricsproducer", "hours"),
            ("horizontalautoscaler", "tide"),
        ];
        for (kind, name) in objects {
            await_condition(&format!("{kind} {name} to be reported"), PATIENCE, async || {
                let object = get(&kubectl, &["-n", HARBOR, kind, name]).await?;
                let ready @ [holds, reason, message] = condition(&object["status"], "Ready");
                let is_reported = [holds, reason] == ["False", "NamespaceUnreadable"]
                    && message.ends_with("permit almanac to get this namespace");
                Ok(Observation::from_bool(is_reported, format!("{ready:?}")))
            })
            .await?;
        }
        await_condition("the boundary to be overdue", PATIENCE, async || {
            let (_, metrics) = controller.get("/metrics").await?;
            let boundary = BOUNDARY.parse::<Timestamp>()?.as_second();
            let line = format!("almanac_cron_oldest_overdue_firing_timestamp_seconds {boundary}");
            let lines: Vec<_> =
                metrics.lines().filter(|it| it.starts_with("almanac_cron")).collect();
            Ok(Observation::from_bool(
                lines.iter().any(|it| it.starts_with(&line)),
                lines.join("\n"),
            ))
        })
        .await?;
        for name in ["web", "tide"] {
            let now = get(&kubectl, &["-n", HARBOR, "deployments.apps", name]).await?;
            ensure!(now["spec"]["replicas"] == 1, "{}", now["spec"]["replicas"]);
        }
        let read = ["create", "clusterrole", "reader", "--verb=get", "--resource=namespaces"];
        kubectl.run(&read).await?;
        let account = format!("--serviceaccount={NAMESPACE}:almanac");
        let bind = ["create", "clusterrolebinding", "reader", "--clusterrole=reader", &account];
        kubectl.run(&bind).await?;
        let web = ["-n", HARBOR, "deployments.apps", "web"];
        await_value(&kubectl, &web, "/spec/replicas", &json!(4)).await?;
        let fired = "/status/executionHistories/0/successfulExecutions/0/scheduleTime";
        let policy = ["-n", HARBOR, "cronfederatedhpa", "web"];
        await_value(&kubectl, &policy, fired, &json!(BOUNDARY)).await?;
        let tide = ["-n", HARBOR, "deployments.apps", "tide"];
        await_value(&kubectl, &tide, "/spec/replicas", &json!(7)).await?;
        ensure!(controller.stop().await?.success(), "it did not end well");
        Ok(())
    })
}
