//! Comments that suppress a finding: `# almanac:ignore same-minute  as agreed with ops`.
//!
//! A comment after a value applies to its line. A comment on a line of its own applies to the next line and everything
//! nested below that line. Above the first line of a document, a comment applies to the document. The caller supplies
//! the findings.

use std::collections::BTreeMap;
use std::ops::Range;

use super::objects::PlacedFinding;
use super::source::Source;
use crate::finding::{Code, FieldPath, Finding, Span};
use crate::kinds::nearest;

/// The start of such a comment.
const MARK: &str = "almanac:ignore";

/// The comments in one file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ignores {
    /// The byte ranges in which a code is suppressed, ordered and disjoint.
    covered: BTreeMap<Code, Vec<Range<usize>>>,
    /// The mistakes in the comments, and their locations.
    mistakes: Vec<(Span, CommentMistake)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum CommentMistake {
    NoCode,
    Unknown(Box<str>),
    NothingBelow,
}

impl Ignores {
    /// Reads the comments of a file.
    #[must_use]
    pub fn read(source: &Source) -> Ignores {
        let mut read = Ignores::default();
        if !source.text().contains(MARK) {
            return read;
        }
        let lines = Lines::new(source.text());
        for (number, line) in lines.all.iter().enumerate() {
            let Some((before, begin, words)) = line.comment() else { continue };
            let about = if before.trim().is_empty() {
                lines.below(number)
            } else {
                line.begin..line.begin + line.text.len()
            };
            read.take(&codes(begin, words), about, Span::new(begin - MARK.len()..begin));
        }
        for ranges in read.covered.values_mut() {
            *ranges = joined(std::mem::take(ranges));
        }
        read
    }

    fn take(
        &mut self,
        codes: &[(Span, Result<Code, CommentMistake>)],
        about: Range<usize>,
        mark: Span,
    ) {
        if about.is_empty() {
            self.mistakes.push((mark, CommentMistake::NothingBelow));
            return;
        }
        for (at, code) in codes {
            match code {
                Ok(code) => self.covered.entry(*code).or_default().push(about.clone()),
                Err(mistake) => self.mistakes.push((*at, mistake.clone())),
            }
        }
        if codes.is_empty() {
            self.mistakes.push((mark, CommentMistake::NoCode));
        }
    }

    /// Whether one of the comments suppresses a finding.
    #[must_use]
    pub fn cover(&self, placed: &PlacedFinding) -> bool {
        let Some(start) = placed.span.map(|span| span.start as usize) else { return false };
        let Some(ranges) = self.covered.get(&placed.finding.code) else { return false };
        let after = ranges.partition_point(|range| range.start <= start);
        ranges[..after].last().is_some_and(|range| range.contains(&start))
    }

    /// The mistakes in the comments of a file.
    #[must_use]
    pub fn findings(&self, source: usize) -> Vec<PlacedFinding> {
        let finding = |(at, mistake): &(Span, CommentMistake)| {
            let finding =
                Finding::new(Code::NothingIgnored, FieldPath::default(), mistake.message());
            PlacedFinding::new(source, Some(*at), finding.with_fix(mistake.fix()))
        };
        self.mistakes.iter().map(finding).collect()
    }
}

impl CommentMistake {
    fn message(&self) -> String {
        match self {
            CommentMistake::NoCode => format!("'{MARK}' needs the codes of findings"),
            CommentMistake::Unknown(word) => format!("there is no code {word:?}"),
            CommentMistake::NothingBelow => format!("nothing follows that '{MARK}' could apply to"),
        }
    }

    fn fix(&self) -> String {
        match self {
            CommentMistake::NoCode => {
                format!("write '# {MARK} CODE', where CODE is the code in the finding's brackets")
            }
            CommentMistake::Unknown(word) => match nearest_code(word) {
                Some(meant) => format!("write {meant}"),
                None => "write one of the codes in docs/findings.md".to_owned(),
            },
            CommentMistake::NothingBelow => "move it above the line that it applies to".to_owned(),
        }
    }
}

fn nearest_code(word: &str) -> Option<&'static str> {
    nearest(word, Code::ALL.iter().map(|code| code.name()))
}

/// Merges ranges that touch or overlap, and orders the result.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

#[derive(Clone, Copy)]
struct Line<'a> {
    begin: usize,
    text: &'a str,
}

impl<'a> Line<'a> {
    /// The text before a suppressing comment, the offset of the words after `almanac:ignore`, and these words.
    fn comment(self) -> Option<(&'a str, usize, &'a str)> {
        self.text.rmatch_indices(MARK).find_map(|(mark, _)| self.comment_at(mark))
    }

