//! Files that are there whole or not at all, whoever is killed while they are written.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Writes a file that nobody else may read, and puts it in its place when it is complete.
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
