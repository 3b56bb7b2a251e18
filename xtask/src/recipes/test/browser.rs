//! The requirements of the tests of pages: a browser, and npm for the rules that the pages are checked with. Installs
//! missing programs where that is allowed.

use std::process::{Command, Stdio};

/// The prefix of the file names of tests of pages.
pub(super) const BROWSER: &str = "browser_";

/// The packages of Debian and Ubuntu have the names of their programs.
const PROGRAMS: [&str; 2] = ["chromium", "npm"];

/// The reason that the tests of pages cannot run; `None` if they can.
pub(super) fn why_not() -> Option<String> {
    why_not_with(&PROGRAMS, is_installed, install)
}

fn why_not_with(
    programs: &[&str],
    is_installed: impl Fn(&str) -> bool,
    install: impl Fn(&[&str]) -> String,
) -> Option<String> {
    let missing = || programs.iter().copied().filter(|it| !is_installed(it)).collect::<Vec<_>>();
    let before = missing();
    if before.is_empty() {
        return None;
    }
    let message = install(&before);
    let after = missing();
    (!after.is_empty()).then(|| format!("missing: {}; to install: {message}", after.join(", ")))
}

fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Installs the programs; returns the last line of the error output if that fails.
fn install(programs: &[&str]) -> String {
    println!("\ninstalling with apt-get: {}", programs.join(", "));
    let install = format!("apt-get update -qq && apt-get install -y -qq {}", programs.join(" "));
    match Command::new("sh").args(["-c", &install]).stdin(Stdio::null()).output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            said.lines().last().unwrap_or("apt-get failed").to_owned()
        }
        Err(error) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_missing_program_is_installed_or_reported() {
        let installed = Cell::new(false);
        let comes = |program: &str| program != "npm" || installed.get();
        let install = |missing: &[&str]| {
            assert_eq!(missing, ["npm"]);
            installed.set(true);
            String::new()
        };
        assert_eq!(why_not_with(&PROGRAMS, comes, install), None);
        assert!(installed.get());
        let why = why_not_with(&PROGRAMS, |_| false, |_| "you are not root".to_owned());
        let message = "missing: chromium, npm; to install: you are not root";
        assert_eq!(why.as_deref(), Some(message));
    }
}
