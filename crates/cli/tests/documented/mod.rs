//! The commands of a document, as a reader would run them.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use almanac_harness::{Kubectl, OwnTest};
use anyhow::{Context as _, ensure};
use tokio::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The ```` ```sh ```` blocks of a section of a document; there are some.
pub(crate) fn shell_blocks(document: &str, heading: &str) -> anyhow::Result<Vec<String>> {
    let text = fs::read_to_string(Path::new(ROOT).join(document))?;
    let section = text.split("\n## ").find(|section| section.lines().next() == Some(heading));
    let blocks = section.unwrap_or_default().split("```sh\n").skip(1);
    let blocks = blocks.filter_map(|block| Some(block.split_once("```")?.0.to_owned()));
    let blocks: Vec<String> = blocks.collect();
    ensure!(!blocks.is_empty(), "{document} has no commands under {heading:?}");
    Ok(blocks)
}

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
    // kubectl keeps what it has discovered at home.
    command.env("KUBECONFIG", test.plane.kubeconfig()).env("HOME", test.plane.folder());
    Ok(command.stdin(Stdio::null()).output().await?)
}

/// Runs all commands of a section, each of which has to succeed without a warning; what they printed.
pub(crate) async fn run_section(
    test: &OwnTest,
    kubectl: &Kubectl,
    (document, heading): (&str, &str),
) -> anyhow::Result<String> {
    let mut printed = String::new();
    for block in &shell_blocks(document, heading)? {
        let output = shell(test, kubectl, block).await?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{block}failed: {said}");
        // What admission would refuse if it enforced more, it warns of.
        ensure!(!said.contains("Warning"), "{block}warned: {said}");
        printed.push_str(&String::from_utf8_lossy(&output.stdout));
    }
    Ok(printed)
}
