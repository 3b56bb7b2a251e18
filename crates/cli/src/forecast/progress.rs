//! Progress on a terminal when a forecast takes a while.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// The duration without a message.
const SILENT: Duration = Duration::from_secs(1);
const BETWEEN: Duration = Duration::from_millis(100);

/// A line on standard error that is rewritten, and removed at the end.
pub(crate) struct Progress {
    doing: &'static str,
    all: usize,
    done: usize,
    next: Option<Instant>,
    is_shown: bool,
}

impl Progress {
    pub(crate) fn new(doing: &'static str, all: usize) -> Progress {
        let next = io::stderr().is_terminal().then(|| Instant::now() + SILENT);
        Progress { doing, all, done: 0, next, is_shown: false }
    }

    /// Counts a finished piece of work.
    pub(crate) fn advance(&mut self) {
        self.done += 1;
        let Some(next) = self.next else { return };
        let now = Instant::now();
        if now >= next {
            self.next = Some(now + BETWEEN);
            self.is_shown = true;
            let percent = self.done * 100 / self.all.max(1);
            // A failure to write this line is harmless.
            let _ = write!(
                io::stderr(),
                "\r\x1b[K{}: {} of {} ({percent} %)",
                self.doing,
                self.done,
                self.all
            );
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
