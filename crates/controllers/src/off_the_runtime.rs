//! Runs what takes long away from the tasks of the runtime. What takes long is up to the callers.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Runs work while other threads go on with the tasks of this one. A runtime of a single thread, as in tests, has no
/// other.
pub(crate) fn off_the_runtime<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|it| it.runtime_flavor());
    if flavor.is_ok_and(|it| it == RuntimeFlavor::MultiThread) {
        block_in_place(work)
    } else {
        work()
    }
}
