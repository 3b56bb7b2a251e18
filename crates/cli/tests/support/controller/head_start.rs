//! How long a program takes to be in place on this machine, and how much earlier it starts for that.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::SignedDuration;

/// The seconds that the last programs of this process have taken to be in place. The first ones start all at once.
static LAST_TOOK: AtomicU64 = AtomicU64::new(8);

/// How long before an instant a program starts that has to be in place by then: three times as long as the last ones have
/// taken, so that a busy machine gets more. Three times as much is still less than a condition is waited for.
pub(crate) fn head_start() -> SignedDuration {
    SignedDuration::from_secs(3 * LAST_TOOK.load(Ordering::SeqCst).clamp(3, 9).cast_signed())
}

/// Notes how long a program has taken.
pub(super) fn note(took: Duration) {
    let took = (took.as_secs() + 1).min(9);
    // One quick start says little: the next programs may all start at once.
    let last = LAST_TOOK.load(Ordering::SeqCst);
    LAST_TOOK.store(took.max(last.saturating_sub(1)), Ordering::SeqCst);
}
