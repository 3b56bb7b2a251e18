//! A real Prometheus scrapes running controllers: values change exactly at the boundary, each series exists once, and
//! removed series disappear.

use crate::controller::head_start;
use crate::dashboard;

use std::collections::BTreeSet;
use std::process::Command;

use crate::harbor::{
    HARBOR, autoscaler, create, cron, metrics_producer, node_group, prepare, workload,
};
use crate::running::{BOUNDARY, ROOT, await_metric, start};
use almanac_fixtures::{hub, objects};
use almanac_harness::{
    ControlPlaneOptions, Kubectl, Observation, OwnTest, PATIENCE, Program, ProgramPort, Prometheus,
    TestResult, await_condition, on_own_control_plane, provide_prometheus, write_private,
};
use almanac_shell::server::{Forwarder, ServerRequest};
use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use serde_json::json;

const SERIES: [&str; 2] = ["karpenter_scheduled_capacity", "karpenter_scheduled_replicas_value"];
/// The tolerance between the timestamp of a scrape, which is its start, and the later response.
const A_SCRAPE: f64 = 1.0;

/// Two replicas with one Lease and one clock; the first is the leader.
async fn two_replicas(test: &OwnTest) -> anyhow::Result<(Program, Program, Timestamp)> {
    let all =
        "metrics-producer,cron-federated-hpa,horizontal-autoscaler,scalable-node-group,placement";
    let controllers = format!("--controllers={all}");
    let arguments = ["controller", "--lease-namespace=default", "--simulated-nodes", &controllers];
    let arguments = arguments.map(String::from);
    let kubeconfig = test.plane.kubeconfig();
    // Prometheus must have scraped the old value before the boundary.
    let before = head_start() * 3;
    let leader = start(&arguments, &kubeconfig, before)?;
    let boundary = Timestamp::now() + before;
    await_metric(&leader, "almanac_leader 1").await?;
    let before = boundary.duration_since(Timestamp::now());
    let standby = start(&arguments, &kubeconfig, before)?;
    standby.await_ready().await?;
    Ok((leader, standby, boundary))
}

/// An agent for all pods, with a policy that sets the level of one pod at the boundary.
async fn agent(kubectl: &Kubectl, test: &OwnTest, boundary: Timestamp) -> anyhow::Result<Program> {
    let policy = objects::level_policy("day", ("09:00", "17:00"), "tide", -1);
    let config = objects::agent_config(&[policy]);
    let containers = json!([{"name": "a", "image": "a"}]);
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tide", "labels": {"app": "tide"}},
        "spec": {"containers": containers},
    });
    create(kubectl, &[config, pod]).await?;
    let arguments = ["agent", "--node-name=*", "--lease-namespace=default", "--spread=0s"];
    let mut arguments = arguments.map(String::from).to_vec();
    arguments.push(format!("--config-namespace={HARBOR}"));
    let before = boundary.duration_since(Timestamp::now());
    let agent = start(&arguments, &test.plane.kubeconfig(), before)?;
    agent.await_ready().await?;
    Ok(agent)
}

/// Two extenders. The second has forwarded a request to the first.
async fn extenders(kubectl: &Kubectl, test: &OwnTest) -> anyhow::Result<[Program; 2]> {
    kubectl.run(&["apply", "--server-side", "-f", &format!("{ROOT}/deploy/units-crds")]).await?;
    kubectl.run(&["-n", "default", "create", "serviceaccount", "extender"]).await?;
    let audience = "--audience=almanac.dev/extender";
    let token = kubectl.run(&["-n", "default", "create", "token", "extender", audience]).await?;
    let file = test.plane.folder().join("extender-token");
    write_private(&file, token.trim())?;
    let kubeconfig = test.plane.kubeconfig().display().to_string();
    let start = async || {
        let [of_scheduler, of_peers] = [ProgramPort::take()?, ProgramPort::take()?];
        let own = format!("127.0.0.1:{}", of_peers.number());
        let arguments = [
            "extender".to_owned(),
            format!("--kubeconfig={kubeconfig}"),
            "--lease-namespace=default".to_owned(),
            format!("--scheduler-listen=127.0.0.1:{}", of_scheduler.number()),
            format!("--peer-listen={own}"),
            format!("--peer-address={own}"),
            format!("--peer-token-file={}", file.display()),
        ];
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let binary = env!("CARGO_BIN_EXE_almanac").as_ref();
        let extender = Program::start_listening(binary, &arguments, &[])?;
        extender.await_ready().await?;
        anyhow::Ok((extender, of_scheduler))
    };
    let (deciding, _port) = start().await?;
    let (standby, port) = start().await?;
    let request =
        r#"{"Pod":{"metadata":{"name":"x","namespace":"default","uid":"u"}},"NodeNames":[]}"#;
    let forwarder = Forwarder::new(None, 1024)?;
    await_condition("a call to be passed on", PATIENCE, async || {
        let call = ServerRequest { path: "/filter".to_owned(), body: request.into(), token: None };
        let address = format!("127.0.0.1:{}", port.number());
        let response = forwarder.forward(&address, call, PATIENCE).await?;
        Ok(Observation::from_bool(response.status == 200, format!("{response:?}")))
    })
    .await?;
    Ok([deciding, standby])
}

