//! Time by a monotonic clock: the basis for the expiry of leases and of bindings in progress.
//!
//! A wall clock can be set forward and backward, and that must not release a permit. The owner of the ledger reads the
//! clock.

use std::ops::Add;
use std::time::Duration;

/// The time since a fixed instant, such as the start of the machine. All times that a ledger receives refer to the same
/// instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Elapsed(Duration);

impl Elapsed {
    /// The maximum; later than any other time.
    pub const MAX: Elapsed = Elapsed(Duration::MAX);

    /// Creates the time that is this duration after the fixed instant.
    #[must_use]
    pub const fn new(since: Duration) -> Elapsed {
        Elapsed(since)
    }

    /// The time until `then`; zero if `then` is past.
    #[must_use]
    pub fn until(self, then: Elapsed) -> Duration {
        then.0.saturating_sub(self.0)
    }
}

impl Add<Duration> for Elapsed {
    type Output = Elapsed;

    fn add(self, more: Duration) -> Elapsed {
        Elapsed(self.0.saturating_add(more))
    }
}

/// The maximum time for which a bind request can be in progress after it was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LongestBind(Duration);

impl LongestBind {
    /// The client stops waiting after its timeout. A request that has reached the API server by then may still be
    /// applied until the server's own timeout: the timeout for requests in general, or the one that the request names.
    #[must_use]
    pub const fn from_timeouts(client_timeout: Duration, server_timeout: Duration) -> LongestBind {
        LongestBind(client_timeout.saturating_add(server_timeout))
    }

    /// The instant by which a request that is sent at `now` has ended, with any outcome.
    #[must_use]
    pub fn after(self, now: Elapsed) -> Elapsed {
        now + self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_ends_after_the_timeouts_of_its_client_and_the_server() {
        let longest = LongestBind::from_timeouts(Duration::from_secs(5), Duration::from_mins(1));
        let sent = Elapsed::new(Duration::from_secs(100));
        assert_eq!(longest.after(sent), Elapsed::new(Duration::from_secs(165)));
        assert_eq!(sent.until(longest.after(sent)), Duration::from_secs(65));
        assert_eq!(longest.after(sent).until(sent), Duration::ZERO);
        assert_eq!(
            LongestBind::from_timeouts(Duration::MAX, Duration::MAX).after(sent),
            Elapsed::MAX
        );
    }
}
