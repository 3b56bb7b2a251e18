//! The backoff between attempts: longer each time, with jitter.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};

/// Delays that double, up to a maximum, each randomly shortened by up to half, so that clients
/// that failed together do not retry together.
#[derive(Debug)]
pub struct Backoff {
    builder: ExponentialBuilder,
    pauses: ExponentialBackoff,
}

impl Backoff {
    /// Starts with about the first delay and never exceeds the maximum. The seed determines the
    /// jitter.
    #[must_use]
    pub fn new(first: Duration, longest: Duration, seed: u64) -> Self {
        // Jitter adds at most the same amount again.
        let builder = ExponentialBuilder::new()
            .with_min_delay(first / 2)
            .with_max_delay(longest / 2)
            .without_max_times()
            .with_jitter()
            .with_jitter_seed(seed);
        Self { builder, pauses: builder.build() }
    }

    /// The delay after one more failure.
    pub fn next_pause(&mut self) -> Duration {
        // A next delay always exists: the number of retries is not limited.
        self.pauses.next().unwrap_or_default()
    }

    /// Starts over after a success.
    pub fn reset(&mut self) {
        self.pauses = self.builder.build();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_the_maximum_and_reset() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30), 7);
        let pauses: Vec<_> = (0..12).map(|_| backoff.next_pause()).collect();
        for (exponent, pause) in pauses.iter().enumerate() {
            let whole = Duration::from_secs(1 << exponent.min(5)).min(Duration::from_secs(30));
            assert!(*pause <= whole && *pause >= whole / 2, "{pause:?} after {exponent}");
        }
        backoff.reset();
        assert!(backoff.next_pause() <= Duration::from_secs(1));
    }

    #[test]
    fn the_same_seed_gives_the_same_delays() {
        let pauses = |seed| {
            let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(1), seed);
            [(); 5].map(|()| backoff.next_pause())
        };
        assert_eq!(pauses(1), pauses(1));
        assert_ne!(pauses(1), pauses(2));
    }
}
