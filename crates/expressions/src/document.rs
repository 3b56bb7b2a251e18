//! A document: an object in as little memory as it can be read from, two kilobytes for one cluster.
//!
//! It is two pieces of memory, all values in a row and all texts in a row, so that ten thousand of them are neither
//! millions of allocations nor a tree to walk, and no text has to be checked again when it is read. A value is one word,
//! which says where the rest is, so that the items of a list and the entries of a map are found without going through
//! what is in them. What is there twice, such as the keys of the maps in a list, is there once, and the names that are in
//! nearly all clusters are in none. Maps are in the order of their keys.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use crate::failure::Failure;

// The lowest bits of a word say what a value is, and the others which, or where in the words it is.
const BITS_OF_TAG: u32 = 3;
const SIMPLE: u32 = 0;
/// The number of one of the names that are in nearly all clusters.
const NAME: u32 = 1;
/// Two words, the lower one first.
const INT: u32 = 2;
/// Two words, the lower one first.
const DOUBLE: u32 = 3;
/// The word says where in the texts it begins, and how long it is.
const SHORT_TEXT: u32 = 4;
/// Two words: where in the texts it begins, and how long it is.
const LONG_TEXT: u32 = 5;
/// How many items there are, and a word for each.
const LIST: u32 = 6;
/// How many entries there are, and two words for each: its key and its value.
const MAP: u32 = 7;

const NULL: u32 = SIMPLE;
const FALSE: u32 = 1 << BITS_OF_TAG | SIMPLE;
const TRUE: u32 = 2 << BITS_OF_TAG | SIMPLE;

/// The names that are in nearly all clusters, in order.
const NAMES: [&str; 36] = [
    "allocatable",
    "annotations",
    "apiVersion",
    "caBundle",
    "capacity",
    "clusterClaims",
    "conditions",
    "cpu",
    "creationTimestamp",
    "effect",
    "ephemeral-storage",
    "finalizers",
    "generation",
    "hubAcceptsClient",
    "key",
    "kind",
    "kubernetes",
    "labels",
    "lastTransitionTime",
    "leaseDurationSeconds",
    "managedClusterClientConfigs",
    "memory",
    "message",
    "metadata",
    "name",
    "pods",
    "reason",
    "resourceVersion",
    "spec",
    "status",
    "taints",
    "timeAdded",
    "type",
    "uid",
    "value",
    "version",
];

/// The name of a field that documents are asked for.
#[derive(Debug)]
pub(crate) struct Name {
    text: Box<str>,
    /// Its word, if it is in nearly all clusters.
    word: Option<u32>,
}

impl Name {
    pub(crate) fn new(text: &str) -> Name {
        Name { text: text.into(), word: word_of_name(text) }
    }
}

impl std::ops::Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

fn word_of_name(text: &str) -> Option<u32> {
    let number = NAMES.binary_search(&text).ok()?;
    Some(u32::try_from(number).ok()? << BITS_OF_TAG | NAME)
}

/// How long a short text is, and where it begins, in so many bits.
const BITS_OF_LENGTH: u32 = 11;
const BITS_OF_START: u32 = u32::BITS - BITS_OF_TAG - BITS_OF_LENGTH;

/// How many lists and maps are in each other at most: what JSON is read with.
const MOST_NESTED: usize = 128;

/// An object, or any other value that can be written as JSON.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Document {
    /// The first one is the whole.
    words: Box<[u32]>,
    texts: Box<str>,
    unreadable: Option<Unreadable>,
}

/// Why nothing is kept of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unreadable {
    TooDeep,
    TooLarge,
}

impl Document {
    /// The document that says the same as some JSON. Of what is nested too deep for the stack, no expression has a
    /// result.
    #[must_use]
    pub fn of(json: &Json) -> Document {
        let mut writer = Writer { words: vec![NULL], ..Writer::default() };
        match writer.value(json, 0) {
            Ok(whole) => {
                writer.set(0, whole);
                let Writer { words, texts, .. } = writer;
                Document { words: words.into(), texts: texts.into(), unreadable: None }
            }
            Err(unreadable) => Document { unreadable: Some(unreadable), ..Document::default() },
        }
    }

