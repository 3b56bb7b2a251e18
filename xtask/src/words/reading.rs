//! The findings in one file: reads the file by its language, and compares prose and names with the word list.

use std::collections::BTreeSet;

use super::Finding;
use super::files::{self, Language};
use super::list::List;
use super::markdown::{Paragraph, paragraphs};
use super::names::{Kind, names};
use super::phrase::Source;
use super::prose::{tokens, without_markup};
use super::rust::{self, Parts};
use super::sentences;

/// Names of tests are sentences of at least this many words.
const WORDS_OF_TEST_NAME: usize = 4;

pub(crate) fn check<'a>(
    list: &'a List,
    path: &str,
    language: Language,
    text: &str,
) -> Vec<Finding<'a>> {
    let mut reader = Reader { list, path, findings: Vec::new() };
    match language {
        Language::Markdown => reader.markdown((1..).zip(text.lines())),
        Language::Rust => reader.rust(text),
        Language::Comments(mark) => reader.comments(text, mark),
    }
    reader.findings.sort_by_key(|finding| finding.line);
    reader.findings
}

struct Reader<'a, 'b> {
    list: &'a List,
    path: &'b str,
    findings: Vec<Finding<'a>>,
}

impl Reader<'_, '_> {
    fn markdown<'c>(&mut self, lines: impl IntoIterator<Item = (usize, &'c str)>) {
        for paragraph in paragraphs(lines) {
            let text = self.prose(&paragraph);
            if !paragraph.is_heading {
                self.sentences(&text, paragraph.line);
            }
        }
    }

    /// Finds the phrases of a paragraph; returns its text without markup.
    fn prose(&mut self, paragraph: &Paragraph) -> String {
        let text = without_markup(&paragraph.text);
        let source = if paragraph.is_heading { Source::Heading } else { Source::Prose };
        let tokens = tokens(&text);
        let findings = &mut self.findings;
        self.list.find(&tokens, source, |kind, first, last| {
            let start = tokens[first].start;
            let word = text[start..tokens[last].end].replace('\0', "");
            let word = word.split_whitespace().collect::<Vec<_>>().join(" ");
            findings.push(Finding {
                path: self.path.to_owned(),
                line: paragraph.line + lines_before(&text, start),
                paragraph: paragraph.line,
                kind: &kind.name,
                word,
                advice: &kind.advice,
            });
        });
        text
    }

    fn sentences(&mut self, text: &str, line: usize) {
        self.findings.extend(sentences::check(text).into_iter().map(|found| Finding {
            path: self.path.to_owned(),
            line: line + lines_before(text, found.at),
            paragraph: line,
            kind: "length",
            word: found.length,
            advice: found.advice,
        }));
    }

    fn rust(&mut self, text: &str) {
        let parts = rust::parts(text);
        let tests_begin = if files::is_for_tests(self.path) {
            0
        } else {
            rust::tests_begin(&parts.code).unwrap_or(usize::MAX)
        };
        let Parts { comments, strings, code } = parts;
        for block in comments.chunk_by(|(line, _), (next, _)| next - line <= 1) {
            self.markdown(block.iter().copied());
        }
        // Strings of tests are input and expected output.
        for (line, content) in strings.into_iter().filter(|(line, _)| *line < tests_begin) {
            if content.contains(' ') {
                let text = without_placeholders(content);
                self.prose(&Paragraph { text, line, is_heading: false });
            }
        }
        for name in names(&code) {
            let words = name.words();
            let count = words.split(' ').count();
            let is_test = name.kind == Kind::Function
                && name.line >= tests_begin
                && count >= WORDS_OF_TEST_NAME;
            let source = if is_test { Source::TestName } else { Source::Name };
            self.name(&words, source, name.text, name.line);
            match name.kind {
                Kind::Type => {
                    self.name(&name.text.to_lowercase(), Source::TypeName, name.text, name.line);
                }
                Kind::Function => self.name(name.text, Source::FunctionName, name.text, name.line),
                Kind::Other => {}
            }
        }
    }

    fn name(&mut self, words: &str, source: Source, name: &str, line: usize) {
        let tokens = tokens(words);
        let mut found = Vec::new();
        self.list.find(&tokens, source, |kind, first, last| {
            found.push((kind, words[tokens[first].start..tokens[last].end].to_owned()));
        });
        if matches!(source, Source::Name | Source::TestName) {
            // A phrase of the list may contain the same two words.
            let covered: BTreeSet<_> =
                found.iter().map(|(_, word)| word.replace(' ', "")).collect();
            for pair in tokens.windows(2) {
                let word = format!("{}{}", pair[0].text, pair[1].text);
                // "A new policy" is not split.
                if pair[0].text != "a"
                    && !covered.contains(&word)
                    && let Some(kind) = self.list.one_word(&word)
                {
                    found.push((kind, words[pair[0].start..pair[1].end].to_owned()));
                }
            }
        }
        self.findings.extend(found.into_iter().map(|(kind, word)| Finding {
            path: self.path.to_owned(),
            line,
            paragraph: line,
            kind: &kind.name,
            // The finding contains the type name unchanged.
            word: if word.eq_ignore_ascii_case(name) { name.to_owned() } else { word },
            advice: &kind.advice,
        }));
    }

    /// Comments on lines of their own, and at the ends of lines. Consecutive comments form one paragraph.
    fn comments(&mut self, text: &str, mark: &str) {
        let comments: Vec<_> = (1..)
            .zip(text.lines())
            .filter_map(|(number, line)| Some((number, comment(line, mark)?)))
            .collect();
        for block in comments.chunk_by(|(line, _), (next, _)| next - line <= 1) {
            self.markdown(block.iter().copied());
        }
    }
}

