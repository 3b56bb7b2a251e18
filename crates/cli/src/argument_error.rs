//! Errors about a value on the command line, printed with the text and a marker under the wrong
//! part.

use std::fmt::{self, Write};
use std::ops::Range;

use almanac_api::reading::ConfusableCharacter;
use anstyle::{AnsiColor, Style};

use crate::text_width::display_width;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const MARKER: Style = AnsiColor::Blue.on_default().bold();

/// A problem with the value of an argument, and its position in the value.
#[derive(Debug)]
pub(crate) struct ArgumentError {
    argument: &'static str,
    text: String,
    span: Range<usize>,
    message: String,
}

impl ArgumentError {
    pub(crate) fn new(
        argument: &'static str,
        text: &str,
        span: Range<usize>,
        message: impl fmt::Display,
    ) -> ArgumentError {
        let strange = text.get(span.clone()).and_then(ConfusableCharacter::first_in);
        let message = match strange {
            Some(letter) => format!("{message}; {letter}: {}", letter.fix_inside()),
            None => message.to_string(),
        };
        ArgumentError { argument, text: text.to_owned(), span, message }
    }

    /// An error about the whole value of an argument.
    pub(crate) fn whole(
        argument: &'static str,
        text: &str,
        message: impl fmt::Display,
    ) -> ArgumentError {
        ArgumentError::new(argument, text, 0..text.len(), message)
    }

    #[cfg(test)]
    pub(crate) fn span(&self) -> Range<usize> {
        self.span.clone()
    }
}

/// User input in backticks for a message: long input is truncated, and control characters are
/// escaped, because they must not reach a terminal.
pub(crate) fn quoted(input: &str) -> String {
    const MAX_CHARACTERS: usize = 40;
    let mut characters = input.chars();
    let start: String =
        characters.by_ref().take(MAX_CHARACTERS).flat_map(char::escape_debug).collect();
    let rest = if characters.next().is_some() { "…" } else { "" };
    format!("`{start}{rest}`")
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.argument, self.message)
    }
}

impl std::error::Error for ArgumentError {}

/// The printed form of an error: its chain of causes, and the marked text if it fits the width.
pub(crate) fn render(error: &anyhow::Error, width: usize) -> String {
    let mut rendered = format!("{ERROR}error:{ERROR:#} {error:#}");
    if let Some(argument_error) = error.downcast_ref::<ArgumentError>() {
        rendered += &marked(&argument_error.text, &argument_error.span, width);
    }
    rendered
}

/// The text with a line of carets under the span.
fn marked(text: &str, span: &Range<usize>, width: usize) -> String {
    const WIDEST: usize = 100;
    // The columns before the text.
    const MARGIN: usize = 4;
    let most = WIDEST.min(width.saturating_sub(MARGIN));
    // Text that does not fit on one line is not printed.
    if text.is_empty() || display_width(text) > most || text.chars().any(char::is_control) {
        return String::new();
    }
    let columns = |part: Range<usize>| text.get(part).map_or(0, display_width);
    let (before, marked) = (columns(0..span.start), columns(span.clone()).max(1));
    let mut lines = String::new();
    let carets = "^".repeat(marked);
    // Writing to a string does not fail.
    let _ = write!(
        lines,
        "\n  {MARKER}|{MARKER:#}\n  {MARKER}|{MARKER:#} {text}\n  {MARKER}|{MARKER:#} \
         {:before$}{ERROR}{carets}{ERROR:#}",
        ""
    );
    lines
}
