//! The fence between a leader and the API server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::monotonic::Monotonic;

/// The time limit for writes of its holder. All copies close together, and a closed fence stays closed: a holder that
/// has found it closed never writes again.
#[derive(Clone, Debug)]
pub struct Fence {
    clock: Monotonic,
    /// The deadline, in nanoseconds of the monotonic clock.
    open_until: Arc<AtomicU64>,
}

/// The fence is closed: the Lease is lost, or could not be renewed in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("this process is no longer the leader")]
pub struct Fenced;

const FOREVER: u64 = u64::MAX;

impl Fence {
    /// A fence that never closes by itself, for a process that runs alone.
    #[must_use]
    pub fn open() -> Self {
        let clock = Monotonic::system();
        Self { clock, open_until: Arc::new(AtomicU64::new(FOREVER)) }
    }

    /// A fence that is open until a deadline, by this clock.
    #[must_use]
    pub fn open_until(clock: Monotonic, until: Duration) -> Self {
        Self { clock, open_until: Arc::new(AtomicU64::new(nanoseconds(until))) }
    }

    /// Extends the deadline. Fails if the fence has already closed.
    pub fn extend(&self, until: Duration) -> Result<(), Fenced> {
        let now = nanoseconds(self.clock.now());
        let longer =
            |open_until: u64| (open_until > now).then(|| open_until.max(nanoseconds(until)));
        let extended = self.open_until.fetch_update(Ordering::SeqCst, Ordering::SeqCst, longer);
        extended.map(|_| ()).map_err(|_| Fenced)
    }

    /// Closes the fence.
    pub fn shut(&self) {
        self.open_until.store(0, Ordering::SeqCst);
    }

    /// The remaining time until the fence closes.
    pub fn check(&self) -> Result<Duration, Fenced> {
        let now = nanoseconds(self.clock.now());
        let open_until = self.open_until.load(Ordering::SeqCst);
        if open_until == FOREVER {
            return Ok(Duration::MAX);
        }
        if open_until > now {
            return Ok(Duration::from_nanos(open_until - now));
        }
        // A concurrent extension is either too late or takes effect for all copies.
        let shut =
            self.open_until.compare_exchange(open_until, 0, Ordering::SeqCst, Ordering::SeqCst);
        if shut.is_ok() { Err(Fenced) } else { self.check() }
    }

    /// Whether the fence is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.check().is_ok()
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(FOREVER - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// A clock, and the handle to set its time.
    fn clock() -> (Monotonic, Arc<AtomicU64>) {
        let shown = Arc::new(AtomicU64::new(100));
        let read = Arc::clone(&shown);
        (Monotonic::from_fn(move || at(read.load(Ordering::SeqCst))), shown)
    }

    #[test]
    fn a_fence_is_open_only_until_its_deadline() {
        let (clock, shown) = clock();
        let fence = Fence::open_until(clock, at(110));
        assert_eq!(fence.check(), Ok(at(10)));
        assert_eq!(fence.extend(at(120)), Ok(()));
        assert_eq!(fence.extend(at(115)), Ok(()), "the deadline is later already");
        shown.store(119, Ordering::SeqCst);
        assert_eq!(fence.check(), Ok(at(1)));
        shown.store(120, Ordering::SeqCst);
        assert_eq!(fence.check(), Err(Fenced));
    }

    #[test]
    fn a_closed_fence_stays_closed() {
        let (clock, shown) = clock();
        let past = Fence::open_until(clock.clone(), at(110));
        shown.store(110, Ordering::SeqCst);
        assert_eq!(past.extend(at(200)), Err(Fenced));
        let shut = Fence::open_until(clock, at(200));
        shut.shut();
        assert_eq!(shut.extend(at(300)), Err(Fenced));
        assert_eq!((past.check(), shut.check()), (Err(Fenced), Err(Fenced)));
    }

    #[test]
    fn closing_one_copy_closes_all() {
        let fence = Fence::open();
        let copy = fence.clone();
        fence.shut();
        assert!(!copy.is_open());
    }
}
