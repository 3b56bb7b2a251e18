//! A text with a name, and the locations in it.

use std::sync::OnceLock;

use super::encoding;
use super::folder::Folder;
use super::text_finding::TextFinding;
use crate::finding::Span;

/// A location as in editors: lines and columns from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
}

/// A file, or a text in place of a file.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
    /// The mistake in the encoding of the text.
    mistake: Option<TextFinding>,
    folder: Option<Folder>,
    is_discovered: bool,
    /// The start of each line, computed on first use.
    lines: OnceLock<Vec<usize>>,
}

impl Source {
    /// A source from a text, with a display name: a path, or `<stdin>`.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let (text, mistake) = encoding::line_ends(text.into());
        Self {
            name: name.into(),
            text,
            mistake,
            folder: None,
            is_discovered: false,
            lines: OnceLock::new(),
        }
    }

    /// A source from the bytes of a file in any encoding, with a display name.
    #[must_use]
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        let (text, mistake) = encoding::decode(bytes);
        Self {
            name: name.into(),
            text,
            mistake,
            folder: None,
            is_discovered: false,
            lines: OnceLock::new(),
        }
    }

    /// Sets the directory of the file.
    #[must_use]
    pub fn in_folder(self, folder: Folder) -> Self {
        Self { folder: Some(folder), ..self }
    }

    /// Marks the file as discovered in a directory, and not named by the user. Such a file may have any content, so
    /// only findings about its policies and their targets are reported.
    #[must_use]
    pub fn discovered(self) -> Self {
        Self { is_discovered: true, ..self }
    }

    /// The directory of the file; `None` for a text without a file.
    #[must_use]
    pub fn folder(&self) -> Option<&Folder> {
        self.folder.as_ref()
    }

    /// Whether the file was discovered, and not named by the user.
    #[must_use]
    pub fn is_discovered(&self) -> bool {
        self.is_discovered
    }

    pub(super) fn take_mistake(&mut self) -> Option<TextFinding> {
        self.mistake.take()
    }

    /// The display name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of a span; empty if the span is outside this source.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or_default()
    }

    /// The location of a byte.
    #[must_use]
    pub fn position(&self, byte: u32) -> Position {
        let byte = self.floor(byte as usize);
        let begins = self.lines.get_or_init(|| {
            let after = self.text.match_indices('\n').map(|(newline, _)| newline + 1);
            std::iter::once(0).chain(after).collect()
        });
        let line = begins.partition_point(|begin| *begin <= byte);
        let begin = line.checked_sub(1).and_then(|before| begins.get(before)).copied().unwrap_or(0);
        Position { line, column: self.text[begin..byte].chars().count() + 1 }
    }

    /// The whole line of a byte, without its line break.
    #[must_use]
    pub fn line_around(&self, byte: u32) -> &str {
        let byte = self.floor(byte as usize);
        let start = self.text[..byte].rfind('\n').map_or(0, |newline| newline + 1);
        let end = self.text[byte..].find('\n').map_or(self.text.len(), |newline| byte + newline);
        self.text[start..end].trim_end_matches('\r')
    }

    /// The line before that of a byte; empty for the first.
    #[must_use]
    pub fn line_before(&self, byte: u32) -> &str {
        let byte = self.floor(byte as usize);
        match self.text[..byte].rfind('\n') {
            Some(newline) => self.line_around(u32::try_from(newline).unwrap_or(u32::MAX)),
            None => "",
        }
    }

    /// The nearest character boundary at or before this byte.
    fn floor(&self, byte: usize) -> usize {
        self.text.floor_char_boundary(byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let source = Source::new("f", "a: b\r\nü: x\n");
        assert_eq!(source.position(0), Position { line: 1, column: 1 });
        assert_eq!(source.position(3), Position { line: 1, column: 4 });
        assert_eq!(source.position(10), Position { line: 2, column: 4 });
        assert_eq!(source.line_around(4), "a: b");
        assert_eq!(source.line_around(10), "ü: x");
    }

    #[test]
    fn the_previous_line_is_found() {
        let source = Source::new("f", "a\nbc\n\nd");
        let before = [0, 1, 2, 4, 5, 6].map(|byte| source.line_before(byte));
        assert_eq!(before, ["", "", "a", "a", "bc", ""]);
    }

    #[test]
    fn a_byte_inside_a_character_or_past_the_end_does_not_panic() {
        let source = Source::new("f", "ü");
        assert_eq!(source.position(1), Position { line: 1, column: 1 });
        assert_eq!(source.position(99), Position { line: 1, column: 2 });
        assert_eq!(source.slice(Span { start: 1, end: 9 }), "");
    }
}
