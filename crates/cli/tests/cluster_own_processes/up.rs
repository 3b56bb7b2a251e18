//! `almanac up` as users run it: a control plane of its own, its output, and its end.

mod demo;
mod first_hour;
mod resized;
mod surroundings;

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use almanac_fixtures::trials;
use almanac_harness::{
    ControlPlaneOptions, Observation, PATIENCE, Program, TestResult, await_condition, client_for,
    on_own_control_plane, on_this_machine,
};
use almanac_local::environment;
use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::json;

/// A workload and two rules that scale it. A third rule fires much later, at noon.
const SHOP: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
---
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: web, namespace: default}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  rules:
  - {name: opens, schedule: '5 8 * * *', targetReplicas: 5}
  - {name: calms, schedule: '10 8 * * *', targetReplicas: 3}
  - {name: noon, schedule: '0 12 * * *', targetReplicas: 4}
";
/// A CRD that another party has applied.
const THEIRS: &str = "deploy/crds/autoscaling.karpenter.sh_metricsproducers.yaml";
const KUBECONFIG_OF_THE_USER: &str = "apiVersion: v1\nkind: Config\n";

/// A user: a home directory with a kubeconfig, and a data directory.
struct User {
    home: tempfile::TempDir,
}

impl User {
    fn new() -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        fs::create_dir(home.path().join(".kube"))?;
        fs::write(home.path().join(".kube/config"), KUBECONFIG_OF_THE_USER)?;
        Ok(Self { home })
    }

    fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    fn file(&self, name: &str, text: &str) -> anyhow::Result<String> {
        let file = self.home.path().join(name);
        fs::write(&file, text)?;
        Ok(file.display().to_string())
    }

    /// Runs `almanac up` with these arguments.
    fn types(&self, arguments: &[&str]) -> anyhow::Result<Program> {
        let data = self.data().display().to_string();
        let mut all = vec!["up", "--data-dir", &data];
        if arguments.iter().any(|it| matches!(*it, "--ephemeral" | "--cluster")) {
            all.truncate(1);
        }
        all.extend(arguments);
        self.runs(&all)
    }

    /// Runs the program with these arguments.
    fn runs(&self, arguments: &[&str]) -> anyhow::Result<Program> {
        self.runs_program(Path::new(env!("CARGO_BIN_EXE_almanac")), arguments, &[])
    }

    /// Runs `almanac up` under another program, or with additional variables.
    fn runs_program(
        &self,
        program: &Path,
        arguments: &[&str],
        further: &[(&str, &str)],
    ) -> anyhow::Result<Program> {
        let own = self.environment()?;
        let mut environment: Vec<(&str, &str)> =
            own.iter().map(|(name, value)| (*name, value.as_str())).collect();
        environment.extend_from_slice(further);
        Program::start(program, arguments, &environment)
    }

    /// The environment variables of this user.
    fn environment(&self) -> anyhow::Result<Vec<(&'static str, String)>> {
        let text = |path: &Path| path.display().to_string();
        Ok(vec![
            ("HOME", text(self.home.path())),
            ("ALMANAC_CACHE", text(&environment::cache_folder()?)),
            ("KUBECONFIG", String::new()),
            ("XDG_DATA_HOME", String::new()),
            ("NO_PROXY", ",".to_owned()),
            // Each event is one line.
            ("COLUMNS", "1000".to_owned()),
            // A proxy, as in many offices. Addresses on this machine are reached without the proxy.
            ("HTTPS_PROXY", "http://proxy.invalid:3128".to_owned()),
        ])
    }

    /// The instant of the policy clock; `None` if the clock was not set.
    fn clock(&self) -> anyhow::Result<Option<Timestamp>> {
        let Ok(kept) = fs::read(self.data().join("policy-clock.json")) else { return Ok(None) };
        let kept: serde_json::Value = serde_json::from_slice(&kept)?;
        Ok(Some(kept["shown"].as_str().context("it shows an instant")?.parse()?))
    }

    fn client(&self) -> anyhow::Result<Client> {
        client_for(&self.data().join("kubeconfig"))
    }

    /// Checks that nothing is left of any start, and that the user's own kubeconfig is unchanged.
    async fn has_nothing_left(&self) -> TestResult {
        let home = self.home.path().display().to_string();
        await_condition("everything to have ended", PATIENCE, async || {
            let processes = processes_of(&home)?;
            Ok(Observation::from_bool(processes.is_empty(), processes.join("\n")))
        })
        .await?;
        let config = fs::read_to_string(self.home.path().join(".kube/config"))?;
        ensure!(config == KUBECONFIG_OF_THE_USER, "the user's kubeconfig became {config}");
        Ok(())
    }
}

