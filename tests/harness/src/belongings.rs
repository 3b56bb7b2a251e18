//! The run directories of what a test started beside its cluster: their logs are shown when the test
//! fails, also those of programs that have ended by then.
//!
//! A test that fails with an error drops its programs before the failure is known. So the directories
//! are kept until the test is over, per thread, because each test runs on its own.

use std::cell::RefCell;

use almanac_local::log_tail;
use almanac_local::run_folder::{self, RunFolder};

thread_local! {
    static OF_THIS_TEST: RefCell<Vec<RunFolder>> = const { RefCell::new(Vec::new()) };
}

/// Leaves a directory with the running test, for its report.
pub(crate) fn leave(folder: RunFolder) {
    OF_THIS_TEST.with_borrow_mut(|folders| folders.push(folder));
}

/// Keeps the logs and returns their last lines; called when the test has failed.
pub(crate) fn report(lines: usize) -> String {
    OF_THIS_TEST.with_borrow(|folders| {
        let mut report = String::new();
        for folder in folders {
            run_folder::keep(folder.path());
            report.push_str(&log_tail::tails_of(folder.path(), lines));
        }
        report
    })
}

/// The test is over, or a new one begins.
pub(crate) fn forget() {
    OF_THIS_TEST.with_borrow_mut(Vec::clear);
}
