//! Opens one file, and reads at most the maximum size of a file.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use almanac_api::finding::{Code, FieldPath, Finding};
use almanac_api::reading::FILE_BYTES;
use anyhow::{anyhow, ensure};

use crate::pattern;

/// The files and directories that a name denotes.
pub(super) fn paths(name: &str) -> anyhow::Result<Vec<PathBuf>> {
    let path = Path::new(name);
    let Err(why) = fs::metadata(path) else { return Ok(vec![path.to_owned()]) };
    ensure!(pattern::is_pattern(name), "failed to read {name:?}: {}", without_number(&why));
    let bad = |why: String| anyhow!("failed to read {name:?}: {why}");
    let matches = pattern::paths(Path::new(""), name).map_err(bad)?;
    // A pattern rarely matches pipes and devices on purpose, and reading a pipe without a writer would block.
    let is_meant = |path: &PathBuf| {
        fs::metadata(path).map_or(true, |metadata| metadata.is_file() || metadata.is_dir())
    };
    let found: Vec<PathBuf> = matches.filter(is_meant).collect();
    if found.is_empty() { Err(bad("no file matches this pattern".to_owned())) } else { Ok(found) }
}

/// The content of a file that the user named. A pipe is read, since a shell may pass one; a device has no end.
pub(super) fn named(path: &Path) -> Result<Vec<u8>, NotRead> {
    let kind = fs::metadata(path)?.file_type();
    if kind.is_char_device() || kind.is_block_device() {
        return Err(NotRead::new("the path is a device, not a file", "name a file"));
    }
    if kind.is_socket() {
        return Err(NotRead::new("the path is a socket, not a file", "name a file"));
    }
    if kind.is_fifo() {
        return reporting_a_wait(path, || slurp(File::open(path)?));
    }
    let file = File::open(path)?;
    if is_too_large(&file.metadata()?) {
        return Err(too_large());
    }
    slurp(file)
}

/// Reports the path on standard error if a read takes longer than 2 seconds: a pipe may have no writer.
fn reporting_a_wait<T>(path: &Path, wait: impl FnOnce() -> T) -> T {
    const SILENT: Duration = Duration::from_secs(2);
    let (over, is_over) = mpsc::channel::<()>();
    let name = crate::invisible::printable(&path.display().to_string());
    thread::spawn(move || {
        if is_over.recv_timeout(SILENT) == Err(RecvTimeoutError::Timeout) {
            crate::drawing::report(&format!(
                "note: waiting until the pipe {name} is written and closed"
            ));
        }
    });
    let waited_for = wait();
    drop(over);
    waited_for
}

/// Whether a file exceeds the maximum size.
pub(super) fn is_too_large(metadata: &Metadata) -> bool {
    metadata.len() > FILE_BYTES as u64
}

/// Reads to the end, but at most the maximum size of a file.
pub(super) fn slurp(input: impl Read) -> Result<Vec<u8>, NotRead> {
    let mut bytes = Vec::new();
    input.take(FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > FILE_BYTES { Err(too_large()) } else { Ok(bytes) }
}

fn too_large() -> NotRead {
    let message = format!("the file is larger than {} MiB", FILE_BYTES >> 20);
    NotRead { message, fix: "split it into several files" }
}

/// The reason that a file was not read, and a fix.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotRead {
    message: String,
    fix: &'static str,
}

impl NotRead {
    pub(super) fn new(message: &str, fix: &'static str) -> NotRead {
        NotRead { message: message.to_owned(), fix }
    }

    /// The reason for a directory that could not be listed.
    pub(super) fn for_directory(error: &io::Error) -> NotRead {
        let message = format!("failed to list the directory: {}", without_number(error));
        NotRead { message, fix: fix_for(error) }
    }

    pub(super) fn finding(self) -> Finding {
        let NotRead { message, fix } = self;
        Finding::new(Code::UnreadableFile, FieldPath::default(), message).with_fix(fix)
    }
}

impl From<io::Error> for NotRead {
    fn from(error: io::Error) -> NotRead {
        let message = format!("failed to read the file: {}", without_number(&error));
        NotRead { message, fix: fix_for(&error) }
    }
}

fn fix_for(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "grant this user read permission, or exclude it with --exclude"
        }
        _ => "correct the path, or exclude it with --exclude",
    }
}

/// The message of the system for an error. Users do not need its number.
pub(super) fn without_number(error: &io::Error) -> String {
    let message = error.to_string();
    let message = message.split_once(" (os error").map_or(message.as_str(), |(text, _)| text);
    let mut letters = message.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_lowercase().to_string() + letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_input_is_rejected() {
        let error = slurp(std::io::repeat(b' ')).unwrap_err();
        assert_eq!(error.message, "the file is larger than 64 MiB");
    }

    #[test]
    fn a_device_is_not_a_file() {
        let error = named(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.message, "the path is a device, not a file");
    }

    #[test]
    fn a_system_error_reads_as_part_of_the_sentence() {
        let denied = io::Error::from_raw_os_error(13);
        let NotRead { message, fix } = NotRead::for_directory(&denied);
        assert_eq!(message, "failed to list the directory: permission denied");
        assert_eq!(fix, "grant this user read permission, or exclude it with --exclude");
    }
}
