//! A progress message on a terminal while a cluster is slow.

use std::io::{self, IsTerminal, Write as _};
use std::pin::pin;
use std::time::Duration;

/// The delay before the message.
const SILENT: Duration = Duration::from_secs(1);

/// Runs the work, with a progress message on a terminal if it takes long.
pub(super) async fn with_progress<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    if let Ok(done) = tokio::time::timeout(SILENT, &mut work).await {
        return done;
    }
    let _line = io::stderr().is_terminal().then(Line::write);
    work.await
}

/// A line on standard error, removed on drop.
struct Line;

impl Line {
    fn write() -> Line {
        // A failure to write this line is harmless.
        let _ = write!(io::stderr(), "\r\x1b[Kreading from the cluster …");
        Line
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}
