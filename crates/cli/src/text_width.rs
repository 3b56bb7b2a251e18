//! The width of text on a terminal, and its maximum width.
//!
//! `wrapping` breaks text into lines, and `shortening` cuts names.

use std::env;
use std::io;
use std::path::Path;

use unicode_width::UnicodeWidthStr as _;

/// The width of text for a pipe or a file.
const WITHOUT_TERMINAL: usize = 100;

/// The first character of a style, such as bold.
const ESCAPE: char = '\u{1b}';

/// The current width of standard output: a terminal may be resized.
pub(crate) fn for_stdout() -> usize {
    chosen(columns(terminal_size::terminal_size_of(io::stdout())), columns_variable().as_deref())
}

/// The current width of standard error. Without a terminal, standard error is a log with one line per message.
pub(crate) fn for_stderr() -> usize {
    columns(terminal_size::terminal_size_of(io::stderr())).unwrap_or(usize::MAX)
}

/// The width of the file of `--out`, which is the same on all machines, or of standard output.
pub(crate) fn for_output(file: Option<&Path>) -> usize {
    match file {
        Some(path) if path.as_os_str() != "-" => WITHOUT_TERMINAL,
        _ => for_stdout(),
    }
}

fn columns(size: Option<(terminal_size::Width, terminal_size::Height)>) -> Option<usize> {
    size.map(|(width, _)| usize::from(width.0))
}

/// The value of `COLUMNS`, which `watch` and CI set for programs without a terminal.
fn columns_variable() -> Option<String> {
    env::var("COLUMNS").ok()
}

/// The width of the terminal, or else of `COLUMNS`, which keeps its value when a terminal is resized.
fn chosen(terminal: Option<usize>, variable: Option<&str>) -> usize {
    let from_variable =
        || variable.and_then(|it| it.trim().parse::<usize>().ok()).filter(|columns| *columns > 0);
    terminal.or_else(from_variable).unwrap_or(WITHOUT_TERMINAL)
}

/// The number of columns of text: two for a wide character, none for a combining mark or a style.
pub(crate) fn display_width(text: &str) -> usize {
    let mut width = 0;
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(ESCAPE) {
        width += before.width();
        rest = after_style(after).unwrap_or(after);
    }
    width + rest.width()
}

/// The text after a style, given the text after its escape.
fn after_style(text: &str) -> Option<&str> {
    let parameters = text.strip_prefix('[')?;
    let is_parameter = |letter: char| letter.is_ascii_digit() || letter == ';';
    parameters.trim_start_matches(is_parameter).strip_prefix('m')
}

/// Text without its styles.
pub(crate) fn without_styles(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(ESCAPE) {
        plain.push_str(before);
        rest = after_style(after).unwrap_or(after);
    }
    plain + rest
}

/// Text padded on the right to this many columns.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    format!("{text}{:1$}", "", columns.saturating_sub(display_width(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_decides_before_columns_and_without_both_there_are_100() {
        assert_eq!(chosen(Some(60), Some("200")), 60);
        assert_eq!(chosen(None, Some("80")), 80);
        for unusable in [None, Some(""), Some("0"), Some("-5"), Some("wide")] {
            assert_eq!(chosen(None, unusable), 100, "{unusable:?}");
        }
    }

    #[test]
    fn wide_characters_take_two_columns_and_marks_and_styles_none() {
        for (text, width) in [
            ("", 0),
            ("shop", 4),
            ("früh", 4),
            ("fru\u{308}h", 4),
            ("東京", 4),
            ("🚀", 2),
            ("8 → 12 …", 8),
            ("\u{1b}[1m\u{1b}[33mshop\u{1b}[0m", 4),
        ] {
            assert_eq!(display_width(text), width, "{text}");
        }
        assert_eq!(without_styles("\u{1b}[1;33mshop\u{1b}[0m 1"), "shop 1");
        assert_eq!(padded("東京", 6), "東京  ");
        assert_eq!(padded("shop", 2), "shop");
    }
}
