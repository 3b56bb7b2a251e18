//! Programs of other projects that a test drives. Where one is missing and apt-get may install it, it is
//! installed; elsewhere the test fails with the fix. It is never skipped.

use std::process::{Command, Stdio};
use std::sync::Mutex;

/// apt-get is called once at a time.
static INSTALLING: Mutex<()> = Mutex::new(());

/// Makes sure that a program is there, from the package of its name.
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
