//! Permits for control planes: the memory limits the number that run at the same time, and the processors limit the
//! number that start at the same time. All test processes of this user share the permits.
//!
//! A permit is a lock on a file. The kernel releases the lock when the process ends, even if the process is killed.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use almanac_local::environment::cache_folder;
use anyhow::{Context as _, Result};

/// The memory that a control plane of etcd and the API server takes in nearly all tests, including the replicas it
/// serves.
const KIBIBYTES_EACH: usize = 500_000;
/// The permits that a control plane with all components takes.
const WHOLE: usize = 2;
/// The permits per processor. With six control planes on two busy processors, an agent took 14 seconds to start, and
/// tests with deadlines failed.
const STEADY_PER_PROCESSOR: usize = 2;
/// The permits per processor while the processors are idle, because most tests wait.
const MAX_PER_PROCESSOR: usize = 6;
/// The machine counts as idle if programs waited for a processor during at most this share of `LOAD_WINDOW`.
const IDLE: f64 = 0.25;
/// The time over which the load is measured. It includes the load of a control plane that has just started.
const LOAD_WINDOW: Duration = Duration::from_secs(1);
/// The interval between two attempts: short compared with a test, and long enough to leave the processors to the
/// control planes.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(50);

/// A permit. Dropping the value returns the permit.
#[derive(Debug)]
pub(crate) struct Permit(#[expect(dead_code, reason = "the files are locked")] Vec<File>);

/// Waits until a control plane may run.
pub(crate) async fn to_run(is_whole: bool) -> Result<Permit> {
    let [steady, all] = [STEADY_PER_PROCESSOR, MAX_PER_PROCESSOR]
        .map(|each| running_at_once(memory_kibibytes(), each * processors()));
    take("running", Limit { steady, all }, if is_whole { WHOLE } else { 1 }).await
}

/// Waits until a control plane may start. A start uses processors for some seconds.
pub(crate) async fn to_start() -> Result<Permit> {
    take("starting", Limit::new(processors()), 1).await
}

/// The number of permits.
#[derive(Clone, Copy, Debug)]
struct Limit {
    /// The permits at any time.
    steady: usize,
    /// The permits while the processors are idle.
    all: usize,
}

impl Limit {
    fn new(all: usize) -> Self {
        Self { steady: all, all }
    }
}

async fn take(kind: &'static str, limit: Limit, wanted: usize) -> Result<Permit> {
    let folder = cache_folder()?.join("permits");
    let permit =
        tokio::task::spawn_blocking(move || take_in(&folder, kind, limit, wanted, stalled));
    permit.await?.with_context(|| format!("failed to take a permit for a {kind} control plane"))
}

fn take_in(
    folder: &Path,
    kind: &str,
    limit: Limit,
    wanted: usize,
    stalled: impl Fn() -> Option<Duration>,
) -> Result<Permit> {
    fs::create_dir_all(folder)?;
    let open = |name: String| File::create(folder.join(name));
    // Only one process at a time collects permits; otherwise, two could wait for each other with half of the permits.
    let queue = open(format!("{kind}-queue"))?;
    queue.lock()?;
    let files = (0..limit.all).map(|number| open(format!("{kind}-{number}")));
    let mut free = files.collect::<Result<Vec<_>, _>>()?;
    let wanted = wanted.min(limit.steady);
    let mut idle = Idle { since: Instant::now(), stalled: stalled() };
    let mut permits = Vec::new();
    loop {
        let most = if idle.is_now(&stalled) { limit.all } else { limit.steady };
        let mut open: Vec<File> = free.extract_if(.., |file| file.try_lock().is_ok()).collect();
        // Other processes hold the remaining permits, including extra permits.
        let may = most.saturating_sub(free.len() + permits.len()).min(wanted - permits.len());
        let others = open.split_off(may.min(open.len()));
        permits.append(&mut open);
        if permits.len() == wanted {
            return Ok(Permit(permits));
        }
        for file in &others {
            file.unlock()?;
        }
        free.extend(others);
        std::thread::sleep(BETWEEN_ATTEMPTS);
    }
}

/// Whether programs wait for a processor.
struct Idle {
    since: Instant,
    /// The total wait of programs at an instant, if the system reports the wait.
    stalled: Option<Duration>,
}

impl Idle {
    /// Whether programs hardly waited for a processor, once the measurement is long enough. Each result starts a new
    /// measurement.
    fn is_now(&mut self, stalled: impl Fn() -> Option<Duration>) -> bool {
        let (before, elapsed) = (self.stalled, self.since.elapsed());
        if elapsed < LOAD_WINDOW {
            return false;
        }
        *self = Self { since: Instant::now(), stalled: stalled() };
        let grown = self.stalled.zip(before).map(|(now, before)| now.saturating_sub(before));
        grown.is_some_and(|grown| grown.as_secs_f64() <= IDLE * elapsed.as_secs_f64())
    }
}

/// The time that programs have waited for a processor since the machine started; `None` if the system does not report
/// the time.
fn stalled() -> Option<Duration> {
    let report = fs::read_to_string("/proc/pressure/cpu").ok()?;
    let line = report.lines().find(|line| line.starts_with("some "))?;
    Some(Duration::from_micros(line.rsplit_once("total=")?.1.parse().ok()?))
}

/// The number of control planes that fit into three quarters of the memory.
fn running_at_once(memory_kibibytes: Option<usize>, at_most: usize) -> usize {
    memory_kibibytes.map_or(at_most, |all| (all / 4 * 3 / KIBIBYTES_EACH).clamp(1, at_most))
}

/// The memory of this machine; `None` if the system does not report the memory.
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
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn as_many_control_planes_run_at_once_as_memory_and_processors_allow() {
        assert_eq!(running_at_once(Some(500_000), 4), 1);
        assert_eq!(running_at_once(Some(5_000_000), 8), 7);
        assert_eq!(running_at_once(Some(64_000_000), 4), 4);
        assert_eq!(running_at_once(None, 4), 4);
    }

    /// A load under which programs always wait for a processor.
    fn busy() -> Option<Duration> {
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()
    }

    #[test]
    fn more_permits_are_given_while_no_program_waits_for_a_processor() {
        let folder = tempfile::tempdir().expect("create a directory");
        let path = folder.path().to_owned();
        let limit = Limit { steady: 1, all: 2 };
        let steady = take_in(&path, "running", limit, 1, busy).expect("the steady permit");
        let extra =
            take_in(&path, "running", limit, 1, || Some(Duration::ZERO)).expect("the extra permit");
        let (sender, taken) = mpsc::channel();
        let file = File::create(path.join("running-1")).expect("open the permit file");
        assert!(file.try_lock().is_err(), "the extra one is held");
        drop(extra);
        std::thread::spawn(move || {
            let permit = take_in(&path, "running", limit, 1, busy);
            sender.send(permit).expect("the test receives the permit");
        });
        let waited = taken.recv_timeout(LOAD_WINDOW + Duration::from_millis(500));
        assert!(waited.is_err(), "while it is busy, the extra one is not given");
        drop(steady);
        taken.recv().expect("receive the result").expect("the steady permit");
    }

    #[test]
    fn extra_permits_count_as_steady_permits_on_a_busy_machine() {
        let folder = tempfile::tempdir().expect("create a directory");
        let path = folder.path().to_owned();
        let limit = Limit { steady: 2, all: 3 };
        let idle = || Some(Duration::ZERO);
        let [first, second] = [(); 2].map(|()| take_in(&path, "running", limit, 1, busy));
        let third = take_in(&path, "running", limit, 1, idle).expect("the extra permit");
        let (sender, taken) = mpsc::channel();
        std::thread::spawn(move || {
            for wanted in [1, 2] {
                let permit = take_in(&path, "running", limit, wanted, busy);
                sender.send(permit).expect("the test receives the permit");
            }
        });
        drop(first);
        assert!(taken.recv_timeout(Duration::from_millis(300)).is_err(), "two are held");
        drop(second);
        let one =
            taken.recv().expect("receive the result").expect("a permit while another is held");
        drop(third);
        assert!(taken.recv_timeout(Duration::from_millis(300)).is_err(), "it wants two");
        drop(one);
        taken.recv().expect("receive the result").expect("a permit while no other is held");
    }

    #[test]
    fn a_permit_waits_until_enough_are_returned() {
        let folder = tempfile::tempdir().expect("create a directory");
        let path = folder.path().to_owned();
        let first =
            take_in(&path, "running", Limit::new(3), 1, busy).expect("the first of three permits");
        let second =
            take_in(&path, "running", Limit::new(3), 1, busy).expect("the second of three permits");
        let (sender, taken) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            // A request for more permits than exist takes all permits.
            let _all =
                take_in(&path, "running", Limit::new(3), 9, busy).expect("all three permits");
            sender.send(()).expect("the test receives the permit");
        });
        drop(first);
        assert!(taken.recv_timeout(Duration::from_millis(300)).is_err());
        drop(second);
        taken.recv().expect("receive the signal");
        thread.join().expect("join the thread");
    }
}
