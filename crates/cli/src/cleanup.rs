//! Resources that a signal must not leave behind: unfinished files, temporary directories, programs in separate
//! process groups.
//!
//! Each resource is registered when it is created, with the function that removes it. At SIGHUP, SIGINT or SIGTERM a
//! thread removes them, the latest first, and ends the process. Without a signal, the owners remove them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io, process, thread};

use anyhow::Context as _;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tempfile::TempDir;

/// The exit code that shells expect after Ctrl-C.
const INTERRUPTED: i32 = 130;

/// The maximum number of attempts to remove a directory while another thread still writes into it.
const ATTEMPTS: usize = 100;

static REGISTRY: Mutex<Registry> =
    Mutex::new(Registry { is_listening: false, next: 0, all: BTreeMap::new() });

struct Registry {
    is_listening: bool,
    next: u64,
    all: BTreeMap<u64, Box<dyn FnOnce() + Send>>,
}

/// An entry of the registry, removed on drop.
pub(crate) struct Cleanup {
    number: u64,
}

/// A temporary directory, removed on drop or at a signal.
pub(crate) struct TemporaryDir {
    // The directory is removed before its entry.
    dir: TempDir,
    _cleanup: Cleanup,
}

/// Creates a resource, and registers its removal at a signal. The resource never exists without its entry.
pub(crate) fn registered<T, R: FnOnce() + Send + 'static>(
    create: impl FnOnce() -> io::Result<(T, R)>,
) -> anyhow::Result<(T, Cleanup)> {
    let mut registry = registry();
    registry.listen()?;
    let (created, remove) = create()?;
    let number = registry.next;
    registry.next += 1;
    registry.all.insert(number, Box::new(remove));
    Ok((created, Cleanup { number }))
}

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    /// Starts the thread, once.
    fn listen(&mut self) -> anyhow::Result<()> {
        if self.is_listening {
            return Ok(());
        }
        let mut signals =
            Signals::new([SIGHUP, SIGINT, SIGTERM]).context("failed to listen for signals")?;
        thread::spawn(move || {
            if signals.forever().next().is_some() {
                // The lock is kept to the end. So nothing more is registered, and no other thread ends the process
                // because its program has ended.
                let mut registry = registry();
                for (_, remove) in std::mem::take(&mut registry.all).into_iter().rev() {
                    remove();
                }
                process::exit(INTERRUPTED);
            }
        });
        self.is_listening = true;
        Ok(())
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        registry().all.remove(&self.number);
    }
}

impl TemporaryDir {
    pub(crate) fn new(prefix: &str) -> anyhow::Result<TemporaryDir> {
        let make = || -> io::Result<_> {
            let dir = tempfile::Builder::new().prefix(prefix).tempdir()?;
            let path = dir.path().to_owned();
            Ok((dir, move || remove_dir(&path)))
        };
        let (dir, cleanup) = registered(make).context("failed to make a temporary directory")?;
        Ok(TemporaryDir { dir, _cleanup: cleanup })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }
}

fn remove_dir(path: &Path) {
    for _ in 0..ATTEMPTS {
        match fs::remove_dir_all(path) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => thread::yield_now(),
            Ok(()) | Err(_) => return,
        }
    }
}
