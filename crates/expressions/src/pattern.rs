//! Regular expressions, with the meaning that they have in Go. A pattern is invalid if Go does not support it, or if
//! the crate that matches patterns does not.

mod size;
mod translation;

use std::borrow::Cow;

use regex::{Match, Regex, RegexBuilder};

use crate::failure::Failure;
use crate::meter::Meter;
use crate::source::shortened;

/// The maximum size of a compiled pattern: enough for hundreds of alternatives.
const MAX_BYTES: usize = 1 << 18;
/// The maximum cache of a pattern for results about strings, in each direction.
const MAX_CACHE_BYTES: usize = 1 << 15;
/// The length of a string without cached results: all results are computed again, and the memory is freed.
const LONG_TEXT: usize = 256;
/// The steps to compile a pattern, in addition to those for its contents.
const STEPS_TO_COMPILE: usize = 300;
/// The steps to store a pattern, because it uses memory.
const STEPS_TO_KEEP: usize = 2_000;

/// A regular expression of Go as one of the `regex` crate with the same meaning, and about how many steps it takes to
/// compile it. `None` if Go refuses it, except that the names of Unicode's classes are not checked.
#[must_use]
pub fn pattern_from_go(pattern: &str) -> Option<(String, usize)> {
    let (translated, size) = translation::translated(pattern)?;
    Some((translated, size.steps.saturating_add(STEPS_TO_COMPILE)))
}

/// A compiled pattern. Matching takes time in proportion to the length of the string, for every pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    /// The number of characters of the pattern, each multiplied by its repetitions.
    size: usize,
}

impl Pattern {
    /// Compiles a pattern that is used for many strings.
    pub(crate) fn kept(pattern: &str, meter: &Meter) -> Result<Pattern, Failure> {
        let compiled = Pattern::compile(pattern, meter)?;
        meter.spend(STEPS_TO_KEEP)?;
        Ok(compiled)
    }

    pub(crate) fn compile(pattern: &str, meter: &Meter) -> Result<Pattern, Failure> {
        meter.spend(pattern.len().saturating_mul(2))?;
        let no_pattern = || Failure::is_no(pattern, "regular expression");
        let (translated, size) = translation::translated(pattern).ok_or_else(no_pattern)?;
        meter.spend(size.steps.saturating_add(STEPS_TO_COMPILE))?;
        let mut builder = RegexBuilder::new(&translated);
        builder.size_limit(MAX_BYTES).dfa_size_limit(MAX_CACHE_BYTES).nest_limit(64);
        match builder.build() {
            Ok(regex) => Ok(Pattern { regex, size: size.letters }),
            Err(regex::Error::CompiledTooBig(_)) => {
                let pattern = shortened(pattern);
                Err(Failure::other(format!("the pattern {pattern:?} is too large")))
            }
            Err(_) => Err(no_pattern()),
        }
    }

    /// The steps to match a string: at worst, every character, and the end, is compared with every character of the
    /// pattern.
    fn spend(&self, text: usize, meter: &Meter) -> Result<(), Failure> {
        meter.spend(text.saturating_add(1).saturating_mul(1 + self.size / 16))
    }

    /// The regex for a string of this length. Long strings use a copy, whose caches are dropped with it.
    fn regex(&self, text: usize) -> Cow<'_, Regex> {
        if text < LONG_TEXT { Cow::Borrowed(&self.regex) } else { Cow::Owned(self.regex.clone()) }
    }

    pub(crate) fn matches(&self, text: &str, meter: &Meter) -> Result<bool, Failure> {
        self.spend(text.len(), meter)?;
        Ok(self.regex(text.len()).is_match(text))
    }

    /// The first match that starts at or after a byte.
    pub(crate) fn find_at<'t>(
        &self,
        text: &'t str,
        start: usize,
        meter: &Meter,
    ) -> Result<Option<Match<'t>>, Failure> {
        let length = text.len() - start;
        self.spend(length, meter)?;
        Ok(self.regex(length).find_at(text, start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Allowance;

    fn matches(pattern: &str, text: &str) -> Option<bool> {
        let meter = Meter::new();
        Pattern::compile(pattern, &meter).ok()?.matches(text, &meter).ok()
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
            (r"^[+--]$", ",", true),
            (r"^\Q(?x.\E$", "(?x.", true),
            (r"^\141\x41\x{42}$", "aAB", true),
            (r"\bone\b", "one two", true),
            (r"(?i)^ONE$", "one", true),
            (r"^1\.(30|31)\.\d+$", "1.31.4", true),
        ] {
            assert_eq!(matches(pattern, text), Some(result), "{pattern} {text}");
        }
    }

    #[test]
    fn an_invalid_or_too_large_pattern_is_reported() {
        for (pattern, why) in [
            ("a(", "\"a(\" is not a valid regular expression"),
            ("(?x)a b", "\"(?x)a b\" is not a valid regular expression"),
            ("a**", "\"a**\" is not a valid regular expression"),
            (r"\p{Alphabetic}", "\"\\\\p{Alphabetic}\" is not a valid regular expression"),
            (r"\pL{60}", "the pattern \"\\\\pL{60}\" is too large"),
        ] {
            let meter = Allowance::new().patterns;
            let error = Pattern::compile(pattern, &meter).map_err(|it| it.to_string());
            assert_eq!(error.err().as_deref(), Some(why));
        }
    }
}
