//! A control plane with the second scheduler of the manifest: kube-scheduler and extenders run as programs of the test.
//! Each test uses a scene of the cluster.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use almanac_harness::{
    Binaries, ControlPlaneOptions, Kubectl, NodeSpec, Observation, OwnTest, PATIENCE, Program,
    ProgramPort, ServiceAccountAccess, SharedPlane, TestResult, await_condition, on_shared_plane,
    write_private,
};
use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::controller::mixed_program;
use crate::extender::scene::Scene;
use crate::manifests::arguments_of;

pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const MANIFEST: &str = "deploy/extender/second-scheduler.yaml";
/// The namespace and the `ServiceAccount` of the manifest.
const SCHEDULER: &str = "almanac-scheduler";
const AUDIENCE: &str = "almanac.dev/extender";

/// The name of the scheduler of the manifest.
pub(crate) const SCHEDULER_NAME: &str = "almanac-scheduler";
/// The account of its programs.
pub(crate) const ACCOUNT: &str = "system:serviceaccount:almanac-scheduler:almanac-scheduler";

/// The priority class of preempting pods. All tests of a stage share the class, since concurrent creations by two tests
/// fail.
pub(crate) const URGENT: &str = "urgent";

/// The stage of all tests that kill no process.
static SHARED: SharedPlane<Stage> = SharedPlane::new();

/// Runs a test with its own nodes and namespace on a stage with two extenders, shared with other tests. At the end, the
/// export of the namespace must have the same results.
pub(crate) fn on_stage(
    nodes: &[NodeSpec],
    test: impl AsyncFnOnce(&Stage, &Scene) -> TestResult,
) -> TestResult {
    let make = async |test: &OwnTest| {
        let stage = Stage::set(test).await?;
        stage.start_extender().await?;
        Ok(stage)
    };
    on_shared_plane(&SHARED, &ControlPlaneOptions::whole(), make, async |shared, stage| {
        let _simulator = shared.nodes(nodes).await?;
        let scene = Scene::shared(shared).await?;
        scene.await_nodes().await?;
        test(stage, &scene).await?;
        scene.check_export().await
    })
}

/// A scheduler and its extenders.
pub(crate) struct Stage {
    pub(crate) kubectl: Kubectl,
    account: ServiceAccountAccess,
    token: PathBuf,
    extenders: Mutex<Vec<Arc<Extender>>>,
    scheduler: Mutex<Option<Program>>,
}

/// An extender, and its address.
pub(crate) struct Extender {
    pub(crate) program: Program,
    pub(crate) scheduler_port: ProgramPort,
    pub(crate) peer_port: ProgramPort,
}

impl Stage {
    /// Starts an extender, and a scheduler for it.
    pub(crate) async fn set(test: &OwnTest) -> anyhow::Result<Stage> {
        let kubectl = test.kubectl().await?;
        kubectl.run(&["apply", "-f", &format!("{ROOT}/deploy/units-crds")]).await?;
        kubectl.run(&["apply", "-f", &format!("{ROOT}/{MANIFEST}")]).await?;
        let crd = "customresourcedefinition/resourcepolicies.scheduling.sigs.x-k8s.io";
        kubectl.run(&["wait", crd, "--for=condition=Established", "--timeout=90s"]).await?;
        kubectl.run(&["create", "priorityclass", URGENT, "--value=1000"]).await?;
        let stage = Stage::installed(test, kubectl).await?;
        stage.begin().await?;
        Ok(stage)
    }

    /// Starts one extender, and a scheduler for it.
    pub(crate) async fn begin(&self) -> TestResult {
        self.start_extender().await?;
        self.start_scheduler(0)?;
        self.extender(0).program.await_ready().await
    }

    /// Applies the manifest. The programs of the test replace its pods, since no images exist here.
    pub(crate) async fn installed(test: &OwnTest, kubectl: Kubectl) -> anyhow::Result<Stage> {
        kubectl.run(&["-n", SCHEDULER, "scale", "deployment", SCHEDULER, "--replicas=0"]).await?;
        let account = test.service_account(SCHEDULER, SCHEDULER).await?;
        let create_token = ["-n", SCHEDULER, "create", "token", SCHEDULER, "--audience", AUDIENCE];
        let token_text = kubectl.run(&create_token).await?;
        let token = account.kubeconfig().with_file_name("token");
        write_private(&token, token_text.trim())?;
        let (extenders, scheduler) = (Mutex::default(), Mutex::default());
        Ok(Stage { kubectl, account, token, extenders, scheduler })
    }

    /// Starts another replica with the arguments of the manifest.
    pub(crate) async fn start_extender(&self) -> TestResult {
        let deployment = [SCHEDULER, "deployment", SCHEDULER];
        let arguments = arguments_of(&self.kubectl, deployment, 1).await?;
        let (scheduler_port, peer_port) = (ProgramPort::take()?, ProgramPort::take()?);
        let [for_scheduler, for_peers] =
            [&scheduler_port, &peer_port].map(|port| format!("127.0.0.1:{}", port.number()));
        let token = self.token.display().to_string();
        let with = |argument: &String| {
            let (name, _) = argument.split_once('=').unwrap_or((argument, ""));
            match name {
                "--scheduler-listen" => format!("{name}={for_scheduler}"),
                "--peer-listen" | "--peer-address" => format!("{name}={for_peers}"),
                "--peer-token-file" => format!("{name}={token}"),
                _ => argument.clone(),
            }
        };
        let mut all: Vec<String> = arguments.iter().map(with).collect();
        all.push(format!("--kubeconfig={}", self.account.kubeconfig().display()));
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let mut extenders = self.extenders.lock().unwrap_or_else(PoisonError::into_inner);
        let program = Program::start_listening(&mixed_program(extenders.len()), &all, &[])?;
        extenders.push(Arc::new(Extender { program, scheduler_port, peer_port }));
        Ok(())
    }

