//! The files that differ between two sides, byte for byte. Only files without a forecast need this, since the effect of
//! a change to them is unknown. Other files are compared by their effect.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

/// The source of the list of differing files.
pub(super) enum DifferingFiles {
    /// The files, links and submodules in a list of git, by their paths in the repository.
    Listed(BTreeSet<PathBuf>),
    /// The directories of both sides on the disk.
    OnDisk([PathBuf; 2]),
}

impl DifferingFiles {
    /// Whether anything differs at this path, relative to both sides, or below it.
    pub(super) fn is_at(&self, path: &str) -> bool {
        let path = Path::new(if path == "." { "" } else { path });
        match self {
            // A path below a link or a submodule is not listed itself.
            DifferingFiles::Listed(all) => {
                all.iter().any(|it| it.starts_with(path) || path.starts_with(it))
            }
            DifferingFiles::OnDisk([old, new]) => !are_equal(&old.join(path), &new.join(path)),
        }
    }
}

/// Whether two files have the same content, or two directories contain the same files. An unreadable file differs.
fn are_equal(one: &Path, other: &Path) -> bool {
    if one == other {
        return true;
    }
    let is_dir = |path: &Path| fs::symlink_metadata(path).map(|it| it.is_dir());
    match (is_dir(one), is_dir(other)) {
        (Ok(true), Ok(true)) => {
            let (Ok(names), Ok(others)) = (names_in(one), names_in(other)) else { return false };
            names == others && names.iter().all(|it| are_equal(&one.join(it), &other.join(it)))
        }
        (Ok(false), Ok(false)) => match (fs::read_link(one), fs::read_link(other)) {
            // Links to directories may form a cycle, and a link may have no target.
            (Ok(to), Ok(other_to)) if !one.is_file() && !other.is_file() => to == other_to,
            _ => have_equal_content(one, other).unwrap_or(false),
        },
        (Err(why), Err(other_why)) => {
            [why, other_why].iter().all(|it| it.kind() == io::ErrorKind::NotFound)
        }
        _ => false,
    }
}

fn names_in(dir: &Path) -> io::Result<BTreeSet<OsString>> {
    fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name())).collect()
}

/// Whether two files of any size have the same content. Only regular files are opened, never a pipe.
fn have_equal_content(one: &Path, other: &Path) -> io::Result<bool> {
    let (of_one, of_other) = (fs::metadata(one)?, fs::metadata(other)?);
    if !of_one.is_file() || of_one.len() != of_other.len() || !of_other.is_file() {
        return Ok(!of_one.is_file() && of_one.file_type() == of_other.file_type());
    }
    let (mut one, mut other) =
        (BufReader::new(File::open(one)?), BufReader::new(File::open(other)?));
    loop {
        let (start, other_start) = (one.fill_buf()?, other.fill_buf()?);
        let length = start.len().min(other_start.len());
        if length == 0 {
            return Ok(start.is_empty() && other_start.is_empty());
        }
        if start[..length] != other_start[..length] {
            return Ok(false);
        }
        one.consume(length);
        other.consume(length);
    }
}
