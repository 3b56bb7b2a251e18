//! A phrase of the word list: its words, and the conditions on the words around the phrase.

use anyhow::{bail, ensure};

use super::prose::Token;

/// The marks before the start of a sentence.
const ENDS: [&str; 5] = [".", "!", "?", ":", ";"];

/// The end of the text, in a condition.
const END: &str = "END";

/// The source of a text. It decides the kinds that apply to the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Prose,
    Heading,
    /// The name of a test, which is a sentence.
    TestName,
    /// A name other than that of a test, split into words.
    Name,
    /// The whole name of a type or a function, as one word.
    TypeName,
    FunctionName,
}

#[derive(Debug, Default)]
pub(crate) struct Phrase {
    words: Vec<Word>,
    not_after: Vec<String>,
    after: Vec<String>,
    before: Vec<String>,
    not_before: Vec<String>,
    is_opening: bool,
}

#[derive(Clone, Debug)]
enum Word {
    Any,
    Prefix(String),
    OneOf(Vec<String>),
}

impl Phrase {
    /// Reads a line of the list. An optional alternative creates two phrases.
    pub(crate) fn parse_line(line: &str) -> anyhow::Result<Vec<Self>> {
        let mut parts = line.split(" | ");
        let mut variants: Vec<Vec<Word>> = vec![Vec::new()];
        for item in parts.next().unwrap_or_default().split_whitespace() {
            let alternatives = expand(item);
            let is_optional = alternatives.iter().any(String::is_empty);
            let word = Word::parse(alternatives);
            let without = if is_optional { variants.clone() } else { Vec::new() };
            for variant in &mut variants {
                variant.push(word.clone());
            }
            variants.extend(without);
        }
        let conditions: Vec<_> = parts.collect();
        variants
            .into_iter()
            .map(|words| {
                ensure!(
                    matches!(words.first(), Some(Word::OneOf(_))),
                    "`{line}` does not start with a word"
                );
                let mut phrase = Self { words, ..Self::default() };
                conditions.iter().try_for_each(|condition| phrase.add_condition(condition))?;
                Ok(phrase)
            })
            .collect()
    }

    fn add_condition(&mut self, condition: &str) -> anyhow::Result<()> {
        if condition == "opening" {
            self.is_opening = true;
            return Ok(());
        }
        // A colon may be one of the words, so only the first colon ends the name.
        let Some((name, words)) = condition.split_once(':') else {
            bail!("`{condition}` is not a condition");
        };
        let words = words.split_whitespace().map(str::to_owned).collect();
        match name {
            "after" => self.after = words,
            "not after" => self.not_after = words,
            "before" => self.before = words,
            "not before" => self.not_before = words,
            _ => bail!("`{name}` is not a condition"),
        }
        Ok(())
    }

    pub(crate) fn first_words(&self) -> &[String] {
        match self.words.first() {
            Some(Word::OneOf(words)) => words,
            _ => &[],
        }
    }

    pub(crate) fn is_one_word(&self) -> bool {
        self.words.len() == 1
    }

    /// The index of the phrase's last token if the phrase starts at the token `at`. The caller has compared the first
    /// word.
    pub(crate) fn matches(&self, tokens: &[Token<'_>], at: usize, source: Source) -> Option<usize> {
        for (word, index) in self.words.iter().zip(at..).skip(1) {
            if !word.matches(tokens.get(index)?) {
                return None;
            }
        }
        let last = at + self.words.len() - 1;
        let previous = at.checked_sub(1).map(|index| &tokens[index]);
        let next = tokens.get(last + 1);
        let is_met = is_among(previous, &self.after, true)
            && !is_among(previous, &self.not_after, false)
            && is_among(next, &self.before, true)
            && !is_among(next, &self.not_before, false)
            && (!self.is_opening || opens_sentence(&tokens[at], previous, source));
        is_met.then_some(last)
    }
}

impl Word {
    fn parse(alternatives: Vec<String>) -> Self {
        if let [word] = alternatives.as_slice() {
            if word == "*" {
                return Self::Any;
            }
            if let Some(prefix) = word.strip_suffix('*') {
                return Self::Prefix(prefix.to_owned());
            }
        }
        Self::OneOf(alternatives.into_iter().filter(|word| !word.is_empty()).collect())
    }