/// The processes with this string in their arguments.
fn processes_of(text: &str) -> anyhow::Result<Vec<String>> {
    let mut processes = Vec::new();
    for entry in fs::read_dir("/proc")? {
        // A process that has ended in the meantime has no arguments.
        let Ok(arguments) = fs::read(entry?.path().join("cmdline")) else { continue };
        let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
        if arguments.contains(text) {
            processes.push(arguments.chars().take(100).collect());
        }
    }
    Ok(processes)
}

async fn replicas(client: &Client) -> anyhow::Result<Option<i32>> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "default");
    Ok(deployments.get("web").await?.spec.and_then(|spec| spec.replicas))
}

async fn await_replicas(client: &Client, wanted: i32) -> TestResult {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "default");
    await_condition(&format!("{wanted} replicas that are ready"), PATIENCE, async || {
        let status = deployments.get("web").await?.status.unwrap_or_default();
        let ready = status.ready_replicas;
        let is_so = replicas(client).await? == Some(wanted) && ready == Some(wanted);
        Ok(Observation::from_bool(is_so, format!("{ready:?} are ready")))
    })
    .await
}

#[test]
fn predicted_actions_occur_and_a_killed_process_continues() -> TestResult {
    on_this_machine(async {
        let user = User::new()?;
        let shop = user.file("shop.yaml", SHOP)?;
        let up = user.types(&["-f", &shop, "--at", "2026-11-27T08:00", "--speed", "60"])?;
        up.await_log("Everything runs").await?;
        let client = user.client()?;
        up.await_log("Deployment default/web → 5: CronFederatedHPA default/web opens fires")
            .await?;
        await_replicas(&client, 5).await?;
        await_replicas(&client, 3).await?;
        // By the policy clock, and with the reason.
        up.await_log("Fri 08:05:").await?;
        up.await_log("Fri 08:10:").await?;
        up.await_log("CronFederatedHPA default/web").await?;

        let another = user.types(&[])?;
        let status = another.await_end().await?;
        ensure!(status.code() == Some(2), "{status}");
        another.await_log(&format!("is in use by process {}", up.id().context("it runs")?)).await?;

        up.kill()?;
        user.has_nothing_left().await?;
        let up = user.types(&[])?;
        up.await_log("Everything runs").await?;
        let client = user.client()?;
        ensure!(
            replicas(&client).await? == Some(3),
            "the replicas are {:?}",
            replicas(&client).await?
        );
        // The clock has not gone back to before past events.
        up.await_log("next, Fri 12:00:00").await?;
        let status = up.stop().await?;
        ensure!(status.success(), "{status}: {}", up.log()?);
        user.has_nothing_left().await
    })
}

