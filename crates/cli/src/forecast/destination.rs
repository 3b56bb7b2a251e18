//! A file that appears only once it is complete.
//!
//! It is written beside its place under another name, and moved there at the end. An error, Ctrl-C
//! or a termination signal removes the unfinished file. A pipe or a device is written to directly.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anstream::StripStream;
use anyhow::Context as _;
use tempfile::{Builder, NamedTempFile};

use crate::cleanup::{self, Cleanup};

/// Writes to a file if one is named, and else to the output. A file has no colors.
pub(crate) fn write_to<T>(
    path: Option<&Path>,
    has_colours: bool,
    output: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let Some(path) = path.filter(|path| path.as_os_str() != "-") else { return write(output) };
    let mut destination = Destination::create(path)?;
    let done = if has_colours {
        let plain: &mut (dyn Write + 'static) = &mut destination;
        write(&mut StripStream::new(plain))?
    } else {
        write(&mut destination)?
    };
    destination.complete()?;
    Ok(done)
}

struct Destination {
    file: BufWriter<Written>,
    path: PathBuf,
}

enum Written {
    /// With what removes it at a signal.
    Unfinished(NamedTempFile<File>, Cleanup),
    AsItIs(File),
}

impl Destination {
    fn create(path: &Path) -> anyhow::Result<Destination> {
        let cannot = || format!("failed to write {}", path.display());
        // A link goes on to point at what it points at.
        let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            let file = OpenOptions::new().write(true).open(path).with_context(cannot)?;
            return Ok(Destination::new(Written::AsItIs(file), path));
        }
        let name = path.file_name().context("a file needs a name").with_context(cannot)?;
        let mut prefix = OsString::from(".");
        prefix.push(name);
        prefix.push(".");
        let folder = path.parent().unwrap_or(Path::new(""));
        let create = || -> io::Result<_> {
            let mut builder = Builder::new();
            let file = builder.prefix(&prefix).suffix(".unfinished").make_in(folder, |path| {
                // It has the usual permissions of this user's files.
                OpenOptions::new().write(true).create_new(true).open(path)
            })?;
            let unfinished = file.path().to_owned();
            Ok((file, move || _ = fs::remove_file(unfinished)))
        };
        let (file, cleanup) = cleanup::registered(create).with_context(cannot)?;
        Ok(Destination::new(Written::Unfinished(file, cleanup), path))
    }

    fn new(file: Written, path: &Path) -> Destination {
        // Small, because most of what is written comes in large pieces, and past a buffer that is
        // smaller than they are they need not be copied.
        Destination { file: BufWriter::with_capacity(1 << 15, file), path: path.to_owned() }
    }

    /// Moves the file to its place.
    fn complete(self) -> anyhow::Result<()> {
        let Destination { file, path } = self;
        let cannot = || format!("failed to write {}", path.display());
        let file = file.into_inner().map_err(io::IntoInnerError::into_error);
        match file.with_context(cannot)? {
            Written::Unfinished(file, _cleanup) => {
                let moved = file.persist(&path).map_err(|error| error.error);
                moved.map(|_| ()).with_context(cannot)
            }
            Written::AsItIs(_) => Ok(()),
        }
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

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Written::Unfinished(file, _) => file.write(bytes),
            Written::AsItIs(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Written::Unfinished(file, _) => file.flush(),
            Written::AsItIs(file) => file.flush(),
        }
    }
}
