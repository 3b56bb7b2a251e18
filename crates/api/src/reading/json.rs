//! JSON with positions.
//!
//! kubectl reads a text that starts with `{` as JSON, not as YAML: `\ud83d\ude00` is one character, and several
//! documents may follow each other without a separator. This reader does the same, records positions, limits the depth,
//! and continues after a `//` comment to report further mistakes.

use std::sync::Arc;

use serde_json::Number;

use super::limits;
use super::text_finding::{TextFinding, TextFindings};
use crate::finding::{Code, Span};
use crate::tree::{Entry, Node, Value, as_kubernetes_keeps};

/// Reads every document of a text. Documents before an error are kept.
pub(super) fn read(text: &str, findings: &mut TextFindings) -> (Vec<Node>, Option<TextFinding>) {
    let mut reader = Reader { text, byte: 0, nodes: 0, findings };
    let mut documents = Vec::new();
    loop {
        reader.skip_blank();
        if reader.byte == text.len() {
            return (documents, None);
        }
        reader.nodes = 0;
        match reader.value(0) {
            Ok(node) => documents.push(node),
            Err(finding) => return (documents, Some(finding)),
        }
    }
}

type Outcome<T> = Result<T, TextFinding>;

struct Reader<'a> {
    text: &'a str,
    byte: usize,
    nodes: usize,
    findings: &'a mut TextFindings,
}

