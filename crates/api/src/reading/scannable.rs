//! Makes a text one the YAML parser can go through to the end: its scanner panics at two things,
//! which are cured or refused here before it sees them. Everything else about YAML is the parser's.
//!
//! - A text that ends within a line. kubectl ends every line before it parses, and so do we.
//! - A tag directly before a `,` in a list or map in brackets. Where the scanner would meet one is
//!   only known to a scanner; so it is asked about the same text with a mark before each comma that
//!   might be such a one. The mark is nothing special inside text, and an error behind a tag. The
//!   parser gets the text only as far as it is known to be harmless.
//!
//! kubectl takes that comma for a letter of the tag and reads `{a: !,b: c}` as `{a: c}`, which nobody
//! means. Refused as well, though kubectl reads them: a `!` and then a `,` inside a tag written out
//! between `<` and `>`; the same in one word before an alias (`'a!':*b,`), or in a `%TAG` line; and a
//! key of almost the 1024 characters a key may have, if the marks make it longer.

use std::borrow::Cow;

use libyaml_safer::{Error, Scanner, TokenData};

use super::source::Span;
use super::text_finding::TextFinding;
use super::{limits, mistakes};
use crate::finding::Code;

/// What of a text the parser can go through.
pub(super) struct Scannable<'a> {
    /// The text to give to the parser. It is cut where the parser could panic.
    pub(super) text: Cow<'a, str>,
    /// Why it was cut before its document was over.
    obstacle: Option<TextFinding>,
}

impl<'a> Scannable<'a> {
    /// `offset` is where the text begins in the file.
    pub(super) fn new(text: &'a str, offset: usize) -> Self {
        let ended = match text.chars().next_back() {
            None | Some('\n') => Cow::Borrowed(text),
            Some(_) => Cow::Owned(format!("{text}\n")),
        };
        let marked = Marked::new(&ended, text.len());
        match marked.scan(offset) {
            Scan::Through => Self { text: ended, obstacle: None },
            Scan::Until { end, obstacle } => {
                Self { text: Cow::Owned(format!("{}\n", &ended[..end])), obstacle }
            }
        }
    }

    /// What holds of the whole text when the parser has made this of what it was given: a mistake
    /// before the obstacle comes first.
    pub(super) fn conclude<T>(self, parsed: Result<T, TextFinding>) -> Result<T, TextFinding> {
        match (self.obstacle, parsed) {
            (None, parsed) => parsed,
            (Some(obstacle), Err(found)) if found.span.start < obstacle.span.start => Err(found),
            (Some(obstacle), _) => Err(obstacle),
        }
    }
}

/// Neither one of the characters of a tag, nor one that YAML makes anything of.
const MARK: char = '^';

/// How many tokens may follow one that is too deep and will be refused: the parser looks ahead, for
/// up to 1024 characters, and no character is more than a few tokens.
const AHEAD: usize = 8 * 1024;

/// How far the scanner gets with a text.
enum Scan {
    Through,
    /// To this byte of the text without the marks, and what stands in its way there, if that
    /// belongs to the document and not to what follows it.
    Until {
        end: usize,
        obstacle: Option<TextFinding>,
    },
}

/// A text with a mark before each comma that might directly follow a tag.
struct Marked {
    text: String,
    /// Where in `text` the marks are, ascending.
    marks: Vec<usize>,
    /// How long the text as it stands in the file is.
    length: usize,
}

impl Marked {
    fn new(original: &str, length: usize) -> Self {
        let mut marked = Self { text: String::new(), marks: Vec::new(), length };
        let mut copied = 0;
        // Whether what goes before can be the whole of a tag.
        let mut tag = false;
        // Whether a tag may have begun that is written out between `<` and `>`.
        let mut verbatim = false;
        for (byte, letter) in original.char_indices() {
            match letter {
                '!' => tag = true,
                '<' if tag => (tag, verbatim) = (false, true),
                '>' if verbatim => tag = true,
                ',' if tag => {
                    marked.text.push_str(&original[copied..byte]);
                    marked.marks.push(marked.text.len());
                    marked.text.push(MARK);
                    copied = byte;
                    tag = false;
                }
                ' ' | '\t' | '\r' | '\n' => (tag, verbatim) = (false, false),
                letter => tag &= stands_in_tags(letter),
            }
        }
        if !marked.marks.is_empty() {
            marked.text.push_str(&original[copied..]);
        }
        marked
    }

    fn scan(&self, offset: usize) -> Scan {
        if self.marks.is_empty() {
            return Scan::Through;
        }
        let mut input = self.text.as_bytes();
        let mut scanner = Scanner::new();
        scanner.set_input_string(&mut input);
        let (mut depth, mut too_deep, mut document_is_over) = (0_usize, 0, false);
        for token in scanner {
            match token.map(|token| token.data) {
                Ok(
                    TokenData::BlockSequenceStart
                    | TokenData::BlockMappingStart
                    | TokenData::FlowSequenceStart
                    | TokenData::FlowMappingStart,
                ) => depth += 1,
                Ok(
                    TokenData::BlockEnd | TokenData::FlowSequenceEnd | TokenData::FlowMappingEnd,
                ) => depth = depth.saturating_sub(1),
                Ok(TokenData::DocumentEnd) => document_is_over = true,
                Ok(_) => {}
                Err(error) => {
                    let (end, obstacle) = self.obstacle(&error, offset);
                    let obstacle = (!document_is_over).then_some(obstacle);
                    return Scan::Until { end, obstacle };
                }
            }
            too_deep += usize::from(depth > limits::DEPTH || too_deep > 0);
            if too_deep > AHEAD {
                break;
            }
        }
        Scan::Through
    }

