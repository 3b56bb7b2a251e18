//! A process starts while a requirement is missing: permission for the Lease, the server, the kubeconfig.

use std::path::Path;
use std::process::Command;

use almanac_harness::{
    Fault, FaultProxy, InjectedResponse, Observation, PATIENCE, RecordedRequest, TestResult,
    await_condition,
};
use anyhow::ensure;
use http::StatusCode;

use crate::controller::{ALMANAC, Cluster, in_namespace};
use crate::faults::replica::{ALONE, FIRING, Replica, prepare};

/// Waits until the process reports this reason for waiting, and checks that it is still healthy.
async fn await_waiting(replica: &Replica, words: &str) -> TestResult {
    let program = &replica.controller.program;
    await_condition(
        &format!("the process to report that it waits for {words:?}"),
        PATIENCE,
        async || {
            let (status, body) = program.get("/readyz").await?;
            let is_reported = body.contains(words);
            Ok(Observation::from_bool(status == 503 && is_reported, format!("{status}: {body}")))
        },
    )
    .await?;
    let (status, body) = program.get("/healthz").await?;
    ensure!(status == 200, "/healthz: {status}: {body}");
    program.check_running()
}

#[test]
fn missing_permission_for_the_lease_is_reported_and_the_process_continues_once_granted()
-> TestResult {
    in_namespace(async |cluster| {
        prepare(cluster, "shop", None).await?;
        let proxy = FaultProxy::start(cluster.client())?;
        let forbidden =
            InjectedResponse::with(StatusCode::FORBIDDEN).message("leases is forbidden");
        let forbidden = Fault::respond(forbidden).matching(RecordedRequest::is_for_lease).always();
        let forbidden = proxy.inject(forbidden);
        let replica =
            Replica::start_behind(cluster, proxy, FIRING.parse()?, &["--identity", "only"])?;
        await_waiting(&replica, "waiting for the lease: leases is forbidden\n").await?;
        forbidden.await_taken(2).await?;
        forbidden.withdraw();
        replica.await_leading().await?;
        replica.controller.program.await_ready().await
    })
}

async fn starts_without_server(cluster: &Cluster, further: &[&str], expected: &str) -> TestResult {
    let proxy = FaultProxy::start(cluster.client())?;
    proxy.block().await;
    let replica = Replica::start_behind(cluster, proxy, FIRING.parse()?, further)?;
    await_waiting(&replica, expected).await?;
    replica.proxy.unblock()?;
    replica.await_leading().await?;
    replica.controller.program.await_ready().await
}

#[test]
fn a_missing_api_server_is_reported_and_the_process_continues_once_it_responds() -> TestResult {
    in_namespace(async |cluster| {
        prepare(cluster, "shop", None).await?;
        let home = cluster.home();
        let first_kind = format!("waiting for all MetricsProducer objects in {home} to be listed");
        tokio::try_join!(
            starts_without_server(cluster, ALONE, &first_kind),
            starts_without_server(cluster, &["--identity", "only"], "waiting for the lease: "),
        )?;
        Ok(())
    })
}

#[test]
fn an_unusable_kubeconfig_ends_the_process_with_a_message() -> TestResult {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("kubeconfig");
    std::fs::write(&file, "apiVersion: v1\nkind: Config\nclusters: tides\n")?;
    let run = |file: &Path| {
        Command::new(ALMANAC).arg("controller").arg("--kubeconfig").arg(file).output()
    };
    for file in [file, folder.path().join("none")] {
        let output = run(&file)?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.code() == Some(2), "{}: {stderr}", output.status);
        let names_it = stderr.contains(&file.display().to_string());
        ensure!(stderr.contains("failed to use the kubeconfig") && names_it, "{stderr}");
    }
    Ok(())
}