    fn comment_at(self, mark: usize) -> Option<(&'a str, usize, &'a str)> {
        let before = self.text[..mark].trim_end();
        let before = before.strip_suffix('#')?.trim_end_matches('#').trim_start_matches('\u{feff}');
        let is_apart = before.is_empty() || before.ends_with(char::is_whitespace);
        // After an odd number of quotes, the `#` is inside a string.
        let is_quoted = before.matches('"').count() % 2 == 1;
        let words = &self.text[mark + MARK.len()..];
        let is_whole =
            words.is_empty() || words.starts_with(|it: char| it == ':' || it.is_whitespace());
        let begin = self.begin + mark + MARK.len();
        (is_apart && !is_quoted && is_whole).then_some((before, begin, words))
    }

    fn is_separator(self) -> bool {
        self.text.starts_with("---")
    }

    fn is_content(self) -> bool {
        let text = self.text.trim_start_matches('\u{feff}').trim_start();
        !text.is_empty() && !text.starts_with('#') && !self.is_separator()
    }

    fn is_item(self) -> bool {
        let text = self.text.trim_start();
        text == "-" || text.starts_with("- ")
    }

    /// The number of open brackets after the line, given the number before. A bracket in quotes or within a plain
    /// string does not count.
    fn open_behind(self, open_before: usize) -> usize {
        let (mut open, mut quote, mut before, mut last) = (open_before, None, ' ', ':');
        for letter in self.text.chars() {
            let begins_value = ":-,[{".contains(last);
            match (quote, letter) {
                (None, '#') if before.is_whitespace() => break,
                (None, '"' | '\'') if begins_value => quote = Some(letter),
                (None, '[' | '{') if begins_value || open > 0 => open += 1,
                (None, ']' | '}') => open = open.saturating_sub(1),
                (Some('"'), '"') if before == '\\' => {}
                (Some(begun), end) if begun == end => quote = None,
                _ => {}
            }
            before = letter;
            if !letter.is_whitespace() {
                last = letter;
            }
        }
        open
    }

    fn indentation(self) -> usize {
        self.text.len() - self.text.trim_start().len()
    }
}

/// The codes at the start of the words, and their locations. The user's reason follows the codes.
fn codes(begin: usize, words: &str) -> Vec<(Span, Result<Code, CommentMistake>)> {
    let is_between = |letter: char| letter.is_whitespace() || ",:;.".contains(letter);
    let mut codes = Vec::new();
    let (mut rest, mut at) = (words, begin);
    loop {
        let trimmed = rest.trim_start_matches(is_between);
        let between = &rest[..rest.len() - trimmed.len()];
        at += between.len();
        let name = &trimmed[..trimmed.find(is_between).unwrap_or(trimmed.len())];
        let code = Code::ALL.iter().copied().find(|code| code.name() == name);
        // The first word must be a code, and so must a word after a comma if it looks like a code.
        let must_be_code =
            codes.is_empty() || between.contains(',') && nearest_code(name).is_some();
        match code {
            _ if name.is_empty() => return codes,
            Some(code) => codes.push((Span::new(at..at + name.len()), Ok(code))),
            None if must_be_code => {
                codes.push((
                    Span::new(at..at + name.len()),
                    Err(CommentMistake::Unknown(name.into())),
                ));
            }
            None => return codes,
        }
        at += name.len();
        rest = &trimmed[name.len()..];
    }
}

