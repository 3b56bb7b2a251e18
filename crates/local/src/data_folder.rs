//! The directory of a control plane that is kept from run to run: its owner, the checks before its use, and the state
//! that must not change between runs.
//!
//! That state is written atomically, so a run may be killed at any instant.

use std::fs::{self, DirBuilder, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::whole_file::{check_name, write_whole};

/// The version of the file layout in the directory. An incompatible change increments it.
const FORMAT: u32 = 2;
const LOCK: &str = "lock";
const MARK: &str = "control-plane.json";
const PORTS: &str = "ports.json";

/// The space that etcd reserves for its log, and the space for all other files.
const REQUIRED_BYTES: u64 = 256 * 1024 * 1024;

/// A directory that this process owns until the value is dropped. The directory itself stays.
#[derive(Debug)]
pub struct DataFolder {
    path: PathBuf,
    lock: File,
}

impl Drop for DataFolder {
    /// Unlocks the file explicitly. A child process that is starting may have inherited the open file, so that closing
    /// it here would not release the lock.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

/// The versions of the programs that created the data.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    format: u32,
    /// The minor version: an older version cannot read the data of a newer version.
    kubernetes: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Ports {
    api_server: Option<u16>,
}

impl DataFolder {
    /// Locks the directory for programs of this version of Kubernetes, such as `1.36`. Creates a missing directory.
    /// Fails if another process has locked the directory, another version wrote its data, it contains other files, or
    /// its disk is full.
    pub fn take(path: &Path, kubernetes: &str) -> Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .with_context(|| format!("failed to create {}", path.display()))?;
        let path = path.canonicalize()?;
        check_name(&path)?;
        check_contents(&path)?;
        check_free_space(&path)?;
        let taken = Self { lock: lock(&path)?, path };
        let path = &taken.path;
        // Another process may have locked the directory since the first check.
        let is_new = check_contents(path)?;
        let expected = Mark { format: FORMAT, kubernetes: kubernetes.to_owned() };
        if is_new {
            write_whole(&path.join(MARK), &serde_json::to_string(&expected)?)?;
        } else {
            check_mark(path, &expected)?;
        }
        Ok(taken)
    }

    /// Fails if a directory contains data of another version of Kubernetes. Does not lock the directory.
    pub fn check(path: &Path, kubernetes: &str) -> Result<()> {
        if !path.join(MARK).exists() {
            return Ok(());
        }
        check_mark(path, &Mark { format: FORMAT, kubernetes: kubernetes.to_owned() })
    }

    /// The minor version of Kubernetes whose data a directory contains; `None` without readable data.
    #[must_use]
    pub fn kubernetes_in(path: &Path) -> Option<String> {
        let text = fs::read_to_string(path.join(MARK)).ok()?;
        Some(serde_json::from_str::<Mark>(&text).ok()?.kubernetes)
    }

    /// The path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The port of the API server in the previous run, which kubeconfigs contain.
    pub(crate) fn api_server_port(&self) -> Option<u16> {
        let text = fs::read_to_string(self.path.join(PORTS)).ok()?;
        serde_json::from_str::<Ports>(&text).ok()?.api_server
    }

    pub(crate) fn keep_api_server_port(&self, number: u16) -> Result<()> {
        let ports = Ports { api_server: Some(number) };
        write_whole(&self.path.join(PORTS), &serde_json::to_string(&ports)?)
    }
}

/// Whether a directory contains no data of an earlier run. Rejects a directory with other content, such as a home
/// directory.
fn check_contents(path: &Path) -> Result<bool> {
    if path.join(MARK).exists() {
        return Ok(false);
    }
    let entries =
        fs::read_dir(path).with_context(|| format!("failed to read {}", path.display()))?;
    for entry in entries {
        let name = entry?.file_name();
        // Files of a run that was killed before it wrote the mark, or that is about to write it.
        let is_ours = name == LOCK || name.to_string_lossy().starts_with(".tmp");
        ensure!(
            is_ours,
            "{} contains {}, and is not a data directory of a control plane: name an empty or nonexistent directory",
            path.display(),
            name.display()
        );
    }
    Ok(true)
}

fn lock(path: &Path) -> Result<File> {
    let file = path.join(LOCK);
    let opened = File::options().create(true).truncate(false).read(true).write(true).open(&file);
    let mut lock = opened.with_context(|| format!("failed to open {}", file.display()))?;
    if lock.try_lock().is_err() {
        let mut owner = String::new();
        let _ = lock.read_to_string(&mut owner);
        let owner = match owner.trim() {
            "" => "another process".to_owned(),
            id => format!("process {id}"),
        };
        bail!(
            "{} is in use by {owner}: end that process, or name another data directory",
            path.display()
        );
    }
    lock.set_len(0)
        .and_then(|()| lock.seek(SeekFrom::Start(0)))
        .and_then(|_| write!(lock, "{}", std::process::id()))
        .with_context(|| format!("failed to write {}", file.display()))?;
    Ok(lock)
}

fn check_mark(path: &Path, expected: &Mark) -> Result<()> {
    let file = path.join(MARK);
    let text =
        fs::read_to_string(&file).with_context(|| format!("failed to read {}", file.display()))?;
    let found = serde_json::from_str::<Mark>(&text);
    let Mark { format, kubernetes } =
        found.with_context(|| format!("failed to parse {}", file.display()))?;
    let advice = "name another data directory, or remove this one with its contents";
    ensure!(
        format == expected.format,
        "{} was written by another version of Almanac (its format is {format}, and this version reads {}): {advice}",
        path.display(),
        expected.format
    );
    ensure!(
        kubernetes == expected.kubernetes,
        "{} contains data of Kubernetes {kubernetes}, but the binaries are Kubernetes {}: run Kubernetes {kubernetes}, \
         {advice}",
        path.display(),
        expected.kubernetes
    );
    Ok(())
}

/// The number of free bytes on the disk of this path.
pub fn free_bytes(path: &Path) -> Result<u64> {
    let disk = rustix::fs::statvfs(path).with_context(|| {
        format!("failed to read the free space of the disk of {}", path.display())
    })?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

fn check_free_space(path: &Path) -> Result<()> {
    let free = free_bytes(path)?;
    ensure!(
        free >= REQUIRED_BYTES,
        "{}: {} MB free on its disk; the control plane needs {} MB",
        path.display(),
        free / 1_000_000,
        REQUIRED_BYTES / 1_000_000
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &Path, kubernetes: &str) -> String {
        format!("{:#}", DataFolder::take(path, kubernetes).expect_err("the directory is rejected"))
    }

    #[test]
    fn a_directory_has_one_owner_who_is_named_to_others() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = parent.path().join("data");
        let first = DataFolder::take(&path, "1.36").expect("lock the directory");
        let error = refused(&path, "1.36");
        let id = std::process::id();
        assert!(error.contains(&format!("is in use by process {id}: end that")), "{error}");
        first.keep_api_server_port(1234).expect("write the port");
        drop(first);
        let again = DataFolder::take(&path, "1.36").expect("lock the directory again");
        assert_eq!(again.api_server_port(), Some(1234));
    }

    #[test]
    fn a_directory_of_another_version_is_rejected_and_unchanged() {
        let data = tempfile::tempdir().expect("a directory");
        drop(DataFolder::take(data.path(), "1.36").expect("lock the directory"));
        assert_eq!(DataFolder::kubernetes_in(data.path()).as_deref(), Some("1.36"));
        assert_eq!(DataFolder::kubernetes_in(&data.path().join("missing")), None);
        let error = refused(data.path(), "1.35");
        assert_eq!(format!("{:#}", DataFolder::check(data.path(), "1.35").unwrap_err()), error);
        DataFolder::check(data.path(), "1.36").expect("the same version");
        assert!(
            error
                .contains("contains data of Kubernetes 1.36, but the binaries are Kubernetes 1.35"),
            "{error}"
        );
        let mark = data.path().join(MARK);
        fs::write(&mark, r#"{"format": 7, "kubernetes": "1.36"}"#).expect("write the mark");
        let error = refused(data.path(), "1.36");
        assert!(error.contains("another version of Almanac (its format is 7"), "{error}");
        assert!(fs::read_to_string(&mark).expect("read the mark").contains('7'));
    }

    #[test]
    fn a_directory_with_other_files_is_rejected() {
        let home = tempfile::tempdir().expect("a directory");
        fs::write(home.path().join("letter.txt"), "dear").expect("write a file");
        let error = refused(home.path(), "1.36");
        assert!(error.contains("contains letter.txt, and is not a data directory"), "{error}");
        assert_eq!(fs::read_dir(home.path()).expect("a directory").count(), 1);
    }
}