#[test]
fn two_instances_run_at_the_same_time_even_if_a_port_is_taken() -> TestResult {
    on_this_machine(async {
        let (one, other) = (User::new()?, User::new()?);
        let (first, second) = (one.types(&["-q"])?, other.types(&["-q"])?);
        for (user, up) in [(&one, &first), (&other, &second)] {
            up.await_log(&user.data().join("kubeconfig").display().to_string()).await?;
        }
        let text = fs::read_to_string(one.data().join("kubeconfig"))?;
        let port = text.split("https://127.0.0.1:").nth(1).context("the server")?;
        let port: u16 =
            port.chars().take_while(char::is_ascii_digit).collect::<String>().parse()?;
        let client = one.client()?;
        let note = json!({"metadata": {"name": "note"}, "data": {"kept": "yes"}});
        let notes: Api<ConfigMap> = Api::namespaced(client, "default");
        notes.create(&PostParams::default(), &serde_json::from_value(note)?).await?;
        // With -q, only the first line is printed.
        ensure!(first.log()?.lines().count() == 1, "{}", first.log()?);

        first.kill()?;
        one.has_nothing_left().await?;
        // The remaining connections of the cluster end soon.
        let _taken = await_condition("the port to be free", PATIENCE, async || {
            Ok(Observation::Holds(std::net::TcpListener::bind(("127.0.0.1", port))?))
        })
        .await?;
        let again = one.types(&["-q"])?;
        again.await_log("kubeconfig").await?;
        let notes: Api<ConfigMap> = Api::namespaced(one.client()?, "default");
        ensure!(notes.get("note").await?.name_any() == "note");
        for up in [again, second] {
            up.stop().await?;
        }
        other.has_nothing_left().await
    })
}

/// The instants are random, from a printed seed.
#[test]
fn a_kill_or_stop_at_any_instant_loses_nothing_and_leaves_no_process() -> TestResult {
    on_this_machine(async {
        let seed = trials::seed("moments at which up is killed");
        let mut random = fastrand::Rng::with_seed(seed);
        let user = User::new()?;
        let (mut kept, mut clock_time) = (0, None);
        for kill in 0..13 {
            let up = user.types(&["-q", "--speed", "600"])?;
            let mut is_up_since = None;
            // No wait for a condition: the kill must come at a random instant.
            let mut remaining = Duration::from_millis(random.u64(0..6_000));
            let started = std::time::Instant::now();
            let is_up = tokio::time::timeout(remaining, up.await_log("kubeconfig")).await;
            if let Ok(is_up) = is_up {
                is_up?;
                is_up_since = Some(std::time::Instant::now());
                let notes: Api<ConfigMap> = Api::namespaced(user.client()?, "default");
                let count = notes.list(&kube::api::ListParams::default()).await?;
                let count = count.iter().filter(|it| it.name_any().starts_with("note-")).count();
                ensure!(count == kept, "{count} notes of {kept} are there at start {kill}");
                let note = json!({"metadata": {"name": format!("note-{kill}")}});
                notes.create(&PostParams::default(), &serde_json::from_value(note)?).await?;
                kept += 1;
                remaining = remaining.saturating_sub(started.elapsed());
                tokio::time::sleep(remaining).await;
            }
            let ran = is_up_since.map_or(Duration::ZERO, |it| it.elapsed());
            let status = match kill {
                3 | 11 => Some(up.interrupt().await?),
                7 => Some(up.stop().await?),
                _ => up.kill().map(|()| None)?,
            };
            // Before the program handles signals, no process needs an end, and the signal itself ends the program.
            let ended_well = |it: ExitStatus| it.success() || it.signal().is_some();
            ensure!(status.is_none_or(ended_well), "{status:?}: {}", up.log()?);
            user.has_nothing_left().await?;
            let clock_time_before = clock_time;
            clock_time = user.clock()?;
            // Ten minutes of the policy clock pass in a second, so the instant of a kill is unknown.
            let passed =
                if status.is_some_and(|it| it.success()) { ran * 600 } else { Duration::ZERO };
            let least = clock_time_before.map(|it| it + passed);
            ensure!(
                clock_time >= least,
                "the clock shows {clock_time:?}, but has already reached {least:?}"
            );
        }
        let up = user.types(&["-q"])?;
        up.await_log("kubeconfig").await?;
        let notes: Api<ConfigMap> = Api::namespaced(user.client()?, "default");
        let count = notes.list(&kube::api::ListParams::default()).await?;
        let count = count.iter().filter(|it| it.name_any().starts_with("note-")).count();
        ensure!(count == kept, "{count} notes of {kept} are there at the end");
        up.stop().await?;
        user.has_nothing_left().await
    })
}