fn comment<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    if let Some(comment) = line.trim_start().strip_prefix(mark) {
        return (!comment.starts_with('!')).then_some(comment);
    }
    let (_, comment) = line.split_once(&format!(" {mark} "))?;
    Some(comment)
}

fn lines_before(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count()
}

/// The content of a string with decoded escapes, and an `X` for each placeholder. The line breaks stay.
fn without_placeholders(content: &str) -> String {
    let mut text = String::with_capacity(content.len());
    let mut rest = content;
    while let Some(at) = rest.find(['\\', '{']) {
        text.push_str(&rest[..at]);
        let tail = &rest[at..];
        let (length, replacement) = if let Some(length) = placeholder(tail) {
            (length, "X")
        } else if tail.starts_with("\\n") || tail.starts_with("\\t") {
            (2, " ")
        } else {
            (1, "\0")
        };
        text.push_str(replacement);
        rest = &tail[length..];
    }
    text + rest
}

/// The length of a placeholder `{…}` at the start of the text.
fn placeholder(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('{')?;
    let end = inner.find(['{', '}'])?;
    inner[end..].starts_with('}').then_some(end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines, kinds and words of the findings.
    fn findings_in(path: &str, language: Language, text: &str) -> Vec<(usize, String, String)> {
        let list = List::load().unwrap();
        let findings = check(&list, path, language, text);
        findings.into_iter().map(|it| (it.line, it.kind.to_owned(), it.word)).collect()
    }

    fn rust(text: &str) -> Vec<(usize, String, String)> {
        findings_in("crates/a/src/b.rs", Language::Rust, text)
    }

    fn expected(findings: &[(usize, &str, &str)]) -> Vec<(usize, String, String)> {
        let owned = |it: &(usize, &str, &str)| (it.0, it.1.to_owned(), it.2.to_owned());
        findings.iter().map(owned).collect()
    }

    #[test]
    fn a_word_of_markdown_is_found_on_its_own_line() {
        let findings =
            findings_in("a.md", Language::Markdown, "The user\nis `x` told so,\nby nobody.\n");
        assert_eq!(findings, expected(&[(2, "tell", "told"), (3, "pronoun", "nobody")]));
    }

    #[test]
    fn each_kind_of_prose_is_found() {
        for (kind, text) in [
            ("tell", "It tells the user."),
            ("said", "It says so."),
            ("pronoun", "Read by whoever."),
            ("is-no", "It is no number."),
            ("be-to", "It is still to be set."),
            ("clause", "What follows."),
            ("as-it-is", "It stays as it is."),
            ("so-many", "Not so many."),
            ("idiom", "It goes on."),
            ("adverb", "It starts anew."),
            ("person", "It asks the server."),
            ("coined", "It mends the file."),
            ("glossary", "A unit of nodes."),
            ("british", "Its behaviour."),
            ("length", &vec!["word"; 36].join(" ")),
        ] {
            let kinds: Vec<_> =
                findings_in("a.md", Language::Markdown, text).into_iter().map(|it| it.1).collect();
            assert_eq!(kinds, [kind], "{text}");
        }
    }

    #[test]
    fn plain_prose_is_silent() {
        let text = "# What is not supported\n\nThe leader writes the status. There is no owner, and \
                    the value is no longer set. Unless told otherwise, users ask for `nobody`.\n\
                    See [the list](nobody.md), or LICENCE.\n";
        assert_eq!(findings_in("a.md", Language::Markdown, text), expected(&[]));
    }

    #[test]
    fn comments_and_strings_of_rust_are_prose() {
        let text = "//! Says so.\n\nfn f() {\n    g(\"{x} is no\n number\"); // anew\n}\n";
        let findings =
            expected(&[(1, "said", "Says so"), (4, "is-no", "is no"), (5, "adverb", "anew")]);
        assert_eq!(rust(text), findings);
    }

    #[test]
    fn strings_of_tests_are_not_checked_and_their_comments_are() {
        let text = "#[cfg(test)]\nmod tests {\n    // anew\n    fn f() { g(\"told anew\") }\n}\n";
        assert_eq!(rust(text), expected(&[(3, "adverb", "anew")]));
    }

    #[test]
    fn names_are_split_into_words() {
        let text = "struct ToldTwice { asked: u8 }\nfn goes_on(whoever: u8) { let anew = 1; }\n";
        let findings = expected(&[
            (1, "tell", "told"),
            (1, "person", "asked"),
            (2, "pronoun", "whoever"),
            (2, "adverb", "anew"),
        ]);
        assert_eq!(rust(text), findings);
    }

    #[test]
    fn a_word_split_in_a_name_is_found() {
        assert_eq!(rust("fn for_no_body() {}"), expected(&[(1, "pronoun", "no body")]));
    }

    #[test]
    fn the_name_of_a_test_is_prose() {
        let text = "fn a_value_is_no_number() {}";
        assert_eq!(rust(text), expected(&[]));
        let findings = findings_in("crates/a/tests/b.rs", Language::Rust, text);
        assert_eq!(findings, expected(&[(1, "is-no", "is no")]));
    }

    #[test]
    fn a_bare_type_or_function_name_is_found() {
        assert_eq!(rust("struct Settled;"), expected(&[(1, "type-name", "Settled")]));
        assert_eq!(rust("fn of() {}"), expected(&[(1, "function-name", "of")]));
        assert_eq!(rust("struct SettledCount; fn of_policy() {}"), expected(&[]));
    }

    #[test]
    fn only_the_comments_of_other_files_are_prose() {
        let text = "told: 1 # anew\n# a\n# told\n#!told\n";
        let findings = findings_in("a.yaml", Language::Comments("#"), text);
        assert_eq!(findings, expected(&[(1, "adverb", "anew"), (3, "tell", "told")]));
    }
}