impl Reader<'_> {
    fn rest(&self) -> &[u8] {
        &self.text.as_bytes()[self.byte..]
    }

    fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    fn error(&self, message: impl Into<String>) -> TextFinding {
        let length = self.text[self.byte..].chars().next().map_or(0, char::len_utf8);
        TextFinding::new(Code::Syntax, Span::new(self.byte..self.byte + length), message)
    }

    /// Skips white space, and comments, which are reported.
    fn skip_blank(&mut self) {
        loop {
            let blank = self.rest().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            self.byte += blank;
            let rest = &self.text[self.byte..];
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                return;
            };
            let line = rest[..length].find('\n').unwrap_or(length);
            let span = Span::new(self.byte..self.byte + line);
            self.findings.push(
                TextFinding::new(Code::SlashComment, span, "JSON does not allow comments")
                    .with_fix("remove it, or write the file in YAML with '#'"),
            );
            self.byte += length;
        }
    }

    fn value(&mut self, depth: usize) -> Outcome<Node> {
        self.nodes += 1;
        if depth == limits::DEPTH || self.nodes > limits::NODES {
            let mut finding = self.error(format!(
                "a document may be nested at most {} levels deep and have at most {} values; this \
                 document exceeds that",
                limits::DEPTH,
                limits::NODES
            ));
            finding.finding.code = Code::TooLarge;
            return Err(finding.with_fix("split it into several documents"));
        }
        let start = self.byte;
        let value = match self.peek() {
            Some(b'{') => Value::Map(self.map(depth)?),
            Some(b'[') => Value::List(self.list(depth)?),
            Some(b'"') => Value::Text(self.string()?.into()),
            Some(b'-' | b'0'..=b'9') => Value::Number(self.number()?),
            Some(_) => self.word()?,
            None => {
                return Err(self
                    .error("the text ends where a value was expected")
                    .with_fix("complete the text: write the value, and close every bracket"));
            }
        };
        Ok(Node { span: Span::new(start..self.byte), value })
    }

    fn word(&mut self) -> Outcome<Value> {
        for (word, value) in
            [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)]
        {
            if self.rest().starts_with(word.as_bytes()) {
                self.byte += word.len();
                return Ok(value);
            }
        }
        Err(self
            .error("a value was expected here: text needs double quotes in JSON")
            .with_fix("put text in double quotes"))
    }

    /// After an item, returns whether another item follows. A comma before the end is an error in JSON.
    fn another(&mut self, end: u8) -> Outcome<bool> {
        self.skip_blank();
        let comma = self.byte;
        match self.peek() {
            Some(byte) if byte == end => {
                self.byte += 1;
                Ok(false)
            }
            Some(b',') => {
                self.byte += 1;
                self.skip_blank();
                if self.peek() == Some(end) {
                    self.byte = comma;
                    return Err(self
                        .error("JSON does not allow a comma after the last item")
                        .with_fix("remove the comma"));
                }
                Ok(true)
            }
            Some(_) => Err(self
                .error(format!("a ',' or '{}' was expected here", char::from(end)))
                .with_fix(format!("write ',' before another item, or '{}'", char::from(end)))),
            None => Err(self
                .error(format!("the text ends where a ',' or '{}' was expected", char::from(end)))
                .with_fix(format!("complete the text, and close it with '{}'", char::from(end)))),
        }
    }

    /// After an opening bracket, returns whether any item precedes the closing bracket.
    fn has_items(&mut self, end: u8) -> bool {
        self.byte += 1;
        self.skip_blank();
        if self.peek() == Some(end) {
            self.byte += 1;
            return false;
        }
        true
    }

    fn list(&mut self, depth: usize) -> Outcome<Arc<[Node]>> {
        let mut items = Vec::new();
        if !self.has_items(b']') {
            return Ok(items.into());
        }
        loop {
            items.push(self.value(depth + 1)?);
            if !self.another(b']')? {
                return Ok(items.into());
            }
            self.skip_blank();
        }
    }

    fn map(&mut self, depth: usize) -> Outcome<Arc<[Entry]>> {
        let mut map = super::map::MapInProgress::default();
        if !self.has_items(b'}') {
            return Ok(map.into_entries());
        }
        loop {
            let start = self.byte;
            if self.peek() != Some(b'"') {
                return Err(self
                    .error("a key in double quotes was expected here")
                    .with_fix("put the key in double quotes"));
            }
            let key = self.string()?.into();
            let key_span = Span::new(start..self.byte);
            self.skip_blank();
            if self.peek() != Some(b':') {
                return Err(self
                    .error("a ':' was expected after the key")
                    .with_fix("write ':' and a value after the key"));
            }
            self.byte += 1;
            self.skip_blank();
            let value = self.value(depth + 1)?;
            if let Some(twice) = map.put_written(Entry { key, key_span, value }) {
                self.findings.push(twice);
            }
            if !self.another(b'}')? {
                return Ok(map.into_entries());
            }
        }
    }

    /// Finds the end of a quoted string. Serde's reader decodes the string with all its escapes.
    fn string(&mut self) -> Outcome<String> {
        let start = self.byte;
        let mut escaped = false;
        for (length, &byte) in self.rest()[1..].iter().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    self.byte = start + length + 2;
                    return self.decode(start);
                }
                b'\n' => break,
                _ => {}
            }
        }
        Err(self
            .error("the string is not closed on its line")
            .with_fix("close the quotes; write a line break as \\n"))
    }

    fn decode(&self, start: usize) -> Outcome<String> {
        let written = &self.text[start..self.byte];
        if !written.contains('\\') && !written.bytes().any(|byte| byte < 0x20) {
            return Ok(written[1..written.len() - 1].to_owned());
        }
        serde_json::from_str(&lone_surrogates_replaced(written)).map_err(|_| {
            let message = "this string contains an escape or a control character that JSON \
                           doesn't allow";
            TextFinding::new(Code::Syntax, Span::new(start..self.byte), message)
                .with_fix("write \\\\ for a backslash, \\n for a line break and \\t for a tab")
        })
    }

    fn number(&mut self) -> Outcome<Number> {
        let start = self.byte;
        let length = self
            .rest()
            .iter()
            .take_while(|byte| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'))
            .count();
        self.byte += length;
        let written = &self.text[start..self.byte];
        let number = written.parse::<Number>().map_err(|_| {
            let message = format!("{written:?} is not a valid JSON number");
            TextFinding::new(Code::Syntax, Span::new(start..self.byte), message)
                .with_fix("put it in double quotes if it is text")
        })?;
        Ok(as_kubernetes_keeps(number))
    }
}