/// A webhook that has received at least one request.
async fn webhook(kubectl: &Kubectl, test: &OwnTest) -> anyhow::Result<(Program, ProgramPort)> {
    let port = ProgramPort::take()?;
    let address = format!("127.0.0.1:{}", port.number());
    let rule = json!({
        "apiGroups": ["autoscaling.karmada.io"], "apiVersions": ["v1alpha1"],
        "resources": ["cronfederatedhpas"], "operations": ["CREATE", "UPDATE"],
    });
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "almanac"},
        "webhooks": [{
            "name": "policies.almanac.dev", "admissionReviewVersions": ["v1"],
            "sideEffects": "None", "failurePolicy": "Ignore",
            "clientConfig": {"url": format!("https://{address}/validate")}, "rules": [rule],
        }],
    });
    kubectl.run_with_input(&["apply", "-f", "-"], &configuration.to_string()).await?;
    kubectl.run(&["-n", "default", "create", "secret", "generic", "almanac-webhook"]).await?;
    let kubeconfig = test.plane.kubeconfig().display().to_string();
    let listen = format!("--webhook-listen={address}");
    let arguments =
        ["webhook", "--kubeconfig", &kubeconfig, &listen, "--certificate-names=127.0.0.1"];
    let binary = env!("CARGO_BIN_EXE_almanac").as_ref();
    let webhook = Program::start_listening(binary, &arguments, &[])?;
    webhook.await_ready().await?;
    // The API server loads the configuration after a delay.
    let probe = cron("probe", "apps/v1", "Deployment", &json!({"targetReplicas": 3})).to_string();
    let request = ["-n", HARBOR, "create", "--dry-run=server", "-f", "-"];
    await_condition("the webhook to get a request", PATIENCE, async || {
        kubectl.run_with_input(&request, &probe).await?;
        let (_, metrics) = webhook.get("/metrics").await?;
        Ok(Observation::from_bool(metrics.contains("almanac_webhook_reviews_total{"), metrics))
    })
    .await?;
    Ok((webhook, port))
}

fn seconds(at: Timestamp) -> f64 {
    at.duration_since(Timestamp::UNIX_EPOCH).as_secs_f64()
}

async fn await_query(prometheus: &Prometheus, promql: &str, expected: Option<f64>) -> TestResult {
    await_condition(&format!("{promql} to be {expected:?}"), PATIENCE, async || {
        let actual = prometheus.query(promql).await?;
        Ok(Observation::from_bool(actual == expected, format!("{actual:?}")))
    })
    .await
}

