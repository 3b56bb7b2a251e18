//! The typical mistakes in a text, with messages and fixes.

use libyaml_safer::{Error, ErrorKind};

use super::text_finding::{TextFinding, TextFindings};
use crate::finding::{Code, Span};

/// Converts an error of the parser to a finding with a fix.
pub(super) fn syntax(error: &Error, text: &str, offset: usize) -> TextFinding {
    if error.kind() == ErrorKind::Reader {
        return unreadable_character(text, offset);
    }
    let byte = error
        .problem_mark()
        .and_then(|mark| usize::try_from(mark.index).ok())
        .unwrap_or(text.len())
        .min(text.len());
    if let Some(tab) = indenting_tab(text, byte) {
        let span = Span::new(offset + tab..offset + tab + 1);
        return TextFinding::new(Code::Tab, span, "a tab can't be used to indent YAML")
            .with_fix("replace it with spaces");
    }
    let (message, fix) = in_plain_words(error.problem());
    let span = Span::new(offset + byte..offset + byte);
    let finding = TextFinding::new(Code::Syntax, span, message);
    match fix {
        "" => finding,
        fix => finding.with_fix(fix),
    }
}

/// The message of the parser in plain words, and the fix for the usual cause.
fn in_plain_words(problem: &str) -> (String, &'static str) {
    let (message, fix) = match problem {
        "mapping values are not allowed in this context" => (
            "a key with a value is not allowed here",
            "check the indentation; if the ':' belongs to text, put the text in quotes",
        ),
        "did not find expected key" => {
            ("a key was expected here", "check the indentation of this line and the one before")
        }
        "did not find expected '-' indicator" => {
            ("another '-' was expected here", "indent all items of a list equally")
        }
        "could not find expected ':'" => (
            "a line that should be a key has no ':'",
            "check the indentation of this line and the one before",
        ),
        "found character that cannot start any token" => {
            ("a value can't start with this character", "put the value in quotes")
        }
        "found unexpected end of stream" => ("the text ends inside quotes", "close the quotes"),
        "did not find expected ',' or ']'" => (
            "a ',' or the closing ']' was expected here",
            "close the list, or put the value in quotes",
        ),
        "did not find expected ',' or '}'" => (
            "a ',' or the closing '}' was expected here",
            "close the map, or put the value in quotes",
        ),
        "did not find expected <document start>" => (
            "the document ends before this text",
            "check the indentation, or start a new document with a '---' line",
        ),
        "block sequence entries are not allowed in this context" => {
            ("a list can't start here", "put the '-' on a line of its own below the key")
        }
        "mapping keys are not allowed in this context" => {
            ("a '?' can't begin a value", "put the value in quotes")
        }
        "did not find expected alphabetic or numeric character" => (
            "'*' and '&' begin an alias or an anchor, and no name follows",
            "put the value in quotes, such as \"*/5 * * * *\"",
        ),
        "did not find expected node content" => {
            ("a value was expected here", "write a value, or remove the comma or tag before it")
        }
        "found unknown escape character" => (
            "there is no such escape in double quotes",
            "put the text in single quotes, or write \\\\ for a backslash",
        ),
        "found unexpected document indicator" => (
            "the document ends inside quotes",
            "close the quotes, or indent the line that begins with '---'",
        ),
        "did not find expected hexdecimal number"
        | "found invalid Unicode character escape code" => (
            "the escape is not a valid character",
            "put the text in single quotes, or write \\\\ for a backslash",
        ),
        "did not find expected comment or line break" => (
            "only a comment may follow '|' or '>'",
            "put the text on the next line and indent it, or put it in quotes",
        ),
        "found an indentation indicator equal to 0" => {
            ("a text can't be indented by 0", "leave out the number after '|' or '>'")
        }
        "found unexpected ':'" => ("a ':' is not allowed here", "put the value in quotes"),
        problem => in_plain_words_of_signs(problem),
    };
    (message.to_owned(), fix)
}

/// The plain words and the fix for rarely intended syntax: tags and directives.
fn in_plain_words_of_signs(problem: &str) -> (&str, &'static str) {
    let is_about = |parts: &[&str]| parts.iter().any(|part| problem.contains(part));
    if is_about(&[
        "tag handle",
        "tag URI",
        "URI escaped",
        "UTF-8 octet",
        "expected '!'",
        "expected '>'",
        "whitespace or line break",
    ]) {
        ("'!' begins a tag, and this is not one", "put text that begins with '!' in quotes")
    } else if is_about(&[
        "directive",
        "version number",
        "'.' character",
        "non-alphabetical",
        "expected whitespace",
        "incompatible YAML",
    ]) {
        (
            "'%' begins a directive, which kubectl does not support",
            "remove the line, or put text that begins with '%' in quotes",
        )
    } else if is_about(&["tab character"]) {
        ("a tab can't be used to indent YAML", "replace it with spaces")
    } else {
        (problem, "")
    }
}

/// Characters YAML doesn't allow anywhere: control characters, mostly.
fn unreadable_character(text: &str, offset: usize) -> TextFinding {
    let control = text.char_indices().find(|&(_, letter)| !is_printable(letter));
    let (byte, letter) = control.unwrap_or((0, '\0'));
    let span = Span::new(offset + byte..offset + byte + letter.len_utf8());
    let message =
        format!("the control character U+{:04X} is not allowed in YAML", u32::from(letter));
    TextFinding::new(Code::Syntax, span, message)
        .with_fix("remove it, or write it as an escape in double quotes")
}

fn is_printable(letter: char) -> bool {
    matches!(letter,
        '\t' | '\n' | '\r' | '\u{85}' | '\u{20}'..='\u{7e}' | '\u{a0}'..='\u{d7ff}'
        | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}')
}

