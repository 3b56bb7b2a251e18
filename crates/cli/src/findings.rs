//! What was found in files, printed for people and for programs: the same for every command that checks.
//!
//! What is found is up to the commands, and whether it makes one fail is in `outcome`.

mod arguments;
mod json;
mod text;

use std::io::Write;

use almanac_api::checking::Everything;
use almanac_api::reading::Reading;
use clap::ValueEnum;

pub(crate) use self::arguments::{CheckArguments, Checked};
pub(crate) use self::json::Item;
pub(crate) use self::text::{printable, write_finding};
use crate::files::Note;

/// How findings are printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

/// What was checked, with the result.
pub(crate) struct Report {
    /// The command that checked.
    pub(crate) command: &'static str,
    pub(crate) reading: Reading,
    /// Its findings are in the order in which they are told.
    pub(crate) everything: Everything,
    pub(crate) notes: Vec<Note>,
    /// Whether only some of it was asked about.
    pub(crate) is_narrowed: bool,
    /// How much was found that is not to be told.
    pub(crate) ignored: usize,
}

impl Report {
    pub(crate) fn write(&self, format: Format, output: &mut impl Write) -> anyhow::Result<()> {
        match format {
            Format::Text => text::write(output, self),
            Format::Json => json::write(output, self),
        }
    }
}
