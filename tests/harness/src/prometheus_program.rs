//! Finds the Prometheus program: on the path, in the cache directory, or in the distribution's package, unpacked into
//! the cache directory. This file does not run Prometheus.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use almanac_local::environment;
use almanac_local::print_progress;

/// Finds the Prometheus program, or fetches the program.
///
/// The package is unpacked and not installed, because an installed package starts a server for the whole machine.
/// Fetching needs no special permissions if the package lists are present; otherwise, this function tries `apt-get
/// update` (only root may run it).
pub fn provide_prometheus() -> Result<PathBuf> {
    if let Some(program) = environment::program_on_path("prometheus") {
        return Ok(program);
    }
    let cache = environment::cache_folder()?;
    let folder = cache.join("prometheus");
    let program = folder.join("usr/bin/prometheus");
    if program.is_file() {
        return Ok(program);
    }
    let Some(apt) = environment::program_on_path("apt-get") else {
        bail!(
            "prometheus is not on the PATH, and there is no apt-get to fetch it with: \
             install it (prometheus.io/download)"
        );
    };
    fs::create_dir_all(&cache).with_context(|| format!("failed to create {}", cache.display()))?;
    let lock = File::create(cache.join("prometheus.lock"))?;
    lock.lock().context("failed to lock the cache directory")?;
    if !program.is_file() {
        print_progress("fetching Prometheus");
        unpack_package(&apt, &cache, &folder).context(
            "failed to fetch Prometheus with apt-get; with it on the PATH, there is no need to",
        )?;
    }
    Ok(program)
}

fn unpack_package(apt: &Path, cache: &Path, folder: &Path) -> Result<()> {
    let unfinished = cache.join("prometheus.unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    fs::create_dir_all(&unfinished)?;
    let download =
        || run(Command::new(apt).args(["download", "prometheus"]).current_dir(&unfinished));
    if let Err(first) = download() {
        // Fresh images have no package lists.
        run(Command::new(apt).args(["update", "--quiet"])).context(first)?;
        download()?;
    }
    let package = fs::read_dir(&unfinished)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .context("apt-get downloaded no package")?;
    run(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(&unfinished))?;
    fs::remove_file(package)?;
    fs::rename(&unfinished, folder)
        .with_context(|| format!("failed to move it to {}", folder.display()))
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("failed to start {command:?}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?} failed: {}", stderr.trim());
    }
    Ok(())
}
