//! How long to wait before another attempt: longer each time, and not the same for everybody.

use std::time::Duration;

/// Pauses that double, up to a longest one, each shortened by chance by up to a half: many who
/// failed together do not come back together.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    attempts: u32,
    chance: fastrand::Rng,
}

impl Backoff {
    /// Begins with about the first pause and never exceeds the longest. The seed decides chance.
    #[must_use]
    pub fn new(first: Duration, longest: Duration, seed: u64) -> Self {
        Self { first, longest, attempts: 0, chance: fastrand::Rng::with_seed(seed) }
    }

    /// The pause after one more failure.
    pub fn next_pause(&mut self) -> Duration {
        let doubled = self.first.saturating_mul(1 << self.attempts.min(20));
        self.attempts = self.attempts.saturating_add(1);
        doubled.min(self.longest).mul_f64(1.0 - 0.5 * self.chance.f64())
    }

    /// Begins again after a success.
    pub fn reset(&mut self) {
        self.attempts = 0;
    }

    /// How many pauses there were since the beginning.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_longest_and_begin_again() {
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
    fn the_same_seed_gives_the_same_pauses() {
        let pauses = |seed| {
            let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(1), seed);
            [(); 5].map(|()| backoff.next_pause())
        };
        assert_eq!(pauses(1), pauses(1));
        assert_ne!(pauses(1), pauses(2));
    }
}
