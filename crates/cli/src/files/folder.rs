//! The files in a directory. Hidden and ignored files are skipped, links to directories are not followed, and only
//! plain files are opened.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use almanac_api::reading::{Folder, Kustomization, is_kustomization};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};

use super::excluding::{Exclusion, why_it_matches_nothing, with_literal_braces};
use super::notes::reached;
use super::open::{self, NotRead};
use crate::argument_error::ArgumentError;

/// The file with the patterns to skip, in addition to `.gitignore`.
pub(crate) const OUR_IGNORE_FILE: &str = ".almanacignore";

/// A directory with this file is a Helm chart.
const CHART_FILE: &str = "Chart.yaml";

/// The directory of the templates of a chart.
const TEMPLATES: &str = "templates";

/// The directory of the subcharts of a chart.
const SUBCHARTS: &str = "charts";

/// A directory with this file is a test of Chainsaw.
const CHAINSAW_TEST: &str = "chainsaw-test.yaml";

/// The words in the names of files by which tests of kuttl and Chainsaw mark the expected presence or absence of
/// objects.
const EXPECTING: [&str; 3] = ["assert", "error", "errors"];

/// The paths that arguments exclude from directories.
pub(super) struct ExcludedPaths(Override);

impl ExcludedPaths {
    pub(super) fn new(here: &Path, patterns: &[String]) -> Result<ExcludedPaths, ArgumentError> {
        let mut builder = OverrideBuilder::new(here);
        for pattern in patterns {
            if pattern.trim().is_empty() {
                return Err(ArgumentError::whole("--exclude", pattern, "the pattern is empty"));
            }
            if let Some(why) = why_it_matches_nothing(pattern) {
                let message = format!("the pattern {why}");
                return Err(ArgumentError::whole("--exclude", pattern, message));
            }
            let negated = format!("!{}", with_literal_braces(pattern));
            builder.add(&negated).map_err(|error| {
                // The message has no `!`, because this module adds it before the pattern.
                let why = match error {
                    ignore::Error::Glob { err, .. } => format!("not a valid pattern: {err}"),
                    other => other.to_string(),
                };
                ArgumentError::whole("--exclude", pattern, why)
            })?;
        }
        let built = builder.build();
        built
            .map(ExcludedPaths)
            .map_err(|error| ArgumentError::whole("--exclude", &patterns.join(" "), error))
    }
}

/// The files found in directories.
#[derive(Default)]
pub(super) struct DirectoryScan {
    /// Files that may contain objects, in order.
    pub(super) files: Vec<PathBuf>,
    /// The files that were found, by their full paths.
    known: BTreeSet<PathBuf>,
    /// The directories that are Helm charts.
    pub(super) charts: BTreeSet<Folder>,
    /// The Helm charts whose templates contain policies or autoscalers.
    pub(super) unrendered: BTreeSet<Folder>,
    pub(super) kustomizations: BTreeMap<Folder, Kustomization>,
    /// The files that are patches of kustomizations.
    pub(super) patches: Vec<PathBuf>,
    /// The directories that are tests of Chainsaw.
    tests: BTreeSet<PathBuf>,
    /// The number of files with the expectations of tests.
    pub(super) expectations: usize,
    /// The unreadable files and directories, and the reasons.
    pub(super) unreadable: BTreeMap<PathBuf, NotRead>,
    /// Files that exceed the maximum size.
    pub(super) too_large: Vec<String>,
    /// The full paths of the files and directories that `almanac.toml` excludes.
    pub(super) excluded: Vec<PathBuf>,
    /// The prefix to remove from the names of files.
    unnamed: PathBuf,
    /// Whether files that `.gitignore` matches are read anyway.
    reads_ignored: bool,
}

impl DirectoryScan {
    /// An empty scan. The names of files are displayed without the prefix `unnamed`.
    pub(super) fn without(unnamed: PathBuf, reads_ignored: bool) -> DirectoryScan {
        DirectoryScan { unnamed, reads_ignored, ..DirectoryScan::default() }
    }

