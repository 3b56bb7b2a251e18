//! Comments with which somebody asks not to be told of something: `# almanac:ignore same-minute  as agreed with ops`.
//!
//! Behind a value, such a comment is about its line. On a line of its own, it is about the next line and all that is
//! nested below it; above the first line of a document, about the document. What is told otherwise is up to the
//! caller.

use std::ops::Range;

use super::objects::PlacedFinding;
use super::source::{Source, Span};
use crate::finding::{Code, FieldPath, Finding};
use crate::kinds::nearest;

/// What such a comment begins with.
const MARK: &str = "almanac:ignore";

/// The comments in one file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ignores(Vec<Ignore>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Ignore {
    code: Result<Code, Box<str>>,
    /// Where the code is written.
    at: Span,
    /// The bytes it is about.
    about: Range<usize>,
}

impl Ignores {
    /// The comments of a file.
    #[must_use]
    pub fn read(source: &Source) -> Ignores {
        let text = source.text();
        if !text.contains(MARK) {
            return Ignores::default();
        }
        let mut lines = Vec::new();
        let mut begin = 0;
        for line in text.split_inclusive('\n') {
            lines.push(Line { begin, text: line.trim_end() });
            begin += line.len();
        }
        let of_line = |number: usize| {
            let (before, comment, words) = lines[number].comment()?;
            let about = if before.trim().is_empty() {
                below(&lines, number)
            } else {
                lines[number].begin..lines[number].begin + lines[number].text.len()
            };
            Some(codes(comment, words).map(move |(at, code)| Ignore {
                code,
                at,
                about: about.clone(),
            }))
        };
        Ignores((0..lines.len()).filter_map(of_line).flatten().collect())
    }

    /// Whether one of the comments asks not to be told of a finding.
    #[must_use]
    pub fn cover(&self, placed: &PlacedFinding) -> bool {
        let code = placed.finding.code;
        let covers =
            |start: usize| self.0.iter().any(|it| it.code == Ok(code) && it.about.contains(&start));
        placed.span.is_some_and(|span| covers(span.start as usize))
    }

    /// What is wrong with the comments of a file: codes that there are not.
    #[must_use]
    pub fn findings(&self, source: usize) -> Vec<PlacedFinding> {
        let unknown = self.0.iter().filter_map(|it| Some((it.at, it.code.as_ref().err()?)));
        unknown.map(|(at, word)| PlacedFinding::new(source, Some(at), unknown_code(word))).collect()
    }
}

fn finding(message: String) -> Finding {
    Finding::new(Code::NothingIgnored, FieldPath::default(), message)
}

fn unknown_code(word: &str) -> Finding {
    if word.is_empty() {
        let message = format!("'{MARK}' needs the codes of findings");
        return finding(message)
            .with_fix(format!("write '# {MARK} CODE', with the code in brackets of the finding"));
    }
    let message = format!("there is no code {word:?}");
    match nearest(word, Code::ALL.iter().map(|code| code.name())) {
        Some(meant) => finding(message).with_fix(format!("write {meant}")),
        None => finding(message).with_fix("write one of the codes in docs/findings.md"),
    }
}

#[derive(Clone, Copy)]
struct Line<'a> {
    begin: usize,
    text: &'a str,
}

impl<'a> Line<'a> {
    /// What stands before a comment of ours, where the words behind its mark begin, and these words.
    fn comment(self) -> Option<(&'a str, usize, &'a str)> {
        let mark = self.text.find(MARK)?;
        let before = self.text[..mark].trim_end().strip_suffix('#')?;
        if !before.is_empty() && !before.ends_with(char::is_whitespace) {
            return None;
        }
        let words = &self.text[mark + MARK.len()..];
        let is_whole = words.is_empty() || words.starts_with([' ', '\t', ':']);
        let words_begin = self.begin + mark + MARK.len();
        is_whole.then_some((before, words_begin, words))
    }

