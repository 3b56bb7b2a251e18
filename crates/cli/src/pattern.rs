//! Patterns of names and of paths, such as `shop-*` and `teams/*.yaml`, with the syntax of `.gitignore`.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};

/// The maximum number of bytes in a path on Linux.
const MAX_PATH_BYTES: usize = 4_096;
/// The maximum number of lists of alternatives, which `globset` compiles by recursion.
const MAX_ALTERNATIVES: usize = 100;

/// A pattern of names.
#[derive(Clone, Debug)]
pub(crate) struct Pattern(GlobMatcher);

impl Pattern {
    /// Compiles a pattern. Fails with the reason for an invalid pattern.
    pub(crate) fn new(text: &str) -> Result<Pattern, String> {
        if text.len() > MAX_PATH_BYTES {
            return Err(format!(
                "the pattern has {} bytes; the maximum is {MAX_PATH_BYTES}",
                text.len()
            ));
        }
        if text.matches('{').count() > MAX_ALTERNATIVES {
            return Err(format!(
                "the pattern has more than {MAX_ALTERNATIVES} lists of alternatives"
            ));
        }
        let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(false).build();
        glob.map(|glob| Pattern(glob.compile_matcher())).map_err(|error| error.kind().to_string())
    }

    pub(crate) fn text(&self) -> &str {
        self.0.glob().glob()
    }

    pub(crate) fn matches(&self, name: impl AsRef<Path>) -> bool {
        self.0.is_match(name)
    }
}

/// Whether a string may match other strings than itself.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// The paths below a directory that a pattern matches, searched lazily.
pub(crate) fn paths(
    base: &Path,
    pattern: &str,
) -> Result<impl Iterator<Item = PathBuf> + use<>, String> {
    let parts: Vec<_> = Path::new(pattern).components().collect();
    let text = |part: &Component<'_>| part.as_os_str().to_string_lossy().into_owned();
    let first = parts.iter().position(|part| is_pattern(&text(part))).unwrap_or(parts.len());
    let root = base.join(parts[..first].iter().collect::<PathBuf>());
    let rest: Vec<String> = parts[first..].iter().map(text).collect();
    let whole = Pattern::new(&rest.join("/"))?;
    let parts: Result<Vec<Pattern>, String> =
        rest.iter().take_while(|part| *part != "**").map(|part| Pattern::new(part)).collect();
    let parts = parts?;
    let has_depth = parts.len() == rest.len();
    let is_nowhere = root.as_os_str().is_empty();
    let mut walk = WalkBuilder::new(if is_nowhere { Path::new(".") } else { &root });
    walk.standard_filters(false).sort_by_file_name(OsStr::cmp);
    // The walk is as deep as the pattern. Below `**`, a link could lead back to its own directory.
    walk.follow_links(has_depth).max_depth(has_depth.then_some(parts.len()));
    walk.filter_entry(move |entry| {
        let part = entry.depth().checked_sub(1).and_then(|depth| parts.get(depth));
        part.is_none_or(|part| part.matches(entry.file_name()))
    });
    let found = walk.build().filter_map(Result::ok).map(DirEntry::into_path);
    Ok(found.filter_map(move |path| {
        let root = if is_nowhere { Path::new(".") } else { &root };
        let below = path.strip_prefix(root).ok().filter(|below| whole.matches(below))?;
        Some(if is_nowhere { below.to_owned() } else { path })
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_pattern_matches_paths_of_its_depth_or_of_any_depth() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["top.yaml", "a/one.yaml", "a/deep/two.yaml", "b/.hidden.yaml", "b/three.json"]
        {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = |pattern: &str| -> Vec<String> {
            let found = paths(folder.path(), pattern).unwrap();
            let below = |path: PathBuf| path.strip_prefix(folder.path()).map(Path::to_owned);
            found.map(|path| below(path).unwrap().display().to_string()).collect()
        };
        assert_eq!(found("*.yaml"), ["top.yaml"]);
        assert_eq!(found("*/*.yaml"), ["a/one.yaml", "b/.hidden.yaml"]);
        assert_eq!(found("./a/**/*.yaml"), ["a/deep/two.yaml", "a/one.yaml"]);
        assert_eq!(found("**/t*.{yaml,json}"), ["a/deep/two.yaml", "b/three.json", "top.yaml"]);
        assert_eq!(found("[!b]/"), ["a"]);
        assert_eq!(found("a/deep"), ["a/deep"]);
        assert_eq!(found("c/*"), [""; 0]);
        let absolute = folder.path().join("?/one.yaml");
        assert_eq!(found(absolute.to_str().unwrap()), ["a/one.yaml"]);
        assert_eq!(
            paths(Path::new(""), "[").map(drop),
            Err("unclosed character class; missing ']'".into())
        );
    }

    #[test]
    fn a_relative_pattern_matches_in_the_current_directory() {
        let found: Vec<PathBuf> = paths(Path::new(""), "s?c/patt*.rs").unwrap().collect();
        assert_eq!(found, [Path::new("src/pattern.rs")]);
        let found: Vec<PathBuf> = paths(Path::new(""), "Carg?.toml").unwrap().collect();
        assert_eq!(found, [Path::new("Cargo.toml")]);
    }
}
