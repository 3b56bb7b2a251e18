//! The directory of one control plane: data, certificates, kubeconfigs and logs.
//!
//! The directory is removed when its control plane is stopped, unless a test failed. A run that was killed cannot
//! clean up, so the next run does: a directory whose lock is free has no owner any more.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};

use crate::environment;
use crate::whole_file::check_name;

/// The mark in a directory whose logs are kept for the user.
const KEEP: &str = "keep";
const LOCK: &str = "lock";
/// The time for which the logs of a failed test are kept.
const KEPT_FOR: Duration = Duration::from_hours(72);

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A directory that belongs to this process.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    _lock: File,
}

impl RunFolder {
    /// Creates a new directory, after removing directories without an owner.
    pub fn create() -> Result<Self> {
        let runs = environment::cache_folder()?.join("runs");
        check_name(&runs)?;
        fs::create_dir_all(&runs)
            .with_context(|| format!("failed to create {}", runs.display()))?;
        // Held until the new directory has its own lock. Otherwise, another run might remove the directory.
        let gate = File::create(runs.join(LOCK))?;
        gate.lock().with_context(|| format!("failed to lock {}", runs.display()))?;
        sweep(&runs)?;
        // The name contains the time, because process ids recur and kept directories stay.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{}-{number}", since.as_millis(), std::process::id());
        let path = runs.join(name);
        fs::create_dir(&path).with_context(|| format!("failed to create {}", path.display()))?;
        let lock = File::create(path.join(LOCK))?;
        lock.lock()?;
        Ok(Self { path, _lock: lock })
    }

    /// The path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if !is_kept(&self.path) {
            // If this fails, the next run removes the rest.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Marks the logs in this directory to be kept after the run, because a test failed.
pub fn keep(folder: &Path) {
    let _ = File::create(folder.join(KEEP));
}

fn is_kept(folder: &Path) -> bool {
    folder.join(KEEP).exists()
}

fn sweep(runs: &Path) -> Result<()> {
    for entry in fs::read_dir(runs)? {
        let folder = entry?.path();
        if folder.is_dir() && has_no_owner(&folder) && !is_wanted(&folder) {
            // An unreadable directory, such as that of another user, must not fail every run.
            let _ = fs::remove_dir_all(&folder);
        }
    }
    Ok(())
}

fn has_no_owner(folder: &Path) -> bool {
    // A directory without a lock file was left by a run that was killed while creating it.
    File::open(folder.join(LOCK)).map_or(true, |lock| lock.try_lock().is_ok())
}

fn is_wanted(folder: &Path) -> bool {
    let marked = fs::metadata(folder.join(KEEP)).and_then(|mark| mark.modified());
    marked
        .is_ok_and(|since| SystemTime::now().duration_since(since).is_ok_and(|age| age < KEPT_FOR))
}
