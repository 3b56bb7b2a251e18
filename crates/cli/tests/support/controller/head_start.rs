//! The start-up time of a program on this machine, and the head start that compensates for it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::SignedDuration;

/// The start-up times of the last programs of this process, in seconds. The first ones all start at the same time.
static LAST_TOOK: AtomicU64 = AtomicU64::new(8);

/// The head start of a program that must be ready at an instant: three times the start-up time of the last programs, so
/// that a busy machine gets more. Three times as much is still less than the timeout of a condition.
pub(crate) fn head_start() -> SignedDuration {
    SignedDuration::from_secs(3 * LAST_TOOK.load(Ordering::SeqCst).clamp(3, 9).cast_signed())
}

/// Records the start-up time of a program.
pub(super) fn note(took: Duration) {
    let took = (took.as_secs() + 1).min(9);
    // One quick start is not representative: the next programs may all start at the same time.
    let last = LAST_TOOK.load(Ordering::SeqCst);
    LAST_TOOK.store(took.max(last.saturating_sub(1)), Ordering::SeqCst);
}