#[test]
fn a_scrape_after_a_boundary_has_each_new_value_once() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let kubectl = test.kubectl().await?;
        prepare(&kubectl).await?;
        kubectl.run(&["apply", "--server-side", "-f", &format!("{ROOT}/deploy/hub-crds")]).await?;
        kubectl
            .run(&["wait", "--for=condition=Established", "crd", "--all", "--timeout=90s"])
            .await?;
        let setting = json!({"targetReplicas": 3});
        create(
            &kubectl,
            &[
                hub::managed_cluster_set(),
                hub::managed_cluster_set_binding(),
                hub::managed_cluster("east"),
                hub::placement("fleet", &json!({})),
                metrics_producer("boundary"),
                metrics_producer("passing"),
                autoscaler("tide", "boundary"),
                node_group("pool", "Simulated"),
                workload("tide", "apps/v1", "Deployment"),
                workload("web", "apps/v1", "Deployment"),
                cron("web", "apps/v1", "Deployment", &setting),
            ],
        )
        .await?;
        // The extender starts first, since it waits until no earlier extender can be active.
        let extenders = extenders(&kubectl, test).await?;
        let (webhook, _port) = webhook(&kubectl, test).await?;
        let (leader, standby, boundary) = two_replicas(test).await?;
        let agent = agent(&kubectl, test, boundary).await?;
        let [deciding, forwarder] = &extenders;
        let programs = [&leader, &standby, &agent, deciding, forwarder, &webhook];
        let targets =
            programs.map(Program::address).into_iter().collect::<anyhow::Result<Vec<_>>>()?;
        let prometheus = Prometheus::start_honoring_labels(&targets).await?;

        the_number_changes_at_the_boundary(&prometheus, boundary).await?;
        each_series_exists_once(&prometheus, &standby).await?;
        await_query(&prometheus, "sum(almanac_cron_fired_total)", Some(1.0)).await?;
        await_query(&prometheus, "sum(almanac_qos_activated_total)", Some(1.0)).await?;
        the_documents_list_the_exported_metrics(&[&leader, &agent, deciding, forwarder, &webhook])
            .await?;
        the_dashboard_is_filled(&prometheus).await?;
        a_problem_is_counted_until_it_is_fixed(&kubectl, &prometheus).await?;
        a_deleted_schedule_has_no_number(&kubectl, &prometheus).await?;
        the_next_leader_has_the_numbers(&prometheus, &leader).await
    })
}

fn selector(series: &str) -> String {
    format!("{series}{{name=\"boundary\",namespace=\"{HARBOR}\"}}")
}

async fn the_number_changes_at_the_boundary(
    prometheus: &Prometheus,
    boundary: Timestamp,
) -> TestResult {
    for series in SERIES {
        await_query(prometheus, &selector(series), Some(2.0)).await?;
    }
    ensure!(Timestamp::now() < boundary, "the machine was too slow to see the old value in time");
    let is = |value: f64, expected: f64| (value - expected).abs() < 0.5;
    for series in SERIES {
        await_query(prometheus, &selector(series), Some(7.0)).await?;
        let boundary = seconds(boundary);
        // A scrape that started just before the boundary may have the new value, too.
        let what = format!("a scrape of {series} that began at the boundary or after it");
        let scraped = await_condition(&what, PATIENCE, async || {
            let scraped = prometheus.scraped(&selector(series), 5).await?;
            Ok(if scraped.iter().any(|(at, _)| *at >= boundary) {
                Observation::Holds(scraped)
            } else {
                Observation::NotYet(format!("{scraped:?}"))
            })
        })
        .await?;
        for (at, value) in &scraped {
            let late = at - boundary;
            ensure!(late < 0.0 || is(*value, 7.0), "{value} at {BOUNDARY} and {late} s");
            ensure!(late >= -A_SCRAPE || is(*value, 2.0), "{value} at {BOUNDARY} and {late} s");
        }
        let first = scraped.iter().find(|(at, _)| *at >= boundary).context("none since")?;
        // Prometheus scrapes every second.
        ensure!(first.0 - boundary < 10.0, "the first scrape came late: {scraped:?}");
    }
    Ok(())
}

