//! Requests that fail in every possible way, and an API server that is unavailable at a boundary: each pod is still
//! written exactly once.

use std::time::Duration;

use almanac_harness::{
    Fault, FaultProxy, Injected, InjectedResponse, Observation, PATIENCE, TestResult,
    await_condition,
};
use anyhow::ensure;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::agent::stage::at_place;
use crate::agent::test_namespace::{INSIDE, OPENS, POD, TestNamespace, daily, early, own, under};

/// The failures of the first request for the pod of this name.
fn faults() -> Vec<(&'static str, Fault)> {
    let fault_with = |code| Fault::respond(InjectedResponse::with(code));
    let too_many =
        InjectedResponse::with(StatusCode::TOO_MANY_REQUESTS).retry_after(Duration::from_secs(1));
    vec![
        ("refused", Fault::refuse()),
        ("conflict", fault_with(StatusCode::CONFLICT)),
        ("internal", fault_with(StatusCode::INTERNAL_SERVER_ERROR)),
        ("unavailable", fault_with(StatusCode::SERVICE_UNAVAILABLE)),
        ("too-many", Fault::respond(too_many)),
        ("timeout", fault_with(StatusCode::GATEWAY_TIMEOUT)),
        ("forbidden", fault_with(StatusCode::FORBIDDEN)),
        (
            "page",
            Fault::respond(InjectedResponse::page(StatusCode::BAD_GATEWAY, "<html>502</html>")),
        ),
        ("lost", Fault::lose_response()),
        ("slow", Fault::delay(Duration::from_secs(1))),
        // The request never gets a response.
        ("silent", Fault::hang()),
    ]
}

fn spoil(proxy: &FaultProxy) -> Vec<(&'static str, Injected)> {
    let spoil = |(name, fault): (&'static str, Fault)| {
        let path = format!("/pods/{name}");
        (
            name,
            proxy.inject(fault.method(Method::PATCH).matching(move |it| it.path.ends_with(&path))),
        )
    };
    faults().into_iter().map(spoil).collect()
}

fn ensure_taken(injected: &[(&str, Injected)]) -> TestResult {
    for (name, fault) in injected {
        ensure!(fault.taken() == 1, "{name} was struck {} times", fault.taken());
    }
    Ok(())
}

#[test]
fn every_write_may_fail_once_in_any_way_and_each_pod_is_changed_once() -> TestResult {
    at_place("faults", 1, async |test_namespace| {
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        let names: Vec<&str> = faults().into_iter().map(|(name, _)| name).collect();
        for name in &names {
            test_namespace.pod(name, "batch", "1").await?;
        }
        let proxy = FaultProxy::start(test_namespace.cluster.client())?;
        let injected = spoil(&proxy);
        let events = proxy.inject(Fault::refuse().method(Method::POST).path_contains("/events"));
        let agent = test_namespace.start_behind(&proxy, INSIDE, &[]).await?;
        let all =
            |levels: Value| -> Vec<_> { names.iter().map(|it| (*it, levels.clone())).collect() };
        test_namespace.await_pods(&all(under("night", "-1", "1"))).await?;
        agent.await_done().await?;
        ensure_taken(&injected)?;
        ensure!(events.taken() == 1, "no Event has failed");
        let times = |times| -> Vec<_> { names.iter().map(|it| (*it, times)).collect() };
        test_namespace.ensure_written(&times(1)).await?;
        // The writes that restore may fail in the same ways.
        let injected = spoil(&proxy);
        test_namespace.configure(&[]).await?;
        test_namespace.await_pods(&all(own("1"))).await?;
        agent.await_done().await?;
        ensure_taken(&injected)?;
        test_namespace.ensure_written(&times(2)).await?;
        agent.stop().await
    })
}

