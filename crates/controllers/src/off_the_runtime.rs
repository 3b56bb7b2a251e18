//! Runs long computations away from the tasks of the runtime. The callers choose what to run here.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Runs work while other threads run the tasks of this thread. A runtime with a single thread, as in tests, has no
/// other thread.
pub(crate) fn off_the_runtime<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|it| it.runtime_flavor());
    if flavor.is_ok_and(|it| it == RuntimeFlavor::MultiThread) {
        block_in_place(work)
    } else {
        work()
    }
}