/// Prometheus scrapes two replicas, an agent and two extenders. Only the leader exports the numbers.
async fn each_series_exists_once(prometheus: &Prometheus, standby: &Program) -> TestResult {
    await_query(prometheus, r#"sum(up{job="test"})"#, Some(6.0)).await?;
    await_query(prometheus, "sum(almanac_extender_leader)", Some(1.0)).await?;
    await_query(prometheus, "count(almanac_leader)", Some(2.0)).await?;
    await_query(prometheus, "sum(almanac_leader)", Some(1.0)).await?;
    for series in SERIES {
        await_query(prometheus, &format!("count({})", selector(series)), Some(1.0)).await?;
    }
    let (status, text) = standby.get("/metrics").await?;
    ensure!(status == 200 && text.contains("almanac_leader 0"), "{status}: {text}");
    ensure!(!text.contains("karpenter_"), "a standby has numbers of schedules: {text}");
    Ok(())
}

async fn a_deleted_schedule_has_no_number(
    kubectl: &Kubectl,
    prometheus: &Prometheus,
) -> TestResult {
    let all = "count(karpenter_scheduled_capacity)";
    await_query(prometheus, all, Some(2.0)).await?;
    kubectl.run(&["-n", HARBOR, "delete", "metricsproducer", "passing"]).await?;
    // Far sooner than the five minutes for which Prometheus returns a series that merely ends.
    await_query(prometheus, all, Some(1.0)).await?;
    await_query(prometheus, r#"karpenter_scheduled_capacity{name="passing"}"#, None).await
}

async fn the_next_leader_has_the_numbers(prometheus: &Prometheus, leader: &Program) -> TestResult {
    ensure!(leader.stop().await?.success(), "it did not end well");
    await_query(prometheus, "sum(almanac_leader)", Some(1.0)).await?;
    await_query(prometheus, r#"sum(up{job="test"})"#, Some(5.0)).await?;
    await_query(prometheus, &format!("count({})", selector(SERIES[0])), Some(1.0)).await?;
    await_query(prometheus, &selector(SERIES[0]), Some(7.0)).await
}

/// No rule is overdue here, no policy needs attention, and no Prometheus is queried.
const EMPTY: [&str; 3] = [
    "almanac_cron_oldest_overdue_firing_timestamp_seconds",
    "almanac_objects_not_ready",
    "almanac_autoscaler_sample_age_seconds",
];

async fn the_dashboard_is_filled(prometheus: &Prometheus) -> TestResult {
    for expression in dashboard::expressions()? {
        let is_empty = EMPTY.iter().any(|metric| expression.contains(metric));
        let what = format!("{expression} to have series: {}", !is_empty);
        await_condition(&what, PATIENCE, async || {
            let series = prometheus.count_series(&expression).await?;
            Ok(Observation::from_bool((series == 0) == is_empty, series))
        })
        .await?;
    }
    Ok(())
}

async fn a_problem_is_counted_until_it_is_fixed(
    kubectl: &Kubectl,
    prometheus: &Prometheus,
) -> TestResult {
    let rule = json!({"targetReplicas": 3});
    create(kubectl, &[cron("lost", "apps/v1", "Deployment", &rule)]).await?;
    let kind = r#"kind="cronfederatedhpas",reason="TargetNotFound""#;
    let counted = format!("almanac_objects_not_ready{{{kind}}}");
    await_query(prometheus, &counted, Some(1.0)).await?;
    create(kubectl, &[workload("lost", "apps/v1", "Deployment")]).await?;
    await_query(prometheus, &counted, None).await
}

/// The names in the first columns of the tables.
fn listed(document: &str) -> BTreeSet<&str> {
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split('`').next()).collect()
}

/// The names of the metrics in a response, as in queries.
fn exported(text: &str) -> BTreeSet<String> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    types
        .map(|(name, kind)| match kind {
            "counter" => format!("{name}_total"),
            "info" => format!("{name}_info"),
            _ => name.into(),
        })
        .collect()
}

/// The checker, which is a part of Prometheus.
#[test]
fn prometheus_accepts_the_alerts() -> TestResult {
    let promtool = provide_prometheus()?.with_file_name("promtool");
    let alerts = format!("{ROOT}/deploy/prometheus/alerts.yaml");
    let output = Command::new(&promtool).args(["check", "rules", &alerts]).output();
    let output = output.with_context(|| format!("failed to start {}", promtool.display()))?;
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    ensure!(output.status.success() && text.contains("SUCCESS"), "{text}");
    Ok(())
}

async fn the_documents_list_the_exported_metrics(programs: &[&Program]) -> TestResult {
    let document = std::fs::read_to_string(format!("{ROOT}/docs/metrics.md"))?;
    let listed: BTreeSet<String> = listed(&document).into_iter().map(String::from).collect();
    let mut text = String::new();
    for process in programs {
        let (status, metrics) = process.get("/metrics").await?;
        ensure!(status == 200, "{status}: {metrics}");
        text.push_str(&metrics);
    }
    assert_eq!(exported(&text), listed, "left: exported; right: listed in docs/metrics.md");
    for label in text.lines().filter_map(|line| line.split_once('{')) {
        let names = label.1.split('}').next().unwrap_or_default().split(',');
        for name in names.filter_map(|pair| pair.split('=').next()).filter(|name| *name != "le") {
            assert!(document.contains(&format!("`{name}`")), "the label {name} is not explained");
        }
    }
    Ok(())
}
