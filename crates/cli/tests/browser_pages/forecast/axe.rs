//! The accessibility rules of axe-core, from npm, for this test only.

use std::fs;
use std::sync::LazyLock;

use crate::chromium::Page;
use crate::forecast::npm;

/// The hash of the only file.
const SHA256: &str = "KTSJmUUM3yhJqOcLeRL8LahahJ2jnA0NU5T1HUqe2Vw=";

static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    fs::read_to_string(npm::file("axe-core@4.14.1", "axe.min.js", SHA256)).unwrap()
});

/// The violations: each rule, and the violating elements.
pub(crate) fn barriers(page: &mut Page) -> Vec<String> {
    page.run(&SCRIPT);
    let actual =
        "axe.run().then((it) => it.violations.map((rule) => rule.id + ': ' + rule.nodes[0].html))";
    let actual = page.evaluate(&format!("window.axe && {actual}"));
    serde_json::from_value(actual).unwrap()
}
