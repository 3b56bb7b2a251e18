//! A file that is there only once it is complete.
//!
//! It is written beside its place under another name, and moved there at the end. An error, Ctrl-C
//! or a request to end takes the unfinished file away.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;

use anyhow::Context as _;

/// What shells expect of a program that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;

pub(super) struct Destination {
    file: BufWriter<File>,
    unfinished: Unfinished,
    path: PathBuf,
}

/// The name of the unfinished file. Whoever drops it takes the file away.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Once it was moved there is nothing to take away.
        let _ = fs::remove_file(&self.0);
    }
}

impl Destination {
    pub(super) fn create(path: &Path) -> anyhow::Result<Destination> {
        let cannot = || format!("failed to write {}", path.display());
        let name = path.file_name().context("a file needs a name").with_context(cannot)?;
        let mut unfinished = std::ffi::OsString::from(".");
        unfinished.push(name);
        unfinished.push(format!(".{}.unfinished", process::id()));
        let unfinished = path.with_file_name(unfinished);
        let to_remove = unfinished.clone();
        // Before there is a file, so that there is no moment at which it could be left behind.
        ctrlc::set_handler(move || {
            let _ = fs::remove_file(&to_remove);
            process::exit(INTERRUPTED);
        })
        .context("failed to listen for Ctrl-C")?;
        let file = OpenOptions::new().write(true).create_new(true).open(&unfinished);
        let file = file.with_context(cannot)?;
        Ok(Destination {
            // Small, because most of what is written comes in large pieces, and past a buffer that
            // is smaller than they are they need not be copied.
            file: BufWriter::with_capacity(1 << 15, file),
            unfinished: Unfinished(unfinished),
            path: path.to_owned(),
        })
    }

    /// Moves the file to its place.
    pub(super) fn complete(mut self) -> anyhow::Result<()> {
        let cannot = || format!("failed to write {}", self.path.display());
        self.file.flush().with_context(cannot)?;
        fs::rename(&self.unfinished.0, &self.path).with_context(cannot)
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
