//! Finding and opening the files a user names: a file, a folder, a glob or `-`.
//!
//! The only part of this crate that touches the world outside.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::limits;
use super::objects::{PlacedFinding, Reading, read_objects};
use super::source::Source;
use crate::finding::{Code, FieldPath, Finding};

/// Why nothing could be read from a name that was given.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// There is no such file or folder.
    #[error("failed to read {path:?}: no such file or directory")]
    Missing {
        /// As it was given.
        path: String,
    },
    /// A pattern that is none, or matches nothing.
    #[error("failed to read {pattern:?}: {why}")]
    Pattern {
        /// As it was given.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// A folder without a file that could hold objects.
    #[error("failed to read {path:?}: the directory contains no .yaml, .yml or .json file")]
    Empty {
        /// As it was given.
        path: String,
    },
    /// A folder that can't be listed.
    #[error("failed to list {path:?}")]
    Listing {
        /// Which folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Reads everything the given names stand for, each file once, in the order of their paths within
/// each name. A file that can't be read is a finding; a name that stands for nothing is an error.
pub fn read(names: &[String], standard_input: impl Read) -> Result<Reading, FilesError> {
    let mut reading = Reading::default();
    let mut seen = BTreeSet::new();
    let mut standard_input = Some(standard_input);
    for name in names {
        if name == "-" {
            if let Some(input) = standard_input.take() {
                add(&mut reading, "<stdin>".to_owned(), slurp(input));
            }
            continue;
        }
        for path in paths(name)? {
            let identity = path.canonicalize().unwrap_or_else(|_| path.clone());
            if seen.insert(identity) {
                let text = open(&path);
                add(&mut reading, path.display().to_string(), text);
            }
        }
    }
    Ok(reading)
}

fn add(reading: &mut Reading, name: String, text: Result<String, String>) {
    match text {
        Ok(text) => read_objects(reading, Source::new(name, text)),
        Err(why) => {
            let source = reading.sources.len();
            reading.sources.push(Source::new(name, ""));
            let finding = Finding::new(Code::UnreadableFile, FieldPath::default(), why);
            reading.findings.push(PlacedFinding { source, span: None, finding });
        }
    }
}

/// The files a name stands for.
fn paths(name: &str) -> Result<Vec<PathBuf>, FilesError> {
    let path = Path::new(name);
    if path.is_dir() {
        let mut found = Vec::new();
        walk(path, &mut found)?;
        return if found.is_empty() {
            Err(FilesError::Empty { path: name.to_owned() })
        } else {
            Ok(found)
        };
    }
    if path.exists() {
        return Ok(vec![path.to_owned()]);
    }
    if !name.contains(['*', '?', '[']) {
        return Err(FilesError::Missing { path: name.to_owned() });
    }
    let bad = |why: String| FilesError::Pattern { pattern: name.to_owned(), why };
    let matches = glob::glob(name).map_err(|error| bad(error.msg.to_owned()))?;
    let mut found = Vec::new();
    for path in matches.filter_map(Result::ok) {
        if path.is_dir() { walk(&path, &mut found)? } else { found.push(path) }
    }
    if found.is_empty() { Err(bad("no file matches this pattern".to_owned())) } else { Ok(found) }
}

/// Adds the files of a folder and of the folders in it, in order. Hidden folders are left out, and
/// links to folders are not followed: a mounted `ConfigMap` would be read twice.
fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), FilesError> {
    let failed = |source| FilesError::Listing { path: folder.to_owned(), source };
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).and_then(Iterator::collect::<io::Result<_>>).map_err(failed)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if kind.is_dir() && !hidden {
            walk(&path, found)?;
        } else if !kind.is_dir() && may_hold_objects(&path) && !path.is_dir() {
            found.push(path);
        }
    }
    Ok(())
}

fn may_hold_objects(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("yaml" | "yml" | "json"))
}

#[expect(clippy::disallowed_types, reason = "reading files is what this module is for")]
fn open(path: &Path) -> Result<String, String> {
    let file =
        std::fs::File::open(path).map_err(|error| format!("failed to open the file: {error}"))?;
    if let Ok(metadata) = file.metadata()
        && metadata.len() > limits::FILE_BYTES as u64
    {
        return Err(too_large());
    }
    slurp(file)
}

/// Reads to the end, but never more than the largest file allowed.
fn slurp(input: impl Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    input
        .take(limits::FILE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("failed to read the file: {error}"))?;
    if bytes.len() > limits::FILE_BYTES {
        return Err(too_large());
    }
    String::from_utf8(bytes).map_err(|error| {
        let readable = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = readable.split(|&byte| byte == b'\n').count();
        format!("the file is not UTF-8 text (line {line}); save it as UTF-8")
    })
}

fn too_large() -> String {
    format!("the file is larger than {} MiB; split it into several", limits::FILE_BYTES >> 20)
}
