//! The clock of Leases: it cannot be set, and keeps running while the machine sleeps.
//!
//! The clock is injected, so that a test can choose the time.

use std::sync::Arc;
use std::time::Duration;

/// Measures the time since some fixed instant, such as boot.
#[derive(Clone)]
pub struct Monotonic {
    source: Arc<dyn Fn() -> Duration + Send + Sync>,
}

impl Monotonic {
    /// The system's monotonic clock.
    #[must_use]
    pub fn system() -> Self {
        Self::from_fn(now)
    }

    /// A clock that returns the value of the function, which must never be less than before.
    pub fn from_fn(source: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self { source: Arc::new(source) }
    }

    /// The current time.
    #[must_use]
    pub fn now(&self) -> Duration {
        (self.source)()
    }
}

impl std::fmt::Debug for Monotonic {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Monotonic at {:?}", self.now())
    }
}

/// The current time of the system's monotonic clock.
#[must_use]
pub fn now() -> Duration {
    #[cfg(target_os = "linux")]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        // The time since boot is never negative.
        time.try_into().unwrap_or_default()
    }
    #[cfg(not(target_os = "linux"))]
    {
        use std::sync::LazyLock;
        use std::time::Instant;
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_monotonic_clock_advances_at_least_as_much_as_a_timer() {
        let clock = Monotonic::system();
        let (before, timer) = (clock.now(), Instant::now());
        while timer.elapsed() < Duration::from_millis(5) {
            std::hint::spin_loop();
        }
        let elapsed = timer.elapsed();
        let advanced = clock.now().checked_sub(before).expect("a time that never goes back");
        assert!(advanced >= elapsed, "{advanced:?} in {elapsed:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_monotonic_clock_shows_the_time_since_boot() {
        let since_boot = || {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
            Duration::try_from(time).expect("a positive time")
        };
        let (before, shown, after) = (since_boot(), now(), since_boot());
        assert!(before <= shown && shown <= after, "{before:?}, {shown:?}, {after:?}");
    }
}
