//! A file that is there only once it is complete.
//!
//! It is written beside its place under another name, and moved there at the end. An error, Ctrl-C
//! or a request to end takes the unfinished file away.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use tempfile::{Builder, NamedTempFile};

/// What shells expect of a program that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;

pub(super) struct Destination {
    file: BufWriter<NamedTempFile<File>>,
    path: PathBuf,
}

impl Destination {
    pub(super) fn create(path: &Path) -> anyhow::Result<Destination> {
        let cannot = || format!("failed to write {}", path.display());
        let name = path.file_name().context("a file needs a name").with_context(cannot)?;
        let mut prefix = OsString::from(".");
        prefix.push(name);
        prefix.push(".");
        let unfinished = Arc::new(Mutex::new(PathBuf::new()));
        let to_remove = Arc::clone(&unfinished);
        ctrlc::set_handler(move || {
            let _ = fs::remove_file(&*to_remove.lock().unwrap_or_else(PoisonError::into_inner));
            process::exit(INTERRUPTED);
        })
        .context("failed to listen for Ctrl-C")?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let file = Builder::new().prefix(&prefix).suffix(".unfinished").make_in(folder, |path| {
            // Before there is a file, so that there is no moment at which it could be left behind.
            path.clone_into(&mut unfinished.lock().unwrap_or_else(PoisonError::into_inner));
            // Whoever may read other files of this user may read this one.
            OpenOptions::new().write(true).create_new(true).open(path)
        });
        Ok(Destination {
            // Small, because most of what is written comes in large pieces, and past a buffer that
            // is smaller than they are they need not be copied.
            file: BufWriter::with_capacity(1 << 15, file.with_context(cannot)?),
            path: path.to_owned(),
        })
    }

    /// Moves the file to its place.
    pub(super) fn complete(self) -> anyhow::Result<()> {
        let Destination { file, path } = self;
        let cannot = || format!("failed to write {}", path.display());
        let file = file.into_inner().map_err(io::IntoInnerError::into_error);
        let moved = file.with_context(cannot)?.persist(&path).map_err(|error| error.error);
        moved.map(|_| ()).with_context(cannot)
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
