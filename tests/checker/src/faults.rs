//! Lists of faults. With these lists, each family of policies proves that its checks can fail.
//!
//! A check that no fault violates asserts nothing. A list is therefore complete only if its faults violate every check
//! of its files. The checks are read from the source.

use std::collections::BTreeSet;

/// A fault: its description, part of the message of its check, and a function that adds the fault to a correct
/// decision.
pub type Fault<Spoil> = (&'static str, &'static str, Spoil);

/// Fails the test unless each fault is caught by its check, and each check of these files catches a fault. `failures`
/// are the messages of random cases with a fault, as many as needed.
///
/// # Panics
///
/// If a fault is not caught, or a check catches no fault.
pub fn prove<Spoil, Failures: IntoIterator<Item = String>>(
    files: &[&str],
    faults: &[Fault<Spoil>],
    failures: impl Fn(&Spoil) -> Failures,
) {
    let mut idle: BTreeSet<String> = files.iter().flat_map(|file| checks_of(file)).collect();
    let mut uncaught = Vec::new();
    for (fault, words, spoil) in faults {
        let line_of = |message: String| {
            message.lines().find(|line| line.contains(words)).map(ToOwned::to_owned)
        };
        match failures(spoil).into_iter().find_map(line_of) {
            Some(line) => idle.retain(|check| !line.ends_with(&**check)),
            None => uncaught.push(*fault),
        }
    }
    assert!(uncaught.is_empty(), "their checks do not catch decisions that: {uncaught:#?}");
    assert!(idle.is_empty(), "no fault is caught by the checks {idle:#?}");
}

/// The checks of a file of this crate, in the form that violations use.
fn checks_of(file: &str) -> Vec<String> {
    let path = format!("{}/src/{file}", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).unwrap_or_default();
    let lines = (1..).zip(source.lines()).filter(|(_, line)| line.contains(".unless("));
    let checks: Vec<String> = lines.map(|(line, _)| format!("({file}:{line})")).collect();
    assert!(!checks.is_empty(), "{path} has no checks");
    checks
}
