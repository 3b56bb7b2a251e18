//! The extender next to the cluster's own kube-scheduler, with the static pod and the files of the page, behind a proxy
//! that injects faults. All pods go through the extender, and a crash at any step of a binding exceeds no cap.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use almanac_harness::{
    Binaries, Component, ControlPlaneOptions, Fault, FaultProxy, Injected, InjectedResponse,
    NodeSpec, Observation, OwnTest, PATIENCE, Program, ProgramPort, TestResult, await_condition,
    client_for, on_own_control_plane,
};
use anyhow::Context as _;
use http::{Method, StatusCode};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use serde_json::{Value, json};

use crate::documented::run_section;
use crate::extender::scene::Scene;
use crate::extender::stage::{ROOT, deployment, pod, policy, unit_nodes};
use crate::extender::watched::Watched;
use crate::reading::{await_value, get};

const PAGE: &str = "docs/units-in-a-cluster.md";
const STATIC_POD: &str = "deploy/extender/kube-scheduler-pod.yaml";
const CONFIGURATION: &str = "deploy/extender/kube-scheduler.yaml";

/// The path of kube-scheduler's kubeconfig in the files.
const KUBECONFIG: &str = "/etc/kubernetes/scheduler.conf";

/// The programs of the static pod.
struct StaticPod {
    extender: Program,
    /// The proxy between the extender and the API server.
    proxy: FaultProxy,
    _scheduler: Program,
    _port: ProgramPort,
}

impl StaticPod {
    /// Starts the programs that a kubelet would start, with the arguments of the manifest.
    async fn start(test: &OwnTest, scene: &Scene) -> anyhow::Result<StaticPod> {
        let manifest = format!("{ROOT}/{STATIC_POD}");
        scene.kubectl.run(&["apply", "--dry-run=server", "-f", &manifest]).await?;
        let dry_run = ["create", "--dry-run=client", "-o", "json", "-f", &manifest];
        let pod: Value = serde_json::from_str(&scene.kubectl.run(&dry_run).await?)?;
        let [scheduler, extender] = [0, 1].map(|index| {
            let arguments = pod["spec"]["containers"][index]["args"].clone();
            serde_json::from_value::<Vec<String>>(arguments)
        });
        let folder = test.plane.folder();
        let kubeconfig = folder.join("scheduler.kubeconfig");
        let proxy = FaultProxy::start(client_for(&kubeconfig)?)?;
        let port = ProgramPort::take()?;
        let address = format!("127.0.0.1:{}", port.number());

        let configuration = folder.join("kube-scheduler.yaml");
        let shipped = std::fs::read_to_string(Path::new(ROOT).join(CONFIGURATION))?;
        let shipped = shipped.replace(KUBECONFIG, &kubeconfig.display().to_string());
        std::fs::write(&configuration, shipped.replace("127.0.0.1:8890", &address))?;

        let with = |argument: String, kubeconfig: &Path| {
            argument
                .replace(KUBECONFIG, &kubeconfig.display().to_string())
                .replace(
                    "/etc/kubernetes/kube-scheduler.yaml",
                    &configuration.display().to_string(),
                )
                .replace("127.0.0.1:8890", &address)
        };
        let mut arguments: Vec<String> =
            scheduler?.into_iter().map(|it| with(it, &kubeconfig)).collect();
        // Other programs on this machine may use the default ports.
        arguments.push("--secure-port=0".to_owned());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let program = Binaries::provide()?.program("kube-scheduler")?;
        let scheduler = Program::start(&program, &arguments, &[])?;
        // The harness provides a port for metrics.
        let arguments = extender?.into_iter().filter(|it| !it.starts_with("--listen="));
        let arguments: Vec<String> = arguments.map(|it| with(it, &proxy.kubeconfig())).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let almanac = env!("CARGO_BIN_EXE_almanac").as_ref();
        let extender = Program::start_listening(almanac, &arguments, &[])?;
        extender.await_ready().await?;
        Ok(StaticPod { extender, proxy, _scheduler: scheduler, _port: port })
    }

