//! What is wrong with a text that is no `PromQL`, and what was probably meant.

use promql_parser::parser::parse;

use crate::finding::{Code, Finding, Path};

/// What is wrong with a text that is no `PromQL`, and what was probably meant.
pub(super) fn finding(text: &str, why: &str, path: &Path<'_>) -> Finding {
    let joined = several_vectors(text).filter(|(_, joined)| parse(joined).is_ok());
    if let Some((aggregation, joined)) = joined {
        let why = format!("{aggregation} takes one vector in PromQL; join several with 'or'");
        return Finding::invalid(Code::Query, path, text, &why).with_fix(format!("write {joined}"));
    }
    let unexpected = unexpected(text).filter(|_| why == UNSPECIFIC);
    let why = unexpected.as_deref().unwrap_or(why);
    Finding::invalid(Code::Query, path, text, &format!("not valid PromQL: {why}"))
}

/// What the parser says where its grammar does not go on; not where that is.
const UNSPECIFIC: &str = "invalid promql query";

/// The word at which a query ceases to be `PromQL`, found by parsing ever less of it.
fn unexpected(query: &str) -> Option<String> {
    let ends = query.char_indices().map(|(end, _)| end).rev();
    let is_between_words = |end: &usize| {
        let part_of_word = |letter: char| letter.is_alphanumeric() || "_:".contains(letter);
        let (before, after) = query.split_at(*end);
        !(before.ends_with(part_of_word) && after.starts_with(part_of_word))
    };
    let end = ends.filter(is_between_words).find(|end| parse(&query[..*end]).is_ok())?;
    let valid = query[..end].trim_end();
    let rest = &query[end..];
    let word = rest.split_whitespace().next()?;
    let begin = query.len() - rest.trim_start().len();
    let line = query[..begin].matches('\n').count() + 1;
    let place =
        if query.trim().contains('\n') { format!(" in line {line}") } else { String::new() };
    let last = valid.lines().last().unwrap_or_default().trim();
    Some(format!("unexpected {word:?}{place}, behind {last:?}"))
}

/// `max(a, b)`, which Prometheus refuses, and the query that was meant. The parser says only that
/// there is one argument too many, and not where each begins.
pub(super) fn several_vectors(query: &str) -> Option<(&'static str, String)> {
    let trimmed = query.trim();
    let (name, inside) = ["max", "min", "sum", "avg", "count"].into_iter().find_map(|name| {
        let inside =
            trimmed.strip_prefix(name)?.trim_start().strip_prefix('(')?.strip_suffix(')')?;
        Some((name, inside))
    })?;
    let parts = split_at_commas(inside)?;
    (parts.len() > 1).then(|| (name, format!("{name}({})", parts.join(" or "))))
}

/// Splits at the commas that stand outside brackets and quotes; `None` when a bracket is closed
/// that was never opened.
fn split_at_commas(text: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let (mut depth, mut begin, mut quote, mut escaped) = (0_u32, 0, None, false);
    for (byte, letter) in text.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if open == letter => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(letter),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.checked_sub(1)?,
            (None, ',') if depth == 0 => {
                parts.push(text[begin..byte].trim());
                begin = byte + 1;
            }
            _ => {}
        }
    }
    parts.push(text[begin..].trim());
    Some(parts)
}
