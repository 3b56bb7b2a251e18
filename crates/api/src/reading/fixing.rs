//! Applies the fixes with one possible meaning to a text, and changes nothing else. The result is read again, and used
//! only if its content differs from the original in the fixes alone.
//!
//! The caller selects the findings, and reads and writes the files.

use std::ops::Range;

use super::embedded::read_embedded;
use super::objects::PlacedFinding;
use super::stream::{self, Documents};
use crate::finding::Replacement;
use crate::tree::{Node, Value, reads_as_text};

/// The maximum number of times that the whole text is read again to find the sound changes.
const TRIES: u32 = 64;

/// A text after the fixes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FixedText {
    /// The whole text.
    pub text: String,
    /// The changes, in the order of the text.
    pub changes: Vec<Change>,
}

/// Applies all possible fixes of the findings about a text; `None` if no fix applies.
#[must_use]
pub fn fix_text<'a>(
    text: &str,
    findings: impl IntoIterator<Item = &'a PlacedFinding>,
) -> Option<FixedText> {
    let mut changes: Vec<Change> = findings
        .into_iter()
        .enumerate()
        .filter_map(|(finding, placed)| Change::from_finding(finding, placed, text))
        .collect();
    changes.sort_by_key(|change| (change.at.start, change.at.end));
    let before = stream::read(text);
    let sound_changes = sound(text, &before, &unambiguous(changes), &mut { TRIES });
    if sound_changes.is_empty() {
        return None;
    }
    Some(FixedText { text: changed(text, &sound_changes), changes: sound_changes })
}

/// A part of the text, and its replacement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The bytes that are replaced.
    pub at: Range<usize>,
    /// The replacement, with quotes if necessary.
    pub written: String,
    /// The indexes of the fixed findings.
    pub findings: Vec<usize>,
    meant: Replacement,
}

impl Change {
    fn from_finding(finding: usize, placed: &PlacedFinding, text: &str) -> Option<Change> {
        let meant = placed.finding.replacement.as_deref()?.clone();
        let at = placed.span?.range();
        let written = written_like(text.get(at.clone())?, &meant)?;
        Some(Change { at, written, meant, findings: vec![finding] })
    }
}

/// Writes a string replacement with the quotes of the original, and a number without quotes.
fn written_like(before: &str, replacement: &Replacement) -> Option<String> {
    let meant = replacement.as_str();
    let is_text = matches!(replacement, Replacement::Text(_));
    let in_double_quotes = || serde_json::to_string(meant).ok();
    match before.chars().next()? {
        '"' if is_text => in_double_quotes(),
        '\'' if is_text => Some(format!("'{}'", meant.replace('\'', "''"))),
        // A value with an anchor or a tag may stand for more than this location; a block spans several lines. Nor can a
        // quote within quotes be distinguished from others.
        '&' | '!' | '*' | '|' | '>' | '\\' => None,
        _ if !is_text || needs_no_quotes(meant) => Some(meant.to_owned()),
        _ => in_double_quotes(),
    }
}

fn needs_no_quotes(text: &str) -> bool {
    let is_usual = |letter: char| letter.is_ascii_alphanumeric() || "_-./() ".contains(letter);
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && text.chars().all(is_usual)
        && reads_as_text(text)
}

/// Merges two equal changes of one location, and removes all changes of overlapping bytes.
fn unambiguous(changes: Vec<Change>) -> Vec<Change> {
    let mut merged: Vec<Change> = Vec::new();
    for change in changes {
        match merged.last_mut() {
            Some(last) if last.at == change.at && last.meant == change.meant => {
                last.findings.extend(change.findings);
            }
            _ => merged.push(change),
        }
    }
    let touches =
        |one: &Change, other: &Change| one.at.start < other.at.end && other.at.start < one.at.end;
    let is_clear = |index: usize| {
        let neighbors = [index.checked_sub(1), Some(index + 1)].into_iter().flatten();
        !neighbors.filter_map(|it| merged.get(it)).any(|it| touches(it, &merged[index]))
    };
    let clear: Vec<usize> = (0..merged.len()).filter(|index| is_clear(*index)).collect();
    clear.into_iter().map(|index| merged[index].clone()).collect()
}

