//! Rows of comma-separated values, as RFC 4180 has them.
//!
//! Values are written unchanged. A value that a spreadsheet reads as a formula is not escaped, because a program would
//! read back another value.

use std::io::{self, Write};

use almanac_engine::Identity;

use crate::input::InputPlace;

/// The characters of a cell that require quotes.
const TO_QUOTE: [char; 4] = ['"', ',', '\r', '\n'];

/// A row under construction, filled from the first column.
#[derive(Default)]
pub(crate) struct Row(String);

impl Row {
    /// The row with the names of the columns.
    pub(crate) fn from_names(names: &[&str]) -> Row {
        names.iter().copied().fold(Row::default(), Row::cell)
    }

    /// Fills the next column.
    pub(crate) fn cell(mut self, value: &str) -> Row {
        let Row(row) = &mut self;
        if value.contains(TO_QUOTE) {
            row.push('"');
            row.push_str(&value.replace('"', "\"\""));
            row.push('"');
        } else {
            row.push_str(value);
        }
        row.push(',');
        self
    }

    /// Fills four columns with an object: `apiVersion`, kind, namespace and name.
    pub(crate) fn object(self, place: &InputPlace, object: &Identity) -> Row {
        self.cell(&place.api_version(object)).names(object)
    }

    /// Fills three columns with an object: kind, namespace and name.
    pub(crate) fn names(self, object: &Identity) -> Row {
        self.cell(object.kind()).cell(object.namespace()).cell(object.name())
    }

    /// Fills the next column with a value: a string unchanged, nothing for null, other values as JSON.
    pub(crate) fn value(self, value: &serde_json::Value) -> Row {
        match value {
            serde_json::Value::String(text) => self.cell(text),
            serde_json::Value::Null => self.cell(""),
            other => self.cell(&other.to_string()),
        }
    }

    /// Ends the row.
    pub(crate) fn write(self, output: &mut impl Write) -> io::Result<()> {
        let Row(row) = self;
        let row = row.strip_suffix(',').unwrap_or(&row);
        output.write_all(row.as_bytes())?;
        output.write_all(b"\r\n")
    }
}
