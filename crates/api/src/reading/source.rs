//! A text with a name, and where in it something stands.

use std::ops::Range;

/// A range of bytes in a [`Source`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of a range of bytes. Sources are far smaller than 4 GiB.
    pub(super) fn new(range: Range<usize>) -> Self {
        let saturated = |byte: usize| u32::try_from(byte).unwrap_or(u32::MAX);
        Self { start: saturated(range.start), end: saturated(range.end) }
    }

    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A place as people and editors count it: from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position {
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
}

/// A file, or what stands for one.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
}

impl Source {
    /// A text and the name to call it by: a path, or `<stdin>`.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// What to call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is written in a span; empty when the span is not one of this source.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or_default()
    }

    /// Where a byte stands. Counted anew each time: only what is printed needs it.
    #[must_use]
    pub fn position(&self, byte: u32) -> Position {
        let byte = self.floor(byte as usize);
        let before = &self.text[..byte];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Position {
            line: before.bytes().filter(|&byte| byte == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }

    /// The whole line a byte stands in, without its line break.
    #[must_use]
    pub fn line_around(&self, byte: u32) -> &str {
        let byte = self.floor(byte as usize);
        let start = self.text[..byte].rfind('\n').map_or(0, |newline| newline + 1);
        let end = self.text[byte..].find('\n').map_or(self.text.len(), |newline| byte + newline);
        self.text[start..end].trim_end_matches('\r')
    }

    /// The nearest place at or before a byte at which the text can be cut.
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
    fn a_byte_inside_a_character_or_past_the_end_is_no_cause_to_panic() {
        let source = Source::new("f", "ü");
        assert_eq!(source.position(1), Position { line: 1, column: 1 });
        assert_eq!(source.position(99), Position { line: 1, column: 2 });
        assert_eq!(source.slice(Span { start: 1, end: 9 }), "");
    }
}
