//! The checked files, and the area of each file.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

/// The reader of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Markdown,
    Rust,
    /// Only the comments, which start with this marker.
    Comments(&'static str),
}

/// Built, installed or generated, or data of tests: the expected output of another check, or files
/// that are wrong on purpose.
const SKIPPED_DIRECTORIES: [&str; 9] =
    [".git", "target", "node_modules", "vendor", "expected", "corpus", "fine", "found", "stories"];
const GENERATED_DIRECTORY: &str = "crds";
const GENERATED_FILES: [&str; 3] = ["Cargo.lock", "go.sum", "mistakes.md"];

/// The paths below the root of all files to check, sorted, with `/` between their parts.
pub(crate) fn list(root: &Path) -> anyhow::Result<Vec<(String, Language)>> {
    let mut files = Vec::new();
    let mut directories = vec![String::new()];
    while let Some(directory) = directories.pop() {
        let path = root.join(&directory);
        let entries =
            fs::read_dir(&path).with_context(|| format!("failed to read {}", path.display()))?;
        for entry in entries {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path =
                if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
            let kind = entry.file_type()?;
            if kind.is_dir() {
                let is_skipped = SKIPPED_DIRECTORIES.contains(&name.as_str())
                    || name.ends_with(GENERATED_DIRECTORY);
                if !is_skipped {
                    directories.push(path);
                }
            } else if kind.is_file()
                && let Some(language) = language(&path)
            {
                files.push((path, language));
            }
        }
    }
    files.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(files)
}

/// The reader of a file; `None` if it is not checked.
fn language(path: &str) -> Option<Language> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if GENERATED_FILES.contains(&name) || name.ends_with(".min.js") {
        return None;
    }
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let is_data = path.contains("/tests/") && matches!(extension, Some("md" | "yaml" | "yml"));
    match extension {
        _ if is_data => None,
        Some("md") => Some(Language::Markdown),
        Some("rs") => Some(Language::Rust),
        Some("go" | "js") => Some(Language::Comments("//")),
        Some("yaml" | "yml" | "sh" | "toml") => Some(Language::Comments("#")),
        None if name == "Containerfile" || path.starts_with(".ci/") => {
            Some(Language::Comments("#"))
        }
        _ => None,
    }
}

/// A crate, a package of `tests/`, or a directory of the root; `root` for all other files.
pub(crate) fn area(path: &str) -> String {
    let parts: Vec<_> = path.split('/').collect();
    match parts.as_slice() {
        [group @ ("crates" | "tests"), member, _, ..] => format!("{group}/{member}"),
        [_] | [] => "root".to_owned(),
        [directory, ..] => (*directory).to_owned(),
    }
}

/// Whether a Rust file is only for tests.
pub(crate) fn is_for_tests(path: &str) -> bool {
    let below = path.strip_prefix("crates/").and_then(|path| path.split_once('/'));
    path.starts_with("tests/")
        || below.is_some_and(|(_, path)| {
            path.ends_with("/tests.rs") || path.starts_with("tests/") || path.contains("/tests/")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_crate_is_an_area() {
        for (path, expected) in [
            ("crates/api/src/lib.rs", "crates/api"),
            ("crates/api/tests/a.rs", "crates/api"),
            ("tests/stub/src/lib.rs", "tests/stub"),
            ("docs/failures/a.md", "docs"),
            ("README.md", "root"),
        ] {
            assert_eq!(area(path), expected, "{path}");
        }
    }

    #[test]
    fn data_and_generated_files_are_not_checked() {
        assert_eq!(language("crates/cli/tests/data/a.md"), None);
        assert_eq!(language("docs/mistakes.md"), None);
        assert_eq!(language("action/a.min.js"), None);
        assert_eq!(language("a.svg"), None);
        assert_eq!(language("crates/cli/tests/a.rs"), Some(Language::Rust));
        assert_eq!(language("Containerfile"), Some(Language::Comments("#")));
    }

    #[test]
    fn files_of_tests_are_recognized_by_their_path() {
        for path in ["tests/stub/src/lib.rs", "crates/a/tests/b.rs", "crates/a/src/b/tests.rs"] {
            assert!(is_for_tests(path), "{path}");
        }
        for path in ["crates/a/src/b.rs", "crates/a/src/contests.rs", "xtask/src/main.rs"] {
            assert!(!is_for_tests(path), "{path}");
        }
    }
}
