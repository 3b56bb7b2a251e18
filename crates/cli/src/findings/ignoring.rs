//! Suppressed findings: by a comment next to them, by `--ignore`, or by the nearest `almanac.toml` above the file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use almanac_api::finding::Code;
use almanac_api::reading::{Folder, Ignores, PlacedFinding};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::Checked;
use crate::files::settings;

/// The suppressed findings.
#[derive(Args)]
pub(crate) struct IgnoreArguments {
    /// Suppress findings with this code, which is in the brackets before each finding. For one location, write a
    /// comment `# almanac:ignore CODE` there, and for a directory `ignore = ["CODE"]` under `[lint]` in almanac.toml
    #[arg(
        long,
        value_name = "CODE",
        value_delimiter = ',',
        hide_possible_values = true,
        value_parser = PossibleValuesParser::new(Code::ALL.iter().map(|code| code.name()))
            .map(|name| Code::ALL.iter().copied().find(|code| code.name() == name))
    )]
    ignore: Vec<Option<Code>>,
}

impl IgnoreArguments {
    /// Removes the suppressed findings, reports invalid comments, and counts the removed findings.
    pub(crate) fn apply(&self, checked: &mut Checked) -> anyhow::Result<usize> {
        let sources = &checked.files.reading.sources;
        let comments: Vec<Ignores> = sources.iter().map(Ignores::read).collect();
        let mut by_folder: BTreeMap<Option<&Folder>, Vec<Code>> = BTreeMap::new();
        for folder in sources.iter().map(|source| source.folder()) {
            if let std::collections::btree_map::Entry::Vacant(entry) = by_folder.entry(folder) {
                entry.insert(ignored_around(folder)?);
            }
        }
        let findings = &mut checked.everything.findings;
        let wrong = comments.iter().enumerate().flat_map(|(source, it)| it.findings(source));
        findings.extend(wrong);
        let is_ignored = |placed: &PlacedFinding| {
            let code = placed.finding.code;
            let in_folder = by_folder.get(&sources[placed.source].folder());
            // An unread file makes the result incomplete.
            code != Code::UnreadableFile
                && (self.ignore.contains(&Some(code))
                    || in_folder.is_some_and(|codes| codes.contains(&code))
                    || comments[placed.source].cover(placed))
        };
        let before = findings.len();
        findings.retain(|placed| !is_ignored(placed));
        Ok(before - findings.len())
    }
}

/// The settings for a directory; without one, those for the current directory.
fn ignored_around(folder: Option<&Folder>) -> anyhow::Result<Vec<Code>> {
    let path = match folder {
        Some(folder) => PathBuf::from(folder.to_string()),
        None => std::env::current_dir()?,
    };
    let around = settings::around(&path, |settings| settings.lint.is_some())?;
    let lint = around.and_then(|(_, settings)| settings.lint);
    Ok(lint.map(|lint| lint.ignore).unwrap_or_default())
}
