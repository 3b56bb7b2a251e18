//! The end of a log file, for the report of a test that failed.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// The maximum number of bytes that are read of a log.
const AT_MOST: u64 = 64 * 1024;

/// The last lines of every `*.log` in the directory, each log under its own heading.
#[must_use]
pub fn tails_of(folder: &Path, lines: usize) -> String {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return format!("no logs: {} cannot be read\n", folder.display());
    };
    let mut logs: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect();
    logs.sort();
    logs.iter()
        .map(|log| format!("---- the last lines of {}\n{}", log.display(), tail_of(log, lines)))
        .collect::<Vec<_>>()
        .concat()
}

/// The last lines of one file, or the error of reading it.
#[must_use]
pub fn tail_of(log: &Path, lines: usize) -> String {
    match read_end(log) {
        Ok(end) => {
            let all: Vec<_> = end.lines().collect();
            let mut text = all[all.len().saturating_sub(lines)..].join("\n");
            text.push('\n');
            text
        }
        Err(error) => format!("cannot be read: {error}\n"),
    }
}

fn read_end(log: &Path) -> std::io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(AT_MOST)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
