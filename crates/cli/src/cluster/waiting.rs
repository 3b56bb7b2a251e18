//! A progress message on a terminal while a cluster is slow.

use std::io::{self, IsTerminal, Write as _};
use std::pin::pin;
use std::time::Duration;

/// A shorter wait needs no message.
const SILENT: Duration = Duration::from_secs(1);

/// Does the work, with a message on a terminal if it takes long.
pub(super) async fn shown<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    if let Ok(done) = tokio::time::timeout(SILENT, &mut work).await {
        return done;
    }
    let _line = io::stderr().is_terminal().then(Line::write);
    work.await
}

/// A line on standard error that is removed when this is dropped.
struct Line;

impl Line {
    fn write() -> Line {
        // Nothing is lost when this line is.
        let _ = write!(io::stderr(), "\r\x1b[Kreading from the cluster …");
        Line
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}