/// The lines of a text, with precomputed properties.
struct Lines<'a> {
    all: Vec<Line<'a>>,
    /// For each line, the next line in the same document with content other than a comment.
    next: Vec<Option<usize>>,
    /// For each line, whether only comments precede it in its document.
    is_first: Vec<bool>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Lines<'a> {
        let mut all = Vec::new();
        let mut begin = 0;
        for line in text.split_inclusive('\n') {
            all.push(Line { begin, text: line.trim_end() });
            begin += line.len();
        }
        let mut next = vec![None; all.len()];
        let mut below = None;
        for (number, line) in all.iter().enumerate().rev() {
            next[number] = below;
            below = if line.is_separator() {
                None
            } else {
                line.is_content().then_some(number).or(below)
            };
        }
        let mut is_first = Vec::with_capacity(all.len());
        let mut is_above_all = true;
        for line in &all {
            is_first.push(is_above_all);
            is_above_all = line.is_separator() || is_above_all && !line.is_content();
        }
        Lines { all, next, is_first }
    }

    /// The bytes of the next line and of the lines nested below it, or of the whole document.
    fn below(&self, comment: usize) -> Range<usize> {
        let Some(first) = self.next[comment] else { return 0..0 };
        let (mut last, head) = (first, self.all[first]);
        let mut open = head.open_behind(0);
        while let Some(line) = self.next[last] {
            let deeper = self.all[line].indentation().cmp(&head.indentation());
            // The items of a list may have the indentation of their key.
            let is_item = deeper.is_eq() && self.all[line].is_item() && !head.is_item();
            // Content in brackets is nested, regardless of its indentation.
            if !(self.is_first[comment] || deeper.is_gt() || is_item || open > 0) {
                break;
            }
            open = self.all[line].open_behind(open);
            last = line;
        }
        head.begin..self.all[last].begin + self.all[last].text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# almanac:ignore every-pod
a: # so
  b: 1 # almanac:ignore schedule, time-zone because of this
  # almanac:ignore same-minute
  c: # so
  - d: 2
    e: '#almanac:ignore schedule'

    f: 3
  g: 4
---
# other
h: 5
# almanac:ignore schedule
";

    /// The keys on whose lines a code is suppressed, as one string.
    fn covered(text: &str, code: Code) -> String {
        let ignores = Ignores::read(&Source::new("a.yaml", text));
        let is_covered = |(byte, letter): &(usize, char)| {
            let span = Span::new(*byte..byte + 1);
            let finding = Finding::new(code, FieldPath::default(), "a");
            letter.is_ascii_lowercase()
                && text[byte + 1..].starts_with(": ")
                && ignores.cover(&PlacedFinding::new(0, Some(span), finding))
        };
        text.char_indices().filter(is_covered).map(|(_, letter)| letter).collect()
    }

    #[test]
    fn a_comment_applies_to_its_line_the_block_below_or_its_document() {
        assert_eq!(covered(TEXT, Code::EveryPod), "abcdefg");
        assert_eq!(covered(TEXT, Code::Schedule), "b");
        assert_eq!(covered(TEXT, Code::TimeZone), "b");
        assert_eq!(covered(TEXT, Code::SameMinute), "cdef");
        assert_eq!(covered(TEXT, Code::Window), "");
    }

    #[test]
    fn content_in_brackets_belongs_to_the_block_at_any_indentation() {
        for text in [
            "y: 1\n# almanac:ignore window\na: [\n{b: 1, x: ']'}, # ]\n{c: [2]}\n]\nd: 3\n",
            "y:\n  # almanac:ignore window\n  a: {\n  b: 1,\n  c: 2 }\n  d: 3\n",
            "y: 1\n# almanac:ignore window\na: # so\n- [{b: '{'},\n{c: 1}]\nd: it's [\n",
        ] {
            assert_eq!(covered(text, Code::Window).replace('x', ""), "abc", "{text}");
        }
        let of_text = "y: 1\n# almanac:ignore window\na: it's [\nd: 3\n";
        assert_eq!(covered(of_text, Code::Window), "a");
    }

    #[test]
    fn a_comment_is_recognized_in_every_form() {
        for text in [
            "\u{feff}# almanac:ignore window\na: 1\n",
            "## almanac:ignore window\r\na: 1\r\n",
            "# almanac:ignore\u{a0}window\na: 1\n",
            "{x: almanac:ignore-x, a: 1} # almanac:ignore window\n",
            "# almanac:ignore schedule window because\nb:\n-\n  a: 1\n",
            "# almanac:ignore schedule; window: because\na: 1\n",
        ] {
            assert_eq!(
                covered(text, Code::Window).trim_matches('b').trim_matches('x'),
                "a",
                "{text}"
            );
        }
    }

    #[test]
    fn a_comment_that_ignores_nothing_is_reported() {
        for (text, said) in [
            ("a: 1 # almanac:ignore same-minute, window: as agreed", None),
            ("a: 1 # almanac:ignored window", None),
            ("a: 1 # almanac:ignore", Some("'almanac:ignore' needs the codes of findings")),
            ("# almanac:ignore: \na: 1", Some("'almanac:ignore' needs the codes of findings")),
            (
                "a: 1 # almanac:ignore window, same-minutes",
                Some("there is no code \"same-minutes\""),
            ),
        ] {
            let findings = Ignores::read(&Source::new("a.yaml", text)).findings(0);
            let message = findings.first().map(|it| it.finding.message.as_str());
            assert_eq!(message, said, "{text}");
        }
    }
}
