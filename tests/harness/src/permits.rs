//! Permits for control planes: how many run at a time, by the memory they take, and how many start at a
//! time, by the processors. All test processes of this user share them.
//!
//! A permit is a lock on a file, which the kernel releases when its process ends, however it ends.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use almanac_local::environment::cache_folder;
use anyhow::{Context as _, Result};

/// What a control plane of etcd and the API server takes in nearly all tests, including the replicas
/// it serves.
const KIBIBYTES_EACH: usize = 500_000;
/// How many of these a control plane with all components counts for.
const WHOLE: usize = 2;
/// More of them make each test slower, and those that look at the time fail: with six on two processors, an agent took
/// fourteen seconds to be in place.
const AT_MOST_A_PROCESSOR: usize = 2;
/// Short enough not to be felt, long enough to leave the processors to the control planes.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(50);

/// What is returned when this is dropped.
#[derive(Debug)]
pub(crate) struct Permit(#[expect(dead_code, reason = "the files are locked")] Vec<File>);

/// Waits until a control plane may run.
pub(crate) async fn to_run(is_whole: bool) -> Result<Permit> {
    let all = running_at_once(memory_kibibytes(), processors());
    take("running", all, if is_whole { WHOLE } else { 1 }).await
}

/// Waits until a control plane may start: that takes processors, for some seconds.
pub(crate) async fn to_start() -> Result<Permit> {
    take("starting", processors(), 1).await
}

async fn take(kind: &'static str, all: usize, wanted: usize) -> Result<Permit> {
    let folder = cache_folder()?.join("permits");
    let permit = tokio::task::spawn_blocking(move || take_in(&folder, kind, all, wanted));
    permit.await?.with_context(|| format!("failed to take a permit for a {kind} control plane"))
}

fn take_in(folder: &Path, kind: &str, all: usize, wanted: usize) -> Result<Permit> {
    fs::create_dir_all(folder)?;
    let open = |name: String| File::create(folder.join(name));
    // One at a time collects its permits; otherwise two could wait for each other with half of them.
    let queue = open(format!("{kind}-queue"))?;
    queue.lock()?;
    let mut free =
        (0..all).map(|number| open(format!("{kind}-{number}"))).collect::<Result<Vec<_>, _>>()?;
    let mut taken = Vec::new();
    loop {
        let missing = wanted.min(all) - taken.len();
        taken.extend(free.extract_if(.., |file| file.try_lock().is_ok()).take(missing));
        if taken.len() == wanted.min(all) {
            return Ok(Permit(taken));
        }
        std::thread::sleep(BETWEEN_ATTEMPTS);
    }
}

/// As many as three quarters of the memory are enough for.
fn running_at_once(memory_kibibytes: Option<usize>, processors: usize) -> usize {
    let at_most = AT_MOST_A_PROCESSOR * processors;
    memory_kibibytes.map_or(at_most, |all| (all / 4 * 3 / KIBIBYTES_EACH).clamp(1, at_most))
}

/// The memory of this machine; `None` if the system does not report it.
fn memory_kibibytes() -> Option<usize> {
    let report = fs::read_to_string("/proc/meminfo").ok()?;
    let line = report.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn as_many_control_planes_run_at_once_as_memory_and_processors_allow() {
        assert_eq!(running_at_once(Some(500_000), 2), 1);
        assert_eq!(running_at_once(Some(5_000_000), 4), 7);
        assert_eq!(running_at_once(Some(64_000_000), 2), 4);
        assert_eq!(running_at_once(None, 2), 4);
    }

    #[test]
    fn a_permit_waits_until_enough_are_returned() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().to_owned();
        let first = take_in(&path, "running", 3, 1).expect("one of three");
        let second = take_in(&path, "running", 3, 1).expect("two of three");
        let (sender, taken) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            // More than there are: it takes all.
            let _all = take_in(&path, "running", 3, 9).expect("all three");
            sender.send(()).expect("the test waits");
        });
        drop(first);
        assert!(taken.recv_timeout(Duration::from_millis(300)).is_err());
        drop(second);
        taken.recv().expect("taken");
        thread.join().expect("ended");
    }
}
