//! The clock that leases run on: it cannot be set, and goes on while the machine sleeps.

use std::time::Duration;

/// Time since some fixed instant of this machine's run.
#[must_use]
pub fn now() -> Duration {
    #[cfg(target_os = "linux")]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        // A run of a machine is not negative.
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
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
    #[test]
    fn it_goes_forward() {
        let before = super::now();
        let after = super::now();
        assert!(after >= before && !after.is_zero());
    }
}
