//! Regular expressions, with the meaning that they have in Go: `\d`, `\w`, `\s` and `\b` are of ASCII, and a class of
//! letters has no classes in it. What one of the two does not know is no pattern.

use std::fmt::Write as _;

use regex::{Regex, RegexBuilder};

use crate::failure::Failure;

/// How large a pattern is at most, compiled: enough for hundreds of alternatives.
const MOST_BYTES: usize = 1 << 18;

/// A pattern, compiled. It takes time in proportion to the length of what it is matched with, whatever it says.
pub(crate) fn compile(pattern: &str) -> Result<Regex, Failure> {
    let is_extended = pattern.match_indices("(?").any(|(start, _)| {
        let flags = pattern[start + 2..].split([')', ':']).next().unwrap_or_default();
        !flags.starts_with(['P', '<']) && flags.contains(['x', 'u', 'R'])
    });
    let compiled = translated(pattern).filter(|_| !is_extended).map(|translated| {
        RegexBuilder::new(&translated).size_limit(MOST_BYTES).nest_limit(64).build()
    });
    match compiled {
        Some(Ok(regex)) => Ok(regex),
        Some(Err(regex::Error::CompiledTooBig(_))) => {
            Err(Failure::other(format!("the pattern {pattern:?} is too large")))
        }
        _ => Err(Failure::other(format!("{pattern:?} is no regular expression"))),
    }
}

/// The same pattern for the crate that compiles it; `None` for one that Go does not know.
fn translated(pattern: &str) -> Option<String> {
    let mut translated = String::with_capacity(pattern.len());
    let mut letters = pattern.chars().peekable();
    let mut is_in_class = false;
    while let Some(letter) = letters.next() {
        match letter {
            '{' if !is_in_class && repeats_too_often(letters.clone()) => return None,
            '\\' => escaped(letters.next(), is_in_class, &mut translated),
            '[' if !is_in_class => {
                is_in_class = true;
                translated.push('[');
                if let Some(negation) = letters.next_if_eq(&'^') {
                    translated.push(negation);
                }
                // The first one is a letter.
                if letters.next_if_eq(&']').is_some() {
                    translated.push_str("\\]");
                }
            }
            '[' if letters.peek() == Some(&':') => {
                translated.push('[');
                for letter in letters.by_ref() {
                    translated.push(letter);
                    if letter == ']' {
                        break;
                    }
                }
            }
            ']' => {
                is_in_class = false;
                translated.push(']');
            }
            '[' | '&' | '~' if is_in_class => {
                let _ = write!(translated, "\\{letter}");
            }
            letter => translated.push(letter),
        }
    }
    Some(translated)
}

/// Whether a repetition begins here of more than a thousand times.
fn repeats_too_often(letters: impl Iterator<Item = char>) -> bool {
    let times: String = letters.take_while(|letter| *letter != '}').collect();
    let is_number = |times: &&str| !times.is_empty() && times.bytes().all(|it| it.is_ascii_digit());
    times
        .split(',')
        .filter(is_number)
        .any(|times| times.parse::<u16>().is_ok_and(|it| it > 1000) || times.len() > 5)
}

fn escaped(letter: Option<char>, is_in_class: bool, translated: &mut String) {
    let ascii = match letter {
        Some('d') => "0-9",
        Some('D') => "^0-9",
        Some('w') => "0-9A-Za-z_",
        Some('W') => "^0-9A-Za-z_",
        Some('s') => "\\t\\n\\f\\r ",
        Some('S') => "^\\t\\n\\f\\r ",
        Some('b') if !is_in_class => return translated.push_str("(?-u:\\b)"),
        Some('B') if !is_in_class => return translated.push_str("(?-u:\\B)"),
        // Words of another meaning in one of the two, or of none.
        Some('<' | '>') => return translated.push_str("\\8"),
        other => {
            translated.push('\\');
            translated.extend(other);
            return;
        }
    };
    let _ = write!(translated, "[{ascii}]");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> Option<bool> {
        compile(pattern).ok().map(|regex| regex.is_match(text))
    }

    #[test]
    fn classes_are_of_ascii_and_have_no_classes_in_them() {
        for (pattern, text, result) in [
            (r"^\d+$", "42", true),
            (r"^\d$", "\u{661}", false),
            (r"^[\d.]+$", "1.2", true),
            (r"^[^\D]$", "4", true),
            (r"^\w$", "ü", false),
            (r"^.$", "ü", true),
            (r"^\s$", "\u{a0}", false),
            (r"^[[]$", "[", true),
            (r"^[a&&b]$", "&", true),
            (r"^[]]$", "]", true),
            (r"^[^]]$", "a", true),
            (r"^[[:alpha:]]+$", "ab", true),
            (r"\bone\b", "one two", true),
            (r"(?i)^ONE$", "one", true),
            (r"^1\.(30|31)\.\d+$", "1.31.4", true),
        ] {
            assert_eq!(matches(pattern, text), Some(result), "{pattern} {text}");
        }
    }

    #[test]
    fn what_is_no_pattern_or_is_too_large_is_said() {
        for (pattern, why) in [
            ("a(", "\"a(\" is no regular expression"),
            ("(?x)a b", "\"(?x)a b\" is no regular expression"),
            (r"\<a", "\"\\\\<a\" is no regular expression"),
            ("((a{100}){100}){100}", "the pattern \"((a{100}){100}){100}\" is too large"),
        ] {
            assert_eq!(compile(pattern).map_err(|it| it.to_string()).err().as_deref(), Some(why));
        }
    }
}