/// The changes that give the text its intended meaning. If the changes are not sound together, each half is tried. If
/// each half is sound but both together are not, neither is used: the user must choose.
fn sound(text: &str, before: &Documents, changes: &[Change], tries: &mut u32) -> Vec<Change> {
    let Some(remaining) = tries.checked_sub(1) else { return Vec::new() };
    *tries = remaining;
    if changes.is_empty() || is_sound(text, before, changes) {
        return changes.to_vec();
    }
    let (first, second) = changes.split_at(changes.len() / 2);
    if first.is_empty() {
        return Vec::new();
    }
    let first = sound(text, before, first, tries);
    let second = sound(text, before, second, tries);
    if first.is_empty() || second.is_empty() {
        return [first, second].concat();
    }
    let both = [first, second].concat();
    if is_sound(text, before, &both) { both } else { Vec::new() }
}

/// Whether the changed text has the same content as before except for the changes.
fn is_sound(text: &str, before: &Documents, changes: &[Change]) -> bool {
    let result = changed(text, changes);
    let after = stream::read(&result);
    let mut differences = Vec::new();
    let have_same_form = is_json(text) <= is_json(&result)
        && after.findings.len() <= before.findings.len()
        && after.documents.len() == before.documents.len()
        && before
            .documents
            .iter()
            .zip(&after.documents)
            .all(|(one, other)| compare(one, other, MAX_EMBEDDED, &mut differences));
    let mut meant: Vec<&str> = changes.iter().map(|change| change.meant.as_str()).collect();
    differences.sort_unstable();
    meant.sort_unstable();
    have_same_form && differences == meant
}

fn changed(text: &str, changes: &[Change]) -> String {
    let mut result = String::with_capacity(text.len() + 16 * changes.len());
    let mut end = 0;
    for change in changes {
        result.push_str(&text[end..change.at.start]);
        result.push_str(&change.written);
        end = change.at.end;
    }
    result.push_str(&text[end..]);
    result
}

/// Whether the text is JSON. JSON must remain JSON: not all its readers accept YAML.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// The maximum depth of documents that are strings in other documents. A `ConfigMap` has a depth of one.
const MAX_EMBEDDED: usize = 8;

