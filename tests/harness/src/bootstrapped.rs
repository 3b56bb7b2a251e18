//! Control planes whose etcd already contains the initial objects of the API server: roles, namespaces, priority
//! classes. The first start on this machine creates the data, and later starts copy the data. That saves a third of the
//! CPU time of a start.
//!
//! Each control plane has its own certificates, ports and other files.

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

/// The name of the data directory in the directory of a control plane.
const DATA: &str = "etcd";

/// Starts a control plane in a temporary directory.
pub(crate) async fn start(options: &ControlPlaneOptions) -> Result<ControlPlane> {
    let binaries = Binaries::provide_async().await?;
    let template =
        provide(&binaries).await.context("failed to prepare the data of control planes")?;
    let folder = RunFolder::create()?;
    copy(&template, &folder.path().join(DATA))?;
    ControlPlane::start_in(ControlPlaneDir::Run(folder), &binaries, options).await
}

/// The initial data for these programs. The first process that needs the data creates the data.
async fn provide(binaries: &Binaries) -> Result<PathBuf> {
    let parent = cache_folder()?.join(BOOTSTRAPPED);
    fs::create_dir_all(&parent)?;
    let template = parent.join(format!("{:016x}", version_of(binaries)?));
    if template.is_dir() {
        return Ok(template);
    }
    let gate = parent.join("lock");
    let gate = tokio::task::spawn_blocking(move || -> Result<File> {
        let file = File::create(gate)?;
        file.lock()?;
        Ok(file)
    });
    let _gate = gate.await??;
    if !template.is_dir() {
        let (dir, options) =
            (ControlPlaneDir::Run(RunFolder::create()?), ControlPlaneOptions::api_only());
        let plane = ControlPlane::start_in(dir, binaries, &options).await?;
        // After the end of the API server, no more writes follow, and etcd has written all data to the disk.
        for component in [Component::ApiServer, Component::Etcd] {
            plane.kill(component)?;
        }
        let whole = parent.join("being-made");
        if whole.exists() {
            fs::remove_dir_all(&whole)?;
        }
        copy(&plane.folder().join(DATA), &whole)?;
        fs::rename(&whole, &template)?;
    }
    Ok(template)
}

/// A hash of the programs and of their arguments.
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
            // etcd allocates reserved space again.
            fs::copy(&from, &to).with_context(|| format!("failed to copy {}", from.display()))?;
        }
    }
    Ok(())
}
