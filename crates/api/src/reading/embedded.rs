//! Reads a document that is a string in another document, such as under a key of a `ConfigMap`, and locates its parts
//! in the file.
//!
//! The resulting tree has positions in the embedded text. A file may write the text as a block, folded, in quotes, or
//! with escapes. [`TextInFile`] maps positions in the text to positions in the file.

use super::source::Source;
use super::stream;
use crate::finding::{Code, FieldPath, Finding, Span};
use crate::tree::Node;

/// The result of reading an embedded text.
pub(crate) struct EmbeddedDocument {
    /// The document; `None` if the text has no document, or cannot be read.
    pub(crate) root: Option<Node>,
    /// The mistakes in the text, with their locations.
    pub(crate) findings: Vec<(Span, Finding)>,
}

/// Reads a text as programs read a configuration: YAML or JSON, and one document only.
pub(crate) fn read_embedded(text: &str) -> EmbeddedDocument {
    let stream::Documents { documents, findings } = stream::read(text);
    let mut findings: Vec<(Span, Finding)> =
        findings.into_iter().map(|it| (it.span, *it.finding)).collect();
    let mut documents = documents.into_iter();
    let root = documents.next();
    if let Some(further) = documents.next() {
        let message = "only the first document is read";
        let finding = Finding::new(Code::Syntax, FieldPath::default(), message)
            .with_fix("remove the '---' line, and join what follows with the first document");
        findings.push((Span { end: further.span.start, ..further.span }, finding));
    }
    // The part before a mistake is not the whole document.
    let stops_reading = |finding: &Finding| finding.code != Code::DuplicateKey;
    let is_whole = !findings
        .iter()
        .any(|(_, it)| stops_reading(it) && it.severity() == crate::finding::Severity::Error);
    EmbeddedDocument { root: root.filter(|_| is_whole), findings }
}

/// Maps locations in an embedded text to locations in its file.
pub(crate) struct TextInFile {
    /// The starts of stretches with equal characters in both: the byte in the text, and the byte in the file.
    stretches: Vec<(u32, u32)>,
    /// The whole value in the file.
    span: Span,
}

impl TextInFile {
    /// Compares a text with its written form in a span of a file.
    pub(crate) fn new(text: &str, source: &Source, span: Span) -> TextInFile {
        let written = source.slice(span);
        let (skipped, written) = without_properties(written);
        let mut comparison =
            Comparison { written, offset: span.start as usize + skipped, stretches: Vec::new() };
        match written.bytes().next() {
            Some(b'|') => comparison.literal(text),
            Some(b'>') => comparison.folded(text),
            Some(quote @ (b'"' | b'\'')) => comparison.quoted(text, quote),
            _ => comparison.letters(text, 0, None),
        }
        TextInFile { stretches: comparison.stretches, span }
    }

    /// The location in the file of a part of the text. An unknown location is the start of the text.
    pub(crate) fn locate(&self, part: Span) -> Span {
        let at = |byte: u32| {
            let after = self.stretches.partition_point(|(of_text, _)| *of_text <= byte);
            let (of_text, of_file) = self.stretches.get(after.checked_sub(1)?)?;
            let limit = self.stretches.get(after).map_or(self.span.end, |(_, next)| *next);
            Some((of_file + (byte - of_text)).min(limit))
        };
        let Some(start) = at(part.start) else { return self.span };
        Span { start, end: at(part.end).unwrap_or(start).max(start) }
    }
}

/// A value without its anchor and its tag, and their length in bytes.
fn without_properties(written: &str) -> (usize, &str) {
    let mut rest = written;
    while rest.starts_with(['&', '!']) {
        let property = rest.find(char::is_whitespace).unwrap_or(rest.len());
        rest = rest[property..].trim_start();
    }
    (written.len() - rest.len(), rest)
}

struct Comparison<'a> {
    written: &'a str,
    /// The offset of the written text in the file.
    offset: usize,
    stretches: Vec<(u32, u32)>,
}

