//! Reads the output of a test program: how many tests passed, and which failed.

use std::collections::BTreeSet;
use std::process::ExitStatus;

/// The results of one test program, or of the documentation examples of all packages.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) passed: usize,
    pub(super) ignored: usize,
    /// The names of the tests that failed.
    pub(super) failed: Vec<String>,
    /// The reason, if the program did not end like a test program.
    pub(super) broken: Option<String>,
}

impl Outcome {
    /// The results in the output of a program that has ended with this status.
    pub(super) fn read(output: &str, status: ExitStatus) -> Self {
        let mut outcome = Self::default();
        let mut has_result = false;
        let mut listed = Vec::new();
        for line in output.lines() {
            if let Some(result) = line.strip_prefix("test result: ") {
                has_result = true;
                outcome.passed += count(result, "passed");
                outcome.ignored += count(result, "ignored");
                // The last list before the result contains the names; an earlier list contains the output.
                outcome.failed.append(&mut listed);
            } else if line == "failures:" {
                listed.clear();
            } else if let Some(name) = line.strip_prefix("    ") {
                listed.push(name.to_owned());
            } else if !line.is_empty() {
                listed.clear();
            }
        }
        if !has_result || status.success() != outcome.failed.is_empty() {
            outcome.broken = Some(format!("the program ended with {status}"));
        }
        outcome
    }

    /// Whether every test that ran has passed.
    pub(super) fn is_ok(&self) -> bool {
        self.failed.is_empty() && self.broken.is_none()
    }
}

/// The tests that have ended, including those whose result is not printed yet.
pub(super) fn ended(output: &str) -> BTreeSet<&str> {
    let tests = output.lines().filter_map(|line| line.strip_prefix("test "));
    tests.filter_map(|line| Some(line.rsplit_once(" ... ")?.0)).collect()
}

/// The number before a word, as in `ok. 3 passed; 0 failed; 1 ignored`.
fn count(result: &str, what: &str) -> usize {
    let words: Vec<_> = result.split([' ', ';']).filter(|word| !word.is_empty()).collect();
    let pair = words.windows(2).find(|pair| pair[1] == what);
    pair.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    const FAILED: &str = "
running 3 tests
test a ... ok
test b::c ... FAILED
test d ... ignored, slow

failures:

---- b::c stdout ----
    indented output

thread 'b::c' panicked

failures:
    b::c

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    fn exit(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    #[test]
    fn the_failed_tests_are_read_by_name() {
        let outcome = Outcome::read(FAILED, exit(101));
        let failed = vec!["b::c".to_owned()];
        assert_eq!(outcome, Outcome { passed: 1, ignored: 1, failed, broken: None });
    }

    #[test]
    fn the_results_of_several_packages_add_up() {
        let both = format!("test result: ok. 4 passed; 0 failed; 2 ignored\n{FAILED}");
        let outcome = Outcome::read(&both, exit(101));
        assert_eq!((outcome.passed, outcome.ignored, outcome.failed.len()), (5, 3, 1));
    }

    #[test]
    fn a_program_without_a_result_is_broken() {
        assert!(Outcome::read("test a ... ok\n", ExitStatus::from_raw(6)).broken.is_some());
        assert!(Outcome::read("", exit(0)).broken.is_some());
        let ok = "test result: ok. 1 passed; 0 failed; 0 ignored\n";
        assert!(Outcome::read(ok, exit(1)).broken.is_some());
        assert!(Outcome::read(ok, exit(0)).is_ok());
    }

    #[test]
    fn the_tests_that_have_ended_are_known_without_a_result() {
        let ended = ended(FAILED);
        assert_eq!(ended.into_iter().collect::<Vec<_>>(), ["a", "b::c", "d"]);
    }
}
