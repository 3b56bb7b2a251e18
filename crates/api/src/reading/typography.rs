//! Confusable characters: quotes and dashes of word processors, and invisible spaces.
//!
//! Such characters come from text that was copied from a page or a chat. They look right in a message, so messages name
//! them.

use std::fmt;

use super::source::Source;
use crate::finding::{Code, Finding, Severity, Span};

/// The name of a confusable character, and the intended character.
fn looked_like(letter: char) -> Option<(&'static str, &'static str)> {
    Some(match letter {
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' | '\u{2032}' => {
            ("a typographic quotation mark", "'")
        }
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ab}' | '\u{bb}' => {
            ("a typographic quotation mark", "\"")
        }
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{ff0d}' => ("a dash", "-"),
        '\u{a0}' | '\u{202f}' | '\u{2007}' => ("a no-break space", " "),
        '\u{2000}'..='\u{2006}' | '\u{2008}'..='\u{200a}' | '\u{205f}' | '\u{3000}' => {
            ("a space of unusual width", " ")
        }
        '\u{200b}' => ("a zero-width space", ""),
        '\u{200c}' | '\u{200d}' | '\u{2060}' => ("an invisible joiner", ""),
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            ("an invisible direction mark", "")
        }
        '\u{ad}' => ("an invisible hyphen", ""),
        '\u{feff}' => ("a byte order mark", ""),
        '\u{ff1a}' => ("a full-width colon", ":"),
        '\u{ff0c}' => ("a full-width comma", ","),
        '\u{2217}' | '\u{ff0a}' => ("a character that resembles an asterisk", "*"),
        _ => return None,
    })
}

/// A character that looks like another character, or is invisible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConfusableCharacter {
    letter: char,
    name: &'static str,
    meant: &'static str,
}

impl ConfusableCharacter {
    /// The first confusable character in a text.
    #[must_use]
    pub fn first_in(text: &str) -> Option<ConfusableCharacter> {
        ConfusableCharacter::all_in(text).next()
    }

    /// The first unintended character in a name: a quotation mark at the start, or an invisible character.
    #[must_use]
    pub fn first_in_name(name: &str) -> Option<ConfusableCharacter> {
        let is_quote = |it: &ConfusableCharacter| {
            matches!(it.meant, "\"" | "'") && name.starts_with(it.letter)
        };
        ConfusableCharacter::all_in(name).find(|it| it.meant.is_empty() || is_quote(it))
    }

    fn all_in(text: &str) -> impl Iterator<Item = ConfusableCharacter> {
        text.chars().filter_map(|letter| {
            let (name, meant) = looked_like(letter)?;
            Some(ConfusableCharacter { letter, name, meant })
        })
    }

    /// The fix for a plain text.
    #[must_use]
    pub fn fix(self) -> String {
        let ConfusableCharacter { letter, meant, .. } = self;
        match meant {
            "" => format!("delete the invisible character U+{:04X}", u32::from(letter)),
            " " => "write an ordinary space".to_owned(),
            meant => format!("write {meant} instead of {letter}"),
        }
    }
}

impl ConfusableCharacter {
    /// The fix in a text that needs no quotes, or has quotes around it.
    #[must_use]
    pub fn fix_inside(self) -> String {
        match self.meant {
            "\"" | "'" => format!("delete the quotation marks such as {}", self.letter),
            _ => self.fix(),
        }
    }
}

impl fmt::Display for ConfusableCharacter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the text contains {} (U+{:04X})", self.name, u32::from(self.letter))
    }
}

/// The intended text: each confusable character is replaced by the character that it resembles.
pub(crate) fn as_meant(text: &str) -> String {
    let mut meant = String::new();
    for letter in text.chars() {
        match looked_like(letter) {
            Some((_, ascii)) => meant.push_str(ascii),
            None => meant.push(letter),
        }
    }
    meant
}

/// Adds the name of the first confusable character at the location of a finding to the message, as the character is the
/// probable cause.
pub(crate) fn name_letters(source: &Source, span: Span, finding: &mut Finding) {
    if finding.severity() != Severity::Error || finding.code == Code::Encoding {
        return;
    }
    let texts = match finding.code {
        // A parser notices late that a line is wrong.
        Code::Syntax | Code::Tab => {
            [source.line_around(span.start), source.line_before(span.start)]
        }
        _ => [source.slice(span), ""],
    };
    // A byte order mark at the start of a document is allowed.
    let mut candidates = texts.iter().map(|text| text.trim_start_matches('\u{feff}'));
    let Some(confusable) = candidates.find_map(ConfusableCharacter::first_in) else { return };
    finding.message = format!("{}; {confusable}", finding.message);
    // Ordinary quotes would end a text in quotes.
    let is_quoted = source.slice(span).starts_with(['"', '\'']);
    finding.fix = Some(if is_quoted { confusable.fix_inside() } else { confusable.fix() }.into());
}