    /// Records a file; `false` if the file is already recorded.
    pub(super) fn is_new(&mut self, path: &Path) -> bool {
        self.known.insert(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
    }

    /// Adds the files in a directory and its subdirectories.
    pub(super) fn walk(
        &mut self,
        folder: &Path,
        here: &Path,
        excluded: &ExcludedPaths,
    ) -> anyhow::Result<()> {
        let cannot = |error: io::Error| {
            anyhow::anyhow!("failed to list {}: {}", folder.display(), open::without_number(&error))
        };
        let root = folder.canonicalize().map_err(cannot)?;
        fs::read_dir(folder).map_err(cannot)?;
        self.note_charts_around(&Folder::from_path(&here.join(folder)));
        let mut walk = walker(folder);
        walk.git_ignore(!self.reads_ignored).git_exclude(!self.reads_ignored);
        let exclusion = Arc::new(Exclusion::new(folder, here));
        let by_settings = Arc::clone(&exclusion);
        walk.filter_entry(move |entry| by_settings.keeps(entry));
        for entry in walk.overrides(excluded.0.clone()).build() {
            match entry {
                Ok(entry) => self.add(folder, &root, here, &entry),
                Err(error) => {
                    let path = path_of(&error).unwrap_or(folder).to_owned();
                    self.unreadable.insert(path, NotRead::for_directory(&system_error(&error)));
                }
            }
        }
        self.excluded.extend(exclusion.excluded()?);
        Ok(())
    }

    /// Removes the directories that are rendered instead: these charts, and directories that only these kustomizations
    /// use.
    pub(super) fn leave_out(&mut self, rendered: &[Folder], here: &Path) {
        if rendered.is_empty() {
            return;
        }
        let (charts, roots): (Vec<&Folder>, Vec<&Folder>) =
            rendered.iter().partition(|it| self.charts.contains(*it));
        let known = &self.kustomizations;
        let used_paths =
            |it: &Kustomization| [&*it.resources, &it.components, &it.patches].concat();
        let resources = |path: &Folder| known.get(path).map(used_paths).unwrap_or_default();
        let inside: BTreeSet<Folder> = roots.iter().flat_map(|it| reached(it, resources)).collect();
        // A directory that a rendered kustomization uses is rendered, too.
        let unrendered =
            |path: &Folder| if roots.contains(&path) { Vec::new() } else { resources(path) };
        let others = known.keys().filter(|it| !inside.contains(*it));
        let others: BTreeSet<Folder> = others.flat_map(|it| reached(it, unrendered)).collect();
        let is_rendered = |path: &Folder| {
            charts.iter().any(|chart| path.is_within(chart))
                || roots.contains(&path)
                || inside.contains(path) && !others.contains(path)
        };
        let of_file = |path: &PathBuf| Folder::from_path(&here.join(path));
        let removed: Vec<Folder> = known.keys().filter(|it| is_rendered(it)).cloned().collect();
        self.files.retain(|path| !is_rendered(&of_file(path)));
        let charts: Vec<Folder> = charts.into_iter().cloned().collect();
        self.charts.retain(|it| !charts.iter().any(|chart| it.is_within(chart)));
        self.kustomizations.retain(|folder, _| !removed.contains(folder));
    }

    /// Records the charts around a directory of templates.
    pub(super) fn note_charts_around(&mut self, folder: &Folder) {
        let is_chart = |chart: &Folder| {
            is_in_templates(folder, chart)
                && Path::new(&chart.to_string()).join(CHART_FILE).is_file()
        };
        self.charts.extend(folder.around().filter(is_chart));
    }

    fn add(&mut self, folder: &Path, root: &Path, here: &Path, entry: &DirEntry) {
        let path = entry.path();
        let Some(identity) = plain_file(folder, root, entry) else { return };
        let name = entry.file_name().to_str().unwrap_or_default();
        let parent = || Folder::from_path(&here.join(path.parent().unwrap_or(Path::new(""))));
        if name == CHART_FILE {
            self.charts.insert(parent());
        }
        if name == CHAINSAW_TEST {
            self.tests.extend(path.parent().map(Path::to_owned));
        }
        if is_kustomization(name)
            && let Some(bytes) = self.open(path)
        {
            let text = String::from_utf8_lossy(&bytes);
            self.kustomizations.insert(parent(), Kustomization::read(&text));
        }
        if may_hold_objects(path) && self.known.insert(identity) {
            self.files.push(path.to_owned());
        }
    }

    /// The files to read, without patches of kustomizations and without the expectations of tests. Neither kind of
    /// file contains complete objects.
    pub(super) fn candidates(&mut self) -> Vec<PathBuf> {
        let patches = self.kustomizations.iter().flat_map(|(folder, kustomization)| {
            let base = PathBuf::from(folder.to_string());
            kustomization.patches.iter().map(move |patch| Folder::from_path(&base.join(&**patch)))
        });
        let patches: BTreeSet<Folder> = patches.collect();
        let files = std::mem::take(&mut self.files);
        let is_patch = |path: &PathBuf| {
            !patches.is_empty()
                && std::path::absolute(path)
                    .is_ok_and(|path| patches.contains(&Folder::from_path(&path)))
        };
        let (patches, files): (Vec<_>, Vec<_>) = files.into_iter().partition(is_patch);
        self.patches = patches;
        let (expectations, files): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|path| self.is_expectation(path));
        self.expectations = expectations.len();
        files
    }

