//! A control plane with the second scheduler of the manifest: kube-scheduler and extenders run as programs of the test.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use almanac_harness::{
    Binaries, Kubectl, NodeSimulator, NodeSpec, Observation, OwnTest, PATIENCE, Program,
    ProgramPort, ServiceAccountAccess, TestResult, await_condition, write_private,
};
use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::reading::get;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const MANIFEST: &str = "deploy/extender/second-scheduler.yaml";
/// The namespace and the `ServiceAccount` of the manifest.
const SCHEDULER: &str = "almanac-scheduler";
const AUDIENCE: &str = "almanac.dev/extender";

/// The name of the scheduler of the manifest.
pub(crate) const SCHEDULER_NAME: &str = "almanac-scheduler";

/// The programs that belong together.
pub(crate) struct Stage {
    pub(crate) kubectl: Kubectl,
    account: ServiceAccountAccess,
    token: PathBuf,
    extenders: RefCell<Vec<Rc<Extender>>>,
    scheduler: RefCell<Option<Program>>,
    _nodes: NodeSimulator,
}

/// An extender, and where it answers.
pub(crate) struct Extender {
    pub(crate) program: Program,
    pub(crate) scheduler_port: ProgramPort,
    pub(crate) peer_port: ProgramPort,
}

impl Stage {
    /// A cluster with these nodes, one extender, and a scheduler beside it.
    pub(crate) async fn set(test: &OwnTest, nodes: &[NodeSpec]) -> anyhow::Result<Stage> {
        let stage = Stage::without_extender(test, nodes).await?;
        stage.begin().await?;
        Ok(stage)
    }

    /// Starts one extender, and a scheduler beside it.
    pub(crate) async fn begin(&self) -> TestResult {
        self.start_extender().await?;
        self.start_scheduler(0)?;
        self.extender(0).program.await_ready().await
    }

    async fn without_extender(test: &OwnTest, nodes: &[NodeSpec]) -> anyhow::Result<Stage> {
        let nodes = test.nodes(nodes).await?;
        let kubectl = test.kubectl().await?;
        kubectl.run(&["apply", "-f", &format!("{ROOT}/deploy/units-crds")]).await?;
        kubectl.run(&["apply", "-f", &format!("{ROOT}/{MANIFEST}")]).await?;
        let crd = "customresourcedefinition/resourcepolicies.scheduling.sigs.x-k8s.io";
        kubectl.run(&["wait", crd, "--for=condition=Established"]).await?;
        Stage::installed(test, nodes, kubectl).await
    }

    /// Where the manifest is applied. The programs of the test stand in for its pods, for which there are no images here.
    pub(crate) async fn installed(
        test: &OwnTest,
        nodes: NodeSimulator,
        kubectl: Kubectl,
    ) -> anyhow::Result<Stage> {
        kubectl.run(&["-n", SCHEDULER, "scale", "deployment", SCHEDULER, "--replicas=0"]).await?;
        let account = test.service_account(SCHEDULER, SCHEDULER).await?;
        let asked = ["-n", SCHEDULER, "create", "token", SCHEDULER, "--audience", AUDIENCE];
        let written = kubectl.run(&asked).await?;
        let token = account.kubeconfig().with_file_name("token");
        write_private(&token, written.trim())?;
        let (extenders, scheduler) = (RefCell::default(), RefCell::default());
        Ok(Stage { kubectl, account, token, extenders, scheduler, _nodes: nodes })
    }

    /// Starts another replica with the arguments of the manifest.
    pub(crate) async fn start_extender(&self) -> TestResult {
        let deployment = get(&self.kubectl, &["-n", SCHEDULER, "deployment", SCHEDULER]).await?;
        let container = &deployment["spec"]["template"]["spec"]["containers"][1];
        let arguments: Vec<String> = serde_json::from_value(container["args"].clone())?;
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
        let program = Program::start_listening(env!("CARGO_BIN_EXE_almanac").as_ref(), &all, &[])?;
        let extender = Extender { program, scheduler_port, peer_port };
        self.extenders.borrow_mut().push(Rc::new(extender));
        Ok(())
    }