#[test]
fn with_an_existing_cluster_only_almanac_runs_and_reads_the_kubeconfig() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::whole(), async |test| {
        let _nodes = test.nodes(&[almanac_harness::NodeSpec::named("node")]).await?;
        let user = User::new()?;
        // Objects without a namespace are created in the namespace of the context, as with kubectl.
        let shop = user.file("shop.yaml", &SHOP.replace(", namespace: default", ""))?;
        let config = fs::read_to_string(test.plane.kubeconfig())?;
        fs::write(user.home.path().join(".kube/config"), &config)?;
        let parsed: serde_json::Value = serde_json::from_str(&config)?;
        let context = parsed["current-context"].as_str().context("the context has a name")?;

        let unasked = user.types(&["--cluster", context])?;
        let status = unasked.await_end().await?;
        ensure!(status.code() == Some(2), "{status}");
        unasked.await_log("standard input is not a terminal; add --yes").await?;
        let unknown = user.types(&["--cluster", "nowhere", "--yes"])?;
        unknown.await_end().await?;
        unknown.await_log(&format!("has no context \"nowhere\"; it has {context}")).await?;

        let theirs = Path::new(crate::documented::ROOT).join(THEIRS).display().to_string();
        test.kubectl().await?.run(&["apply", "-f", &theirs]).await?;
        let at = ["--at", "2026-11-27T08:00", "--speed", "60"];
        let up = user.types(&[&["--cluster", context, "--yes", "-f", &shop], &at[..]].concat())?;
        up.await_log(&format!("left the existing CRDs in {context} unchanged: MetricsProducer"))
            .await?;
        up.await_log("Everything runs").await?;
        await_replicas(&test.client(), 5).await?;
        await_replicas(&test.client(), 3).await?;
        let status = up.stop().await?;
        ensure!(status.success(), "{status}: {}", up.log()?);
        // The cluster continues to run.
        ensure!(replicas(&test.client()).await? == Some(3));
        let after = fs::read_to_string(user.home.path().join(".kube/config"))?;
        ensure!(after == config, "the user's kubeconfig became {after}");
        Ok(())
    })
}

#[test]
fn a_failed_start_names_the_fix_and_leaves_nothing() -> TestResult {
    on_this_machine(async {
        let user = User::new()?;
        let wrong = user.file("wrong.yaml", &SHOP.replace("'5 8 * * *'", "'5 8 * *'"))?;
        let (full, empty) = (user.home.path().join("full"), user.home.path().join("empty"));
        fs::create_dir(&empty)?;
        fs::create_dir(&full)?;
        fs::write(full.join("letter"), "dear")?;
        let (full, empty) = (full.display().to_string(), empty.display().to_string());
        for (arguments, message, code) in [
            (vec!["-f", &wrong], "spec.rules[0].schedule", 1),
            (vec!["-f", "/nowhere.yaml"], "/nowhere.yaml", 2),
            (vec!["--at", "someday"], "--at", 2),
            (vec!["--speed", "0"], "--speed", 2),
            (vec!["--nodes", "/nowhere.yaml"], "/nowhere.yaml", 2),
            (vec!["--assets", &empty], "etcd is missing", 2),
        ] {
            let up = user.types(&arguments)?;
            let status = up.await_end().await?;
            ensure!(status.code() == Some(code), "{arguments:?}: {status}: {}", up.log()?);
            up.await_log(message).await?;
        }
        // Go is missing, and no earlier build exists.
        let nothing = [("PATH", &*empty), ("ALMANAC_CACHE", &*empty), ("KUBEBUILDER_ASSETS", "")];
        for (arguments, further, message) in [
            (vec!["up"], &nothing[..], "Go is not on the PATH"),
            (vec!["up", "--data-dir", &full], &[], "contains letter, and is not a data directory"),
        ] {
            let program = Path::new(env!("CARGO_BIN_EXE_almanac"));
            let up = user.runs_program(program, &arguments, further)?;
            let status = up.await_end().await?;
            ensure!(status.code() == Some(2), "{arguments:?}: {status}: {}", up.log()?);
            up.await_log(message).await?;
        }
        user.has_nothing_left().await
    })
}
