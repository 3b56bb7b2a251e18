//! The run directories of the programs that a test started along with its cluster. A failed test prints their logs,
//! even if a program has already ended.
//!
//! A test that fails with an error drops its programs before the failure is known. So the directories are kept until
//! the end of the test, per thread, because each test runs on a thread of its own.

use std::cell::RefCell;

use almanac_local::log_tail;
use almanac_local::run_folder::{self, RunFolder};

thread_local! {
    static OF_THIS_TEST: RefCell<Belongings> = const { RefCell::new(Belongings(Vec::new())) };
}

/// Run directories that are kept as long as this value exists.
#[derive(Debug)]
pub(crate) struct Belongings(Vec<RunFolder>);

impl Belongings {
    /// Keeps the logs and returns their last lines.
    pub(crate) fn report(&self, lines: usize) -> String {
        let mut report = String::new();
        for folder in &self.0 {
            run_folder::keep(folder.path());
            report.push_str(&log_tail::tails_of(folder.path(), lines));
        }
        report
    }
}

/// Passes a directory to the running test, for its report.
pub(crate) fn leave(folder: RunFolder) {
    OF_THIS_TEST.with_borrow_mut(|folders| folders.0.push(folder));
}

/// Keeps the logs and returns their last lines; called when the test has failed.
pub(crate) fn report(lines: usize) -> String {
    OF_THIS_TEST.with_borrow(|folders| folders.report(lines))
}

/// The kept directories of the running test, for use in another thread.
pub(crate) fn take() -> Belongings {
    OF_THIS_TEST.with_borrow_mut(|folders| Belongings(std::mem::take(&mut folders.0)))
}

/// Clears the directories at the end of a test, and at the start of the next test.
pub(crate) fn clear() {
    OF_THIS_TEST.with_borrow_mut(|folders| folders.0.clear());
}
