//! No test is disabled: a test that does not run is not a pass.

use super::Finding;
use crate::source;

pub(super) fn check(place: &str, text: &str) -> anyhow::Result<Vec<Finding>> {
    let refused = |name: String| {
        let message = format!("`{name}` has `#[ignore]`: run the test, or delete it");
        Finding::error(place, message)
    };
    Ok(source::ignored_tests(text)?.into_iter().map(refused).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_switched_off_is_an_error() {
        let off = "#[test]\n#[ignore = \"slow\"]\nfn tides_turn() {}\n";
        let message = "`tides_turn` has `#[ignore]`: run the test, or delete it";
        assert_eq!(check("a.rs", off).unwrap(), [Finding::error("a.rs", message)]);
        assert_eq!(check("a.rs", "#[test]\nfn tides_turn() {}\n").unwrap(), []);
    }
}