/// Replaces lone halves of surrogate pairs by U+FFFD, as the Go reader of kubectl does.
fn lone_surrogates_replaced(written: &str) -> String {
    let mut result = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(backslash) = rest.find('\\') {
        let (before, escape) = rest.split_at(backslash);
        result.push_str(before);
        let length = match surrogate(escape) {
            Some(0xD800..0xDC00) if matches!(surrogate(&escape[6..]), Some(0xDC00..0xE000)) => 12,
            Some(0xD800..0xE000) => {
                result.push_str("\\ufffd");
                rest = &escape[6..];
                continue;
            }
            Some(_) => 6,
            None => escape.char_indices().nth(2).map_or(escape.len(), |(byte, _)| byte),
        };
        result.push_str(&escape[..length]);
        rest = &escape[length..];
    }
    result.push_str(rest);
    result
}

/// The code unit of a `\uXXXX` escape at the start of a text.
fn surrogate(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_one(text: &str) -> serde_json::Value {
        let mut findings = TextFindings::default();
        let (documents, error) = read(text, &mut findings);
        assert!(error.is_none() && findings.is_empty(), "{text}: {error:?} {findings:?}");
        documents[0].to_json()
    }

    fn error(text: &str) -> String {
        let mut findings = TextFindings::default();
        let (_, error) = read(text, &mut findings);
        let first = findings.into_reported().into_iter().next().or(error).expect("an invalid text");
        format!("{} {}", first.span.start, first.finding.message)
    }

    #[test]
    fn json_is_read_as_serde_reads_it() {
        for text in [
            r#"{"a": [1, -2.5e3, true, false, null, "x\n\"\\\/\u00e9"], "b": {}, "c": []}"#,
            r#"{"emoji": "\ud83d\ude00", "n": 9223372036854775807}"#,
        ] {
            let expected: serde_json::Value = serde_json::from_str(text).expect("valid JSON");
            assert_eq!(read_one(text), expected);
        }
    }

    #[test]
    fn half_a_surrogate_pair_becomes_the_replacement_character() {
        assert_eq!(read_one(r#"{"a": "x\ud83dy\\ud83d"}"#)["a"], "x\u{fffd}y\\ud83d");
    }

    #[test]
    fn documents_may_follow_each_other() {
        let (documents, error) = read("{\"a\":1}\n{\"b\":2}{}", &mut TextFindings::default());
        assert_eq!((documents.len(), error.is_none()), (3, true));
    }

    #[test]
    fn errors_have_positions() {
        assert_eq!(error(r#"{"a": 1,}"#), "7 JSON does not allow a comma after the last item");
        assert_eq!(error(r#"{"a": 1 // one"#), "8 JSON does not allow comments");
        assert_eq!(error(r#"{"a": 1 /* one"#), "8 JSON does not allow comments");
        assert_eq!(error("/* a\n */ {}"), "0 JSON does not allow comments");
        assert_eq!(error(r#"{"a": 1, "a": 2}"#), "9 the key \"a\" appears twice in this map");
        assert_eq!(error("{a: 1}"), "1 a key in double quotes was expected here");
        assert_eq!(error(r#"{"a": 01}"#), "6 \"01\" is not a valid JSON number");
        assert_eq!(error(r#"{"a": "b"#), "6 the string is not closed on its line");
        assert_eq!(error(r#"{"a" 1}"#), "5 a ':' was expected after the key");
        assert_eq!(error("["), "1 the text ends where a value was expected");
    }

    #[test]
    fn depth_is_bounded() {
        assert!(error(&"[".repeat(100_000)).contains("levels deep"));
        assert!(error(&"{\"a\":".repeat(100_000)).contains("levels deep"));
    }
}