    /// The whole of it.
    pub(crate) fn root(&self) -> Result<Stored<'_>, Failure> {
        match self.unreadable {
            None => Ok(self.whole()),
            Some(Unreadable::TooDeep) => {
                let message = format!("the object is nested more than {MOST_NESTED} levels deep");
                Err(Failure::other(message))
            }
            Some(Unreadable::TooLarge) => Err(Failure::other("the object is too large")),
        }
    }

    fn whole(&self) -> Stored<'_> {
        Stored { word: self.word(0), document: self }
    }

    /// How many bytes it takes.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of_val(&*self.words) + self.texts.len()
    }

    /// What is not there reads as nothing: there is no way to make such a document.
    fn word(&self, at: usize) -> u32 {
        self.words.get(at).copied().unwrap_or(NULL)
    }

    /// How many bits there are in the two words from one on.
    fn double_word(&self, at: usize) -> u64 {
        u64::from(self.word(at)) | u64::from(self.word(at + 1)) << u32::BITS
    }

    /// The words of the items of a list, or the entries of a map.
    fn nested(&self, at: usize, words_of_each: usize) -> &[u32] {
        let length = position(self.word(at));
        self.words.get(at + 1..at + 1 + length * words_of_each).unwrap_or_default()
    }

    /// Where a text begins that is no name, and how long it is.
    fn extent(&self, word: u32) -> (usize, usize) {
        if tag(word) == SHORT_TEXT {
            let start = word >> (BITS_OF_TAG + BITS_OF_LENGTH);
            (position(start), position(word >> BITS_OF_TAG & ((1 << BITS_OF_LENGTH) - 1)))
        } else {
            let at = position(word >> BITS_OF_TAG);
            (position(self.word(at)), position(self.word(at + 1)))
        }
    }

    fn text(&self, word: u32) -> &str {
        if tag(word) == NAME {
            return NAMES.get(position(word >> BITS_OF_TAG)).copied().unwrap_or_default();
        }
        let (start, length) = self.extent(word);
        self.texts.get(start..start + length).unwrap_or_default()
    }

    /// Whether a word is this text. Most are of another length, and are not looked at.
    fn is_text(&self, word: u32, text: &str) -> bool {
        if tag(word) == NAME {
            return self.text(word) == text;
        }
        let (start, length) = self.extent(word);
        length == text.len()
            && self.texts.as_bytes().get(start..start + length) == Some(text.as_bytes())
    }
}

impl std::fmt::Debug for Document {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.whole().fmt(formatter)
    }
}

/// Writes a document.
#[derive(Default)]
struct Writer<'j> {
    words: Vec<u32>,
    texts: String,
    /// The words of the texts so far.
    known: BTreeMap<&'j str, u32>,
}

impl<'j> Writer<'j> {
    /// The word of a value that is in so many others.
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
            Json::Array(_) | Json::Object(_) if level == MOST_NESTED => Err(Unreadable::TooDeep),
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
                // The keys are side by side, because those of one map are read together.
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

    /// Makes room for so many items, with their number before them.
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

fn tag(word: u32) -> u32 {
    word & ((1 << BITS_OF_TAG) - 1)
}

fn word(tag: u32, of: usize) -> Result<u32, Unreadable> {
    let of = number(of)?;
    if of >> (u32::BITS - BITS_OF_TAG) == 0 {
        Ok(of << BITS_OF_TAG | tag)
    } else {
        Err(Unreadable::TooLarge)
    }
}

fn number(of: usize) -> Result<u32, Unreadable> {
    u32::try_from(of).map_err(|_| Unreadable::TooLarge)
}

fn position(of: u32) -> usize {
    usize::try_from(of).unwrap_or(usize::MAX)
}

/// In the order of the keys, whichever order the map has them in.
fn sorted(entries: &Map<String, Json>) -> Vec<(&String, &Json)> {
    let mut sorted: Vec<_> = entries.iter().collect();
    sorted.sort_unstable_by_key(|(key, _)| *key);
    sorted
}

/// A value in a document.
#[derive(Clone, Copy)]
pub(crate) struct Stored<'d> {
    word: u32,
    document: &'d Document,
}

