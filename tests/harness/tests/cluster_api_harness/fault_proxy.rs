//! A client behind the proxy with injected faults, and the requests that reach the API server.

use std::time::{Duration, Instant};

use almanac_harness::{
    Fault, FaultProxy, InjectedResponse, Observation, PATIENCE, RecordedRequest, SharedTest,
    TestResult, await_condition, client_for, on_shared_cluster,
};
use anyhow::{Context as _, Result, bail, ensure};
use futures::StreamExt as _;
use http::{Method, StatusCode};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use serde_json::json;

/// Clients of the same namespace, with and without a proxy.
struct Sides {
    proxy: FaultProxy,
    behind: Api<ConfigMap>,
    direct: Api<ConfigMap>,
}

impl Sides {
    fn for_test(test: &SharedTest) -> Result<Self> {
        let proxy = FaultProxy::start(test.client())?;
        let behind = Api::default_namespaced(client_for(&proxy.kubeconfig())?);
        Ok(Self { proxy, behind, direct: Api::default_namespaced(test.client()) })
    }

    async fn create_through_proxy(&self, name: &str) -> kube::Result<ConfigMap> {
        self.behind.create(&PostParams::default(), &map(name)).await
    }

    /// Whether the API server stores the object.
    async fn exists(&self, name: &str) -> Result<bool> {
        Ok(self.direct.get_opt(name).await?.is_some())
    }
}

fn map(name: &str) -> ConfigMap {
    let metadata = kube::api::ObjectMeta { name: Some(name.into()), ..Default::default() };
    ConfigMap { metadata, ..ConfigMap::default() }
}

/// The rejection of a request by the API server, or by the proxy in the format of the API server.
fn refusal<T: std::fmt::Debug>(result: kube::Result<T>) -> Result<kube::core::Status> {
    match result {
        Err(kube::Error::Api(status)) => Ok(*status),
        other => bail!("not a refusal but {other:?}"),
    }
}

#[test]
fn requests_pass_with_method_query_body_and_name_and_are_recorded_in_order() -> TestResult {
    on_shared_cluster(async |test| {
        let sides = Sides::for_test(test)?;
        sides.create_through_proxy("passes").await?;
        let patch = Patch::Merge(json!({"data": {"tide": "high"}}));
        let params = PatchParams { field_manager: Some("pilot".into()), ..Default::default() };
        sides.behind.patch("passes", &params, &patch).await?;
        // Only the query marks this request as a dry run.
        let params = PatchParams { dry_run: true, ..params };
        let patch = Patch::Merge(json!({"data": {"tide": "low"}}));
        sides.behind.patch("passes", &params, &patch).await?;
        let missing = refusal(sides.behind.get("missing").await)?;
        assert_eq!(missing.reason, "NotFound");

        let seen = sides.direct.get("passes").await?;
        assert_eq!(seen.data.context("no data")?["tide"], "high");
        let requests = sides.proxy.requests();
        let recorded: Vec<_> = requests
            .iter()
            .map(|request| (request.method.as_str(), request.status.unwrap_or_default()))
            .collect();
        assert_eq!(recorded, [("POST", 201), ("PATCH", 200), ("PATCH", 200), ("GET", 404)]);
        assert!(requests[1].path.ends_with("/configmaps/passes"), "{}", requests[1].path);
        assert!(requests[1].query.contains("fieldManager=pilot"), "{}", requests[1].query);
        assert!(requests.iter().all(|request| !request.injected));
        assert_eq!(sides.proxy.writes(), requests[..3]);
        sides.proxy.clear();
        assert_eq!(sides.proxy.requests(), []);
        Ok(())
    })
}

#[test]
fn lease_renewals_are_not_counted_as_writes_and_the_user_agent_is_recorded() -> TestResult {
    on_shared_cluster(async |test| {
        let sides = Sides::for_test(test)?;
        let lease: Lease = serde_json::from_value(json!({"metadata": {"name": "held"}}))?;
        let mut config = kube::Config::new(sides.proxy.url().parse()?);
        config
            .headers
            .push((http::header::USER_AGENT, http::HeaderValue::from_static("almanac/harbour")));
        let client = Client::try_from(config)?;
        let leases: Api<Lease> = Api::namespaced(client, test.namespace());
        leases.create(&PostParams::default(), &lease).await?;
        let requests = sides.proxy.requests();
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].user_agent, "almanac/harbour");
        assert!(requests[0].is_write());
        assert_eq!(sides.proxy.writes(), []);
        Ok(())
    })
}

