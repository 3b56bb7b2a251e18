//! A quick read of files: for completion, which must respond immediately and cannot report errors.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use almanac_api::reading::{Reading, Source, may_hold_policies, read_objects};

use super::excluding::Exclusion;
use super::folder::{may_hold_objects, walker};
use crate::pattern;

/// The maximum duration of the search. In a larger repository, files that are not found in time are ignored.
const PATIENCE: Duration = Duration::from_millis(200);

/// The maximum size of a file to read.
const BYTES: u64 = 1 << 20;

/// The policies and autoscalers in files, directories and patterns, as far as they are found
/// in time. Standard input is not read here.
pub(crate) fn glance(names: &[String]) -> Reading {
    let begun = Instant::now();
    let mut reading = Reading::default();
    let files = names.iter().flat_map(|name| paths(name)).flat_map(files);
    for file in files.take_while(|_| begun.elapsed() < PATIENCE) {
        let is_small = fs::metadata(&file).is_ok_and(|it| it.is_file() && it.len() <= BYTES);
        let bytes = if is_small { fs::read(&file).ok() } else { None };
        if let Some(bytes) = bytes.filter(|bytes| may_hold_policies(bytes)) {
            let source = Source::from_bytes(file.display().to_string(), bytes);
            read_objects(&mut reading, source.discovered());
        }
    }
    reading
}

/// The paths of a name, searched lazily.
fn paths(name: &str) -> impl Iterator<Item = PathBuf> {
    let is_there = Path::new(name).exists();
    let itself = is_there.then(|| PathBuf::from(name));
    let matching = if is_there { None } else { pattern::paths(Path::new(""), name).ok() };
    itself.into_iter().chain(matching.into_iter().flatten())
}

/// The file, or the files in the directory that may contain objects, searched lazily.
fn files(path: PathBuf) -> Box<dyn Iterator<Item = PathBuf>> {
    if !path.is_dir() {
        return Box::new(std::iter::once(path));
    }
    let mut walk = walker(&path);
    if let Ok(here) = env::current_dir() {
        let exclusion = Exclusion::new(&path, &here);
        walk.filter_entry(move |entry| exclusion.keeps(entry));
    }
    let entries = walk.build().filter_map(Result::ok).map(ignore::DirEntry::into_path);
    Box::new(entries.filter(|path| may_hold_objects(path)))
}
