//! The variables that change where the harness finds things and keeps them. Every read of the
//! environment by the harness is in this file.

use std::env;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

/// A kubeconfig: tests in a namespace of their own use that cluster instead of starting one.
pub const KUBECONFIG_TEST: &str = "KUBECONFIG_TEST";
/// A folder with `etcd` and `kube-apiserver` (and, where there are, the other programs): these are
/// started instead of the ones built from the Go modules.
pub const KUBEBUILDER_ASSETS: &str = "KUBEBUILDER_ASSETS";
/// The run folder of a control plane that `control-plane up` started: the test processes of one
/// run share it instead of starting one each.
pub const CONTROL_PLANE: &str = "ALMANAC_TEST_CONTROL_PLANE";
/// Where built programs and the folders of runs are kept.
pub const CACHE: &str = "ALMANAC_TEST_CACHE";

/// The folder for what is built and what is running: `ALMANAC_TEST_CACHE`, else `almanac` in the
/// user's cache folder.
pub fn cache_folder() -> Result<PathBuf> {
    let (name, folder) = if let Some(folder) = path(CACHE) {
        (CACHE, folder)
    } else if let Some(folder) = path("XDG_CACHE_HOME") {
        ("XDG_CACHE_HOME", folder.join("almanac"))
    } else if let Some(home) = path("HOME") {
        ("HOME", home.join(".cache/almanac"))
    } else {
        bail!("no cache folder is known: set {CACHE}, XDG_CACHE_HOME or HOME to an absolute path");
    };
    if !folder.is_absolute() {
        bail!("{name} gives {}, which is not an absolute path", folder.display());
    }
    Ok(folder)
}

/// The value of `KUBECONFIG_TEST`, which must name a file.
pub fn foreign_kubeconfig() -> Result<Option<PathBuf>> {
    let Some(file) = path(KUBECONFIG_TEST) else {
        return Ok(None);
    };
    if !file.is_file() {
        bail!("{KUBECONFIG_TEST} names {}, which is not a file", file.display());
    }
    Ok(Some(file))
}

/// The value of `KUBEBUILDER_ASSETS`, which must name a folder.
pub fn assets_folder() -> Result<Option<PathBuf>> {
    let Some(folder) = path(KUBEBUILDER_ASSETS) else {
        return Ok(None);
    };
    let folder =
        folder.canonicalize().ok().filter(|folder| folder.is_dir()).with_context(|| {
            format!("{KUBEBUILDER_ASSETS} names {}, which is not a folder", folder.display())
        })?;
    Ok(Some(folder))
}

/// The run folder in `ALMANAC_TEST_CONTROL_PLANE`, which must hold a kubeconfig.
pub fn handed_over_run() -> Result<Option<PathBuf>> {
    let Some(folder) = path(CONTROL_PLANE) else {
        return Ok(None);
    };
    if !folder.join("kubeconfig").is_file() {
        bail!(
            "{CONTROL_PLANE} names {}, where no control plane is running: start one with `control-plane up`",
            folder.display()
        );
    }
    Ok(Some(folder))
}

/// The program of that name in the folders of `PATH`.
#[must_use]
pub fn program_on_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// An empty variable counts as one that is not set.
fn path(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