/// What a value in a document is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content<'d> {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(&'d str),
    List(StoredList<'d>),
    Map(StoredMap<'d>),
}

/// A list in a document, by where it is.
#[derive(Clone, Copy)]
pub(crate) struct StoredList<'d> {
    at: u32,
    document: &'d Document,
}

/// A map in a document, by where it is.
#[derive(Clone, Copy)]
pub(crate) struct StoredMap<'d> {
    at: u32,
    document: &'d Document,
}

impl<'d> Stored<'d> {
    pub(crate) fn map(self) -> Option<StoredMap<'d>> {
        let at = self.word >> BITS_OF_TAG;
        (tag(self.word) == MAP).then_some(StoredMap { at, document: self.document })
    }

    /// How long it is, if it is a text.
    pub(crate) fn length_of_text(self) -> Option<usize> {
        match tag(self.word) {
            NAME => Some(self.document.text(self.word).len()),
            SHORT_TEXT | LONG_TEXT => Some(self.document.extent(self.word).1),
            _ => None,
        }
    }

    /// Whether a text is this one.
    pub(crate) fn is_text(self, text: &str) -> bool {
        self.document.is_text(self.word, text)
    }

    pub(crate) fn content(self) -> Content<'d> {
        let Stored { word, document } = self;
        let of = word >> BITS_OF_TAG;
        match tag(word) {
            SIMPLE if word == NULL => Content::Null,
            SIMPLE => Content::Bool(word == TRUE),
            INT => Content::Int(document.double_word(position(of)).cast_signed()),
            DOUBLE => Content::Double(f64::from_bits(document.double_word(position(of)))),
            LIST => Content::List(StoredList { at: of, document }),
            MAP => Content::Map(StoredMap { at: of, document }),
            _ => Content::Text(document.text(word)),
        }
    }
}

impl std::fmt::Debug for Stored<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.content() {
            Content::Null => formatter.write_str("null"),
            Content::Bool(value) => value.fmt(formatter),
            Content::Int(value) => value.fmt(formatter),
            Content::Double(value) => value.fmt(formatter),
            Content::Text(value) => value.fmt(formatter),
            Content::List(list) => list.fmt(formatter),
            Content::Map(map) => map.fmt(formatter),
        }
    }
}

impl<'d> StoredList<'d> {
    fn items(self) -> &'d [u32] {
        self.document.nested(position(self.at), 1)
    }

    pub(crate) fn len(self) -> usize {
        position(self.document.word(position(self.at)))
    }

    pub(crate) fn get(self, position: usize) -> Option<Stored<'d>> {
        let word = *self.items().get(position)?;
        Some(Stored { word, document: self.document })
    }
}

impl std::fmt::Debug for StoredList<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let items = (0..self.len()).filter_map(|position| self.get(position));
        formatter.debug_list().entries(items).finish()
    }
}

impl<'d> StoredMap<'d> {
    fn entries(self) -> &'d [u32] {
        self.document.nested(position(self.at), 2)
    }

    pub(crate) fn len(self) -> usize {
        position(self.document.word(position(self.at)))
    }

    /// The key and the value at a position.
    pub(crate) fn entry(self, position: usize) -> Option<(&'d str, Stored<'d>)> {
        let words = self.entries();
        let (key, word) = (*words.get(2 * position)?, *words.get(2 * position + 1)?);
        Some((self.document.text(key), Stored { word, document: self.document }))
    }

    pub(crate) fn get(self, key: &str) -> Option<Stored<'d>> {
        self.find(|word| self.document.is_text(word, key))
    }

    pub(crate) fn field(self, name: &Name) -> Option<Stored<'d>> {
        match name.word {
            Some(name) => self.find(|word| word == name),
            None => self.get(name),
        }
    }

    fn find(self, is_wanted: impl Fn(u32) -> bool) -> Option<Stored<'d>> {
        let words = self.entries();
        let entry = words.chunks_exact(2).find(|entry| is_wanted(entry[0]))?;
        Some(Stored { word: entry[1], document: self.document })
    }
}

