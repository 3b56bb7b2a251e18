//! `cargo xtask words`: the words, names and sentences that the project avoids.
//!
//! This file prints the findings and compares their numbers with the baseline. The check itself is
//! `crate::words`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use super::Recipe;
use crate::run::Run;
use crate::words::baseline::{self, Change, Counts};
use crate::words::{self, Finding, List, area, changed, compare, exemptions};

pub(super) const RECIPE: Recipe = Recipe {
    name: "words",
    about: "The words, names and sentences that the project avoids",
    options: &["summary", "write-baseline", "compare", PATHS],
    run,
};

/// The id of the argument for the paths. The paths follow `--`.
pub(super) const PATHS: &str = " PATH";

/// The file with the allowed number of findings in each area.
const BASELINE: &str = "xtask/words-baseline.txt";

/// The options of this recipe.
#[derive(Args, Clone, Default)]
pub(crate) struct Options {
    /// With `words`: the numbers of findings by area and kind
    #[arg(long)]
    pub(super) summary: bool,
    /// With `words`: lower the baseline to the numbers of this tree
    #[arg(long, conflicts_with_all = ["compare", "paths"])]
    pub(super) write_baseline: bool,
    /// With `words`: list the lines of FILE, `PATH:LINE: WORD`, for which there is no finding
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    pub(super) compare: Option<PathBuf>,
    /// With `words`: list the findings in these files, directories or areas
    #[arg(last = true, value_name = "PATH")]
    pub(super) paths: Vec<String>,
}

fn run(run: &mut Run) -> anyhow::Result<()> {
    let options = run.arguments.words.clone();
    check(run, &options)
}

pub(super) fn check(run: &mut Run, options: &Options) -> anyhow::Result<()> {
    run.check("words", "cargo xtask words", |workspace| report(&workspace.root, options))?;
    Ok(())
}

fn report(root: &Path, options: &Options) -> anyhow::Result<bool> {
    let list = List::load()?;
    let mut findings = words::gather(&list, root)?;
    if let Some(file) = &options.compare {
        return print_missing(file, &findings);
    }
    let unneeded = exemptions::apply(&exemptions::load()?, &mut findings);
    for message in &unneeded {
        println!("error: {message}");
    }
    if !options.paths.is_empty() {
        findings.retain(|finding| options.paths.iter().any(|path| is_in(&finding.path, path)));
    }
    if options.summary {
        print!("{}", summary(&findings));
    }
    if options.paths.is_empty() {
        return Ok(compare_with_baseline(root, &findings, options)? && unneeded.is_empty());
    }
    if !options.summary {
        for finding in &findings {
            println!("{finding}");
        }
    }
    Ok(unneeded.is_empty())
}

/// Whether a file is this path, is below this path, or belongs to the area of this name.
fn is_in(file: &str, path: &str) -> bool {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    let rest = file.strip_prefix(path);
    path == "."
        || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        || area(file) == path
}

