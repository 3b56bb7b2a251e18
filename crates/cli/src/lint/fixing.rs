//! `--fix`: writes fixes with one possible meaning into the files. It replaces a file as a whole and keeps its owner
//! and its permissions. It does not write a file that another process has changed since it was read.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::Path;

use almanac_api::reading::{FixedText, PlacedFinding, Source, fix_text};
use anyhow::Context as _;
use tempfile::NamedTempFile;

use crate::drawing;
use crate::findings::{Checked, Fixed};
use crate::invisible::printable;

/// Fixes the files that have findings, one after the other, reports each edit, and returns the edits.
pub(super) fn fix(checked: &Checked) -> anyhow::Result<Vec<Fixed>> {
    let mut by_source: BTreeMap<usize, Vec<&PlacedFinding>> = BTreeMap::new();
    for placed in &checked.everything.findings {
        if placed.finding.replacement.is_some() {
            by_source.entry(placed.source).or_default().push(placed);
        }
    }
    let mut all = Vec::new();
    for (source, findings) in by_source {
        let source = &checked.files.reading.sources[source];
        let path = Path::new(source.name());
        // Standard input and the output of a build have no file of their own.
        if source.folder().is_none() || !path.is_file() {
            continue;
        }
        let Some(fixed_text) = fix_text(source.text(), findings.iter().copied()) else { continue };
        let cannot = || format!("failed to fix {}", path.display());
        if let Some(why) = replace(path, source.text(), &fixed_text.text).with_context(cannot)? {
            drawing::report(&format!("warning: {} was not fixed: {why}", printable(source.name())));
            continue;
        }
        for fixed in edits(source, &findings, &fixed_text) {
            let Fixed { code, file, line, column, before, after } = &fixed;
            let message = format!("{file}:{line}:{column}: {before} is {after} now");
            drawing::report(&format!("fixed[{code}]: {}", printable(&message)));
            all.push(fixed);
        }
    }
    Ok(all)
}

/// Writes a file that is unchanged since it was read, as a whole or not at all. Returns the reason for an unwritten
/// file.
fn replace(path: &Path, before: &str, after: &str) -> anyhow::Result<Option<&'static str>> {
    // A link keeps its target.
    let path = fs::canonicalize(path)?;
    // A read-only file is not replaced either.
    let metadata = fs::OpenOptions::new().append(true).open(&path)?.metadata()?;
    if metadata.nlink() > 1 {
        return Ok(Some("the file has other hard links, and they would keep its current content"));
    }
    let mut file = NamedTempFile::new_in(path.parent().unwrap_or(Path::new("")))?;
    file.write_all(after.as_bytes())?;
    chown(file.path(), Some(metadata.uid()), Some(metadata.gid()))?;
    fs::set_permissions(file.path(), metadata.permissions())?;
    file.as_file().sync_all()?;
    if fs::read(&path)? != before.as_bytes() {
        return Ok(Some(
            "the file has changed since it was read, or is not UTF-8 with LF line endings",
        ));
    }
    file.persist(&path).map_err(|error| error.error)?;
    Ok(None)
}

fn edits(source: &Source, findings: &[&PlacedFinding], fixed_text: &FixedText) -> Vec<Fixed> {
    let of_one = |placed: &PlacedFinding| {
        let finding = &placed.finding;
        let span = placed.span?;
        let at = source.position(span.start);
        Some(Fixed {
            code: finding.code,
            file: source.name().to_owned(),
            line: at.line,
            column: at.column,
            before: source.slice(span).to_owned(),
            after: finding.replacement.as_ref()?.as_str().to_owned(),
        })
    };
    let changed = fixed_text.changes.iter().flat_map(|change| &change.findings);
    changed.filter_map(|position| of_one(findings.get(*position)?)).collect()
}