    fn is_content(self) -> bool {
        let text = self.text.trim_start();
        !text.is_empty() && !text.starts_with('#')
    }

    fn is_separator(self) -> bool {
        self.text.starts_with("---")
    }

    fn is_item(self) -> bool {
        self.text.trim_start().starts_with("- ")
    }

    fn indentation(self) -> usize {
        self.text.len() - self.text.trim_start().len()
    }
}

/// The codes that stand at the beginning of some words, and where. What follows them is the reason.
fn codes(begin: usize, words: &str) -> impl Iterator<Item = (Span, Result<Code, Box<str>>)> {
    let mut found = Vec::new();
    let mut at = 0;
    for word in words.split_inclusive([' ', '\t', ',']) {
        let name = word.trim_matches([' ', '\t', ',', ':']);
        let start =
            begin + at + (word.len() - word.trim_start_matches([' ', '\t', ',', ':']).len());
        at += word.len();
        if name.is_empty() {
            continue;
        }
        let code = Code::ALL.iter().copied().find(|code| code.name() == name);
        let goes_on = words[..at].trim_end().ends_with(',');
        // The first word has to be a code, and so has one behind a comma.
        let known = code.ok_or_else(|| name.into());
        found.push((Span::new(start..start + name.len()), known));
        let next = words[at..].trim_start();
        if !goes_on && !next.starts_with(',') {
            break;
        }
    }
    if found.is_empty() {
        found.push((Span::new(begin - MARK.len()..begin), Err("".into())));
    }
    found.into_iter()
}

/// The bytes of the next line and of what is nested below it, or of the whole document.
fn below(lines: &[Line<'_>], comment: usize) -> Range<usize> {
    let rest = &lines[comment + 1..];
    let Some(next) = rest.iter().position(|line| line.is_content() && !line.is_separator()) else {
        return 0..0;
    };
    let document = lines[..comment].iter().rposition(|line| line.is_separator());
    let before = &lines[document.map_or(0, |separator| separator + 1)..comment];
    let is_first = !before.iter().any(|line| line.is_content());
    let first = rest[next];
    let goes_on = |line: &&Line<'_>| {
        let deeper = line.indentation().cmp(&first.indentation());
        // The items of a list may stand right below its key.
        let is_nested = deeper.is_gt() || deeper.is_eq() && line.is_item() && !first.is_item();
        !line.is_separator() && (is_first || !line.is_content() || is_nested)
    };
    let last = rest[next + 1..].iter().take_while(goes_on).last().copied().unwrap_or(first);
    first.begin..last.begin + last.text.len()
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

    /// The letters of the keys whose lines a code is not told of.
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
    fn a_comment_is_about_its_line_the_block_below_it_or_its_document() {
        assert_eq!(covered(TEXT, Code::EveryPod), "abcdefg");
        assert_eq!(covered(TEXT, Code::Schedule), "b");
        assert_eq!(covered(TEXT, Code::TimeZone), "b");
        assert_eq!(covered(TEXT, Code::SameMinute), "cdef");
        assert_eq!(covered(TEXT, Code::Window), "");
    }

    #[test]
    fn a_comment_that_ignores_nothing_is_told() {
        for (text, said) in [
            ("a: 1 # almanac:ignore same-minute, window: as agreed", None),
            ("a: 1 # almanac:ignored window", None),
            ("a: 1 # almanac:ignore", Some("'almanac:ignore' needs the codes of findings")),
            ("# almanac:ignore: ", Some("'almanac:ignore' needs the codes of findings")),
            (
                "a: 1 # almanac:ignore window, same-minutes",
                Some("there is no code \"same-minutes\""),
            ),
        ] {
            let findings = Ignores::read(&Source::new("a.yaml", text)).findings(0);
            let told = findings.first().map(|it| it.finding.message.as_str());
            assert_eq!(told, said, "{text}");
        }
    }
}
