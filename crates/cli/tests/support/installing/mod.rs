//! Programs of other projects that a test drives. If a program is missing, the test installs it with apt-get. Without
//! permission for apt-get, the test fails with the fix. The test is never skipped.

use std::process::{Command, Stdio};
use std::sync::Mutex;

/// Allows a single apt-get at a time.
static INSTALLING: Mutex<()> = Mutex::new(());

/// Installs the package with the name of a program, unless the program exists.
pub(crate) fn needs(program: &str) {
    let _one_at_a_time = INSTALLING.lock();
    if is_there(program) {
        return;
    }
    let install = format!("apt-get update -qq && apt-get install -y -qq {program}");
    let installed = Command::new("sh").args(["-c", &install]).output();
    assert!(
        is_there(program),
        "this test needs {program} on the PATH, and `{install}` failed: {installed:?}"
    );
}

fn is_there(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
