//! The checked parts of a Rust file: its comments, its strings, and the tokens in which `names` searches for
//! definitions.
//!
//! A scanner instead of a parser: a parser drops the comments, and a file that does not compile can be checked as well.

/// The parts of a file.
#[derive(Debug, Default)]
pub(crate) struct Parts<'a> {
    /// The lines of all comments with their numbers, without the marks.
    pub(crate) comments: Vec<(usize, &'a str)>,
    /// The contents of all strings, with the first line of each.
    pub(crate) strings: Vec<(usize, &'a str)>,
    /// The tokens of the code.
    pub(crate) code: Vec<Code<'a>>,
}

/// A word or a mark of the code, with its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

pub(crate) fn parts(text: &str) -> Parts<'_> {
    let mut scanner = Scanner { text, at: 0, line: 1, parts: Parts::default() };
    while scanner.at < text.len() {
        scanner.step();
    }
    scanner.parts
}

/// The first line of the unit tests at the end of the file.
pub(crate) fn tests_begin(code: &[Code<'_>]) -> Option<usize> {
    const OPENING: [&str; 8] = ["#", "[", "cfg", "(", "test", ")", "]", "mod"];
    let is_opening = |window: &&[Code<'_>]| window.iter().map(|it| it.text).eq(OPENING);
    let opening = code.windows(OPENING.len() + 2).find(|window| {
        is_opening(&&window[..OPENING.len()]) && window[OPENING.len() + 1].text == "{"
    });
    opening.map(|window| window[0].line)
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    parts: Parts<'a>,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Reads one token, comment, string or run of spaces.
    fn step(&mut self) {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return };
        if rest.starts_with("//") {
            self.line_comment();
        } else if rest.starts_with("/*") {
            self.block_comment();
        } else if first == '"' {
            self.string(1);
        } else if first == '\'' {
            self.quote();
        } else if first.is_alphanumeric() || first == '_' {
            self.word();
        } else {
            if !first.is_whitespace() {
                self.push_code(first.len_utf8());
            }
            self.skip(first.len_utf8());
        }
    }

    /// Moves on by bytes and counts their lines.
    fn skip(&mut self, length: usize) {
        let end = (self.at + length).min(self.text.len());
        self.line += self.text[self.at..end].matches('\n').count();
        self.at = end;
    }

    fn push_code(&mut self, length: usize) {
        self.parts.code.push(Code { text: &self.rest()[..length], line: self.line });
    }

    fn line_comment(&mut self) {
        let rest = self.rest();
        let comment = rest.split('\n').next().unwrap_or_default();
        let content = comment.trim_start_matches("//");
        // A line of slashes is a rule.
        if !comment.starts_with("////") {
            let content = content.strip_prefix(['/', '!']).unwrap_or(content);
            self.parts.comments.push((self.line, content.strip_prefix(' ').unwrap_or(content)));
        }
        self.skip(comment.len());
    }

    /// Block comments nest.
    fn block_comment(&mut self) {
        let rest = self.rest();
        let mut depth = 0_usize;
        let mut end = 0;
        loop {
            let tail = &rest[end..];
            let Some(mark) = tail.find("/*").into_iter().chain(tail.find("*/")).min() else {
                end = rest.len();
                break;
            };
            let opens = tail[mark..].starts_with("/*");
            depth = if opens { depth + 1 } else { depth.saturating_sub(1) };
            end += mark + 2;
            if depth == 0 {
                break;
            }
        }
        let content = rest[..end].trim_start_matches("/*").trim_end_matches("*/");
        for (number, line) in (self.line..).zip(content.lines()) {
            self.parts.comments.push((number, line.trim_start_matches([' ', '*', '!'])));
        }
        self.skip(end);
    }

    /// A string with escapes, whose opening has this length.
    fn string(&mut self, opening: usize) {
        let content = &self.rest()[opening..];
        let mut is_escaped = false;
        let end = content.find(|it| {
            let ends = it == '"' && !is_escaped;
            is_escaped = it == '\\' && !is_escaped;
            ends
        });
        let end = end.unwrap_or(content.len());
        self.parts.strings.push((self.line, &content[..end]));
        self.skip(opening + end + 1);
    }

    /// A string without escapes; `opening` is the length of its prefix and quote.
    fn raw_string(&mut self, opening: usize, hashes: &str) {
        let content = &self.rest()[opening..];
        let closing = format!("\"{hashes}");
        let end = content.find(&closing).unwrap_or(content.len());
        self.parts.strings.push((self.line, &content[..end]));
        self.skip(opening + end + closing.len());
    }

    /// A character or a lifetime.
    fn quote(&mut self) {
        let content = &self.rest()[1..];
        let mut characters = content.chars();
        let length = match (characters.next(), characters.next()) {
            (Some('\\'), Some(escaped)) => {
                let from = 1 + escaped.len_utf8();
                content[from..].find('\'').map_or(0, |at| from + at + 1)
            }
            (Some(only), Some('\'')) => only.len_utf8() + 1,
            _ => 0,
        };
        self.skip(1 + length);
    }

    /// An identifier, a keyword, a number, or the prefix of a string.
    fn word(&mut self) {
        let rest = self.rest();
        let end = rest.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if matches!(word, "r" | "br" | "cr") {
            let hashes = &after[..after.len() - after.trim_start_matches('#').len()];
            if after[hashes.len()..].starts_with('"') {
                return self.raw_string(end + hashes.len() + 1, hashes);
            }
        }
        if matches!(word, "b" | "c") && after.starts_with('"') {
            return self.string(end + 1);
        }
        self.push_code(end);
        self.skip(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<&str> {
        parts(text).code.into_iter().map(|code| code.text).collect()
    }

    #[test]
    fn comments_of_all_kinds_are_read_with_their_lines() {
        let text = "//! a\n/// b\n// c\n//// d\nx(); // e\n/* f\n * g /* h */\n */\n";
        let comments = parts(text).comments;
        let texts: Vec<_> = comments.iter().filter(|(_, text)| !text.trim().is_empty()).collect();
        let expected = [(1, "a"), (2, "b"), (3, "c"), (5, "e"), (6, "f"), (7, "g /* h */")];
        assert!(texts.iter().map(|(line, text)| (*line, text.trim())).eq(expected), "{texts:?}");
    }

    #[test]
    fn strings_of_all_kinds_are_read_with_their_lines() {
        let text = "a(\"b \\\" // c\",\n b\"d\", r#\"e \" f\"#, r\"g\\\", c\"h\");";
        let expected = [(1, "b \\\" // c"), (2, "d"), (2, "e \" f"), (2, "g\\"), (2, "h")];
        assert_eq!(parts(text).strings, expected);
        assert_eq!(parts(text).comments, []);
    }

    #[test]
    fn characters_and_lifetimes_are_not_strings() {
        assert_eq!(
            code("f('\"', '\\'', b'\"', '\\u{1F600}') // x"),
            ["f", "(", ",", ",", "b", ",", ")"]
        );
        assert_eq!(code("fn f<'a>(b: &'a str)")[..4], ["fn", "f", "<", "a"]);
        assert_eq!(parts("&'a \"b\"").strings, [(1, "b")]);
    }

    #[test]
    fn a_string_may_span_lines() {
        let parts = parts("\"a\nb\"\n// c");
        assert_eq!(parts.comments, [(3, "c")]);
    }

    #[test]
    fn an_unfinished_file_is_read_to_its_end() {
        assert_eq!(parts("\"a").strings, [(1, "a")]);
        assert_eq!(parts("r#\"a").strings, [(1, "a")]);
        assert_eq!(parts("/* a").comments, [(1, "a")]);
        assert_eq!(code("'"), [""; 0]);
    }

    #[test]
    fn unit_tests_begin_at_their_attribute() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n}";
        assert_eq!(tests_begin(&parts(text).code), Some(2));
        assert_eq!(tests_begin(&parts("#[cfg(test)]\nmod tests;").code), None);
        assert_eq!(tests_begin(&parts("#[cfg(test)] use a;").code), None);
    }
}