fn counts(findings: &[Finding<'_>]) -> Counts {
    let mut counts = Counts::new();
    for finding in findings {
        *counts.entry(area(&finding.path)).or_default() += 1;
    }
    counts
}

/// A line for each area, with its kinds of findings, the most frequent kind first.
fn summary(findings: &[Finding<'_>]) -> String {
    let mut areas: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
    for finding in findings {
        let all = areas.entry("all".to_owned()).or_default();
        *all.entry(finding.kind).or_default() += 1;
        let kinds = areas.entry(area(&finding.path)).or_default();
        *kinds.entry(finding.kind).or_default() += 1;
    }
    let line = |(area, kinds): (String, BTreeMap<&str, usize>)| {
        let total: usize = kinds.values().sum();
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let kinds: Vec<_> = kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        format!("{total:>6} {area}: {}\n", kinds.join(", "))
    };
    areas.into_iter().map(line).collect()
}

/// Prints the areas whose numbers differ from the baseline; returns whether no number has risen.
fn compare_with_baseline(
    root: &Path,
    findings: &[Finding<'_>],
    options: &Options,
) -> anyhow::Result<bool> {
    let file = root.join(BASELINE);
    let text = fs::read_to_string(&file).with_context(|| format!("failed to read {BASELINE}"))?;
    let allowed = baseline::parse(&text).with_context(|| format!("failed to read {BASELINE}"))?;
    let now = counts(findings);
    let risen = baseline::risen(&allowed, &now);
    if !risen.is_empty() {
        print_risen(root, findings, &risen);
        return Ok(false);
    }
    if options.write_baseline {
        fs::write(&file, baseline::render(&now))
            .with_context(|| format!("failed to write {BASELINE}"))?;
        return Ok(true);
    }
    for Change { area, before, now } in baseline::fallen(&allowed, &now) {
        println!(
            "{area}: {before} findings before; the baseline can fall to {now}; write it with \
             `cargo xtask words --write-baseline`"
        );
    }
    Ok(true)
}

/// Prints the areas with new findings, and the findings there on lines that have changed since the baseline was
/// written.
fn print_risen(root: &Path, findings: &[Finding<'_>], risen: &[Change]) {
    let changed = changed::since_change_of(BASELINE, root);
    for Change { area: name, before, now } in risen {
        println!(
            "error: {name}: {now} findings, and the baseline is {before}; change the new ones; \
             `cargo xtask words -- {name}` lists all"
        );
        for finding in findings.iter().filter(|finding| area(&finding.path) == *name) {
            if changed.contains(&(finding.path.clone(), finding.line)) {
                println!("{finding}");
            }
        }
    }
}

/// Prints the lines of another list of findings that this check does not report; returns whether all are reported.
fn print_missing(file: &Path, findings: &[Finding<'_>]) -> anyhow::Result<bool> {
    let list =
        fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
    let missing = compare::missing(&list, findings);
    for line in &missing {
        println!("missing: {line}");
    }
    println!("{} of {} lines have no finding here", missing.len(), list.lines().count());
    Ok(missing.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(path: &str, kind: &'static str) -> Finding<'static> {
        let (path, word) = (path.to_owned(), "word".to_owned());
        Finding { path, line: 1, paragraph: 1, kind, word, advice: "advice" }
    }

    fn workspace(baseline: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("xtask")).unwrap();
        fs::write(folder.path().join(BASELINE), baseline).unwrap();
        folder
    }

    #[test]
    fn a_path_includes_what_is_below_it() {
        assert!(is_in("docs/a.md", "docs"));
        assert!(is_in("docs/a.md", "./docs/"));
        assert!(is_in("docs/a.md", "docs/a.md"));
        assert!(is_in("docs/a.md", "."));
        assert!(is_in("README.md", "root"));
        assert!(!is_in("docs/a.md", "doc"));
        assert!(!is_in("docs/a.md", "root"));
    }

    #[test]
    fn the_summary_has_a_line_for_each_area() {
        let findings =
            [finding("docs/a.md", "x"), finding("README.md", "y"), finding("docs/b.md", "y")];
        let expected = "     3 all: y 2, x 1\n     2 docs: x 1, y 1\n     1 root: y 1\n";
        assert_eq!(summary(&findings), expected);
    }

    #[test]
    fn a_count_above_the_baseline_fails_and_is_never_written() {
        let workspace = workspace("1 docs\n");
        let findings = [finding("docs/a.md", "x"), finding("docs/b.md", "x")];
        for write_baseline in [false, true] {
            let options = Options { write_baseline, ..Options::default() };
            assert!(!compare_with_baseline(workspace.path(), &findings, &options).unwrap());
        }
        assert_eq!(fs::read_to_string(workspace.path().join(BASELINE)).unwrap(), "1 docs\n");
    }

    #[test]
    fn a_lower_count_passes_and_is_written_on_request() {
        let workspace = workspace("2 docs\n1 root\n");
        let findings = [finding("docs/a.md", "x")];
        let read_baseline = || {
            let text = fs::read_to_string(workspace.path().join(BASELINE)).unwrap();
            baseline::parse(&text).unwrap()
        };
        let mut options = Options::default();
        assert!(compare_with_baseline(workspace.path(), &findings, &options).unwrap());
        assert_eq!(read_baseline().len(), 2);
        options.write_baseline = true;
        assert!(compare_with_baseline(workspace.path(), &findings, &options).unwrap());
        assert_eq!(read_baseline(), counts(&findings));
    }
}
