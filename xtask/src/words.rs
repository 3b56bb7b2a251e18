//! The check of the project's voice: the words, names and sentences that CONTRIBUTING.md ("Words")
//! rules out.
//!
//! `words.txt` lists the words and their replacements; `words-exemptions.txt` lists the exemptions. This file reads all
//! files and collects the findings; `words/reading.rs` checks one file. `recipes/words.rs` prints the findings and
//! compares their numbers with the baseline.

pub(crate) mod baseline;
pub(crate) mod changed;
pub(crate) mod compare;
pub(crate) mod exemptions;
mod files;
mod list;
mod markdown;
mod names;
mod phrase;
mod prose;
mod reading;
mod rust;
mod sentences;

use std::fmt;
use std::fs;
use std::path::Path;
use std::thread;

use anyhow::{Context as _, anyhow};

use self::files::Language;
pub(crate) use self::files::area;
pub(crate) use self::list::List;

/// A word at a location.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding<'a> {
    /// The path of the file from the workspace's root, with `/` between its parts.
    pub(crate) path: String,
    pub(crate) line: usize,
    /// The first line of the paragraph.
    pub(crate) paragraph: usize,
    /// The kind of the word list, or `length`.
    pub(crate) kind: &'a str,
    /// The word or words in the text, or a number of words or sentences.
    pub(crate) word: String,
    /// The wording to use instead.
    pub(crate) advice: &'a str,
}

impl fmt::Display for Finding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, word, advice, .. } = self;
        write!(f, "{path}:{line}: {word}: {advice}")
    }
}

/// All findings below the root, in the order of files and lines, exempt ones included.
pub(crate) fn gather<'a>(list: &'a List, root: &Path) -> anyhow::Result<Vec<Finding<'a>>> {
    let files = files::list(root)?;
    let workers = thread::available_parallelism().map_or(2, usize::from);
    let shares: Vec<_> = thread::scope(|scope| {
        let files = &files;
        let start = |worker| {
            let share = files.iter().skip(worker).step_by(workers);
            scope.spawn(move || check_files(list, root, share))
        };
        let workers: Vec<_> = (0..workers).map(start).collect();
        workers.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    let mut findings = Vec::new();
    for share in shares {
        findings
            .extend(share.map_err(|_| anyhow!("failed to read the files: a thread panicked"))??);
    }
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    Ok(findings)
}

fn check_files<'a, 'b>(
    list: &'a List,
    root: &Path,
    files: impl Iterator<Item = &'b (String, Language)>,
) -> anyhow::Result<Vec<Finding<'a>>> {
    let mut findings = Vec::new();
    for (path, language) in files {
        let bytes = fs::read(root.join(path)).with_context(|| format!("failed to read {path}"))?;
        // A file that is not UTF-8 is data.
        if let Ok(text) = String::from_utf8(bytes) {
            findings.extend(reading::check(list, path, *language, &text));
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn finding(path: &str, line: usize, word: &str) -> Finding<'static> {
        let word = word.to_owned();
        let path = path.to_owned();
        Finding { path, line, paragraph: line, kind: "kind", word, advice: "advice" }
    }

    #[test]
    fn findings_print_the_location_the_word_and_the_advice() {
        assert_eq!(finding("a.md", 3, "told").to_string(), "a.md:3: told: advice");
    }

    #[test]
    fn each_exemption_of_this_workspace_still_applies() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let list = List::load().unwrap();
        let mut findings = gather(&list, &root).unwrap();
        assert_eq!(exemptions::apply(&exemptions::load().unwrap(), &mut findings), [""; 0]);
    }
}
