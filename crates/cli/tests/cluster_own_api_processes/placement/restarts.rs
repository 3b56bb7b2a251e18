//! A process is killed in the middle of its writes, and succeeded by another replica. Other requests fail, or lose
//! their responses.

use std::collections::BTreeSet;

use almanac_fixtures::hub;
use almanac_harness::{Fault, FaultProxy, InjectedResponse, TestResult};
use anyhow::ensure;
use http::{Method, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controller::{Cluster, Controller, LEASE};
use crate::placement::observer::Observer;
use crate::placement::stage::{
    ALONE, CLUSTER, NAMESPACE, PLACEMENT, await_reason, await_selected, await_sizes,
    decision_writes, end_agreed, on_hub, place, prepare, ratio, start,
};

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("c{number:03}")).collect()
}

/// A placement of all clusters, and these clusters.
async fn prepare_many(cluster: &Cluster, names: &[String]) -> TestResult {
    prepare(cluster, &names.iter().map(String::as_str).collect::<Vec<_>>()).await?;
    cluster.create(PLACEMENT, NAMESPACE, &hub::placement("web", &json!({}))).await
}

#[test]
fn after_a_kill_between_writes_no_cluster_is_missing_and_a_successor_continues() -> TestResult {
    on_hub(async |test, cluster| {
        let all = names(120);
        prepare_many(cluster, &all).await?;
        let proxy = FaultProxy::start(test.client())?;
        let now = Timestamp::now().to_string();
        let controller = Controller::start(&proxy.kubeconfig(), &now, ALONE)?;
        await_sizes(cluster, "web", &[100, 20]).await?;
        let observer = Observer::start(test).await?;
        observer.await_first("web-decision-2").await?;
        // Clusters with earlier names move all others. In each step, another request is lost.
        for (round, fresh) in ["a1", "a2", "a3", "a4"].into_iter().enumerate() {
            let hang = proxy
                .inject(Fault::hang().method(Method::PATCH).path_contains("placementdecisions"));
            cluster.create(CLUSTER, "", &hub::managed_cluster(fresh)).await?;
            hang.await_taken(1).await?;
            controller.program.kill()?;
            hang.release();
            controller.program.start_again()?;
            await_sizes(cluster, "web", &[100, 21 + round]).await?;
        }
        observer.ensure_never_missing("web", &all)?;
        end_agreed(cluster, &controller).await
    })
}

#[test]
fn a_successor_continues_from_the_decisions_of_the_leader() -> TestResult {
    on_hub(async |_, cluster| {
        prepare(cluster, &["c1", "c2"]).await?;
        ratio(cluster, "c1", 10).await?;
        place(cluster, "web", 1, &[("Steady", 1), ("default/cpuratio", 1)]).await?;
        let now = Timestamp::now().to_string();
        let only = "--controllers=placement";
        let first = Controller::start(cluster.kubeconfig(), &now, &[only, "--identity", "first"])?;
        let holds = |lease: &Value| lease["spec"]["holderIdentity"] == "first";
        cluster.await_object(LEASE, (NAMESPACE, "almanac"), "to be held", holds).await?;
        let second =
            Controller::start(cluster.kubeconfig(), &now, &[only, "--identity", "second"])?;
        second.program.await_ready().await?;
        await_selected(cluster, "web", &["c1"]).await?;
        let writes = decision_writes(cluster).await?;
        first.program.kill()?;
        // The difference is too small to outweigh the advantage of selected clusters.
        ratio(cluster, "c2", 99).await?;
        place(cluster, "best", 1, &[("default/cpuratio", 1)]).await?;
        await_selected(cluster, "best", &["c2"]).await?;
        await_selected(cluster, "web", &["c1"]).await?;
        let further = decision_writes(cluster).await?.len() - writes.len();
        ensure!(further == 2, "{further} writes for one more decision");
        end_agreed(cluster, &second).await
    })
}

#[test]
fn lost_responses_and_refused_writes_lose_no_write_and_repeat_none() -> TestResult {
    on_hub(async |test, cluster| {
        prepare(cluster, &["c1"]).await?;
        let proxy = FaultProxy::start(test.client())?;
        let now = Timestamp::now().to_string();
        let controller = Controller::start(&proxy.kubeconfig(), &now, ALONE)?;
        let lost = || Fault::lose_response().matching(|it| it.path.contains("/placementdecisions"));
        let lost = [Method::POST, Method::PATCH].map(|method| proxy.inject(lost().method(method)));
        cluster.create(PLACEMENT, NAMESPACE, &hub::placement("web", &json!({}))).await?;
        await_selected(cluster, "web", &["c1"]).await?;
        let writes = decision_writes(cluster).await?;
        ensure!(writes == ["create", "patch/status"], "{writes:?}");
        ensure!(lost.iter().all(|it| it.taken() == 1), "no response was lost");
        let denied = InjectedResponse::with(StatusCode::FORBIDDEN)
            .message("admission webhook \"policy\" denied the request: not on a Sunday");
        let denied = proxy.inject(
            Fault::respond(denied)
                .method(Method::PATCH)
                .path_contains("/placementdecisions")
                .always(),
        );
        cluster.create(CLUSTER, "", &hub::managed_cluster("c2")).await?;
        let message = await_reason(cluster, "web", "Ready", "False DecisionNotWritten").await?;
        ensure!(message.contains("not on a Sunday"), "{message}");
        await_selected(cluster, "web", &["c1"]).await?;
        denied.withdraw();
        await_selected(cluster, "web", &["c1", "c2"]).await?;
        await_reason(cluster, "web", "Ready", "True AllDecisionsScheduled").await?;
        end_agreed(cluster, &controller).await
    })
}

#[test]
fn a_process_without_pending_changes_writes_nothing() -> TestResult {
    on_hub(async |_, cluster| {
        prepare_many(cluster, &names(3)).await?;
        let controller = start(cluster).await?;
        await_sizes(cluster, "web", &[3]).await?;
        await_reason(cluster, "web", "Ready", "True AllDecisionsScheduled").await?;
        controller.stop().await?;
        let before = cluster.writes().await?.len();
        controller.program.start_again()?;
        controller.program.await_ready().await?;
        // All remaining writes precede this write.
        place(cluster, "other", 0, &[]).await?;
        await_sizes(cluster, "other", &[0]).await?;
        controller.stop().await?;
        let writes = cluster.writes().await?;
        let web: BTreeSet<&str> = writes[before..]
            .iter()
            .map(|it| &*it.name)
            .filter(|it| it.starts_with("web"))
            .collect();
        ensure!(web.is_empty(), "{web:?}");
        Ok(())
    })
}
