//! Prose without its markup, as words and marks.
//!
//! Removed markup leaves zero bytes behind, which no word contains: offsets, and with them lines,
//! stay those of the source.

use std::borrow::Cow;

/// Replaces removed markup.
const GAP: char = '\0';

/// A word, or a single mark of punctuation.
#[derive(Debug)]
pub(crate) struct Token<'a> {
    /// The token in lower case.
    pub(crate) text: Cow<'a, str>,
    pub(crate) is_word: bool,
    /// The start and the end of the token in the text, in bytes.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Whether the first letter is a capital letter.
    pub(crate) has_capital: bool,
    /// Whether all letters are capital letters.
    pub(crate) is_capitals: bool,
}

/// The text without code, link targets, addresses, comments and emphasis, as long as before. A code
/// span becomes an `X`.
pub(crate) fn without_markup(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    clear_code(&mut bytes);
    clear_links(&mut bytes);
    clear_between(&mut bytes, b"<!--", b"-->");
    clear_addresses(&mut bytes);
    for mark in [b"**", b"__"] {
        let mut at = 0;
        while let Some(found) = find(&bytes, at, mark) {
            bytes[found..found + mark.len()].fill(0);
            at = found + mark.len();
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn find(bytes: &[u8], from: usize, wanted: &[u8]) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.windows(wanted.len()).position(|window| window == wanted).map(|at| from + at)
}

/// A code span starts and ends with the same number of backticks.
fn clear_code(bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(open) = find(bytes, at, b"`") {
        let ticks = bytes[open..].iter().take_while(|byte| **byte == b'`').count();
        let mut from = open + ticks;
        at = from;
        while let Some(close) = find(bytes, from, b"`") {
            let run = bytes[close..].iter().take_while(|byte| **byte == b'`').count();
            from = close + run;
            if run == ticks {
                bytes[open..from].fill(0);
                bytes[open] = b'X';
                at = from;
                break;
            }
        }
    }
}

/// Keeps the text of `[text](target)`, `![text](target)` and `[text][target]`.
fn clear_links(bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(open) = find(bytes, at, b"[") {
        at = open + 1;
        let Some(close) = find(bytes, at, b"]") else { return };
        let end: &[u8] = match bytes.get(close + 1) {
            Some(b'(') => b")",
            Some(b'[') => b"]",
            _ => continue,
        };
        let Some(end) = find(bytes, close + 2, end) else { continue };
        bytes[open] = 0;
        if open > 0 && bytes[open - 1] == b'!' {
            bytes[open - 1] = 0;
        }
        bytes[close..=end].fill(0);
        at = end + 1;
    }
}

fn clear_between(bytes: &mut [u8], open: &[u8], close: &[u8]) {
    let mut at = 0;
    while let Some(start) = find(bytes, at, open) {
        let Some(end) = find(bytes, start, close) else { return };
        bytes[start..end + close.len()].fill(0);
        at = end + close.len();
    }
}

/// An address ends before the next space, or in `<…>` at the bracket.
fn clear_addresses(bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(found) = find(bytes, at, b"://") {
        at = found + 3;
        let scheme = if bytes[..found].ends_with(b"https") { 5 } else { 4 };
        let Some(start) = found.checked_sub(scheme) else { continue };
        if !bytes[start..].starts_with(b"http") {
            continue;
        }
        let is_in_brackets = start > 0 && bytes[start - 1] == b'<';
        let is_end =
            |byte: &u8| if is_in_brackets { *byte == b'>' } else { byte.is_ascii_whitespace() };
        let end = bytes[start..].iter().position(is_end).map_or(bytes.len(), |end| start + end);
        bytes[start..end].fill(0);
        at = end;
    }
}

/// The words and marks of a text. Emphasis with asterisks separates no words.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut characters = text.char_indices().peekable();
    while let Some((start, first)) = characters.next() {
        if first.is_whitespace() || first == GAP || first == '*' {
            continue;
        }
        let mut end = start + first.len_utf8();
        let is_word = is_of_word(first);
        while is_word
            && let Some((at, next)) = characters.next_if(|(_, it)| is_of_word(*it) || *it == GAP)
        {
            end = at + next.len_utf8();
        }
        tokens.push(Token::new(text, start, end, is_word));
    }
    tokens
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

impl<'a> Token<'a> {
    fn new(text: &'a str, start: usize, end: usize, is_word: bool) -> Self {
        let source = &text[start..end];
        let has_capital = source.starts_with(|first: char| first.is_ascii_uppercase());
        let is_capitals = has_capital && !source.contains(|it: char| it.is_lowercase());
        let text = if source.contains(|it: char| it == GAP || it.is_uppercase()) {
            Cow::Owned(source.replace(GAP, "").to_lowercase())
        } else {
            Cow::Borrowed(source)
        };
        Self { text, is_word, start, end, has_capital, is_capitals }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let text = without_markup(text);
        tokens(&text).into_iter().map(|token| token.text.into_owned()).collect()
    }

    #[test]
    fn code_becomes_a_word_that_no_phrase_contains() {
        assert_eq!(words("a `told` b"), ["a", "x", "b"]);
        assert_eq!(words("a ``told ` `` b"), ["a", "x", "b"]);
        assert_eq!(words("a ` told"), ["a", "`", "told"]);
    }

    #[test]
    fn a_link_keeps_its_text() {
        assert_eq!(words("see [the told](docs/nobody.md)."), ["see", "the", "told", "."]);
        assert_eq!(words("![told][news]"), ["told"]);
        assert_eq!(words("[`a`](b) c"), ["x", "c"]);
    }

    #[test]
    fn addresses_comments_and_emphasis_are_removed() {
        assert_eq!(words("at https://nobody.example/told now"), ["at", "now"]);
        assert_eq!(words("at <https://nobody.example> now"), ["at", "<", ">", "now"]);
        assert_eq!(words("a <!-- told --> b"), ["a", "b"]);
        assert_eq!(words("so **many** and *told*"), ["so", "many", "and", "told"]);
    }

    #[test]
    fn offsets_are_those_of_the_source() {
        let source = "a `told`\nnobody";
        let text = without_markup(source);
        assert_eq!(text.len(), source.len());
        assert_eq!(tokens(&text)[2].start, 9);
    }

    #[test]
    fn capitals_are_recorded() {
        let text = "LICENCE Licence licence";
        let capitals: Vec<_> =
            tokens(text).iter().map(|token| (token.has_capital, token.is_capitals)).collect();
        assert_eq!(capitals, [(true, true), (true, false), (false, false)]);
    }
}