    fn matches(&self, token: &Token<'_>) -> bool {
        match self {
            Self::Any => token.is_word,
            Self::Prefix(prefix) => token.text.starts_with(prefix),
            Self::OneOf(words) => words.iter().any(|word| *word == token.text),
        }
    }
}

/// Whether a condition's words include the token; `otherwise` without words.
fn is_among(token: Option<&Token<'_>>, words: &[String], otherwise: bool) -> bool {
    if words.is_empty() {
        return otherwise;
    }
    let text = token.map_or(END, |token| token.text.as_ref());
    words.iter().any(|word| word == text)
}

fn opens_sentence(token: &Token<'_>, previous: Option<&Token<'_>>, source: Source) -> bool {
    let is_first = previous.is_none_or(|it| ENDS.contains(&it.text.as_ref()));
    match source {
        Source::Prose => is_first && token.has_capital,
        Source::TestName => is_first,
        _ => false,
    }
}

/// The words of a pattern with `{alternatives,in braces}`.
pub(crate) fn expand(text: &str) -> Vec<String> {
    let Some((head, rest)) = text.split_once('{') else { return vec![text.to_owned()] };
    let Some((alternatives, tail)) = rest.split_once('}') else { return vec![text.to_owned()] };
    let tails = expand(tail);
    alternatives
        .split(',')
        .flat_map(|middle| tails.iter().map(move |tail| format!("{head}{middle}{tail}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::prose::tokens;

    fn matches(line: &str, text: &str) -> bool {
        let tokens = tokens(text);
        let phrases = Phrase::parse_line(line).unwrap();
        phrases.iter().any(|phrase| {
            (0..tokens.len()).any(|at| {
                phrase.first_words().contains(&tokens[at].text.to_string())
                    && phrase.matches(&tokens, at, Source::Prose).is_some()
            })
        })
    }

    #[test]
    fn braces_expand_to_each_alternative() {
        assert_eq!(expand("{,un}label{s,ed}"), ["labels", "labeled", "unlabels", "unlabeled"]);
        assert_eq!(expand("plain"), ["plain"]);
    }

    #[test]
    fn an_empty_alternative_makes_a_word_optional() {
        let line = "{is,are} {,still} to go";
        assert!(matches(line, "it is to go"));
        assert!(matches(line, "they are still to go"));
        assert!(!matches(line, "they are never to go"));
    }

    #[test]
    fn a_star_stands_for_a_word_or_the_rest_of_one() {
        assert!(matches("good for * else", "good for something else"));
        assert!(!matches("good for * else", "good for . else"));
        assert!(matches("as it come*", "take it as it comes"));
    }

    #[test]
    fn the_words_around_a_phrase_decide() {
        assert!(!matches("told | not before: otherwise", "unless told otherwise"));
        assert!(matches("told | not before: otherwise", "it was told twice"));
        assert!(!matches("wants | not after: you", "you wants"));
        assert!(matches("no | after: is", "is no"));
        assert!(!matches("no | after: is", "has no"));
        assert!(matches("none | before: . END", "it is none"));
        assert!(!matches("none | before: . END", "none here"));
    }

    #[test]
    fn an_opening_needs_the_start_of_a_sentence_and_a_capital() {
        let line = "what * | opening";
        assert!(matches(line, "What follows."));
        assert!(matches(line, "It ends. What follows is left."));
        assert!(!matches(line, "It is What it does."));
        assert!(!matches(line, "what follows."));
    }

    #[test]
    fn a_line_without_a_first_word_is_an_error() {
        assert!(Phrase::parse_line("* else").is_err());
        assert!(Phrase::parse_line("told | around: otherwise").is_err());
    }
}
