//! The parser events of a document. A panic of the parser becomes a finding.
//!
//! The parser panics at a text that ends within a line, so this module ends that line, as kubectl's parser does. The
//! parser also panics at a tag directly before a `,` in a list or map in brackets. kubectl reads that comma as a
//! character of the tag, and `{a: !,b: c}` as `{a: c}`.

use std::cell::Cell;
use std::io::{self, BufRead, Chain, Read};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use libyaml_safer::{Event, Parser, Scanner};

use super::mistakes;
use super::text_finding::TextFinding;
use crate::finding::{Code, Span};

/// The events of one document.
pub(super) struct Events<'a> {
    parser: Parser<Chain<&'a [u8], &'static [u8]>>,
    text: &'a str,
    offset: usize,
}

impl<'a> Events<'a> {
    /// `offset` is the start of the text in the file.
    pub(super) fn new(text: &'a str, offset: usize) -> Self {
        let mut parser = Parser::new();
        parser.set_input(text.as_bytes().chain(line_end(text).as_bytes()));
        Self { parser, text, offset }
    }

    /// The next event. No event follows a finding.
    pub(super) fn next(&mut self) -> Result<Event, TextFinding> {
        match without_panic(|| self.parser.parse()) {
            Some(parsed) => {
                parsed.map_err(|error| mistakes::syntax(&error, self.text, self.offset))
            }
            None => Err(panic_finding(self.text, self.offset)),
        }
    }
}

/// The characters to add so that the last line ends.
fn line_end(text: &str) -> &'static str {
    if text.is_empty() || text.ends_with('\n') { "" } else { "\n" }
}

/// The result of a function; `None` if it panics, which prints nothing.
fn without_panic<T>(act: impl FnOnce() -> T) -> Option<T> {
    thread_local! {
        static IS_EXPECTED: Cell<bool> = const { Cell::new(false) };
    }
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            if !IS_EXPECTED.get() {
                hook(panicked);
            }
        }));
    });
    IS_EXPECTED.set(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(act));
    IS_EXPECTED.set(false);
    outcome.ok()
}

/// The finding about a text at which the parser panics.
fn panic_finding(text: &str, offset: usize) -> TextFinding {
    let ended = [text, line_end(text)].concat();
    let mut remaining = OneByOne(ended.as_bytes());
    without_panic(|| {
        let mut scanner = Scanner::new();
        scanner.set_input(&mut remaining);
        scanner.take_while(Result::is_ok).for_each(drop);
    });
    let looked_at = ended.get(..ended.len() - remaining.0.len()).unwrap_or(&ended);
    let Some(comma) = comma_behind_tag(looked_at) else {
        let end = offset + looked_at.len().min(text.len());
        return TextFinding::new(
            Code::Syntax,
            Span::new(end..end),
            "the text can't be read as YAML",
        );
    };
    let span = Span::new(offset + start_of_tag(&text[..comma])..offset + comma + 1);
    TextFinding::new(Code::Syntax, span, "a ',' can't directly follow a tag")
        .with_fix("put a space before the ',', or quotes around text that begins with '!'")
}

/// The number of characters that the scanner reads ahead where a tag may start.
const AHEAD: usize = 4;

/// The comma at which the scanner stopped. After a short tag, the scanner has read further.
fn comma_behind_tag(looked_at: &str) -> Option<usize> {
    let start = looked_at.char_indices().rev().take(AHEAD).last().map_or(0, |(byte, _)| byte);
    let ahead = &looked_at[start..];
    let comma = if ahead.starts_with('!') { ahead.find(',') } else { ahead.rfind(',') };
    comma.map(|comma| start + comma)
}

/// The start of the tag at the end of this text.
fn start_of_tag(text: &str) -> usize {
    if text.ends_with('>') {
        return text.rfind("!<").unwrap_or(text.len());
    }
    let ends = |letter: char| letter.is_whitespace() || "[]{},\"".contains(letter);
    let end = text.char_indices().rev().find(|(_, letter)| ends(*letter));
    let word = end.map_or(0, |(byte, letter)| byte + letter.len_utf8());
    text[word..].find('!').map_or(word, |tag| word + tag)
}

/// Returns a text in single bytes: the consumed bytes show how far the parser has read.
struct OneByOne<'a>(&'a [u8]);

impl Read for OneByOne<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl BufRead for OneByOne<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(&self.0[..self.0.len().min(1)])
    }

    fn consume(&mut self, amount: usize) {
        self.0.consume(amount);
    }
}

#[cfg(test)]
mod tests {
    use libyaml_safer::EventData;

    use super::*;

    fn mistake(text: &str) -> Option<(String, String)> {
        // The offset proves that locations are those of the file, not of the document.
        let mut events = Events::new(text, 7);
        let found = loop {
            match events.next() {
                Ok(event) if matches!(event.data, EventData::StreamEnd) => return None,
                Ok(_) => {}
                Err(found) => break found,
            }
        };
        let (start, end) = (found.span.start as usize - 7, found.span.end as usize - 7);
        Some((text[start..end].to_owned(), found.finding.message))
    }

    #[test]
    fn a_tag_directly_before_a_comma_is_rejected_with_its_position() {
        for (text, place) in [
            ("{!,", "!,"),
            ("[!,b,c", "!,"),
            ("[a!b, !,!,", "!,"),
            ("a: [\"x!,y\", !,b]", "!,"),
            ("[\"x!,y\" !,b]", "!,"),
            ("{\"a\":!b,c}", "!b,"),
            ("a: [x!,y, !!str,b]", "!!str,"),
            ("a: [!<b,c>,d]", "!<b,c>,"),
            ("[!e!a,b]", "!e!a,"),
            ("[!e%20,b]", "!e%20,"),
            ("# so!,\na: {b: 'it!,s', c: !d,e: f}", "!d,"),
            ("[\u{e9},\u{fc}, !,\u{e9}]", "!,"),
        ] {
            let message = "a ',' can't directly follow a tag".to_owned();
            assert_eq!(mistake(text), Some((place.to_owned(), message)), "{text}");
        }
    }

    #[test]
    fn a_comma_after_an_exclamation_mark_in_text_is_valid() {
        for text in [
            "a: hello!, world\n",
            "a: [\"x!,y\", 'z!,', 'z!',b!,c]\n",
            "a: |\n  !,\n# !,\n",
            "a!:,b: c\n",
            "['!',-,&a b,*a,c]\n",
            "{'a!': &b c, 'd!':*b,e: f}\n",
            "[!<a!,b> c]\n",
            "a: |\n  b",
            "",
        ] {
            assert_eq!(mistake(text), None, "{text}");
        }
    }
}
