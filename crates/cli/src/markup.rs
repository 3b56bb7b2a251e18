//! Text in XML and HTML.

use std::borrow::Cow;

/// Text escaped for XML and HTML. Characters that XML does not allow are replaced.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    let is_barred = |it: char| {
        (it.is_control() && !matches!(it, '\n' | '\t')) || matches!(it, '\u{fffe}' | '\u{ffff}')
    };
    let is_special = |it: char| matches!(it, '&' | '<' | '>' | '"') || is_barred(it);
    if !text.contains(is_special) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            it if is_barred(it) => escaped.push(char::REPLACEMENT_CHARACTER),
            it => escaped.push(it),
        }
    }
    Cow::Owned(escaped)
}