    /// Starts kube-scheduler with the configuration of the manifest, for this extender.
    pub(crate) fn start_scheduler(&self, extender: usize) -> TestResult {
        let manifest = std::fs::read_to_string(Path::new(ROOT).join(MANIFEST))?;
        let port = self.extender(extender).scheduler_port.number();
        let (_, configuration) =
            manifest.split_once("configuration.yaml: |\n").context("no file")?;
        let (configuration, _) = configuration.split_once("\n---").context("no end of the file")?;
        let mut text = String::new();
        for line in configuration.lines() {
            let line = line.strip_prefix("    ").unwrap_or(line);
            let line = line.replace("leaderElect: true", "leaderElect: false");
            let line = line.replace("127.0.0.1:8890", &format!("127.0.0.1:{port}"));
            writeln!(text, "{line}")?;
        }
        let kubeconfig = self.account.kubeconfig();
        writeln!(
            text,
            "clientConnection: {{kubeconfig: {}, qps: 2000, burst: 4000}}",
            kubeconfig.display()
        )?;
        let file = kubeconfig.with_file_name(format!("scheduler-{port}.yaml"));
        std::fs::write(&file, text)?;
        let program = Binaries::provide()?.program("kube-scheduler")?;
        let config = format!("--config={}", file.display());
        let program = Program::start(&program, &[&config, "--secure-port=0"], &[])?;
        *self.scheduler.lock().unwrap_or_else(PoisonError::into_inner) = Some(program);
        Ok(())
    }

    /// The file with the token of the replicas.
    pub(crate) fn token(&self) -> &Path {
        &self.token
    }

    /// An extender by its index.
    pub(crate) fn extender(&self, index: usize) -> Arc<Extender> {
        Arc::clone(&self.extenders()[index])
    }

    fn extenders(&self) -> Vec<Arc<Extender>> {
        self.extenders.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn kill(&self, index: usize) -> TestResult {
        self.extender(index).program.kill()
    }

    pub(crate) fn start_again(&self, index: usize) -> TestResult {
        self.extender(index).program.start_again()
    }

    /// Ends all replicas as a kubelet does.
    pub(crate) async fn stop(&self) -> TestResult {
        for extender in self.extenders() {
            ensure!(extender.program.stop().await?.success(), "an extender did not end well");
        }
        Ok(())
    }

    /// The index of the leader.
    pub(crate) async fn deciding(&self) -> anyhow::Result<usize> {
        let mut deciding = 0;
        await_condition("a replica to decide", PATIENCE, async || {
            let mut roles = Vec::new();
            for (index, extender) in self.extenders().iter().enumerate() {
                let metrics = extender.program.get("/metrics").await.map(|(_, text)| text);
                let decides =
                    metrics.is_ok_and(|text| text.contains("almanac_extender_leader 1\n"));
                if decides {
                    deciding = index;
                }
                roles.push(decides);
            }
            Ok(Observation::from_bool(roles.contains(&true), format!("{roles:?}")))
        })
        .await?;
        Ok(deciding)
    }
}

/// Nodes in a unit of this name.
pub(crate) fn unit_nodes(unit: &str, count: usize) -> NodeSpec {
    NodeSpec::named(unit).count(count).label("unit", unit)
}

/// A policy for the pods of `app` with these units: name, priority and cap.
pub(crate) fn policy(app: &str, strategy: &str, units: &[(&str, i32, Option<u32>)]) -> Value {
    let unit = |(name, priority, max): &(&str, i32, Option<u32>)| {
        let mut unit = json!({
            "name": name, "priority": priority,
            "nodeSelector": {"matchLabels": {"unit": name}},
        });
        if let Some(max) = max {
            unit["maxCount"] = json!(max);
        }
        unit
    };
    json!({
        "apiVersion": "scheduling.sigs.x-k8s.io/v1alpha1", "kind": "ResourcePolicy",
        "metadata": {"name": app},
        "spec": {
            "podSelector": {"matchLabels": {"app": app}},
            "strategy": strategy,
            "units": units.iter().map(unit).collect::<Vec<_>>(),
        },
    })
}

/// A Deployment whose pods the second scheduler schedules.
pub(crate) fn deployment(app: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": app},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": app}},
            "template": {
                "metadata": {"labels": {"app": app}},
                "spec": {
                    "schedulerName": SCHEDULER_NAME,
                    "terminationGracePeriodSeconds": 0,
                    "containers": [{"name": "main", "image": "example.com/main:1"}],
                },
            },
        },
    })
}

/// A pod that the second scheduler schedules.
pub(crate) fn pod(name: &str, app: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": app}},
        "spec": {
            "schedulerName": SCHEDULER_NAME,
            "containers": [{"name": "main", "image": "example.com/main:1"}],
        },
    })
}