impl std::fmt::Debug for StoredMap<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let entries = (0..self.len()).filter_map(|position| self.entry(position));
        formatter.debug_map().entries(entries).finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(json: &Json) -> String {
        format!("{:?}", Document::of(json))
    }

    #[test]
    fn a_document_says_what_the_object_says() {
        let long = "x".repeat(300);
        let json = json!({
            "none": null, "yes": true, "no": false, "whole": -3, "large": i64::MIN, "half": 0.5,
            "text": "grün", "long": long, "empty": [], "nothing": {},
            "list": [1, "two", [3], { "four": 4 }]
        });
        let expected = format!(
            "{{\"empty\": [], \"half\": 0.5, \"large\": {}, \"list\": [1, \"two\", [3], {{\"four\": 4}}], \
             \"long\": {long:?}, \"no\": false, \"none\": null, \"nothing\": {{}}, \"text\": \"grün\", \
             \"whole\": -3, \"yes\": true}}",
            i64::MIN
        );
        assert_eq!(shown(&json), expected);
        assert_eq!(shown(&json!(u64::MAX)), format!("{:?}", 1.844_674_407_370_955_2e19));
        assert_eq!(format!("{:?}", Document::default()), "null");
    }

    #[test]
    fn the_parts_of_a_map_and_a_list_are_found() {
        let document = Document::of(&json!({ "a": [10, { "b": "c" }] }));
        let Content::Map(map) = document.root().unwrap().content() else { panic!("a map") };
        assert_eq!((map.len(), map.get("b").is_none()), (1, true));
        let Some(Content::List(list)) = map.get("a").map(Stored::content) else { panic!("a list") };
        assert_eq!((list.len(), list.get(2).is_none()), (2, true));
        assert_eq!(format!("{:?}", list.get(1)), "Some({\"b\": \"c\"})");
    }

    #[test]
    fn a_name_of_all_clusters_is_found_like_any_other() {
        assert!(NAMES.is_sorted_by(|one, next| one < next));
        for key in ["status", "stature", "statu", "annotations", "version"] {
            let document = Document::of(&json!({ (key): key, "other": [] }));
            let Content::Map(map) = document.root().unwrap().content() else { panic!("a map") };
            for asked in ["status", "stature", "statu", "annotations", "version"] {
                let found = [map.get(asked), map.field(&Name::new(asked))];
                for found in found.map(|it| it.is_some_and(|it| it.is_text(asked))) {
                    assert_eq!(found, key == asked, "{asked} in {key}");
                }
            }
        }
    }

    #[test]
    fn a_text_is_there_once_however_often_and_however_long_it_is() {
        let long = "y".repeat(3_000);
        let (once, twice) = (json!([long]), json!([long, long]));
        let sizes = [&once, &twice].map(|it| Document::of(it).size());
        assert_eq!(sizes[1], sizes[0] + 4, "one more word");
        assert_eq!(shown(&twice), format!("[{long:?}, {long:?}]"));
    }

    #[test]
    fn what_is_behind_a_lot_of_text_is_found() {
        let many: Vec<String> = (0..200).map(|it| format!("{it:01500}")).collect();
        let document = Document::of(&json!({ "many": many, "z": { "far": "ä" } }));
        let Content::Map(map) = document.root().unwrap().content() else { panic!("a map") };
        let Some(Content::Map(map)) = map.get("z").map(Stored::content) else { panic!("a map") };
        assert_eq!(format!("{:?}", map.get("far")), "Some(\"ä\")");
        assert_eq!(shown(&json!(many)), format!("{many:?}"));
    }
}
