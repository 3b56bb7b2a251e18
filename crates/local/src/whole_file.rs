//! Atomic file writes: a crash leaves the old file or the new file. Also rejects directories whose path is not UTF-8:
//! flags and files must contain it.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

/// Writes a file that only the user may read, under a temporary name, and renames it when it is complete.
pub fn write_whole(file: &Path, text: &str) -> Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    tempfile::NamedTempFile::new_in(folder)
        .and_then(|mut written| {
            written.write_all(text.as_bytes())?;
            written.as_file().sync_all()?;
            Ok(written.persist(file)?)
        })
        .with_context(|| format!("failed to write {}", file.display()))?;
    Ok(())
}

/// Fails for a directory whose path is not UTF-8, because flags and files of programs must contain the path.
pub(crate) fn check_name(folder: &Path) -> Result<()> {
    ensure!(
        folder.to_str().is_some(),
        "the name of the directory {} is not UTF-8: use another directory",
        folder.display()
    );
    Ok(())
}