    /// Starts kube-scheduler with the configuration of the manifest, beside this extender.
    pub(crate) fn start_scheduler(&self, beside: usize) -> TestResult {
        let manifest = std::fs::read_to_string(Path::new(ROOT).join(MANIFEST))?;
        let port = self.extender(beside).scheduler_port.number();
        let (_, written) = manifest.split_once("configuration.yaml: |\n").context("no file")?;
        let (written, _) = written.split_once("\n---").context("no end of the file")?;
        let mut text = String::new();
        for line in written.lines() {
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
        *self.scheduler.borrow_mut() = Some(program);
        Ok(())
    }

    /// The file with the token of the replicas.
    pub(crate) fn token(&self) -> &Path {
        &self.token
    }

    /// A replica.
    pub(crate) fn extender(&self, index: usize) -> Rc<Extender> {
        Rc::clone(&self.extenders.borrow()[index])
    }

    pub(crate) fn kill(&self, index: usize) -> TestResult {
        self.extender(index).program.kill()
    }

    pub(crate) fn start_again(&self, index: usize) -> TestResult {
        self.extender(index).program.start_again()
    }

    /// Which replica decides.
    pub(crate) async fn deciding(&self) -> anyhow::Result<usize> {
        let mut found = 0;
        await_condition("a replica to decide", PATIENCE, async || {
            let mut seen = Vec::new();
            let extenders = self.extenders.borrow().clone();
            for (index, extender) in extenders.iter().enumerate() {
                let metrics = extender.program.get("/metrics").await.map(|(_, text)| text);
                let decides =
                    metrics.is_ok_and(|text| text.contains("almanac_extender_leader 1\n"));
                if decides {
                    found = index;
                }
                seen.push(decides);
            }
            Ok(Observation::of(seen.contains(&true), format!("{seen:?}")))
        })
        .await?;
        Ok(found)
    }

    pub(crate) async fn apply(&self, object: &Value) -> TestResult {
        self.kubectl.run_with_input(&["apply", "-f", "-"], &object.to_string()).await?;
        Ok(())
    }

    /// Applies a policy, and waits until the extender knows of it.
    pub(crate) async fn govern(&self, policy: &Value) -> TestResult {
        self.apply(policy).await?;
        let name = policy["metadata"]["name"].as_str().context("it has a name")?;
        await_condition(&format!("the policy {name} to be known"), PATIENCE, async || {
            let found = get(&self.kubectl, &["resourcepolicy", name]).await?;
            let observed = &found["status"]["observedGeneration"];
            let is_known = *observed == found["metadata"]["generation"];
            Ok(Observation::of(is_known, found["status"].to_string()))
        })
        .await
    }

    /// Ends all replicas as a kubelet does.
    pub(crate) async fn stop(&self) -> TestResult {
        let extenders = self.extenders.borrow().clone();
        for extender in extenders {
            ensure!(extender.program.stop().await?.success(), "an extender did not end well");
        }
        Ok(())
    }

    /// How many pods of `app` are on nodes whose names begin with each of these, and how many wait.
    pub(crate) async fn spread(&self, app: &str, of: &[&str]) -> anyhow::Result<Vec<usize>> {
        let pods = get(&self.kubectl, &["pods", "-l", &format!("app={app}")]).await?;
        let pods = pods["items"].as_array().context("no list")?;
        let pods = pods.iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        let nodes: Vec<&str> =
            pods.map(|pod| pod["spec"]["nodeName"].as_str().unwrap_or_default()).collect();
        let on = |prefix: &str| nodes.iter().filter(|node| node.starts_with(prefix)).count();
        let waiting = nodes.iter().filter(|node| node.is_empty()).count();
        Ok(of.iter().map(|prefix| on(prefix)).chain([waiting]).collect())
    }

    pub(crate) async fn await_spread(
        &self,
        app: &str,
        of: &[&str],
        expected: &[usize],
    ) -> TestResult {
        let what = format!("the pods of {app} to be spread over {of:?} as {expected:?}");
        await_condition(&what, PATIENCE, async || {
            let spread = self.spread(app, of).await?;
            Ok(Observation::of(spread == expected, format!("{spread:?}")))
        })
        .await
    }

    /// That it stays so for a while in which the scheduler would have had time to do more.
    pub(crate) async fn check_stays(
        &self,
        app: &str,
        of: &[&str],
        expected: &[usize],
    ) -> TestResult {
        for _ in 0..10 {
            let spread = self.spread(app, of).await?;
            ensure!(spread == expected, "{spread:?} instead of {expected:?}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        Ok(())
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
        "metadata": {"name": app, "namespace": "default"},
        "spec": {
            "podSelector": {"matchLabels": {"app": app}},
            "strategy": strategy,
            "units": units.iter().map(unit).collect::<Vec<_>>(),
        },
    })
}

/// A Deployment whose pods the second scheduler places.
pub(crate) fn deployment(app: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": app, "namespace": "default"},
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

/// A pod that the second scheduler places.
pub(crate) fn pod(name: &str, app: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": app}},
        "spec": {
            "schedulerName": SCHEDULER_NAME,
            "containers": [{"name": "main", "image": "example.com/main:1"}],
        },
    })
}
