//! The paths that the `almanac.toml` of directories excludes from reading: `exclude`, whose patterns are those of a
//! `.gitignore`.
//!
//! As with `.gitignore`, the nearest file with a pattern that matches decides, up to the root of the repository. Paths
//! that are named on the command line are read anyway.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{iter, mem};

use almanac_api::reading::Folder;
use anyhow::{Context as _, bail};
use ignore::DirEntry;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::settings;

/// The patterns that apply to a directory, the nearest first.
type Rules = Arc<Vec<Arc<Gitignore>>>;

/// The excluded paths below one directory.
pub(super) struct Exclusion {
    /// The path of the walked directory, as named.
    walked: PathBuf,
    /// The full path of the walked directory.
    full: PathBuf,
    known: Mutex<ExclusionCache>,
}

#[derive(Default)]
struct ExclusionCache {
    by_folder: BTreeMap<PathBuf, Rules>,
    /// The files and directories that were excluded.
    excluded: Vec<PathBuf>,
    /// The error of the first unreadable settings.
    error: Option<anyhow::Error>,
}

impl Exclusion {
    pub(super) fn new(walked: &Path, here: &Path) -> Exclusion {
        let full = PathBuf::from(Folder::from_path(&here.join(walked)).to_string());
        Exclusion { walked: walked.to_owned(), full, known: Mutex::default() }
    }

    /// Whether the walk continues with a file or a directory. Unreadable settings end the walk.
    pub(super) fn keeps(&self, entry: &DirEntry) -> bool {
        let Ok(below) = entry.path().strip_prefix(&self.walked) else { return true };
        let is_folder = entry.file_type().is_some_and(|it| it.is_dir());
        let mut cache = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.error.is_some() {
            return false;
        }
        let path = self.full.join(below);
        match cache.excludes(&path, is_folder) {
            Ok(false) => return true,
            Ok(true) => cache.excluded.push(path),
            Err(error) => cache.error = Some(error),
        }
        false
    }

    /// The full paths of the files and directories that were excluded.
    pub(super) fn excluded(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mut cache = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        cache.error.take().map_or_else(|| Ok(mem::take(&mut cache.excluded)), Err)
    }
}

impl ExclusionCache {
    fn excludes(&mut self, path: &Path, is_folder: bool) -> anyhow::Result<bool> {
        let Some(folder) = path.parent() else { return Ok(false) };
        let rules = self.rules(folder)?;
        let mut matched = rules.iter().map(|it| it.matched(path, is_folder));
        Ok(matched.find(|it| !it.is_none()).is_some_and(|it| it.is_ignore()))
    }

    /// The patterns that apply to the direct entries of a directory.
    fn rules(&mut self, folder: &Path) -> anyhow::Result<Rules> {
        if let Some(rules) = self.by_folder.get(folder) {
            return Ok(Arc::clone(rules));
        }
        let is_root = folder.join(".git").exists();
        let outer = match folder.parent().filter(|_| !is_root) {
            Some(parent) => self.rules(parent)?,
            None => Rules::default(),
        };
        let rules: Rules = match own(folder)? {
            Some(own) => Arc::new(iter::once(Arc::new(own)).chain(outer.iter().cloned()).collect()),
            None => outer,
        };
        self.by_folder.insert(folder.to_owned(), Arc::clone(&rules));
        Ok(rules)
    }
}

/// The patterns of the settings in a directory; `None` without patterns.
fn own(folder: &Path) -> anyhow::Result<Option<Gitignore>> {
    let Some((path, settings)) = settings::within(folder)? else { return Ok(None) };
    if settings.exclude.is_empty() {
        return Ok(None);
    }
    let mut builder = GitignoreBuilder::new(folder);
    builder.allow_unclosed_class(false);
    for pattern in &settings.exclude {
        add(&mut builder, pattern)
            .with_context(|| format!("{}: the pattern {pattern:?} in exclude", path.display()))?;
    }
    let built = builder.build();
    built.map(Some).with_context(|| format!("failed to read exclude in {}", path.display()))
}

