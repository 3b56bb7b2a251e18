//! Control planes that begin with what the API server writes into an empty etcd: roles, namespaces, priority classes.
//! The first start of this machine makes that, every other one copies it, which saves a third of its CPU time.
//!
//! Certificates, ports and everything else are each control plane's own.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use almanac_local::environment::cache_folder;
use almanac_local::{
    BOOTSTRAPPED, Binaries, Component, ControlPlane, ControlPlaneDir, ControlPlaneOptions,
    RunFolder,
};
use anyhow::{Context as _, Result};

/// The directory of a control plane's data, in its directory.
const DATA: &str = "etcd";

/// Starts a control plane in a directory that goes with it.
pub(crate) async fn start(options: &ControlPlaneOptions) -> Result<ControlPlane> {
    let binaries = Binaries::provide_async().await?;
    let made = provide(&binaries).await.context("failed to prepare the data of control planes")?;
    let folder = RunFolder::create()?;
    copy(&made, &folder.path().join(DATA))?;
    ControlPlane::start_in(ControlPlaneDir::Run(folder), &binaries, options).await
}

/// The data that these programs begin with; the first process that needs it creates it.
async fn provide(binaries: &Binaries) -> Result<PathBuf> {
    let parent = cache_folder()?.join(BOOTSTRAPPED);
    fs::create_dir_all(&parent)?;
    let made = parent.join(format!("{:016x}", version_of(binaries)?));
    if made.is_dir() {
        return Ok(made);
    }
    let gate = parent.join("lock");
    let gate = tokio::task::spawn_blocking(move || -> Result<File> {
        let file = File::create(gate)?;
        file.lock()?;
        Ok(file)
    });
    let _gate = gate.await??;
    if !made.is_dir() {
        let (dir, options) =
            (ControlPlaneDir::Run(RunFolder::create()?), ControlPlaneOptions::api_only());
        let plane = ControlPlane::start_in(dir, binaries, &options).await?;
        // Nothing is written any more once the API server is gone, and etcd has it all on the disk.
        for component in [Component::ApiServer, Component::Etcd] {
            plane.kill(component)?;
        }
        let whole = parent.join("being-made");
        if whole.exists() {
            fs::remove_dir_all(&whole)?;
        }
        copy(&plane.folder().join(DATA), &whole)?;
        fs::rename(&whole, &made)?;
    }
    Ok(made)
}

/// Differs when the programs do, or how they are started.
fn version_of(binaries: &Binaries) -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    include_str!("../../../crates/local/src/flags.rs").hash(&mut hasher);
    for component in [Component::ApiServer, Component::Etcd] {
        let program = binaries.program(component.program())?;
        let metadata = fs::metadata(&program)?;
        let changed = metadata.modified()?.duration_since(SystemTime::UNIX_EPOCH)?;
        (program, metadata.len(), changed).hash(&mut hasher);
    }
    Ok(hasher.finish())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("failed to create {}", to.display()))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&from, &to)?;
        } else if from.extension().is_none_or(|extension| extension != "tmp") {
            // What etcd has only reserved, it makes again.
            fs::copy(&from, &to).with_context(|| format!("failed to copy {}", from.display()))?;
        }
    }
    Ok(())
}
