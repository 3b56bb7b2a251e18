//! The environment of `almanac up`: a full disk, and a Prometheus.

use std::fs;
use std::path::Path;
use std::process::Command;

use almanac_harness::{
    Observation, PATIENCE, TestResult, await_condition, on_this_machine, provide_prometheus,
};
use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, PostParams};
use serde_json::json;

use crate::up::{SHOP, User, await_replicas};

/// Gives the program a data disk of this size that no other process can access: `unshare` needs no permissions for
/// that. After the program has ended because of the full disk, the space is freed, and the program runs again.
const WITH_A_DISK: &str = r#"mount -t tmpfs -o size="$1" none "$2" || exit
data="$2"; shift 2; "$@"; code=$?; echo "up has ended with $code"
[ -f "$data/filler" ] || exit $code
rm "$data/filler"; exec "$@""#;
const ENDED: &str = "up has ended with";

#[test]
fn a_full_disk_is_reported_before_anything_starts() -> TestResult {
    on_this_machine(async {
        let user = User::new()?;
        fs::create_dir(user.data())?;
        let up = on_a_disk(&user, "64m")?;
        let status = up.await_end().await?;
        ensure!(status.code() == Some(2), "{status}: {}", up.log()?);
        up.await_log("67 MB free on its disk; the control plane needs 268 MB").await?;
        user.has_nothing_left().await
    })
}

#[test]
fn a_full_disk_ends_up_with_a_reason_and_keeps_accepted_writes() -> TestResult {
    on_this_machine(async {
        let user = User::new()?;
        fs::create_dir(user.data())?;
        let up = on_a_disk(&user, "400m")?;
        up.await_log("Everything runs").await?;
        // The disk in the program's mount namespace.
        let root = format!("/proc/{}/root", up.id().context("up does not run")?);
        let data = Path::new(&root).join(user.data().strip_prefix("/")?);
        let notes = notes_on(&data, &user)?;
        let filler = data.join("filler");
        fill(&filler)?;
        let mut taken = 0;
        let refused = await_condition("something to be refused", PATIENCE, async || {
            let name = format!("note-{taken}");
            let note = json!({"metadata": {"name": name}, "data": {"text": "x".repeat(900_000)}});
            Ok(match notes.create(&PostParams::default(), &serde_json::from_value(note)?).await {
                Ok(_) => {
                    taken += 1;
                    Observation::NotYet(format!("{taken} are taken"))
                }
                Err(error) => Observation::Holds(error.to_string()),
            })
        });
        println!("refused: {}", refused.await?);
        up.await_log("data is full").await?;
        up.await_log(&format!("{ENDED} 2")).await?;

        let again = await_condition("up to run again", PATIENCE, async || {
            let log = up.log()?;
            let (_, after) = log.split_once(ENDED).unwrap_or_default();
            Ok(Observation::from_bool(after.contains("Everything runs"), after))
        });
        again.await?;
        let count = notes_on(&data, &user)?.list(&ListParams::default()).await?;
        let count = count.iter().filter(|it| it.name_any().starts_with("note-")).count();
        // A refused write may have been applied, as with any timeout.
        ensure!(count == taken || count == taken + 1, "{count} of {taken} notes are there");
        let status = up.stop().await?;
        ensure!(status.success(), "{status}: {}", up.log()?);
        user.has_nothing_left().await
    })
}

#[test]
fn autoscalers_query_a_prometheus_on_the_path() -> TestResult {
    on_this_machine(async {
        let prometheus = tokio::task::spawn_blocking(provide_prometheus).await??;
        let folder = prometheus.parent().context("the program is not in a directory")?;
        let own = std::env::var_os("PATH").unwrap_or_default();
        let all = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&own));
        let path = std::env::join_paths(all)?;
        let path = path.to_str().context("a plain path")?;
        let user = User::new()?;
        let (workload, _) = SHOP.split_once("---\n").context("the workload comes first")?;
        let autoscaler = "\
---
apiVersion: autoscaling.karpenter.sh/v1alpha1
kind: HorizontalAutoscaler
metadata: {name: web, namespace: default}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 1
  maxReplicas: 9
  metrics: [{prometheus: {query: vector(4), target: {type: AverageValue, value: 1}}}]
";
        let shop = user.file("shop.yaml", &format!("{workload}{autoscaler}"))?;
        let data = user.data().display().to_string();
        let program = Path::new(env!("CARGO_BIN_EXE_almanac"));
        let arguments = ["up", "--data-dir", &data, "-f", &shop];
        let up = user.runs_program(program, &arguments, &[("PATH", path)])?;
        up.await_log("Prometheus is at http://127.0.0.1:").await?;
        await_replicas(&user.client()?, 4).await?;
        up.stop().await?;
        user.has_nothing_left().await
    })
}

fn on_a_disk(user: &User, size: &str) -> anyhow::Result<almanac_harness::Program> {
    let allowed = Command::new("unshare").args(["-r", "-m", "true"]).output()?;
    let refusal = String::from_utf8_lossy(&allowed.stderr);
    ensure!(allowed.status.success(), "a disk of one's own takes user namespaces: {refusal}");
    let data = user.data().display().to_string();
    let almanac = env!("CARGO_BIN_EXE_almanac");
    let arguments = ["-r", "-m", "sh", "-c", WITH_A_DISK, "disk", size, &data, almanac];
    let arguments = [&arguments[..], &["up", "--data-dir", &data]].concat();
    user.runs_program(Path::new("unshare"), &arguments, &[])
}

/// A client for `ConfigMaps` of the control plane whose data other processes access under this path.
fn notes_on(data: &Path, user: &User) -> anyhow::Result<Api<ConfigMap>> {
    let kubeconfig = fs::read_to_string(data.join("kubeconfig"))?
        .replace(&user.data().display().to_string(), &data.display().to_string());
    let here = user.home.path().join("kubeconfig");
    fs::write(&here, kubeconfig)?;
    Ok(Api::namespaced(almanac_harness::client_for(&here)?, "default"))
}

/// Writes a file until the disk is full.
fn fill(file: &Path) -> anyhow::Result<()> {
    use std::io::Write as _;
    let mut file = fs::File::create(file)?;
    let block = vec![0; 64 * 1024];
    while file.write_all(&block).is_ok() {}
    Ok(())
}
