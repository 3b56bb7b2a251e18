//! A file that appears only once it is complete.
//!
//! The file is written in the same directory under another name, and renamed at the end. An error, Ctrl-C
//! or a termination signal removes the unfinished file. A pipe or a device is written to directly.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use almanac_api::reading::{Reading, Source};
use anstream::StripStream;
use anyhow::Context as _;
use tempfile::{Builder, NamedTempFile};

use crate::argument_error::ArgumentError;
use crate::cleanup::{self, Cleanup};

/// The maximum number of successive links; a longer chain is a cycle.
const MAX_LINKS: usize = 40;

/// Writes to a file if one is named, and else to the output. A file has no colors.
pub(crate) fn write_to<T>(
    path: Option<&Path>,
    has_colors: bool,
    output: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let Some(path) = path.filter(|path| path.as_os_str() != "-") else { return write(output) };
    let mut destination = Destination::create(path)?;
    let done = if has_colors {
        let plain: &mut (dyn Write + 'static) = &mut destination;
        write(&mut StripStream::new(plain))?
    } else {
        write(&mut destination)?
    };
    destination.complete()?;
    Ok(done)
}

/// Refuses to overwrite a file that was read: the input may be the only copy. `typed` is the value of the argument.
pub(crate) fn refuse_input<'a>(
    argument: &'static str,
    typed: &str,
    path: Option<&Path>,
    readings: impl IntoIterator<Item = &'a Reading>,
) -> Result<(), ArgumentError> {
    // A file that does not exist was not read.
    let Some(path) = path.and_then(|it| fs::canonicalize(it).ok()) else { return Ok(()) };
    let is_read = |source: &Source| {
        let name = Path::new(source.name()).file_name();
        let file = source.folder().zip(name);
        let file = file.map(|(folder, name)| Path::new(&folder.to_string()).join(name));
        file.and_then(|it| fs::canonicalize(it).ok()).is_some_and(|it| it == path)
    };
    if readings.into_iter().any(|reading| reading.sources.iter().any(is_read)) {
        let message = "the file is an input, and would be overwritten; name another file";
        return Err(ArgumentError::whole(argument, typed, message));
    }
    Ok(())
}

/// The canonical path of a file. The file need not exist.
pub(crate) fn full(path: &Path) -> PathBuf {
    let parent = |path: &Path| {
        let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
        fs::canonicalize(parent.unwrap_or(Path::new(".")))
    };
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if let Ok(there) = fs::canonicalize(&path) {
            return there;
        }
        // The path may be a link to a file that does not exist yet.
        let (Ok(target), Ok(parent)) = (fs::read_link(&path), parent(&path)) else { break };
        path = parent.join(target);
    }
    let resolved = parent(&path).ok().zip(path.file_name());
    let resolved = resolved.map(|(parent, name)| parent.join(name));
    resolved.unwrap_or(path)
}

struct Destination {
    file: BufWriter<OutputFile>,
    path: PathBuf,
}

enum OutputFile {
    /// A temporary file, and the registry entry that removes it at a signal.
    Unfinished(NamedTempFile<File>, Cleanup),
    Direct(File),
}

impl Destination {
    fn create(path: &Path) -> anyhow::Result<Destination> {
        let cannot = || format!("failed to write {}", path.display());
        if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            let file = OpenOptions::new().write(true).open(path).with_context(cannot)?;
            return Ok(Destination::new(OutputFile::Direct(file), path));
        }
        // A link keeps its target.
        let path = &full(path);
        let name = path.file_name().context("a file needs a name").with_context(cannot)?;
        let mut prefix = OsString::from(".");
        prefix.push(name);
        prefix.push(".");
        let folder = path.parent().unwrap_or(Path::new(""));
        let create = || -> io::Result<_> {
            let mut builder = Builder::new();
            let file = builder.prefix(&prefix).suffix(".unfinished").make_in(folder, |path| {
                // A new file has the usual permissions of this user's files.
                OpenOptions::new().write(true).create_new(true).open(path)
            })?;
            let unfinished = file.path().to_owned();
            Ok((file, move || _ = fs::remove_file(unfinished)))
        };
        let (file, cleanup) = cleanup::registered(create).with_context(cannot)?;
        // Users who cannot read the replaced file must not be able to read this one.
        if let Ok(replaced) = fs::metadata(path) {
            file.as_file().set_permissions(replaced.permissions()).with_context(cannot)?;
        }
        Ok(Destination::new(OutputFile::Unfinished(file, cleanup), path))
    }

    fn new(file: OutputFile, path: &Path) -> Destination {
        // The buffer is small because most writes are large, and a write that exceeds the buffer is
        // not copied.
        Destination { file: BufWriter::with_capacity(1 << 15, file), path: path.to_owned() }
    }

    /// Renames the complete file to its final path.
    fn complete(self) -> anyhow::Result<()> {
        let Destination { file, path } = self;
        let cannot = || format!("failed to write {}", path.display());
        let file = file.into_inner().map_err(io::IntoInnerError::into_error);
        match file.with_context(cannot)? {
            OutputFile::Unfinished(file, _cleanup) => {
                let persisted = file.persist(&path).map_err(|error| error.error);
                persisted.map(|_| ()).with_context(cannot)
            }
            OutputFile::Direct(_) => Ok(()),
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

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            OutputFile::Unfinished(file, _) => file.write(bytes),
            OutputFile::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            OutputFile::Unfinished(file, _) => file.flush(),
            OutputFile::Direct(file) => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_paths_of_a_file_have_one_canonical_path() {
        let folder = tempfile::tempdir().unwrap();
        let direct = folder.path().join("a.sarif");
        let around = folder.path().join("b").join("..").join("a.sarif");
        fs::create_dir(folder.path().join("b")).unwrap();
        assert_eq!(full(&direct), full(&around));
        fs::write(&direct, "").unwrap();
        assert_eq!(full(&direct), full(&around));
        assert_ne!(full(&direct), full(&folder.path().join("b/a.sarif")));
        assert_eq!(full(Path::new("a.sarif")), full(Path::new("./a.sarif")));
    }

    #[test]
    #[cfg(unix)]
    fn a_link_to_a_file_that_does_not_exist_yet_is_followed() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let [one, other, file] = ["one", "other", "file"].map(|it| folder.path().join(it));
        symlink("other", &one).unwrap();
        symlink(&file, &other).unwrap();
        assert_eq!(full(&one), full(&file));
        let mut output = Vec::<u8>::new();
        write_to(Some(&*one), false, &mut output, |file| {
            file.write_all(b"new").map_err(anyhow::Error::from)
        })
        .unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(one.is_symlink() && other.is_symlink() && output.is_empty());
        // A cycle of links has no end.
        let [from, to] = ["from", "to"].map(|it| folder.path().join(it));
        symlink(&from, &to).unwrap();
        symlink(&to, &from).unwrap();
        assert!(full(&from).is_symlink());
    }
}
