//! Splits the text of a file into documents as kubectl does, and reads the documents.

use super::text_finding::{TextFinding, TextFindings};
use super::yaml;
use super::{json, mistakes};
use crate::finding::{Code, Span};
use crate::tree::{Node, Value};

/// The documents of a text, and the findings about the text.
#[derive(Default)]
pub(super) struct Documents {
    pub(super) documents: Vec<Node>,
    pub(super) findings: Vec<TextFinding>,
}

/// Reads a text. A mistake in one document does not affect the others.
pub(super) fn read(text: &str) -> Documents {
    let read = if starts_with_json(text) { json_or_yaml(text) } else { yaml_documents(text) };
    let (documents, findings) = read;
    Documents { documents, findings: findings.into_reported() }
}

type ParsedStream = (Vec<Node>, TextFindings);

/// Whether the first character of a text is a `{`, after comments as in other languages.
fn starts_with_json(text: &str) -> bool {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        rest = if rest.starts_with("//") {
            rest.split_once('\n').map_or("", |(_, rest)| rest)
        } else if rest.starts_with("/*") {
            rest.split_once("*/").map_or("", |(_, rest)| rest)
        } else {
            return rest.starts_with('{');
        }
        .trim_start();
    }
}

/// Reads a text that starts with `{` as JSON, or as YAML in flow form if it is not JSON.
fn json_or_yaml(text: &str) -> ParsedStream {
    let as_json = || {
        let mut findings = TextFindings::default();
        let (documents, error) = json::read(text, &mut findings);
        (documents, findings, error)
    };
    let (documents, mut findings, error) = as_json();
    let Some(error) = error else { return (documents, findings) };
    // Only one of the two trees is in memory at a time.
    drop(documents);
    let as_yaml = yaml_documents(text);
    if as_yaml.1.is_empty() {
        return as_yaml;
    }
    let looks_like_json = text
        .trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n', '{'])
        .starts_with(['"', '/', '}']);
    if looks_like_json || as_yaml.0.is_empty() && !findings.is_empty() {
        drop(as_yaml);
        findings.push(error);
        return (as_json().0, findings);
    }
    as_yaml
}

fn yaml_documents(text: &str) -> ParsedStream {
    let (mut documents, mut findings) = ParsedStream::default();
    for (offset, document) in split(text, &mut findings) {
        match yaml_document(document, offset, &mut findings) {
            Ok(Some(Node { value: Value::Null, .. }) | None) => {}
            Ok(Some(node)) => documents.push(node),
            Err(finding) => findings.push(finding),
        }
    }
    (documents, findings)
}

/// Reads a document. A document with `//` comments, directives or prompts is read again without these lines, so that
/// the same run reports its other mistakes.
fn yaml_document(
    text: &str,
    offset: usize,
    findings: &mut TextFindings,
) -> Result<Option<Node>, TextFinding> {
    let mut yaml_findings = TextFindings::default();
    let read = yaml::read(text, offset, &mut yaml_findings);
    // A command, or its prompt in brackets, may be YAML by itself.
    if read.is_ok() && !mistakes::begins_with_command(text) {
        findings.append(yaml_findings);
        return read;
    }
    let without_comments = mistakes::replace_slash_comments(text, offset, findings);
    let text = without_comments.as_deref().unwrap_or(text);
    match mistakes::comment_out_strange_lines(text, offset, findings) {
        Some(fixed_text) => {
            drop(read);
            yaml::read(&fixed_text, offset, findings)
        }
        None if without_comments.is_some() => yaml::read(text, offset, findings),
        None => read,
    }
}

/// Splits a text at lines that begin with `---`, and returns the start of each piece.
fn split<'a>(text: &'a str, findings: &mut TextFindings) -> Vec<(usize, &'a str)> {
    let mut pieces = Vec::new();
    // The parser drops a byte order mark and does not count it.
    let piece = |begin: usize, end: usize| {
        let piece = &text[begin..end];
        let piece = piece.strip_prefix('\u{feff}').unwrap_or(piece);
        (end - piece.len(), piece)
    };
    let mut begin = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut byte = begin;
    for line in text[begin..].split_inclusive('\n') {
        if let Some(rest) = line.strip_prefix("---") {
            pieces.push(piece(begin, byte));
            let rest = rest.trim();
            if !rest.is_empty() && !rest.starts_with('#') {
                let span = Span::new(byte..byte + line.trim_end().len());
                findings.push(
                    TextFinding::new(Code::Syntax, span, "only a comment may follow '---'")
                        .with_fix("put the document on the next line"),
                );
            }
            begin = byte + line.len();
        }
        byte += line.len();
    }
    pieces.push(piece(begin, text.len()));
    pieces
}
