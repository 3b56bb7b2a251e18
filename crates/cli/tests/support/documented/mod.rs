//! The commands of a document, as a user would run them.

mod blocks;

use std::path::Path;
use std::process::{Output, Stdio};

use almanac_harness::{Kubectl, OwnTest};
use anyhow::{Context as _, ensure};
use tokio::process::Command;

pub(crate) use self::blocks::{ROOT, shell_blocks};

/// Runs a script in the repository, with the cluster's kubectl and the binary under test.
pub(crate) async fn shell(
    test: &OwnTest,
    kubectl: &Kubectl,
    script: &str,
) -> anyhow::Result<Output> {
    let kubectl = kubectl.program().parent().context("kubectl is in a folder")?;
    let almanac = Path::new(env!("CARGO_BIN_EXE_almanac")).parent().context("so is almanac")?;
    let path = std::env::join_paths(
        [kubectl.to_owned(), almanac.to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )?;
    let mut command = Command::new("bash");
    command.args(["-euo", "pipefail", "-c", script]).current_dir(ROOT).env("PATH", path);
    // The home directory of kubectl, which stores its discovery cache there.
    command.env("KUBECONFIG", test.plane.kubeconfig()).env("HOME", test.plane.folder());
    // Each sentence is one line.
    command.env("COLUMNS", "1000");
    Ok(command.stdin(Stdio::null()).output().await?)
}

/// Runs all commands of a section, and returns their output. Each must succeed without a warning.
pub(crate) async fn run_section(
    test: &OwnTest,
    kubectl: &Kubectl,
    (document, heading): (&str, &str),
) -> anyhow::Result<String> {
    let mut printed = String::new();
    for block in &shell_blocks(document, heading)? {
        let output = shell(test, kubectl, block).await?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{block}failed: {stderr}");
        // Admission warns of requests that stricter enforcement would refuse.
        ensure!(!stderr.contains("Warning"), "{block}warned: {stderr}");
        printed.push_str(&String::from_utf8_lossy(&output.stdout));
    }
    Ok(printed)
}
