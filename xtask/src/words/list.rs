//! The word list, `words.txt`: kinds of findings, each with its advice and its phrases.
//!
//! This file reads the list; `words.txt` describes the format. `phrase` matches a phrase.

use std::collections::HashMap;

use anyhow::{Context as _, bail, ensure};

use super::phrase::{Phrase, Source};
use super::prose::Token;

const LIST: &str = include_str!("../../words.txt");

/// All kinds of findings, with an index of their phrases.
pub(crate) struct List {
    kinds: Vec<Kind>,
    /// The phrases that can start with a word: an index in `kinds`, and an index in the phrases of the kind.
    openings: HashMap<String, Vec<(usize, usize)>>,
}

/// A kind of findings.
#[derive(Default)]
pub(crate) struct Kind {
    pub(crate) name: String,
    pub(crate) advice: String,
    applies_to: Vec<String>,
    phrases: Vec<Phrase>,
}

impl List {
    pub(crate) fn load() -> anyhow::Result<Self> {
        Self::parse(LIST).context("failed to read xtask/words.txt")
    }

    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let mut kinds: Vec<Kind> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some((name, flags)) = line.strip_prefix('[').and_then(|it| it.split_once(']')) {
                let applies_to = flags.split_whitespace().map(str::to_owned).collect();
                kinds.push(Kind { name: name.to_owned(), applies_to, ..Kind::default() });
                continue;
            }
            let Some(kind) = kinds.last_mut() else {
                bail!("line {number}: a phrase before the first [kind]");
            };
            if let Some(advice) = line.strip_prefix("instead:") {
                advice.trim().clone_into(&mut kind.advice);
            } else {
                let phrases = Phrase::parse_line(line).with_context(|| format!("line {number}"))?;
                kind.phrases.extend(phrases);
            }
        }
        let mut openings: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
        for (place, kind) in kinds.iter().enumerate() {
            ensure!(!kind.advice.is_empty(), "[{}] has no advice", kind.name);
            for (index, phrase) in kind.phrases.iter().enumerate() {
                for word in phrase.first_words() {
                    openings.entry(word.clone()).or_default().push((place, index));
                }
            }
        }
        Ok(Self { kinds, openings })
    }

    /// Calls `record` with each phrase in the text: its kind, and its first and last token.
    pub(crate) fn find<'a>(
        &'a self,
        tokens: &[Token<'_>],
        source: Source,
        mut record: impl FnMut(&'a Kind, usize, usize),
    ) {
        // Where the last phrase of each kind ends: two phrases of a kind do not overlap.
        let mut ends = vec![0; self.kinds.len()];
        for (at, token) in tokens.iter().enumerate() {
            let Some(candidates) = self.openings.get(token.text.as_ref()) else { continue };
            for &(place, index) in candidates {
                let kind = &self.kinds[place];
                let is_exempt = token.is_capitals && kind.has("lowercase");
                if ends[place] > at || is_exempt || !kind.includes(source) {
                    continue;
                }
                if let Some(last) = kind.phrases[index].matches(tokens, at, source) {
                    record(kind, at, last);
                    ends[place] = last + 1;
                }
            }
        }
    }

    /// The kind for names that contains this single word as a phrase.
    pub(crate) fn one_word(&self, word: &str) -> Option<&Kind> {
        let candidates = self.openings.get(word)?;
        let mut kinds = candidates.iter().map(|(place, index)| (&self.kinds[*place], *index));
        kinds
            .find(|(kind, index)| kind.includes(Source::Name) && kind.phrases[*index].is_one_word())
            .map(|(kind, _)| kind)
    }
}

impl Kind {
    fn has(&self, flag: &str) -> bool {
        self.applies_to.iter().any(|it| it == flag)
    }

    fn includes(&self, source: Source) -> bool {
        match source {
            Source::TypeName => self.has("types"),
            Source::FunctionName => self.has("functions"),
            Source::Name => self.has("names"),
            Source::Prose | Source::Heading | Source::TestName => {
                !self.has("types") && !self.has("functions")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::prose::tokens;

    const EXAMPLE: &str = "# A comment.\n[one] names\ninstead: two\ntold\nso {many,few}\n[three] lowercase\ninstead: four\ntold\n";

    fn finds(text: &str, source: Source) -> Vec<String> {
        let list = List::parse(EXAMPLE).unwrap();
        let mut found = Vec::new();
        list.find(&tokens(text), source, |kind, first, last| {
            found.push(format!("{} {first} {last}", kind.name));
        });
        found
    }

    #[test]
    fn the_list_is_well_formed() {
        List::load().unwrap();
    }

    #[test]
    fn each_kind_finds_its_phrases() {
        assert_eq!(finds("told so few", Source::Prose), ["one 0 0", "three 0 0", "one 1 2"]);
        assert_eq!(finds("nothing", Source::Prose), [""; 0]);
    }

    #[test]
    fn a_kind_applies_to_its_sources() {
        assert_eq!(finds("told", Source::Name), ["one 0 0"]);
        assert_eq!(finds("told", Source::TypeName), [""; 0]);
        assert_eq!(finds("TOLD", Source::Prose), ["one 0 0"]);
    }

    #[test]
    fn one_word_is_a_phrase_that_holds_for_names() {
        let list = List::parse(EXAMPLE).unwrap();
        assert!(list.one_word("told").is_some());
        assert!(list.one_word("so").is_none());
    }

    #[test]
    fn a_list_with_a_mistake_is_an_error() {
        for text in ["told\n", "[one]\ntold\n", "[one]\ninstead: two\n* told\n"] {
            assert!(List::parse(text).is_err(), "{text}");
        }
    }
}