    /// Whether a file contains the expectation of a test of kuttl or Chainsaw. A numbered name is enough; in a
    /// directory with a test of Chainsaw, one word of the name is enough.
    fn is_expectation(&self, path: &Path) -> bool {
        let name = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
        let is_in_test = path.parent().is_some_and(|folder| self.tests.contains(folder));
        is_numbered_expectation(name)
            || is_in_test && name.split('-').any(|word| EXPECTING.contains(&word))
    }

    /// The chart that a directory belongs to. A subchart belongs to its outer chart.
    pub(super) fn chart_of(&self, folder: &Folder) -> Option<Folder> {
        let mut around: Vec<Folder> =
            folder.around().filter(|it| self.charts.contains(it)).collect();
        let mut chart = around.pop()?;
        while let Some(outer) = around.pop() {
            match chart.names().strip_prefix(outer.names()) {
                Some([charts, _]) if **charts == *SUBCHARTS => chart = outer,
                _ => break,
            }
        }
        Some(chart)
    }

    /// The chart that has this file as a template.
    pub(super) fn chart_of_template(&self, file: &Path, here: &Path) -> Option<Folder> {
        if self.charts.is_empty() {
            return None;
        }
        let folder = Folder::from_path(&here.join(file.parent()?));
        let charts = folder.around().filter(|it| self.charts.contains(it));
        let innermost = charts.last().filter(|chart| is_in_templates(&folder, chart))?;
        self.chart_of(&innermost)
    }

    /// The content of a file. Records an unreadable file and returns `None`.
    pub(super) fn open(&mut self, path: &Path) -> Option<Vec<u8>> {
        let read = fs::metadata(path).and_then(|metadata| {
            if open::is_too_large(&metadata) { Ok(None) } else { fs::read(path).map(Some) }
        });
        let name = || path.strip_prefix(&self.unnamed).unwrap_or(path).display().to_string();
        match read {
            Ok(Some(bytes)) => return Some(bytes),
            Ok(None) => self.too_large.push(name()),
            Err(error) => _ = self.unreadable.insert(path.to_owned(), error.into()),
        }
        None
    }
}

/// Whether a file name without its extension is that of an expecting test step, such as `00-assert`,
/// `00-assert-ready` or `01-errors`.
fn is_numbered_expectation(name: &str) -> bool {
    let Some((number, word)) = name.split_once('-') else { return false };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    // The word `error` may be a part of any name, as in 10-error-budget.
    is_number && (EXPECTING.contains(&word) || word.starts_with("assert-"))
}

/// The walk through a directory. Which files it skips depends on the directory alone, not on the machine.
pub(super) fn walker(folder: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(folder);
    walk.require_git(false).git_global(false).ignore(false);
    walk.add_custom_ignore_filename(OUR_IGNORE_FILE).sort_by_file_name(OsStr::cmp);
    walk
}

/// Whether a file may contain objects, by its name.
pub(crate) fn may_hold_objects(path: &Path) -> bool {
    matches!(path.extension().and_then(OsStr::to_str), Some("yaml" | "yml" | "json"))
}

/// Whether Helm would render the files of a directory as templates of a chart.
fn is_in_templates(folder: &Folder, chart: &Folder) -> bool {
    let below = folder.names().strip_prefix(chart.names());
    below.and_then(<[_]>::first).is_some_and(|first| **first == *TEMPLATES)
}

/// The path that the walk could not read.
fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } => path_of(err),
        _ => None,
    }
}

/// The error of the system, without the message of the walk around it.
fn system_error(error: &ignore::Error) -> io::Error {
    let mut cause = error.io_error().map(|error| error as &(dyn Error + 'static));
    while let Some(error) = cause {
        if let Some(code) = error.downcast_ref().and_then(io::Error::raw_os_error) {
            return io::Error::from_raw_os_error(code);
        }
        cause = error.source();
    }
    io::Error::other(error.to_string())
}

/// The path of a plain file after all links; `None` for a directory, a pipe, a device, a link to one of these, or a
/// broken link. A mounted `ConfigMap` is links to files.
fn plain_file(folder: &Path, root: &Path, entry: &DirEntry) -> Option<PathBuf> {
    let kind = entry.file_type()?;
    if kind.is_file() {
        let below = entry.path().strip_prefix(folder).ok()?;
        return Some(root.join(below));
    }
    if !kind.is_symlink() || !fs::metadata(entry.path()).is_ok_and(|it| it.is_file()) {
        return None;
    }
    entry.path().canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_step_with_expectations_is_recognized_by_its_name() {
        for name in ["00-assert", "0-assert", "00-assert-ready", "01-errors", "02-error"] {
            assert!(is_numbered_expectation(name), "{name}");
        }
        for name in [
            "",
            "assert",
            "errors",
            "-assert",
            "00-install",
            "00-asserts",
            "10-error-budget",
            "shop-assert",
            "1a-assert",
        ] {
            assert!(!is_numbered_expectation(name), "{name}");
        }
    }
}