impl Comparison<'_> {
    /// Adds a stretch: from this byte of the text on, both have equal characters until the next entry.
    fn meet(&mut self, in_text: usize, in_written: usize) {
        let number = |byte: usize| u32::try_from(byte).unwrap_or(u32::MAX);
        let (in_text, in_file) = (number(in_text), number(self.offset + in_written));
        let is_known = self
            .stretches
            .last()
            .is_some_and(|(text, file)| in_text - text == in_file.saturating_sub(*file));
        if !is_known {
            self.stretches.push((in_text, in_file));
        }
    }

    /// Compares a literal block, whose lines equal those of the text except for the indentation.
    fn literal(&mut self, text: &str) {
        let mut in_text = 0;
        let Some(header) = self.written.find('\n') else { return };
        let mut in_written = header + 1;
        for line in text.split('\n') {
            let Some(rest) = self.written.get(in_written..) else { return };
            let whole = rest.split('\n').next().unwrap_or_default();
            let end = whole.trim_end_matches('\r').len();
            // A line of nothing but spaces may be shorter than the indentation.
            let indentation = end.saturating_sub(line.len());
            if !whole[..end].ends_with(line) {
                return;
            }
            self.meet(in_text, in_written + indentation);
            in_text += line.len() + 1;
            in_written += whole.len() + 1;
        }
    }

    fn folded(&mut self, text: &str) {
        let header = self.written.find('\n').map_or(self.written.len(), |end| end + 1);
        self.letters(text, header, None);
    }

    fn quoted(&mut self, text: &str, quote: u8) {
        self.letters(text, 1, Some(quote));
    }

    /// Compares character by character; the amount of white space between them may differ.
    fn letters(&mut self, text: &str, begin: usize, quote: Option<u8>) {
        let mut at = begin;
        for (in_text, letter) in text.char_indices() {
            if letter.is_whitespace() {
                // A line break that is written as an escape is a line break; a folded part starts as early as possible.
                let Some((length, meant)) = self.unit(at, quote) else { return };
                self.meet(in_text, at);
                if meant == Some(letter) {
                    at += length;
                }
                continue;
            }
            loop {
                let Some((length, meant)) = self.unit(at, quote) else { return };
                match meant {
                    Some(meant) if meant == letter => {
                        self.meet(in_text, at);
                        at += length;
                        break;
                    }
                    Some(other) if other.is_whitespace() => at += length,
                    None => at += length,
                    Some(_) => return,
                }
            }
        }
        self.meet(text.len(), at);
    }

    /// The length of the written form of a character, and the character; `None` for a line break that is dropped.
    fn unit(&self, at: usize, quote: Option<u8>) -> Option<(usize, Option<char>)> {
        let rest = self.written.get(at..)?;
        let first = rest.chars().next()?;
        match (quote, first) {
            (Some(b'\''), '\'') => rest.starts_with("''").then_some((2, Some('\''))),
            (Some(b'"'), '"') => None,
            (Some(b'"'), '\\') => escape(rest),
            _ => Some((first.len_utf8(), Some(first))),
        }
    }
}

