//! `--fix`: writes into the files what can only be meant. A file is replaced as a whole, keeps its permissions, and is
//! left as it is if somebody has changed it meanwhile.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use almanac_api::reading::{Mended, PlacedFinding, Source, mend};
use anyhow::Context as _;
use tempfile::NamedTempFile;

use crate::findings::{Checked, printable};

/// A file that is written already, under another name.
struct Unfinished {
    file: NamedTempFile,
    path: PathBuf,
    /// What is said of it once it is in its place.
    told: Vec<String>,
}

/// Mends the files in which something was found, and returns what was done, a line each.
pub(super) fn fix(checked: &Checked) -> anyhow::Result<Vec<String>> {
    let mut by_source: BTreeMap<usize, Vec<&PlacedFinding>> = BTreeMap::new();
    for placed in &checked.everything.findings {
        if placed.finding.replacement.is_some() {
            by_source.entry(placed.source).or_default().push(placed);
        }
    }
    let mut unfinished = Vec::new();
    for (source, findings) in by_source {
        let source = &checked.files.reading.sources[source];
        let path = Path::new(source.name());
        // What was built, or read from standard input, has no file of its own.
        if source.folder().is_none() || !path.is_file() {
            continue;
        }
        let Some(mended) = mend(source.text(), findings.iter().copied()) else { continue };
        let cannot = || format!("failed to fix {}", path.display());
        if fs::read(path).with_context(cannot)? != source.text().as_bytes() {
            let why = "it is not UTF-8, or has been changed meanwhile";
            anstream::eprintln!("warning: {} was not fixed: {why}", printable(source.name()));
            continue;
        }
        unfinished
            .push(written(path, &mended, told(source, &findings, &mended)).with_context(cannot)?);
    }
    let mut told = Vec::new();
    for it in unfinished {
        let cannot = || format!("failed to fix {}", it.path.display());
        it.file.persist(&it.path).map_err(|error| error.error).with_context(cannot)?;
        told.extend(it.told);
    }
    Ok(told)
}

/// Writes a file beside its place.
fn written(path: &Path, mended: &Mended, told: Vec<String>) -> anyhow::Result<Unfinished> {
    // A link goes on to point at what it points at.
    let path = fs::canonicalize(path)?;
    // What may not be written is not replaced either.
    let permissions = fs::OpenOptions::new().append(true).open(&path)?.metadata()?.permissions();
    let file = NamedTempFile::new_in(path.parent().unwrap_or(Path::new("")))?;
    fs::write(file.path(), &mended.text)?;
    fs::set_permissions(file.path(), permissions)?;
    file.as_file().sync_all()?;
    Ok(Unfinished { file, path, told })
}

fn told(source: &Source, findings: &[&PlacedFinding], mended: &Mended) -> Vec<String> {
    let of_one = |placed: &PlacedFinding| {
        let finding = &placed.finding;
        let span = placed.span?;
        let at = source.position(span.start);
        let (before, after) = (source.slice(span), finding.replacement.as_deref()?);
        let said = format!("{}:{}:{}: {before} is {after} now", source.name(), at.line, at.column);
        Some(format!("fixed[{}]: {}", finding.code, printable(&said)))
    };
    mended.findings.iter().filter_map(|position| of_one(findings.get(*position)?)).collect()
}