fn add(builder: &mut GitignoreBuilder, pattern: &str) -> anyhow::Result<()> {
    if pattern.trim().is_empty() {
        bail!("is empty; remove it, or write a path such as /tests");
    }
    if pattern.starts_with('#') {
        // A line without a pattern, in a .gitignore.
        bail!("begins with #, the start of a comment; write \\\\# for a name that begins with #");
    }
    if Path::new(pattern.trim_start_matches('!')).components().any(|it| it == Component::ParentDir)
    {
        bail!(
            "leads out of the directory of almanac.toml; write the pattern into the almanac.toml further up"
        );
    }
    if let Some(why) = why_it_matches_nothing(pattern) {
        bail!(why);
    }
    match builder.add_line(None, &with_literal_braces(pattern)) {
        Ok(_) => Ok(()),
        Err(ignore::Error::Glob { err, .. }) => bail!("is not a valid pattern: {err}"),
        Err(error) => Err(error.into()),
    }
}

/// The reason that nothing can match a pattern, and the fix; `None` for a valid pattern. Files are matched by their
/// paths below a directory, as in `team/tests`.
pub(super) fn why_it_matches_nothing(pattern: &str) -> Option<String> {
    if pattern.contains(['\n', '\r']) {
        return Some("has a line break; write a pattern for each line".to_owned());
    }
    let (sign, path) = match pattern.strip_prefix('!') {
        Some(path) => ("!", path),
        None => ("", pattern),
    };
    let inner = path.strip_prefix('/').unwrap_or(path);
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    let is_no_name = |part: &str| part.is_empty() || part == ".";
    if !inner.split('/').any(is_no_name) {
        return None;
    }
    let names: Vec<&str> = inner.split('/').filter(|part| !is_no_name(part)).collect();
    if names.is_empty() {
        return Some("matches nothing; write a path such as /tests".to_owned());
    }
    let end = if path.ends_with('/') { "/" } else { "" };
    Some(format!("matches nothing; write {sign}/{}{end}", names.join("/")))
}

/// A pattern with literal braces, as in a `.gitignore`.
pub(super) fn with_literal_braces(pattern: &str) -> String {
    let mut literal = String::with_capacity(pattern.len());
    let (mut is_escaped, mut is_in_class) = (false, false);
    for letter in pattern.chars() {
        if matches!(letter, '{' | '}') && !is_escaped && !is_in_class {
            literal.push('\\');
        }
        match letter {
            '[' if !is_escaped => is_in_class = true,
            ']' if !is_escaped => is_in_class = false,
            _ => {}
        }
        is_escaped = letter == '\\' && !is_escaped;
        literal.push(letter);
    }
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_matches_nothing_has_an_advised_pattern() {
        for (pattern, advice) in [
            ("./tests", "write /tests"),
            ("!./tests/*.yaml", "write !/tests/*.yaml"),
            ("./tests/", "write /tests/"),
            ("/a/./b", "write /a/b"),
            ("a//b", "write /a/b"),
            ("/", "write a path such as /tests"),
            (".", "write a path such as /tests"),
            ("./", "write a path such as /tests"),
            ("!", "write a path such as /tests"),
            ("a\nb", "write a pattern for each line"),
        ] {
            let why = why_it_matches_nothing(pattern).unwrap();
            assert!(why.ends_with(&format!("; {advice}")), "{pattern:?}: {why}");
        }
        for pattern in ["/tests", "tests/", "*.yaml", "!.hidden", "**/a/**", "a/..b", "..."] {
            assert_eq!(why_it_matches_nothing(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn braces_are_literal() {
        assert_eq!(with_literal_braces("a{b,c}"), "a\\{b,c\\}");
        assert_eq!(with_literal_braces("a\\{b\\\\{[{]"), "a\\{b\\\\\\{[{]");
    }
}