/// The first tab in the white space that begins the line around a byte, or the line before it:
/// parsers notice a tab late.
fn indenting_tab(text: &str, byte: usize) -> Option<usize> {
    let start_of_line = |byte: usize| {
        text.as_bytes()[..byte].iter().rposition(|&b| b == b'\n').map_or(0, |n| n + 1)
    };
    let here = start_of_line(byte);
    let before = here.checked_sub(1).map(start_of_line);
    [Some(here), before].into_iter().flatten().find_map(|start| {
        let blank = text.as_bytes()[start..].iter().take_while(|&&b| b == b' ' || b == b'\t');
        blank.clone().position(|&b| b == b'\t').map(|tab| start + tab)
    })
}

/// Replaces every line that begins with `//` by a comment of the same length, with a finding for each. `None` without
/// such a line.
pub(super) fn replace_slash_comments(
    text: &str,
    offset: usize,
    findings: &mut TextFindings,
) -> Option<String> {
    let mut fixed_text: Option<String> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        if line[indent..].starts_with("//") {
            let here = start + indent;
            fixed_text.get_or_insert_with(|| text.to_owned()).replace_range(here..here + 2, "# ");
            findings.push(slash_comment(Span::new(
                offset + here..offset + start + line.trim_end().len(),
            )));
        }
        start += line.len();
    }
    fixed_text
}

/// Turns lines that kubectl cannot read as YAML into comments of the same length, with a finding for each: a `%YAML`
/// directive, and a shell's prompt with a command above the output of the command.
pub(super) fn comment_out_strange_lines(
    text: &str,
    offset: usize,
    findings: &mut TextFindings,
) -> Option<String> {
    let mut fixed_text: Option<String> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let written = line.trim_end();
        let (message, fix) = match written.as_bytes() {
            _ if is_command(written) => {
                ("this line is a shell command, not YAML", "remove this line")
            }
            [b'%', b'A'..=b'Z', ..] => {
                ("kubectl does not support YAML directives", "remove this line")
            }
            _ => ("", ""),
        };
        if !message.is_empty() {
            // As long as the first character, which may have several bytes, such as the prompt `❯`.
            let first = line.chars().next().map_or(0, char::len_utf8);
            let hash = format!("{:first$}", "#");
            fixed_text
                .get_or_insert_with(|| text.to_owned())
                .replace_range(start..start + first, &hash);
            let span = Span::new(offset + start..offset + start + written.len());
            findings.push(TextFinding::new(Code::Syntax, span, message).with_fix(fix));
        }
        start += line.len();
    }
    fixed_text
}

/// Whether the first line with content is a command.
pub(super) fn begins_with_command(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.next().is_some_and(is_command)
}

/// Whether a line is a shell command, with or without the prompt.
pub(super) fn is_command(line: &str) -> bool {
    const PROMPTS: [char; 7] = ['$', '%', '#', '>', '❯', '»', '➜'];
    const PROGRAMS: [&str; 6] = ["kubectl", "kustomize", "helm", "oc", "cat", "karmadactl"];
    if line.starts_with("$ ") {
        return true;
    }
    // A line of a document is indented, or a comment, or has a key.
    if line.starts_with([' ', '#', '-', '"', '\'']) {
        return false;
    }
    let begin_of = |word: &str| word.as_ptr().addr() - line.as_ptr().addr();
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some(index) = words.iter().position(|word| PROGRAMS.contains(word)) else { return false };
    let prompt = line[..begin_of(words[index])].trim_end();
    let prompt = prompt.strip_suffix("sudo").unwrap_or(prompt).trim_end();
    let is_prompt = prompt.ends_with(PROMPTS) || prompt.starts_with('➜');
    // Without a prompt, more than one word must follow.
    (is_prompt || prompt.is_empty()) && words.len() > index + 1
}

/// The finding about `//` in place of a comment.
pub(super) fn slash_comment(span: Span) -> TextFinding {
    TextFinding::new(Code::SlashComment, span, "'//' does not start a comment in YAML")
        .with_fix("write '#' instead of '//'")
}

/// The finding about a `//` line below a plain value, which YAML silently reads as part of that value.
pub(super) fn comment_inside_plain_text(
    text: &str,
    offset: usize,
    span: Span,
    findings: &mut TextFindings,
) {
    let (start, end) = (span.start as usize - offset, span.end as usize - offset);
    let Some(written) = text.get(start..end) else { return };
    if !written.contains('\n') {
        return;
    }
    let mut byte = span.start as usize;
    for (number, line) in written.split_inclusive('\n').enumerate() {
        let indent = line.len() - line.trim_start().len();
        if number > 0 && line[indent..].starts_with("//") {
            let here = byte + indent;
            findings.push(slash_comment(Span::new(here..byte + line.trim_end().len())));
        }
        byte += line.len();
    }
}

/// The finding about `\/`, which is an escape in JSON and newer YAML, but not in the YAML of kubectl.
pub(super) fn escaped_slash(text: &str, offset: usize, span: Span) -> Option<TextFinding> {
    let (start, end) = (span.start as usize - offset, span.end as usize - offset);
    let written = text.get(start..end)?;
    let mut escaped = false;
    let index = written.bytes().position(|byte| {
        let is_escaped_slash = escaped && byte == b'/';
        escaped = !escaped && byte == b'\\';
        is_escaped_slash
    })?;
    let slash = span.start as usize + index;
    let finding = TextFinding::new(
        Code::Syntax,
        Span::new(slash - 1..slash + 1),
        "kubectl does not support the escape '\\/'",
    );
    Some(finding.with_fix("write '/' without the backslash"))
}
