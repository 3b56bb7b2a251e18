//! Opening one file, never more of it than the largest that is read.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};

use almanac_api::reading::FILE_BYTES;

/// Why nothing could be read from a name that was given.
#[derive(Debug, thiserror::Error)]
pub(super) enum FilesError {
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
}

/// The files and folders a name stands for.
pub(super) fn paths(name: &str) -> Result<Vec<PathBuf>, FilesError> {
    let path = Path::new(name);
    if path.exists() {
        return Ok(vec![path.to_owned()]);
    }
    if !name.contains(['*', '?', '[']) {
        return Err(FilesError::Missing { path: name.to_owned() });
    }
    let bad = |why: String| FilesError::Pattern { pattern: name.to_owned(), why };
    let matches = glob::glob(name).map_err(|error| bad(error.msg.to_owned()))?;
    let found: Vec<PathBuf> = matches.filter_map(Result::ok).collect();
    if found.is_empty() { Err(bad("no file matches this pattern".to_owned())) } else { Ok(found) }
}

/// What a file holds that somebody named. A pipe is read, since a shell may hand one over; a device has
/// no end.
pub(super) fn named(path: &Path) -> Result<Vec<u8>, String> {
    let cannot = |error| format!("failed to open the file: {error}");
    let file = File::open(path).map_err(cannot)?;
    let metadata = file.metadata().map_err(cannot)?;
    if is_device(&metadata) {
        return Err("this is a device, not a file".to_owned());
    }
    if is_too_large(&metadata) {
        return Err(too_large());
    }
    slurp(file)
}

/// Whether a file is larger than any that is read.
pub(super) fn is_too_large(metadata: &Metadata) -> bool {
    metadata.len() > FILE_BYTES as u64
}

/// Reads to the end, but never more than the largest file allowed.
pub(super) fn slurp(input: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    input
        .take(FILE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("failed to read the file: {error}"))?;
    if bytes.len() > FILE_BYTES { Err(too_large()) } else { Ok(bytes) }
}

fn too_large() -> String {
    format!("the file is larger than {} MiB; split it into several", FILE_BYTES >> 20)
}

#[cfg(unix)]
fn is_device(metadata: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    let kind = metadata.file_type();
    kind.is_char_device() || kind.is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: &Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_input_is_rejected() {
        let said = slurp(std::io::repeat(b' ')).unwrap_err();
        assert_eq!(said, "the file is larger than 64 MiB; split it into several");
    }

    #[test]
    #[cfg(unix)]
    fn a_device_is_not_a_file() {
        assert_eq!(named(Path::new("/dev/zero")).unwrap_err(), "this is a device, not a file");
    }
}
