//! A webhook that is limited to some namespaces. One of them is forbidden to read.

use std::sync::Arc;

use almanac_api::policy_clock::PolicyClock;
use almanac_controllers::webhook::{Certificate, Webhook, WebhookEndpoints, WebhookOptions};
use almanac_shell::certificates::manager::{CertificateManager, SecretName};
use almanac_shell::certificates::{CertificateRequirements, Publishing};
use tokio::net::TcpListener;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_limited_webhook_responds_for_its_namespaces() {
    let stub = Stub::new();
    stub.serve(Kind::new(objects::KARMADA, "CronFederatedHPA", "cronfederatedhpas"));
    stub.serve(Kind::new("v1", "Secret", "secrets"));
    stub.serve(Kind::new("v1", "Namespace", "namespaces").cluster_scoped());
    stub.put(json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "namespace": "default", "name": "almanac-webhook" },
    }));
    limited::forbid(&stub, "north");
    let secret = "almanac-webhook".to_owned();
    let requirements = CertificateRequirements {
        names: vec!["localhost".to_owned()],
        lifetime: SignedDuration::from_hours(24),
        publishing: Publishing::ByHand,
    };
    let clock = Clock::system(PolicyClock::REAL);
    let manager = CertificateManager {
        client: stub.client(),
        secret_name: SecretName { namespace: "default".to_owned(), secret },
        requirements,
        clock: clock.clone(),
    };
    let options = WebhookOptions {
        namespaces: Namespaces::Only(["east", "north"].map(Arc::from).into()),
        take_over: Vec::new(),
        clock,
    };
    let endpoints = WebhookEndpoints {
        listener: TcpListener::bind("127.0.0.1:0").await.expect("bind the listener"),
        certificate: Certificate::Kept(Box::new(manager)),
    };
    let (health, end) = (Health::default(), CancellationToken::new());
    let registry = &mut Registry::default();
    let webhook = Webhook::new(stub.client(), options, endpoints, health.clone(), registry);
    let running = tokio::spawn(webhook.run(end.clone()));
    seconds(5).await;
    let waiting = health.waiting_for().unwrap_or_default();
    assert!(waiting.contains("in north to be listed: access is forbidden"), "{waiting}");
    seconds(10).await;
    assert_eq!(health.waiting_for(), None, "the webhook continues without the namespace");
    seconds(600).await;
    assert_eq!(health.waiting_for(), None);
    let own = ["/namespaces/default/secrets/", "/namespaces/east", "/namespaces/north"];
    let is_own = |request: &ReceivedRequest| {
        request.path == "/version" || own.iter().any(|part| request.path.contains(part))
    };
    let others = stub.requests_where(|request| !is_own(request));
    assert!(others.is_empty(), "{:?}", others.iter().map(|it| &it.path).collect::<Vec<_>>());
    end.cancel();
    timeout(Duration::from_secs(15), running)
        .await
        .expect("the webhook ends in time")
        .expect("the process does not panic");
}
