//! The environment variables for the locations of programs and data. Every read of the
//! environment by this crate is in this file.

use std::env;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};

/// A directory with `etcd`, `kube-apiserver` and, optionally, the other programs. These programs are
/// started instead of the ones built from the Go modules.
pub const KUBEBUILDER_ASSETS: &str = "KUBEBUILDER_ASSETS";
/// The version of Kubernetes to build, such as `1.36`; the newest if unset.
pub const KUBERNETES_VERSION: &str = "ALMANAC_KUBERNETES_VERSION";
/// The directory of built programs and of the directories of runs.
pub const CACHE: &str = "ALMANAC_CACHE";

/// The directory of built programs and of runs: `ALMANAC_CACHE`, else `almanac` in the
/// user's cache directory.
pub fn cache_folder() -> Result<PathBuf> {
    first_of("cache", [(CACHE, ""), ("XDG_CACHE_HOME", "almanac"), ("HOME", ".cache/almanac")])
}

/// The directory of the built control planes.
pub fn control_planes() -> Result<PathBuf> {
    Ok(cache_folder()?.join("control-plane"))
}

/// The directory of the data that is kept from run to run: `almanac` in the user's data directory.
pub fn data_folder() -> Result<PathBuf> {
    first_of("data", [("XDG_DATA_HOME", "almanac"), ("HOME", ".local/share/almanac")])
}

/// The given path below the directory in the first of these variables that is set.
fn first_of<const N: usize>(what: &str, places: [(&str, &str); N]) -> Result<PathBuf> {
    let set = places.iter().find_map(|(name, below)| Some((name, path(name)?, below)));
    let Some((name, folder, below)) = set else {
        let names = places.map(|(name, _)| name).join(" or ");
        bail!("no {what} directory is known: set {names} to an absolute path");
    };
    ensure!(
        folder.is_absolute(),
        "{name} gives {}, which is not an absolute path",
        folder.display()
    );
    Ok(if below.is_empty() { folder } else { folder.join(below) })
}

/// The value of `KUBEBUILDER_ASSETS`, which must name a directory.
pub fn assets_folder() -> Result<Option<PathBuf>> {
    let Some(folder) = path(KUBEBUILDER_ASSETS) else {
        return Ok(None);
    };
    let folder =
        folder.canonicalize().ok().filter(|folder| folder.is_dir()).with_context(|| {
            format!("{KUBEBUILDER_ASSETS} names {}, which is not a directory", folder.display())
        })?;
    Ok(Some(folder))
}

/// The program of that name in the directories of `PATH`.
#[must_use]
pub fn program_on_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// The path in a variable. An empty variable counts as one that is not set.
#[must_use]
pub fn path(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
