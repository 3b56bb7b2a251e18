//! Quoting a piece of user text in an error message.

use std::fmt;

/// The maximum number of characters of an excerpt.
const MAX_CHARACTERS: usize = 40;

/// The excerpt of a text in an error: long texts are truncated, so that a message stays one
/// readable line.
pub(crate) fn excerpt(text: &str) -> String {
    let mut characters = text.chars();
    let start: String = characters.by_ref().take(MAX_CHARACTERS).collect();
    if characters.next().is_none() { start } else { start + "…" }
}

/// The piece in backticks, with control characters escaped: a message must not move the cursor of
/// a terminal.
pub(crate) struct QuotedText<'a>(pub(crate) &'a str);

impl fmt::Display for QuotedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`")?;
        for character in self.0.chars() {
            if character.is_control() {
                write!(f, "{}", character.escape_default())?;
            } else {
                write!(f, "{character}")?;
            }
        }
        f.write_str("`")
    }
}
