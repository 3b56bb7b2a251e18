//! Findings in files, printed for users and for programs, in the same way by every command that checks.
//!
//! The commands create the findings, and `outcome` decides whether a finding makes a command fail.

mod arguments;
mod github;
mod ignoring;
mod json;
mod junit;
mod location;
mod markdown;
mod outputs;
mod sarif;
mod text;

use std::io::Write;

use almanac_api::checking::CheckedReading;
use almanac_api::reading::{PlacedFinding, Reading};
use clap::ValueEnum;

pub(crate) use self::arguments::{CheckArguments, Checked, LINT};
pub(crate) use self::ignoring::IgnoreArguments;
pub(crate) use self::json::{Fixed, Item};
pub(crate) use self::outputs::OutputArguments;
pub(crate) use self::text::write_finding;
use crate::files::Note;
use crate::outcome::FailOn;
use crate::yaml;

/// The output format of findings.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Yaml,
    /// SARIF 2.1.0, for code review
    Sarif,
    /// Annotations of GitHub Actions
    Github,
    /// A report of tests
    Junit,
    /// A comment on a pull request
    Markdown,
}

/// The checked files, with the result.
pub(crate) struct Report {
    /// The command that checked.
    pub(crate) command: &'static str,
    pub(crate) reading: Reading,
    /// The checked objects, with the findings in the order of the report.
    pub(crate) everything: CheckedReading,
    pub(crate) notes: Vec<Note>,
    /// Whether only a part of the files was requested.
    pub(crate) is_narrowed: bool,
    /// The number of files and directories that `almanac.toml` excludes.
    pub(crate) excluded: usize,
    /// The number of suppressed findings.
    pub(crate) ignored: usize,
    /// The fixes that were written into files before.
    pub(crate) fixed: Vec<Fixed>,
}

impl Format {
    /// Whether the format includes the notes on unread files.
    fn has_notes(self) -> bool {
        matches!(self, Format::Json | Format::Yaml)
    }
}

impl Report {
    /// Prints the findings, as text in lines of this width. `fail_on` is the severity on which the command fails.
    pub(crate) fn write(
        &self,
        format: Format,
        width: usize,
        fail_on: FailOn,
        output: &mut impl Write,
    ) -> anyhow::Result<()> {
        match format {
            Format::Text => text::write(output, self, width)?,
            Format::Json => json::write(output, self)?,
            Format::Yaml => yaml::write(output, |yaml| json::write(yaml, self))?,
            Format::Sarif => sarif::write(output, self)?,
            Format::Github => github::write(output, self)?,
            Format::Junit => junit::write(output, self, fail_on)?,
            Format::Markdown => markdown::write(output, self)?,
        }
        Ok(())
    }

    /// A finding with its place and its fix, each on a separate line.
    fn in_full(&self, placed: &PlacedFinding) -> String {
        let place = self.everything.place_of(placed);
        let place = place.map_or(String::new(), |place| format!("\nplace: {place}"));
        let fix = placed.finding.fix.as_ref();
        let fix = fix.map_or(String::new(), |fix| format!("\nfix: {fix}"));
        format!("{}{place}{fix}", placed.finding.headline())
    }
}
