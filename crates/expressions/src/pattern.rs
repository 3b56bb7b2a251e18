//! Regular expressions, with the meaning that they have in Go. What Go does not know is no pattern; nor is what the
//! crate that matches them does not know.

mod translation;

use regex::{Match, Regex, RegexBuilder};

use crate::failure::Failure;
use crate::meter::Meter;
use crate::source::shortened;

/// How large a pattern is at most, compiled: enough for hundreds of alternatives.
const MOST_BYTES: usize = 1 << 18;
/// The steps that it takes to compile a pattern, for each of its letters.
const STEPS_TO_COMPILE: usize = 40;

/// A pattern, compiled. Matching takes time in proportion to the length of the text, whatever the pattern says.
#[derive(Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    /// How many letters it has, each as often as it is repeated.
    size: usize,
}

impl Pattern {
    pub(crate) fn compile(pattern: &str, meter: &Meter) -> Result<Pattern, Failure> {
        meter.spend_on(pattern)?;
        let no_pattern = || Failure::is_no(pattern, "regular expression");
        let (translated, size) = translation::translated(pattern).ok_or_else(no_pattern)?;
        meter.spend(size.saturating_mul(STEPS_TO_COMPILE))?;
        let mut builder = RegexBuilder::new(&translated);
        builder.size_limit(MOST_BYTES).dfa_size_limit(MOST_BYTES).nest_limit(64);
        match builder.build() {
            Ok(regex) => Ok(Pattern { regex, size }),
            Err(regex::Error::CompiledTooBig(_)) => {
                let pattern = shortened(pattern);
                Err(Failure::other(format!("the pattern {pattern:?} is too large")))
            }
            Err(_) => Err(no_pattern()),
        }
    }

    /// The steps to match a text: at worst, every letter is compared with every one of the pattern.
    fn spend(&self, text: usize, meter: &Meter) -> Result<(), Failure> {
        meter.spend(text.saturating_mul(1 + self.size / 16).saturating_add(1))
    }

    pub(crate) fn matches(&self, text: &str, meter: &Meter) -> Result<bool, Failure> {
        self.spend(text.len(), meter)?;
        Ok(self.regex.is_match(text))
    }

    /// The first match that begins at a byte or after it.
    pub(crate) fn find_at<'t>(
        &self,
        text: &'t str,
        start: usize,
        meter: &Meter,
    ) -> Result<Option<Match<'t>>, Failure> {
        self.spend(text.len() - start, meter)?;
        Ok(self.regex.find_at(text, start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn what_is_no_pattern_or_is_too_large_is_said() {
        for (pattern, why) in [
            ("a(", "\"a(\" is no regular expression"),
            ("(?x)a b", "\"(?x)a b\" is no regular expression"),
            ("a**", "\"a**\" is no regular expression"),
            (r"\p{Alphabetic}", "\"\\\\p{Alphabetic}\" is no regular expression"),
            (r"\pL{60}", "the pattern \"\\\\pL{60}\" is too large"),
        ] {
            let error = Pattern::compile(pattern, &Meter::new()).map_err(|it| it.to_string());
            assert_eq!(error.err().as_deref(), Some(why));
        }
    }
}