    /// Injects a fault into the next binding of a pod.
    fn spoil_binding(&self, pod: &str, fault: Fault) -> Injected {
        let path = format!("/pods/{pod}/binding");
        self.proxy.inject(fault.method(Method::POST).path_contains(path))
    }

    /// Makes all reads of a pod hang from now on, or after the request for its binding.
    fn hang_reads(&self, pod: &str, from: Option<&Arc<AtomicBool>>) -> Injected {
        let (path, from) = (format!("/pods/{pod}"), from.cloned());
        let is_read = Fault::hang().method(Method::GET).matching(move |request| {
            request.path.ends_with(&path)
                && from.as_ref().is_none_or(|posted| posted.load(Ordering::SeqCst))
        });
        self.proxy.inject(is_read.always())
    }
}

/// A pod for the cluster's own scheduler.
fn own(name: &str, app: &str) -> Value {
    let mut own = pod(name, app);
    own["spec"]["schedulerName"] = json!("default-scheduler");
    own
}

#[test]
fn a_fault_at_any_step_of_a_binding_exceeds_no_cap() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::whole(), async |test| {
        test.plane.kill(Component::Scheduler)?;
        let nodes = [
            unit_nodes("best", 2),
            unit_nodes("vault", 2),
            unit_nodes("brink", 2),
            NodeSpec::named("spare"),
        ];
        let _simulator = test.nodes(&nodes).await?;
        let kubectl = test.kubectl().await?;
        run_section(test, &kubectl, (PAGE, "With the cluster's own scheduler")).await?;
        let scene = Scene::whole(test).await?;
        let static_pod = StaticPod::start(test, &scene).await?;
        all_kinds_of_pods_are_placed(&scene).await?;
        let pods = || Api::default_namespaced(test.client());
        no_response_to_a_binding_exceeds_a_cap(&static_pod, &scene, pods()).await?;
        no_crash_exceeds_a_cap_and_pods_wait_for_the_extender(&static_pod, &scene, pods()).await?;
        scene.check_export().await?;
        // The test has no machine on which to restore a static pod.
        drop(static_pod);
        run_section(test, &kubectl, (PAGE, "Uninstall with the cluster's own scheduler")).await?;
        Ok(())
    })
}

async fn all_kinds_of_pods_are_placed(scene: &Scene) -> TestResult {
    scene.govern(&policy("shop", "required", &[("best", 1, Some(3))])).await?;
    let mut shop = deployment("shop", 4);
    shop["spec"]["template"]["spec"]["schedulerName"] = json!("default-scheduler");
    scene.apply(&shop).await?;
    scene.await_spread("shop", &["best"], &[3, 1]).await?;
    // Pods of a DaemonSet or of the system ignore caps and policies for their labels.
    let mut daemon = shop.clone();
    daemon["kind"] = json!("DaemonSet");
    daemon["metadata"]["name"] = json!("daemon");
    daemon["spec"]["selector"] = json!({"matchLabels": {"part": "daemon"}});
    daemon["spec"]["template"]["metadata"]["labels"]["part"] = json!("daemon");
    for field in ["replicas", "strategy"] {
        daemon["spec"].as_object_mut().context("a spec")?.remove(field);
    }
    scene.apply(&daemon).await?;
    let each = ["daemonset", "daemon"];
    await_value(&scene.kubectl, &each, "/status/numberReady", &json!(7)).await?;
    let system = scene.in_namespace("kube-system").await?;
    system.apply(&own("system", "shop")).await?;
    scene.apply(&own("free", "other")).await?;
    for (scene, name) in [(&system, "system"), (scene, "free")] {
        let pod_path = ["pod", name];
        await_value(&scene.kubectl, &pod_path, "/status/phase", &json!("Running")).await?;
        let pod = get(&scene.kubectl, &pod_path).await?;
        assert!(pod["metadata"]["annotations"]["almanac.dev/resource-policy"].is_null(), "{pod}");
    }
    scene.kubectl.run(&["delete", "daemonset", "daemon", "--cascade=foreground"]).await?;
    Ok(())
}

