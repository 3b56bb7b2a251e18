//! The authors of changes, from the API server's audit log.

use almanac_harness::{
    AuditLog, AuditedRequest, ControlPlaneOptions, OwnTest, TestResult, on_own_control_plane,
};
use anyhow::Result;
use http::{HeaderValue, header};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;

/// An administrator's client with this name.
async fn client_named(test: &OwnTest, name: &'static str) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(test.plane.kubeconfig())?;
    let options = KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    config.proxy_url = None;
    config.headers.push((header::USER_AGENT, HeaderValue::from_static(name)));
    Ok(Client::try_from(config)?)
}

fn summary(write: &AuditedRequest) -> (&str, &str, &str, u16) {
    (&write.verb, &write.resource, &write.name, write.code)
}

#[test]
fn the_writes_of_a_program_are_distinguished_from_other_writes_and_from_reads() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only().audited(), async |test| {
        let named = client_named(test, "almanac/harbour").await?;
        let maps: Api<ConfigMap> = Api::default_namespaced(named.clone());
        let leases: Api<Lease> = Api::default_namespaced(named);
        let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "tides"}}))?;
        let lease: Lease = serde_json::from_value(json!({"metadata": {"name": "held"}}))?;
        let params = PostParams::default();
        maps.create(&params, &map).await?;
        assert!(maps.create(&params, &map).await.is_err());
        maps.list(&ListParams::default()).await?;
        leases.create(&params, &lease).await?;
        let patch = Patch::Merge(json!({"data": {"tide": "high"}}));
        let dry_run = PatchParams { dry_run: true, ..PatchParams::default() };
        maps.patch("tides", &dry_run, &patch).await?;
        let direct: Api<ConfigMap> = Api::default_namespaced(test.client());
        direct.patch("tides", &PatchParams::default(), &patch).await?;

        let log = AuditLog::open(&test.plane)?;
        let all = log.writes(&test.client()).await?;
        let ours: Vec<_> =
            all.iter().filter(|write| write.user_agent.starts_with("almanac/")).collect();
        let summaries: Vec<_> = ours.iter().map(|write| summary(write)).collect();
        assert_eq!(
            summaries,
            [
                ("create", "configmaps", "tides", 201),
                ("create", "configmaps", "tides", 409),
                ("create", "leases", "held", 201),
                ("patch", "configmaps", "tides", 200),
            ]
        );
        let leases: Vec<_> = ours.iter().map(|write| write.is_for_lease()).collect();
        assert_eq!(leases, [false, false, true, false]);
        let dry: Vec<_> = ours.iter().map(|write| write.is_dry_run()).collect();
        assert_eq!(dry, [false, false, false, true]);
        assert!(ours.iter().all(|write| write.user == "almanac-admin"));
        assert!(ours.iter().all(|write| write.namespace == "default"));

        // The API server writes its own objects at any time.
        let administrators = |write: &&AuditedRequest| write.user == "almanac-admin";
        let last =
            all.iter().rfind(administrators).expect("the log contains writes of administrators");
        assert_eq!(summary(last), ("patch", "configmaps", "tides", 200));
        let tally = AuditLog::tally(&all);
        let line = "2 x create configmaps by almanac-admin (almanac/harbour)\n";
        assert!(tally.contains(line), "{tally}");
        direct.delete("tides", &DeleteParams::default()).await?;
        let later = log.writes(&test.client()).await?;
        assert_eq!(later[..all.len()], all);
        let since: Vec<_> = later[all.len()..].iter().filter(administrators).map(summary).collect();
        assert_eq!(since, [("delete", "configmaps", "tides", 200)]);
        Ok(())
    })
}

#[test]
fn in_an_unused_control_plane_only_the_api_server_writes() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only().audited(), async |test| {
        let log = AuditLog::open(&test.plane)?;
        let writes = log.writes(&test.client()).await?;
        let (own, others): (Vec<_>, Vec<_>) =
            writes.into_iter().partition(|write| write.user == "system:apiserver");
        assert!(own.iter().any(|write| write.resource == "leases"), "{own:#?}");
        assert!(others.is_empty(), "{}", AuditLog::tally(&others));
        assert!(own.iter().all(|write| !write.user_agent.starts_with("almanac")));
        Ok(())
    })
}

#[test]
fn only_the_reads_of_the_given_user_are_reported() -> TestResult {
    const READER: &str = "system:serviceaccount:default:reader";
    let options = ControlPlaneOptions::api_only().audited_with_reads_of(READER);
    on_own_control_plane(&options, async |test| {
        let account = serde_json::from_value(json!({"metadata": {"name": "reader"}}))?;
        let accounts: Api<ServiceAccount> = Api::namespaced(test.client(), "default");
        accounts.create(&PostParams::default(), &account).await?;
        let reader = test.service_account("default", "reader").await?.client()?;
        let by_reader: Api<ConfigMap> = Api::namespaced(reader, "default");
        let by_admin: Api<ConfigMap> = Api::namespaced(test.client(), "default");
        let refused = by_reader.get("tides").await;
        assert!(matches!(&refused, Err(kube::Error::Api(it)) if it.code == 403), "{refused:?}");
        by_admin.list(&ListParams::default()).await?;

        let log = AuditLog::open(&test.plane)?;
        let requests = log.requests(&test.client()).await?;
        let reads: Vec<_> = requests.iter().filter(|request| !request.is_write()).collect();
        let summaries: Vec<_> = reads.iter().map(|read| summary(read)).collect();
        assert_eq!(summaries, [("get", "configmaps", "tides", 403)]);
        assert!(reads.iter().all(|read| read.user == READER));
        assert!(requests.iter().any(AuditedRequest::is_write), "or leaving out is no feat");
        assert!(log.writes(&test.client()).await?.iter().all(AuditedRequest::is_write));
        Ok(())
    })
}