#[test]
fn an_edit_between_a_failed_write_and_its_retry_is_respected() -> TestResult {
    at_place("between", 1, async |test_namespace| {
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        for name in ["edited", "moved", "lost"] {
            test_namespace.pod(name, "batch", "1").await?;
        }
        let proxy = FaultProxy::start(test_namespace.cluster.client())?;
        let pod_path = |name: &str| format!("/pods/{name}");
        let hangs = proxy.inject(Fault::hang().path_contains(pod_path("edited")));
        let waits = proxy.inject(Fault::hang().path_contains(pod_path("moved")));
        let lost = proxy.inject(Fault::lose_response().path_contains(pod_path("lost")));
        let agent = test_namespace.start_behind(&proxy, INSIDE, &[]).await?;
        for fault in [&hangs, &waits, &lost] {
            fault.await_taken(1).await?;
        }
        // The write in progress is based on the pod before this edit.
        test_namespace.edit("edited", Some("2")).await?;
        test_namespace.relabel("moved", "web").await?;
        hangs.release();
        waits.release();
        test_namespace
            .await_pods(&[
                ("edited", under("night", "-1", "2")),
                ("lost", under("night", "-1", "1")),
                ("moved", own("1")),
            ])
            .await?;
        agent.await_done().await?;
        test_namespace.ensure_written(&[("edited", 1), ("lost", 1)]).await?;
        agent.stop().await
    })
}

/// The changes of pods while the API server is unavailable.
async fn change_everything(test_namespace: &TestNamespace) -> TestResult {
    test_namespace.edit("edited", Some("2")).await?;
    test_namespace.relabel("moved", "web").await?;
    test_namespace.cluster.delete(POD, &test_namespace.name, "deleted").await?;
    test_namespace.pod("made", "batch", "").await
}

#[test]
fn an_agent_that_was_cut_off_at_a_boundary_catches_up() -> TestResult {
    at_place("cut-off", 1, async |test_namespace| {
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        for name in ["kept", "edited", "moved", "deleted"] {
            test_namespace.pod(name, "batch", "1").await?;
        }
        let proxy = FaultProxy::start(test_namespace.cluster.client())?;
        let agent = test_namespace.start_behind(&proxy, &early(OPENS)?, &[]).await?;
        agent.await_done().await?;
        agent.ensure_before(OPENS)?;
        proxy.block().await;
        agent.ensure_before(OPENS)?;
        change_everything(test_namespace).await?;
        agent.await_time("2026-11-30T09:00:01Z").await?;
        // The agent has computed the writes, and retries them.
        agent.await_metric("almanac_qos_levels_pending 4").await?;
        test_namespace.ensure_written(&[]).await?;
        proxy.unblock()?;
        test_namespace
            .await_pods(&[
                ("kept", under("night", "-1", "1")),
                ("edited", under("night", "-1", "2")),
                ("moved", own("1")),
                ("made", under("night", "-1", "")),
            ])
            .await?;
        agent.await_done().await?;
        ensure!(proxy.cut_all().await > 0, "there was no connection to cut");
        test_namespace.pod("last", "batch", "0").await?;
        test_namespace.await_pods(&[("last", under("night", "-1", "0"))]).await?;
        test_namespace
            .ensure_written(&[("kept", 1), ("edited", 1), ("made", 1), ("last", 1)])
            .await?;
        agent.stop().await
    })
}

#[test]
fn a_pod_that_the_api_server_rejects_delays_no_other_and_is_reported() -> TestResult {
    at_place("refused", 1, async |test_namespace| {
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        // The pod has no space for another annotation.
        let mut full = own("1");
        full["example.org/ballast"] = json!("x".repeat((256 << 10) - 70));
        test_namespace.pod_with("full", json!({"app": "batch"}), full, 0).await?;
        test_namespace.pod("plain", "batch", "1").await?;
        let agent = test_namespace.start(INSIDE, &[]).await?;
        test_namespace.await_pods(&[("plain", under("night", "-1", "1"))]).await?;
        test_namespace
            .await_event("full", "Warning LevelNotWritten: failed to write the annotations")
            .await?;
        test_namespace.ensure_pods(&[("full", own("1"))]).await?;
        test_namespace
            .change("full", &json!({"annotations": {"example.org/ballast": null}}))
            .await?;
        test_namespace.await_pods(&[("full", under("night", "-1", "1"))]).await?;
        await_condition("all to be well", PATIENCE, async || {
            let log = agent.program.log()?;
            Ok(Observation::from_bool(
                log.contains("no failed pod write remains"),
                "a failed pod write remains",
            ))
        })
        .await?;
        agent.stop().await
    })
}
