//! The directory of a control plane that is kept from run to run: its owner, whether it can be used, and the state that
//! must not change between runs.
//!
//! That state is written whole or not at all, so a run may be killed at any instant.

use std::fs::{self, DirBuilder, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::whole_file::{check_name, write_whole};

/// The arrangement of files in the directory. A change that this program cannot read any more gets another number.
const FORMAT: u32 = 2;
const LOCK: &str = "lock";
const MARK: &str = "control-plane.json";
const PORTS: &str = "ports.json";

/// What etcd takes at once for its log, and room for the rest.
const ROOM: u64 = 256 * 1024 * 1024;

/// A directory that belongs to this process until it is dropped, and stays.
#[derive(Debug)]
pub struct DataFolder {
    path: PathBuf,
    lock: File,
}

impl Drop for DataFolder {
    /// A program that is being started may still have what this process had open. Closing it would not be enough.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

/// The versions of the programs that made the data.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    format: u32,
    /// The minor version: the data of a newer one cannot be read by an older one.
    kubernetes: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Ports {
    api_server: Option<u16>,
}

impl DataFolder {
    /// Takes the directory, which is made if there is none, for programs of this version of Kubernetes (such as
    /// `1.36`). An error where another process has it, another version wrote it, it holds something else, or nothing
    /// more fits on its disk.
    pub fn take(path: &Path, kubernetes: &str) -> Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .with_context(|| format!("failed to create {}", path.display()))?;
        let path = path.canonicalize()?;
        check_name(&path)?;
        check_contents(&path)?;
        check_room(&path)?;
        let taken = Self { lock: lock(&path)?, path };
        let path = &taken.path;
        // Another process may have had it in between.
        let is_new = check_contents(path)?;
        let expected = Mark { format: FORMAT, kubernetes: kubernetes.to_owned() };
        if is_new {
            write_whole(&path.join(MARK), &serde_json::to_string(&expected)?)?;
        } else {
            check_mark(path, &expected)?;
        }
        Ok(taken)
    }

    /// Fails if a directory has data of another version of Kubernetes. It takes nothing.
    pub fn check(path: &Path, kubernetes: &str) -> Result<()> {
        if !path.join(MARK).exists() {
            return Ok(());
        }
        check_mark(path, &Mark { format: FORMAT, kubernetes: kubernetes.to_owned() })
    }

    /// The minor version of Kubernetes whose data a directory has; `None` if it has none that can be read.
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

    /// The port that the API server had the last time, which is in kubeconfigs.
    pub(crate) fn api_server_port(&self) -> Option<u16> {
        let text = fs::read_to_string(self.path.join(PORTS)).ok()?;
        serde_json::from_str::<Ports>(&text).ok()?.api_server
    }

    pub(crate) fn keep_api_server_port(&self, number: u16) -> Result<()> {
        let ports = Ports { api_server: Some(number) };
        write_whole(&self.path.join(PORTS), &serde_json::to_string(&ports)?)
    }
}

/// Whether nothing was kept in it before. Rejects a directory with other content, such as a home directory.
fn check_contents(path: &Path) -> Result<bool> {
    if path.join(MARK).exists() {
        return Ok(false);
    }
    let entries =
        fs::read_dir(path).with_context(|| format!("failed to read {}", path.display()))?;
    for entry in entries {
        let name = entry?.file_name();
        // A run that was killed before it had written the mark, or one that is about to.
        let is_ours = name == LOCK || name.to_string_lossy().starts_with(".tmp");
        ensure!(
            is_ours,
            "{} holds {}, and is not a data directory of a control plane: name one that is empty or does not exist yet",
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
        bail!("{} is in use by {owner}: end that, or name another data directory", path.display());
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
        found.with_context(|| format!("failed to understand {}", file.display()))?;
    let mend = "name another data directory, or remove this one and what is in it";
    ensure!(
        format == expected.format,
        "{} was written by another version of Almanac (its format is {format}, and this one reads {}): {mend}",
        path.display(),
        expected.format
    );
    ensure!(
        kubernetes == expected.kubernetes,
        "{} holds data of Kubernetes {kubernetes}, but the binaries are Kubernetes {}: run Kubernetes {kubernetes}, {mend}",
        path.display(),
        expected.kubernetes
    );
    Ok(())
}

/// How many bytes are free on the disk of this path.
pub fn free_room(path: &Path) -> Result<u64> {
    let disk = rustix::fs::statvfs(path)
        .with_context(|| format!("failed to look at the disk of {}", path.display()))?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

fn check_room(path: &Path) -> Result<()> {
    let free = free_room(path)?;
    ensure!(
        free >= ROOM,
        "{}: {} MB free on its disk; the control plane needs {} MB",
        path.display(),
        free / 1_000_000,
        ROOM / 1_000_000
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &Path, kubernetes: &str) -> String {
        format!("{:#}", DataFolder::take(path, kubernetes).expect_err("it cannot be taken"))
    }

    #[test]
    fn a_directory_has_one_owner_who_is_named_to_others() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = parent.path().join("data");
        let first = DataFolder::take(&path, "1.36").expect("it is free");
        let error = refused(&path, "1.36");
        let id = std::process::id();
        assert!(error.contains(&format!("is in use by process {id}: end that")), "{error}");
        first.keep_api_server_port(1234).expect("written");
        drop(first);
        let again = DataFolder::take(&path, "1.36").expect("it is free again");
        assert_eq!(again.api_server_port(), Some(1234));
    }

    #[test]
    fn a_directory_of_another_version_is_refused_and_left_as_it_is() {
        let data = tempfile::tempdir().expect("a directory");
        drop(DataFolder::take(data.path(), "1.36").expect("it is free"));
        assert_eq!(DataFolder::kubernetes_in(data.path()).as_deref(), Some("1.36"));
        assert_eq!(DataFolder::kubernetes_in(&data.path().join("missing")), None);
        let error = refused(data.path(), "1.35");
        assert_eq!(format!("{:#}", DataFolder::check(data.path(), "1.35").unwrap_err()), error);
        DataFolder::check(data.path(), "1.36").expect("the same version");
        assert!(
            error.contains("holds data of Kubernetes 1.36, but the binaries are Kubernetes 1.35"),
            "{error}"
        );
        let mark = data.path().join(MARK);
        fs::write(&mark, r#"{"format": 7, "kubernetes": "1.36"}"#).expect("written");
        let error = refused(data.path(), "1.36");
        assert!(error.contains("another version of Almanac (its format is 7"), "{error}");
        assert!(fs::read_to_string(&mark).expect("it is there").contains('7'));
    }

    #[test]
    fn a_directory_that_holds_something_else_is_refused() {
        let home = tempfile::tempdir().expect("a directory");
        fs::write(home.path().join("letter.txt"), "dear").expect("written");
        let error = refused(home.path(), "1.36");
        assert!(error.contains("holds letter.txt, and is not a data directory"), "{error}");
        assert_eq!(fs::read_dir(home.path()).expect("a directory").count(), 1);
    }
}
