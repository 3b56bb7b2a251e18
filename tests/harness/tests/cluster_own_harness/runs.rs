//! Whole runs: two concurrent runs, a killed run, and components that restart while pods run.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use almanac_harness::{
    Binaries, Component, ControlPlane, ControlPlaneOptions, NodeSpec, Observation, PATIENCE,
    TestResult, await_condition, client_for, on_own_control_plane,
};
use almanac_local::{ControlPlaneDir, DataFolder};
use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::Client;
use kube::api::{Api, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

/// A separate run: another process that runs a control plane.
struct Run {
    process: Child,
    ready: Value,
}

impl Run {
    fn start() -> Result<Self> {
        let mut process = Command::new(env!("CARGO_BIN_EXE_control-plane"))
            .args(["up", "--api-only"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("no output")?).read_line(&mut line)?;
        let ready = serde_json::from_str(&line)
            .with_context(|| format!("the run printed {line:?} instead of being ready"));
        if ready.is_err() {
            process.kill()?;
            process.wait()?;
        }
        Ok(Self { process, ready: ready? })
    }

    fn folder(&self) -> PathBuf {
        PathBuf::from(self.ready["folder"].as_str().unwrap_or_default())
    }

    fn kubeconfig(&self) -> PathBuf {
        PathBuf::from(self.ready["kubeconfig"].as_str().unwrap_or_default())
    }

    /// Kills the whole run (SIGKILL), without any cleanup.
    fn kill(&mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    fn process_of(&self, component: Component) -> Result<i32> {
        let id = self.ready["processes"][component.program()].as_i64();
        Ok(i32::try_from(id.with_context(|| format!("no process of {component}"))?)?)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// The processes that have the directory in their arguments: the components, and their watchers.
fn processes_in(folder: &Path) -> Result<Vec<String>> {
    let folder = folder.to_str().context("a directory with a strange name")?;
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        // A process that has ended has no arguments, and neither has a zombie.
        let Ok(arguments) = std::fs::read(entry?.path().join("cmdline")) else {
            continue;
        };
        let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
        if arguments.contains(folder) {
            found.push(arguments.chars().take(60).collect());
        }
    }
    Ok(found)
}

#[tokio::test]
async fn a_run_that_is_killed_leaves_no_process() -> TestResult {
    let mut run = Run::start()?;
    let folder = run.folder();
    ensure!(processes_in(&folder)?.len() >= 2, "the processes of the run are not found");
    // The hardest case: a stopped process cannot react.
    let etcd = rustix::process::Pid::from_raw(run.process_of(Component::Etcd)?).context("no id")?;
    rustix::process::kill_process(etcd, rustix::process::Signal::STOP)?;

    run.kill()?;
    await_condition("the processes of the killed run to be gone", PATIENCE, async || {
        let left = processes_in(&folder)?;
        Ok(Observation::from_bool(left.is_empty(), format!("{left:?}")))
    })
    .await?;
    // The next run removes the files of the killed run.
    drop(ControlPlane::start(&ControlPlaneOptions::api_only()).await?);
    ensure!(!folder.exists(), "{} is still there", folder.display());
    Ok(())
}

#[tokio::test]
async fn two_concurrent_runs_do_not_interfere() -> TestResult {
    let starting = [std::thread::spawn(Run::start), std::thread::spawn(Run::start)];
    let mut runs = Vec::new();
    for run in starting {
        runs.push(run.join().map_err(|_| anyhow::anyhow!("a run panicked"))??);
    }
    let mut namespaces: Vec<Api<Namespace>> = Vec::new();
    for run in &runs {
        namespaces.push(Api::all(client_for(&run.kubeconfig())?));
    }
    // The same name in both runs: two separate objects.
    let same: Namespace = serde_json::from_value(json!({"metadata": {"name": "same"}}))?;
    let first = namespaces[0].create(&PostParams::default(), &same).await?;
    let second = namespaces[1].create(&PostParams::default(), &same).await?;
    assert_ne!(first.metadata.uid, second.metadata.uid);
    assert_ne!(runs[0].folder(), runs[1].folder());

    // The end of one run does not affect the other run.
    runs[0].kill()?;
    assert_eq!(namespaces[1].get("same").await?.metadata.uid, second.metadata.uid);
    assert!(runs[1].folder().exists());
    Ok(())
}

#[tokio::test]
async fn a_killed_control_plane_continues_with_its_data_at_the_same_address() -> TestResult {
    let data = tempfile::tempdir()?;
    let binaries = Binaries::provide()?;
    let start = async || {
        let dir = ControlPlaneDir::Data(DataFolder::take(data.path(), "1.36")?);
        ControlPlane::start_in(dir, &binaries, &ControlPlaneOptions::api_only()).await
    };
    let first = start().await?;
    let (address, kubeconfig) = (first.url(Component::ApiServer), first.kubeconfig());
    let kept: Namespace = serde_json::from_value(json!({"metadata": {"name": "kept"}}))?;
    let namespaces: Api<Namespace> = Api::all(first.client()?);
    let written = namespaces.create(&PostParams::default(), &kept).await?;
    // The programs of the run are killed; no program can finish its work.
    drop(first);

    let again = start().await?;
    assert_eq!((again.url(Component::ApiServer), again.kubeconfig()), (address, kubeconfig));
    let namespaces: Api<Namespace> = Api::all(again.client()?);
    assert_eq!(namespaces.get("kept").await?.metadata.uid, written.metadata.uid);
    Ok(())
}

#[test]
fn pods_wait_for_a_killed_scheduler_and_proceed_after_its_restart() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::whole(), async |test| {
        let nodes = test.nodes(&[NodeSpec::named("node")]).await?;
        test.plane.kill(Component::Scheduler)?;
        let pods: Api<Pod> = Api::default_namespaced(test.client());
        let pod = serde_json::from_value(json!({
            "metadata": {"name": "waiting"},
            "spec": {"containers": [{"name": "main", "image": "none"}]},
        }))?;
        await_condition("the pod to be accepted", PATIENCE, async || {
            pods.create(&PostParams::default(), &pod).await?;
            Ok(Observation::Holds(()))
        })
        .await?;
        let spec = pods.get("waiting").await?.spec.unwrap_or_default();
        assert_eq!(spec.node_name, None);
        test.plane.restart(Component::Scheduler).await?;
        await_condition("the pod to run", PATIENCE, async || {
            let pod = pods.get("waiting").await?;
            let node = pod.spec.and_then(|spec| spec.node_name);
            let phase = pod.status.and_then(|status| status.phase).unwrap_or_default();
            let runs = phase == "Running" && node.as_ref() == nodes.names().first();
            Ok(Observation::from_bool(runs, format!("{phase} on {node:?}")))
        })
        .await
    })
}

#[test]
fn etcd_accepts_only_clients_with_a_certificate_of_its_own_ca() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let etcd_version = async |client: Client| -> Result<String> {
            Ok(client.request_text(http::Request::get("/health").body(Vec::new())?).await?)
        };
        let response = etcd_version(test.plane.etcd_client()?).await?;
        ensure!(response.contains(r#""health":"true""#), "{response}");
        let address = test.plane.url(Component::Etcd);
        let mut outsider = kube::Config::new(address.parse()?);
        outsider.accept_invalid_certs = true;
        let refused = etcd_version(Client::try_from(outsider)?).await;
        ensure!(refused.is_err(), "an unauthenticated user receives {refused:?}");
        // etcd also rejects a client whom the API server would authorize.
        let administrator = Kubeconfig::read_from(test.plane.kubeconfig())?;
        let options = KubeConfigOptions::default();
        let mut administrator =
            kube::Config::from_custom_kubeconfig(administrator, &options).await?;
        administrator.cluster_url = address.parse()?;
        // A missing proxy would refuse as well.
        administrator.proxy_url = None;
        administrator.accept_invalid_certs = true;
        let refused = etcd_version(Client::try_from(administrator)?).await;
        ensure!(refused.is_err(), "an administrator of the cluster receives {refused:?}");
        Ok(())
    })
}
