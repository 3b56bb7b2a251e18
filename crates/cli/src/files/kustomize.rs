//! A kustomization, as `kubectl kustomize` builds it, and as `kubectl apply -k` would apply it.

use std::process::Command;

use anyhow::{Context as _, ensure};

/// Builds a kustomization. Only for a folder that somebody names: kustomize may start programs and ask
/// the network.
pub(super) fn build(folder: &str) -> anyhow::Result<Vec<u8>> {
    let cannot = || format!("failed to build the kustomization {folder:?}");
    let output = Command::new("kubectl")
        .args(["kustomize", folder])
        .output()
        .context("failed to run kubectl")
        .with_context(cannot)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().strip_prefix("error: ").unwrap_or(said.trim()).to_owned();
    ensure!(output.status.success(), "{}: {said}", cannot());
    Ok(output.stdout)
}
