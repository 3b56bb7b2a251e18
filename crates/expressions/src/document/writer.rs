//! Writes a document from JSON.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::name::word_of_name;
use super::word::{
    BITS_OF_LENGTH, BITS_OF_START, DOUBLE, FALSE, INT, LIST, LONG_TEXT, MAP, NULL, SHORT_TEXT,
    TRUE, number, word,
};
use super::{MAX_NESTED, Unreadable};

/// The words and the strings of the document for a JSON value.
pub(super) fn write(json: &Json) -> Result<(Box<[u32]>, Box<str>), Unreadable> {
    let mut writer = Writer { words: vec![NULL], ..Writer::default() };
    let whole = writer.value(json, 0)?;
    writer.set(0, whole);
    let Writer { words, texts, .. } = writer;
    Ok((words.into(), texts.into()))
}

/// The document written so far.
#[derive(Default)]
struct Writer<'j> {
    words: Vec<u32>,
    texts: String,
    /// The words of the strings so far.
    known: BTreeMap<&'j str, u32>,
}

impl<'j> Writer<'j> {
    /// The word of a value that is nested `level` deep.
    fn value(&mut self, json: &'j Json, level: usize) -> Result<u32, Unreadable> {
        match json {
            Json::Null => Ok(NULL),
            Json::Bool(value) => Ok(if *value { TRUE } else { FALSE }),
            Json::Number(number) => {
                let (tag, bits) = match number.as_i64() {
                    Some(whole) => (INT, whole.cast_unsigned()),
                    None => (DOUBLE, number.as_f64().unwrap_or_default().to_bits()),
                };
                let low = u32::try_from(bits & u64::from(u32::MAX)).unwrap_or_default();
                let high = u32::try_from(bits >> u32::BITS).unwrap_or_default();
                word(tag, self.push(&[low, high]))
            }
            Json::String(text) => self.text(text),
            Json::Array(_) | Json::Object(_) if level == MAX_NESTED => Err(Unreadable::TooDeep),
            Json::Array(items) => {
                let at = self.reserve(items.len(), 1)?;
                for (position, item) in items.iter().enumerate() {
                    let item = self.value(item, level + 1)?;
                    self.set(at + 1 + position, item);
                }
                word(LIST, at)
            }
            Json::Object(entries) => {
                let at = self.reserve(entries.len(), 2)?;
                let entries = sorted(entries);
                // The keys are adjacent, because the keys of one map are read together.
                for (position, (key, _)) in entries.iter().enumerate() {
                    let key = self.text(key)?;
                    self.set(at + 1 + 2 * position, key);
                }
                for (position, (_, value)) in entries.into_iter().enumerate() {
                    let value = self.value(value, level + 1)?;
                    self.set(at + 2 + 2 * position, value);
                }
                word(MAP, at)
            }
        }
    }

    fn text(&mut self, text: &'j str) -> Result<u32, Unreadable> {
        if let Some(known) = word_of_name(text).or_else(|| self.known.get(text).copied()) {
            return Ok(known);
        }
        let start = self.texts.len();
        self.texts.push_str(text);
        let is_short = start < 1 << BITS_OF_START && text.len() < 1 << BITS_OF_LENGTH;
        let word = if is_short {
            word(SHORT_TEXT, start << BITS_OF_LENGTH | text.len())?
        } else {
            let extent = [number(start)?, number(text.len())?];
            word(LONG_TEXT, self.push(&extent))?
        };
        self.known.insert(text, word);
        Ok(word)
    }

    /// Reserves words for `length` items, with their number before them.
    fn reserve(&mut self, length: usize, words_of_each: usize) -> Result<usize, Unreadable> {
        let at = self.push(&[number(length)?]);
        self.words.resize(at + 1 + length * words_of_each, NULL);
        Ok(at)
    }

    fn push(&mut self, words: &[u32]) -> usize {
        let at = self.words.len();
        self.words.extend(words);
        at
    }

    fn set(&mut self, at: usize, word: u32) {
        if let Some(known) = self.words.get_mut(at) {
            *known = word;
        }
    }
}

/// Sorts the entries by key, because the order of the map may differ.
fn sorted(entries: &Map<String, Json>) -> Vec<(&String, &Json)> {
    let mut sorted: Vec<_> = entries.iter().collect();
    sorted.sort_unstable_by_key(|(key, _)| *key);
    sorted
}