/// Lists the keys and values that are new in the other tree; false if the two differ in anything else.
fn compare(before: &Node, after: &Node, embedded: usize, differences: &mut Vec<String>) -> bool {
    match (&before.value, &after.value) {
        (Value::List(before), Value::List(after)) => {
            before.len() == after.len()
                && before
                    .iter()
                    .zip(after.iter())
                    .all(|(one, other)| compare(one, other, embedded, differences))
        }
        (Value::Map(before), Value::Map(after)) => {
            before.len() == after.len()
                && before.iter().zip(after.iter()).all(|(one, other)| {
                    if one.key != other.key {
                        differences.push(other.key.to_string());
                    }
                    compare(&one.value, &other.value, embedded, differences)
                })
        }
        (before, after) if before == after => true,
        (Value::List(_) | Value::Map(_), _) | (_, Value::List(_) | Value::Map(_)) => false,
        (Value::Text(before), Value::Text(after)) if embedded > 0 => {
            let (inner, changed) = (read_embedded(before), read_embedded(after));
            match (inner.root, changed.root) {
                // A document in a string of another document.
                (Some(one), Some(other)) if matches!(one.value, Value::Map(_)) => {
                    is_json(before) <= is_json(after)
                        && changed.findings.len() <= inner.findings.len()
                        && compare(&one, &other, embedded - 1, differences)
                }
                _ => {
                    differences.push(after.to_string());
                    true
                }
            }
        }
        (_, Value::Text(after)) => {
            differences.push(after.to_string());
            true
        }
        (Value::Text(_), Value::Number(after)) => {
            differences.push(after.to_string());
            true
        }
        (Value::Text(_), Value::Bool(after)) => {
            differences.push(after.to_string());
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Code, Finding, Path, Span};

    /// A finding at the last occurrence of a word in a text.
    fn finding(text: &str, word: &str, meant: &str) -> PlacedFinding {
        let start = u32::try_from(text.rfind(word).unwrap()).unwrap();
        let span = Span { start, end: start + u32::try_from(word.len()).unwrap() };
        let finding = Finding::new(Code::MistypedField, Path::Root.key("a"), "a");
        PlacedFinding::new(0, Some(span), finding.with_replacement(Some(meant)))
    }

    fn fixed_text(text: &str, words: &[(&str, &str)]) -> Option<String> {
        let findings: Vec<PlacedFinding> =
            words.iter().map(|(word, meant)| finding(text, word, meant)).collect();
        Some(fix_text(text, &findings)?.text)
    }

    #[test]
    fn a_key_or_a_value_is_replaced_in_its_own_quotes_and_nothing_else_is() {
        for (text, word, meant, expected) in [
            (
                "a: # why\n- ruleName: x   # so\n",
                "ruleName",
                "name",
                "a: # why\n- name: x   # so\n",
            ),
            ("a: \"8:00\"\r\nb: 1\r\n", "\"8:00\"", "08:00", "a: \"08:00\"\r\nb: 1\r\n"),
            ("a: '8:00'\n", "'8:00'", "08:00", "a: '08:00'\n"),
            ("a: 8:00\n", "8:00", "08:00", "a: \"08:00\"\n"),
            ("{\"ruleName\": 1}", "\"ruleName\"", "name", "{\"name\": 1}"),
            ("a: app/v1", "app/v1", "apps/v1", "a: apps/v1"),
            ("a: \"{b: c}\"", "c", "d", "a: \"{b: d}\""),
            ("a: '{\"b\": 1}'", "\"b\"", "c", "a: '{\"c\": 1}'"),
            ("a: |\n  b:\n    c: app/v1\n", "app/v1", "apps/v1", "a: |\n  b:\n    c: apps/v1\n"),
        ] {
            assert_eq!(fixed_text(text, &[(word, meant)]).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_fix_that_would_change_something_else_is_not_applied() {
        for (text, word) in [
            // A second field has the same value.
            ("a: &x app/v1\nb: *x\n", "&x app/v1"),
            ("a: [&x {v: app/v1}, *x]\n", "app/v1"),
            // A key that is already present.
            ("apps/v1: 1\napp/v1: 2\n", "app/v1"),
            ("a: |\n  app/v1\n", "|\n  app/v1\n"),
            // JSON in quotes would stop being JSON.
            ("a: \"{\\\"app/v1\\\": 1}\"", "\\\"app/v1\\\""),
        ] {
            assert_eq!(fixed_text(text, &[(word, "apps/v1")]), None, "{text}");
        }
        // The quotes of the replacement would end the enclosing quotes.
        assert_eq!(fixed_text("a: \"{b: 5}\"\n", &[("5", "08:00")]), None);
    }

    #[test]
    fn a_fix_that_cannot_be_applied_does_not_block_the_others() {
        let text = "a: [&x {v: app/v2}, *x]\nb: 8:00\nc: Name\n";
        let words = [("app/v2", "apps/v1"), ("8:00", "08:00"), ("Name", "name")];
        let expected = "a: [&x {v: app/v2}, *x]\nb: \"08:00\"\nc: name\n";
        assert_eq!(fixed_text(text, &words).as_deref(), Some(expected));
    }

    #[test]
    fn a_shared_value_is_changed_once_and_an_ambiguous_one_is_not() {
        let text = "a: app/v1\n";
        let twice = [finding(text, "app/v1", "apps/v1"), finding(text, "app/v1", "apps/v1")];
        let fixed_text = fix_text(text, &twice).unwrap();
        let fixed_findings: Vec<usize> =
            fixed_text.changes.iter().flat_map(|change| change.findings.clone()).collect();
        assert_eq!((fixed_text.text.as_str(), fixed_findings), ("a: apps/v1\n", vec![0, 1]));
        let torn = [finding(text, "app/v1", "apps/v1"), finding(text, "app/v1", "batch/v1")];
        assert_eq!(fix_text(text, &torn), None);
        let text = "Name: 1\nNAME: 2\n";
        let both = [finding(text, "Name", "name"), finding(text, "NAME", "name")];
        assert_eq!(fix_text(text, &both), None);
    }
}