#[test]
fn an_injected_response_strikes_n_times_and_the_api_server_gets_no_request() -> TestResult {
    on_shared_cluster(async |test| {
        let sides = Sides::for_test(test)?;
        let response = InjectedResponse::with(StatusCode::TOO_MANY_REQUESTS)
            .message("the harbour is full")
            .retry_after(Duration::from_secs(7));
        let busy = sides.proxy.inject(Fault::respond(response).method(Method::POST).times(2));
        let other = Fault::respond(InjectedResponse::with(StatusCode::CONFLICT))
            .path_contains("/configmaps");
        let conflict = sides.proxy.inject(other);

        for _ in 0..2 {
            let status = refusal(sides.create_through_proxy("late").await)?;
            assert_eq!((status.code, status.reason.as_str()), (429, "TooManyRequests"));
            assert_eq!(status.message, "the harbour is full");
            let details = status.details.context("no details")?;
            assert_eq!(details.retry_after_seconds, 7);
        }
        // The first fault has no strikes left; the second fault matches too.
        assert_eq!(refusal(sides.create_through_proxy("late").await)?.code, 409);
        assert!(!sides.exists("late").await?);
        sides.create_through_proxy("late").await?;
        assert_eq!((busy.taken(), conflict.taken()), (2, 1));
        let requests = sides.proxy.requests();
        let injected: Vec<_> = requests.iter().map(|request| request.injected).collect();
        assert_eq!(injected, [true, true, true, false]);
        assert_eq!(requests[0].api_server_status, None);
        assert_eq!(requests[3].api_server_status, Some(201));
        Ok(())
    })
}

#[test]
fn a_request_with_a_lost_response_is_applied_and_a_refused_request_is_not() -> TestResult {
    on_shared_cluster(async |test| {
        let sides = Sides::for_test(test)?;
        let lost = sides.proxy.inject(Fault::lose_response().method(Method::POST));
        ensure!(sides.create_through_proxy("done").await.is_err(), "a response arrived");
        assert!(sides.exists("done").await?);
        assert_eq!(lost.taken(), 1);

        let refused = sides.proxy.inject(Fault::refuse().matching(RecordedRequest::is_write));
        // An earlier request that does not match passes.
        assert!(sides.behind.get("done").await.is_ok());
        ensure!(sides.create_through_proxy("undone").await.is_err(), "a response arrived");
        assert!(!sides.exists("undone").await?);
        assert_eq!(refused.taken(), 1);

        let requests = sides.proxy.requests();
        let recorded: Vec<_> =
            requests.iter().map(|request| (request.status, request.api_server_status)).collect();
        assert_eq!(recorded, [(None, Some(201)), (Some(200), Some(200)), (None, None)]);
        Ok(())
    })
}

#[test]
fn a_replaced_response_hides_an_applied_request() -> TestResult {
    on_shared_cluster(async |test| {
        let sides = Sides::for_test(test)?;
        let conflict = Fault::replace_response(InjectedResponse::with(StatusCode::CONFLICT));
        let replaced = sides.proxy.inject(conflict.method(Method::POST));
        ensure!(sides.create_through_proxy("done").await.is_err(), "the response was not replaced");
        assert!(sides.exists("done").await?);
        assert_eq!(replaced.taken(), 1);
        let request = &sides.proxy.requests()[0];
        assert_eq!((request.status, request.api_server_status), (Some(409), Some(201)));
        Ok(())
    })
}

#[test]
fn a_hanging_request_does_not_reach_the_api_server_until_it_is_released() -> TestResult {
    on_shared_cluster(async |test| {
        let sides = Sides::for_test(test)?;
        let hanging = sides.proxy.inject(Fault::hang().method(Method::POST).always());
        let (created, meanwhile) = tokio::join!(sides.create_through_proxy("patient"), async {
            hanging.await_taken(1).await?;
            let existed = sides.exists("patient").await?;
            hanging.release();
            anyhow::Ok(existed)
        });
        assert!(!meanwhile?, "the hanging request was applied");
        created?;
        assert!(sides.exists("patient").await?);
        // The release is permanent: the next request does not hang.
        sides.create_through_proxy("next").await?;
        Ok(())
    })
}

