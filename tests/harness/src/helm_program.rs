//! Builds Helm from its Go module into the cache directory, once for each version. This file does not run Helm.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use almanac_local::{answer_of, environment, print_progress, question_to};
use anyhow::{Context as _, Result, bail, ensure};

/// The version of Helm. Go verifies downloads with its checksum database.
const VERSION: &str = "3.21.4";
/// The minor version of Kubernetes 1 that this version of Helm assumes. Releases of Helm set the version at link time.
const KUBERNETES_MINOR: u32 = 36;
const MODULE: &str = "helm.sh/helm/v3";

/// The program `helm`, in a directory of its own. The first build requires Go and some minutes.
pub fn provide_helm() -> Result<PathBuf> {
    let kept_in = environment::cache_folder()?.join("helm");
    let folder = kept_in.join(VERSION);
    let program = folder.join("helm");
    if program.is_file() {
        return Ok(program);
    }
    let Some(go) = environment::program_on_path("go") else {
        bail!("Go is not on the PATH, and it takes Go to build Helm, once: install it (go.dev/dl)");
    };
    fs::create_dir_all(&kept_in)
        .with_context(|| format!("failed to create {}", kept_in.display()))?;
    let lock = File::create(kept_in.join("lock"))?;
    lock.lock().context("failed to lock the cache directory")?;
    if !program.is_file() {
        print_progress(&format!("building Helm {VERSION}; the first time, this takes minutes"));
        build(&go, &kept_in, &folder).context("failed to build Helm")?;
    }
    Ok(program)
}

fn build(go: &Path, kept_in: &Path, folder: &Path) -> Result<()> {
    // A killed run left this directory, and this process holds the lock now.
    let unfinished = kept_in.join("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    let flags = format!(
        "-s -w -X {MODULE}/internal/version.version=v{VERSION} \
         -X {MODULE}/pkg/chartutil.k8sVersionMajor=1 \
         -X {MODULE}/pkg/chartutil.k8sVersionMinor={KUBERNETES_MINOR}"
    );
    let mut question = question_to(go);
    question
        .args(["install", "-trimpath", "-buildvcs=false", "-ldflags", &flags])
        .arg(format!("{MODULE}/cmd/helm@v{VERSION}"))
        .env("GOBIN", &unfinished)
        // The same settings as for the control plane, so that Go reuses compiled packages.
        .env("CGO_ENABLED", "0")
        .env_remove("GOOS")
        .env_remove("GOARCH")
        .current_dir(kept_in);
    let answer = answer_of(question).context("failed to start go")?;
    let stderr = String::from_utf8_lossy(&answer.stderr);
    ensure!(
        answer.status.success(),
        "`go install` ended with {}: {}",
        answer.status,
        stderr.trim()
    );
    fs::rename(&unfinished, folder)
        .with_context(|| format!("failed to move it to {}", folder.display()))
}
