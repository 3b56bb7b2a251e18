//! The modules of the page's script, one after the other as one.
//!
//! A browser could load each module separately. The page contains one script without imports, so exported names are
//! unique. Each module follows its imports.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};

const MODULES: [(&str, &str); 10] = [
    ("clock.js", include_str!("../page/clock.js")),
    ("scale.js", include_str!("../page/scale.js")),
    ("data.js", include_str!("../page/data.js")),
    ("elements.js", include_str!("../page/elements.js")),
    ("axis.js", include_str!("../page/axis.js")),
    ("shapes.js", include_str!("../page/shapes.js")),
    ("week.js", include_str!("../page/week.js")),
    ("why.js", include_str!("../page/why.js")),
    ("rows.js", include_str!("../page/rows.js")),
    ("table.js", include_str!("../page/table.js")),
];
const PAGE: &str = include_str!("../page/page.js");

/// The script of the page.
pub(super) static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let texts = MODULES.iter().map(|(_, text)| *text).chain([PAGE]);
    texts.map(inlined).collect()
});

/// A module as text among the others, without four things:
///
/// - its imports, one per line;
/// - comments; only comments with types are within lines;
/// - indentation;
/// - the line breaks after `{`, `(`, `[`, `,` and `;`.
///
/// No string in a module spans several lines or looks like a comment.
fn inlined(text: &str) -> String {
    let mut script = String::with_capacity(text.len());
    let mut rest = text;
    let mut code = String::with_capacity(text.len());
    while let Some((before, comment)) = rest.split_once("/**") {
        code.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after.trim_start_matches(' '));
    }
    code.push_str(rest);
    for line in code.lines().map(str::trim) {
        let is_left_out = line.starts_with("//") || line.starts_with("import ");
        if !is_left_out && !line.is_empty() {
            script.push_str(line.strip_prefix("export ").unwrap_or(line));
            if !line.ends_with(['{', '(', '[', ',', ';']) {
                script.push('\n');
            }
        }
    }
    script
}

/// The source expression that allows a text in a content security policy.
pub(super) fn hash_source(text: &str) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The names that each module declares at the top level.
    fn names(text: &str) -> Vec<&str> {
        let declared = text.lines().filter_map(|line| {
            let line = line.strip_prefix("export ").unwrap_or(line);
            let line = line.strip_prefix("async ").unwrap_or(line);
            ["function ", "const ", "let ", "class "].iter().find_map(|it| line.strip_prefix(it))
        });
        let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        declared.map(|rest| rest.split(|it| !is_of_name(it)).next().unwrap()).collect()
    }

    #[test]
    fn a_module_imports_only_what_comes_before_it_and_no_name_is_used_twice() {
        let (mut known, mut modules) = (BTreeSet::new(), BTreeSet::new());
        for (name, text) in MODULES.into_iter().chain([("page.js", PAGE)]) {
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let from = line.rsplit("\"./").next().unwrap().trim_end_matches("\";");
                assert!(modules.contains(from), "{name}: {line}");
            }
            modules.insert(name);
            for declared in names(text) {
                assert!(known.insert(declared), "{name}: {declared} is there twice");
            }
        }
        assert!(SCRIPT.len() < 64_000, "the script has {} bytes", SCRIPT.len());
        assert!(!SCRIPT.contains("</script"), "the script would end there");
    }
}