#[test]
fn a_request_keeps_hanging_after_its_fault_is_used_up_and_removed() -> TestResult {
    on_shared_cluster(async |test| {
        let sides = Sides::for_test(test)?;
        let hanging = sides.proxy.inject(Fault::hang().method(Method::POST));
        let mut creating = Box::pin(sides.create_through_proxy("patient"));
        tokio::select! {
            result = &mut creating => bail!("a response arrived: {result:?}"),
            taken = hanging.await_taken(1) => taken?,
        }
        drop(hanging);
        // The list drops the fault at the next request.
        tokio::select! {
            result = &mut creating => bail!("a response arrived: {result:?}"),
            created = sides.create_through_proxy("next") => created?,
        };
        assert_eq!(sides.proxy.requests()[0].status, None);
        sides.proxy.cut_all().await;
        ensure!(creating.await.is_err(), "a response arrived");
        assert!(!sides.exists("patient").await?);
        Ok(())
    })
}

#[test]
fn a_delayed_request_arrives_late_and_intact() -> TestResult {
    on_shared_cluster(async |test| {
        let sides = Sides::for_test(test)?;
        let by = Duration::from_millis(400);
        let delayed = sides.proxy.inject(Fault::delay(by));
        let start = Instant::now();
        sides.create_through_proxy("late").await?;
        assert!(start.elapsed() >= by, "{:?}", start.elapsed());
        assert_eq!(delayed.taken(), 1);
        Ok(())
    })
}

#[test]
fn events_of_a_watch_pass_one_by_one_until_all_connections_are_cut() -> TestResult {
    on_shared_cluster(async |test| {
        let sides = Sides::for_test(test)?;
        let since = sides.direct.list(&kube::api::ListParams::default()).await?;
        let version = since.metadata.resource_version.context("no version")?;
        // The controller manager adds its own ConfigMap to a new namespace at any time.
        let others = WatchParams::default().fields("metadata.name!=kube-root-ca.crt");
        let mut watch = sides.behind.watch(&others, &version).await?.boxed();
        // Each object is created after the event of the previous object: a response that the proxy holds back would
        // hang here.
        for name in ["first", "second"] {
            sides.direct.create(&PostParams::default(), &map(name)).await?;
            let event = tokio::time::timeout(PATIENCE, watch.next()).await?;
            match event.context("the watch ended")?? {
                WatchEvent::Added(seen) => assert_eq!(seen.metadata.name.as_deref(), Some(name)),
                other => bail!("not the object but {other:?}"),
            }
        }
        let requests = sides.proxy.requests();
        assert!(requests.iter().any(|request| request.is_watch() && request.status == Some(200)));

        assert!(sides.proxy.connections() > 0);
        assert!(sides.proxy.cut_all().await > 0);
        assert_eq!(sides.proxy.connections(), 0);
        let end = tokio::time::timeout(PATIENCE, watch.next()).await?;
        ensure!(!matches!(end, Some(Ok(_))), "an event came after the cut: {end:?}");
        sides.behind.get("first").await.context("a new connection was not welcome")?;
        Ok(())
    })
}

#[test]
fn a_blocked_proxy_refuses_connections_and_is_back_on_the_same_port() -> TestResult {
    on_shared_cluster(async |test| {
        let sides = Sides::for_test(test)?;
        sides.create_through_proxy("before").await?;
        let hanging = sides.proxy.inject(Fault::hang());
        let (cut, ()) = tokio::join!(sides.behind.get("before"), async {
            let taken = hanging.await_taken(1).await;
            sides.proxy.block().await;
            assert!(taken.is_ok(), "{taken:?}");
        });
        ensure!(cut.is_err(), "a request outlived the block");
        let address = sides.proxy.url().replace("http://", "");
        let refused = tokio::net::TcpStream::connect(&address).await;
        let kind = refused.err().map(|error| error.kind());
        assert_eq!(kind, Some(std::io::ErrorKind::ConnectionRefused));
        assert!(sides.behind.get("before").await.is_err());

        sides.proxy.unblock()?;
        await_condition("the client to find the proxy again", PATIENCE, async || {
            sides.behind.get("before").await?;
            Ok(Observation::Holds(()))
        })
        .await
    })
}
