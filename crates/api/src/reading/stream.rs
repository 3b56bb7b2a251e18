//! From a file's text to its documents, split as kubectl splits them.

use super::source::Span;
use super::text_finding::TextFinding;
use super::tree::{Node, Value};
use super::yaml;
use super::{json, limits, mistakes};
use crate::finding::Code;

/// What a text holds.
#[derive(Default)]
pub(super) struct Documents {
    pub(super) documents: Vec<Node>,
    pub(super) findings: Vec<TextFinding>,
}

/// Reads a text. What is wrong with one document doesn't keep the others from being read.
pub(super) fn read(text: &str) -> Documents {
    let mut read = if starts_with_json(text) { json_or_yaml(text) } else { yaml_documents(text) };
    read.findings.sort_by_key(|finding| finding.span.start);
    read.findings.dedup_by(|one, other| one.span == other.span && one.finding == other.finding);
    let more = read.findings.len().saturating_sub(limits::FINDINGS_A_FILE);
    if more > 0 {
        read.findings.truncate(limits::FINDINGS_A_FILE);
        let last = read.findings.last().map(|finding| finding.span).unwrap_or_default();
        let message = format!("{more} more mistakes in this file");
        read.findings.push(
            TextFinding::new(Code::Syntax, last, message).with_fix("correct those above first"),
        );
    }
    read
}

/// Whether the first thing in a text but for comments as other languages have them is a `{`.
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

/// What begins with `{` is JSON; if it isn't after all, it may be YAML in its flow form.
fn json_or_yaml(text: &str) -> Documents {
    let mut findings = Vec::new();
    let (documents, error) = json::read(text, &mut findings);
    let Some(error) = error else { return Documents { documents, findings } };
    let as_yaml = yaml_documents(text);
    if as_yaml.findings.is_empty() {
        return as_yaml;
    }
    let looks_like_json = text
        .trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n', '{'])
        .starts_with(['"', '/', '}']);
    if looks_like_json || as_yaml.documents.is_empty() && !findings.is_empty() {
        findings.push(error);
        return Documents { documents, findings };
    }
    as_yaml
}

fn yaml_documents(text: &str) -> Documents {
    let mut read = Documents::default();
    for (offset, document) in split(text, &mut read.findings) {
        match yaml_document(document, offset, &mut read.findings) {
            Ok(Some(Node { value: Value::Null, .. }) | None) => {}
            Ok(Some(node)) => read.documents.push(node),
            Err(finding) => read.findings.push(finding),
        }
    }
    read
}

/// Reads a document; one that fails over `//` comments, directives or prompts is read again with them
/// mended, so that whatever else is wrong with it comes to light in the same run.
fn yaml_document(
    text: &str,
    offset: usize,
    findings: &mut Vec<TextFinding>,
) -> Result<Option<Node>, TextFinding> {
    let before = findings.len();
    let read = yaml::read(text, offset, findings);
    // A command, or its prompt in brackets, may be YAML by itself.
    if read.is_ok() && !mistakes::begins_with_command(text) {
        return read;
    }
    findings.truncate(before);
    let without_comments = mistakes::mend_slash_comments(text, offset, findings);
    let text = without_comments.as_deref().unwrap_or(text);
    match mistakes::mend_strange_lines(text, offset, findings) {
        Some(mended) => yaml::read(&mended, offset, findings),
        None if without_comments.is_some() => yaml::read(text, offset, findings),
        None => read,
    }
}

/// Splits a text at lines that begin with `---`, and tells where each piece begins.
fn split<'a>(text: &'a str, findings: &mut Vec<TextFinding>) -> Vec<(usize, &'a str)> {
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
                    TextFinding::new(Code::Syntax, span, "only a comment may stand beside '---'")
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