/// The meaning of an escape in double quotes, in YAML or in JSON.
fn escape(rest: &str) -> Option<(usize, Option<char>)> {
    let kind = rest[1..].chars().next()?;
    let code = |digits: usize| {
        let number = rest.get(2..2 + digits)?;
        u32::from_str_radix(number, 16).ok().map(|number| (2 + digits, number))
    };
    let of_code = |digits: usize| {
        let (length, number) = code(digits)?;
        if let Some(letter) = char::from_u32(number) {
            return Some((length, Some(letter)));
        }
        // JSON writes a character that needs more than four digits as two halves.
        let low = rest.get(length..)?.strip_prefix("\\u")?.get(..4)?;
        let low = u32::from_str_radix(low, 16).ok()?.checked_sub(0xDC00)?;
        let high = number.checked_sub(0xD800)?;
        Some((length + 6, char::from_u32(0x1_0000 + (high << 10) + low)))
    };
    let letter = match kind {
        '\n' => None,
        '\r' => return Some((if rest[2..].starts_with('\n') { 3 } else { 2 }, None)),
        'n' => Some('\n'),
        't' | '\t' => Some('\t'),
        'r' => Some('\r'),
        '0' => Some('\0'),
        'a' => Some('\u{7}'),
        'b' => Some('\u{8}'),
        'e' => Some('\u{1b}'),
        'f' => Some('\u{c}'),
        'v' => Some('\u{b}'),
        'N' => Some('\u{85}'),
        '_' => Some('\u{a0}'),
        'L' => Some('\u{2028}'),
        'P' => Some('\u{2029}'),
        'x' => return of_code(2),
        'u' => return of_code(4),
        'U' => return of_code(8),
        other => Some(other),
    };
    Some((1 + kind.len_utf8(), letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The start in the file of each line of the text under `k`: `line:column`.
    fn lines(file: &str) -> Vec<String> {
        let source = Source::new("f", file);
        let root = stream::read(source.text()).documents.remove(0);
        let node = root.get("k").unwrap();
        let text = node.as_text().unwrap();
        let within = TextInFile::new(text, &source, node.span);
        let mut start = 0;
        let mut places = Vec::new();
        for line in text.lines() {
            if !line.trim().is_empty() {
                let first = start + line.len() - line.trim_start().len();
                let end = start + line.trim_end().len();
                let (first, end) = (u32::try_from(first).unwrap(), u32::try_from(end).unwrap());
                let span = within.locate(Span { start: first, end });
                let at = source.position(span.start);
                places.push(format!("{}:{} {}", at.line, at.column, source.slice(span)));
            }
            start += line.len() + 1;
        }
        places
    }

    #[test]
    fn a_line_of_a_block_is_a_line_of_the_file() {
        let expected = ["3:5 a: 1", "4:7 b: ü", "6:5 c: 3"];
        assert_eq!(lines("x: 1\nk: |\n    a: 1\n      b: ü\n\n    c: 3\n"), expected);
        assert_eq!(lines("x: 1\nk: |-  # why\n    a: 1\n      b: ü\n  \n    c: 3"), expected);
        assert_eq!(
            lines("x: 1\r\nk: &k |\r\n    a: 1\r\n      b: ü\r\n\r\n    c: 3\r\n"),
            expected
        );
        assert_eq!(lines("k: |2\n    a: 1\n  b: 2\n"), ["2:5 a: 1", "3:3 b: 2"]);
        assert_eq!(lines("\n\nk: |+\n  a: 1\n\n\nj: 1\n"), ["4:3 a: 1"]);
    }

    #[test]
    fn a_text_in_quotes_is_followed_through_its_escapes() {
        assert_eq!(lines(r#"k: "a: 1\nb: \"2\"\n""#), ["1:5 a: 1", r#"1:11 b: \"2\""#]);
        assert_eq!(
            lines("k: \"a: \\u00e4\\n\\\n   b: \\x41\"\n"),
            ["1:5 a: \\u00e4", "2:4 b: \\x41"]
        );
        assert_eq!(
            lines(r#"{"k": "{\"a\": 1,\n \"b\": \"\ud83d\ude00\"}"}"#)[1],
            r#"1:21 \"b\": \"\ud83d\ude00\"}"#
        );
        assert_eq!(lines("k: 'a: ''1''\n\n  b: 2'\n"), ["1:5 a: ''1''", "3:3 b: 2"]);
    }

    #[test]
    fn a_folded_text_is_followed_through_its_line_breaks() {
        assert_eq!(lines("k: >\n  a: [1,\n  2]\n\n  b: 3\n"), ["2:3 a: [1,\n  2]", "5:3 b: 3"]);
        assert_eq!(lines("k: {a: b}\nx: 1\n".replace("{a: b}", "a\n  b").as_str()), ["1:4 a\n  b"]);
    }

    #[test]
    fn an_unknown_location_is_the_start_of_the_text() {
        let source = Source::new("f", "k: \"abc\"\n");
        let within = TextInFile::new("xyz", &source, Span { start: 3, end: 8 });
        assert_eq!(source.slice(within.locate(Span { start: 1, end: 2 })), "\"abc\"");
    }

    #[test]
    fn only_one_document_is_read_and_what_stops_reading_leaves_none() {
        let read = |text: &str| {
            let document = read_embedded(text);
            let messages = document.findings.iter().map(|(_, it)| it.message.as_str());
            (document.root.is_some(), messages.collect::<Vec<_>>().join("; "))
        };
        assert_eq!(read("a: 1\n"), (true, String::new()));
        assert_eq!(read("{\"a\": 1}"), (true, String::new()));
        assert_eq!(read("\n# nothing\n"), (false, String::new()));
        assert_eq!(
            read("a: 1\n---\nb: 2\n"),
            (false, "only the first document is read".to_owned())
        );
        assert!(!read("a: [\n").0 && !read("a:\n\tb: 1\n").0);
        assert!(read("a: 1\na: 2\n").0, "kubectl reads it too");
    }
}