/// Bindings that are applied but get an error as the response, and bindings that are not applied.
async fn no_response_to_a_binding_exceeds_a_cap(
    static_pod: &StaticPod,
    scene: &Scene,
    pods: Api<Pod>,
) -> TestResult {
    let with = InjectedResponse::with;
    let fates = [
        ("lost", Fault::lose_response()),
        ("conflict-landed", Fault::replace_response(with(StatusCode::CONFLICT))),
        ("timeout-landed", Fault::replace_response(with(StatusCode::GATEWAY_TIMEOUT))),
        ("error-landed", Fault::replace_response(with(StatusCode::INTERNAL_SERVER_ERROR))),
        ("conflict", Fault::respond(with(StatusCode::CONFLICT))),
        ("timeout", Fault::respond(with(StatusCode::GATEWAY_TIMEOUT))),
        ("unavailable", Fault::respond(with(StatusCode::SERVICE_UNAVAILABLE))),
        ("refused", Fault::refuse()),
        ("silent", Fault::hang()),
    ];
    let cap = fates.len();
    let watched = Watched::begin(pods, ("vault", &["vault"], cap));
    scene.govern(&policy("vault", "required", &[("vault", 1, Some(u32::try_from(cap)?))])).await?;
    for (name, fault) in fates {
        let injected = static_pod.spoil_binding(name, fault);
        scene.apply(&own(name, "vault")).await?;
        injected.await_taken(1).await?;
    }
    for number in 0..3 {
        scene.apply(&own(&format!("late-{number}"), "vault")).await?;
    }
    watched.await_spread("all but three to have a place", PATIENCE, |it| it == [cap, 0, 3]).await
}

/// Kills the extender during a read of a pod, a binding in flight, and an applied binding without a response.
async fn no_crash_exceeds_a_cap_and_pods_wait_for_the_extender(
    static_pod: &StaticPod,
    scene: &Scene,
    pods: Api<Pod>,
) -> TestResult {
    const CAP: usize = 4;
    let watched = Watched::begin(pods, ("brink", &["brink"], CAP));
    scene.govern(&policy("brink", "required", &[("brink", 1, Some(4))])).await?;
    scene.apply(&own("bound", "brink")).await?;
    watched.await_spread("the first to be bound", PATIENCE, |it| it == [1, 0, 0]).await?;

    let posted = Arc::new(AtomicBool::new(false));
    let is_posted = Arc::clone(&posted);
    let landed = Fault::replace_response(InjectedResponse::with(StatusCode::GATEWAY_TIMEOUT));
    let landed = landed.method(Method::POST).path_contains("/pods/unanswered/binding");
    let landed = static_pod.proxy.inject(landed.matching(move |_| {
        is_posted.store(true, Ordering::SeqCst);
        true
    }));
    let steps = [
        ("unread", static_pod.hang_reads("unread", None)),
        ("unanswered", static_pod.hang_reads("unanswered", Some(&posted))),
        ("unsent", static_pod.spoil_binding("unsent", Fault::hang())),
    ];
    for (name, step) in &steps {
        scene.apply(&own(name, "brink")).await?;
        step.await_taken(1).await?;
    }
    static_pod.extender.kill()?;
    assert_eq!(landed.taken(), 1);
    for (_, step) in &steps {
        step.withdraw();
    }

    for number in 0..3 {
        scene.apply(&own(&format!("more-{number}"), "brink")).await?;
    }
    // With the cluster's own scheduler, all pods are pending.
    scene.apply(&own("meanwhile", "other")).await?;
    await_condition("the event of a pod that waits for the extender", PATIENCE, async || {
        let pod_events = ["events", "--field-selector", "involvedObject.name=meanwhile"];
        let events = get(&scene.kubectl, &pod_events).await?.to_string();
        Ok(Observation::from_bool(events.contains("connection refused"), events))
    })
    .await?;
    static_pod.extender.start_again()?;
    watched.await_spread("all but three to have a place", PATIENCE, |it| it == [CAP, 0, 3]).await?;
    let phase = "/status/phase";
    await_value(&scene.kubectl, &["pod", "meanwhile"], phase, &json!("Running")).await
}