    /// What stops the scanner, and the byte of the text without marks up to which there is no
    /// comma that it has not passed.
    fn obstacle(&self, error: &Error, offset: usize) -> (usize, TextFinding) {
        if let Some((mark, finding)) = self.tag_before_comma(error, offset) {
            return (self.original(mark), finding);
        }
        let finding = mistakes::syntax(error, &self.text, offset);
        let place = (finding.span.start as usize).saturating_sub(offset);
        let next = self.marks.partition_point(|&mark| mark <= place);
        let end = self.marks.get(next).map_or(self.text.len(), |&mark| mark);
        (self.original(end), self.unmarked(finding, offset))
    }

    /// A tag with a comma at its end or within it, and the mark before that.
    fn tag_before_comma(&self, error: &Error, offset: usize) -> Option<(usize, TextFinding)> {
        let byte = |index: u64| usize::try_from(index).ok();
        let mark = error.problem_mark().and_then(|mark| byte(mark.index))?;
        self.marks.binary_search(&mark).ok()?;
        if !matches!(error.context()?, "while scanning a tag" | "while parsing a tag") {
            return None;
        }
        let begin = error.context_mark().and_then(|mark| byte(mark.index))?;
        let span = Span::new(offset + begin..offset + mark + "^,".len());
        let finding =
            TextFinding::new(Code::Syntax, span, "a ',' can't stand directly behind a tag")
                .with_fix("put a space before the ',', or quotes around text that begins with '!'");
        Some((mark, self.unmarked(finding, offset)))
    }

    /// The byte of the text without the marks that one of this text is.
    fn original(&self, byte: usize) -> usize {
        byte - self.marks.partition_point(|&mark| mark < byte)
    }

    /// A finding about this text, placed where the same stands in the text of the file.
    fn unmarked(&self, mut finding: TextFinding, offset: usize) -> TextFinding {
        let original = |byte: u32| {
            let original = self.original((byte as usize).saturating_sub(offset));
            offset + original.min(self.length)
        };
        finding.span = Span::new(original(finding.span.start)..original(finding.span.end));
        finding
    }
}

fn stands_in_tags(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_;/?:@&=+$.%!~*'()".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(text: &str) -> Option<(String, String)> {
        // The offset shows that places are those of the file, not of the document.
        let finding = Scannable::new(text, 7).conclude(Ok(())).err()?;
        let (start, end) = (finding.span.start as usize - 7, finding.span.end as usize - 7);
        Some((text[start..end].to_owned(), finding.finding.message))
    }

    #[test]
    fn a_tag_directly_before_a_comma_is_refused_where_it_stands() {
        for (text, place) in [
            ("{!,", "!,"),
            ("a: [\"x!,y\", !,b]", "!,"),
            ("a: [x!,y, !!str,b]", "!!str,"),
            ("a: [!<b,c>,d]", "!<b,c>,"),
            ("[!e!a,b]", "!e!a,"),
            ("# so!,\na: {b: 'it!,s', c: !d,e: f}", "!d,"),
        ] {
            let message = "a ',' can't stand directly behind a tag".to_owned();
            assert_eq!(mistake(text), Some((place.to_owned(), message)), "{text}");
        }
    }

    #[test]
    fn what_the_parser_finds_wrong_before_that_comes_first() {
        let tagged = Scannable::new("a: b: c\nd: [!e,f]\n", 0);
        assert_eq!(tagged.text, "a: b: c\nd: [!e\n");
        let before = TextFinding::new(Code::Syntax, Span::new(3..3), "before");
        let found = tagged.conclude::<()>(Err(before)).expect_err("it is a mistake");
        assert_eq!(found.finding.message, "before");
        let cut = TextFinding::new(Code::Syntax, Span::new(14..14), "the list is not closed");
        let found = Scannable::new("a: b\nc: [!d,e]\n", 0).conclude::<()>(Err(cut));
        let found = found.expect_err("it is a mistake");
        assert_eq!(found.finding.message, "a ',' can't stand directly behind a tag");
    }

    #[test]
    fn what_stands_behind_the_document_is_no_mistake_of_it() {
        for rest in ["\"unterminated\n", "[!,b]\n", "@, 'c!,'\n"] {
            let text = format!("a: 'b!,c'\n...\n{rest}");
            assert!(Scannable::new(&text, 0).conclude(Ok(())).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_comma_behind_an_exclamation_mark_in_text_is_left_as_it_is() {
        for text in [
            "a: hello!, world\n",
            "a: [\"x!,y\", 'z!,', 'z!',b!,c]\n",
            "a: |\n  !,\n# !,\n",
            "a!:,b: c\n",
            "['!',-,*a,&a,b]\n",
        ] {
            let scannable = Scannable::new(text, 0);
            assert_eq!(scannable.text, text);
            assert!(scannable.conclude(Ok(())).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_text_that_ends_within_a_line_gets_its_line_ended() {
        assert_eq!(Scannable::new("a: |\n  b", 0).text, "a: |\n  b\n");
        assert_eq!(Scannable::new("", 0).text, "");
    }
}
