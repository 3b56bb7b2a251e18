//! A document: a compact form of an object that expressions read directly, two kilobytes for one cluster.
//!
//! A document is two allocations: one for all values, one for all strings. So ten thousand documents are neither
//! millions of allocations nor trees to walk, and no string needs to be validated again when read. A value is one
//! word, which contains the position of the rest. So the items of a list and the entries of a map are found without
//! reading their contents. A repeated string, such as the keys of the maps in a list, is stored once, and the names
//! that occur in nearly all clusters are not stored at all. Maps are in the order of their keys.

mod name;
mod stored;
mod word;
mod writer;

use serde_json::Value as Json;

use crate::failure::Failure;

use self::name::NAMES;
use self::word::{BITS_OF_LENGTH, BITS_OF_TAG, NAME, NULL, SHORT_TEXT, position, tag};

pub(crate) use self::name::Name;
pub(crate) use self::stored::{Content, Stored, StoredList, StoredMap};

/// The maximum nesting of lists and maps: the limit of the JSON reader.
const MAX_NESTED: usize = 128;

/// An object, or any other value that can be written as JSON.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Document {
    /// The words of all values; the first word is the whole object.
    words: Box<[u32]>,
    texts: Box<str>,
    unreadable: Option<Unreadable>,
}

/// The reason that an object has no document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unreadable {
    TooDeep,
    TooLarge,
}

impl Document {
    /// The document with the content of some JSON. For JSON with too deep nesting for the stack, no expression has a
    /// result.
    #[must_use]
    pub fn from_json(json: &Json) -> Document {
        match writer::write(json) {
            Ok((words, texts)) => Document { words, texts, unreadable: None },
            Err(unreadable) => Document { unreadable: Some(unreadable), ..Document::default() },
        }
    }

    /// The whole object.
    pub(crate) fn root(&self) -> Result<Stored<'_>, Failure> {
        match self.unreadable {
            None => Ok(self.whole()),
            Some(Unreadable::TooDeep) => {
                let message = format!("the object is nested more than {MAX_NESTED} levels deep");
                Err(Failure::other(message))
            }
            Some(Unreadable::TooLarge) => Err(Failure::other("the object is too large")),
        }
    }

    fn whole(&self) -> Stored<'_> {
        Stored { word: self.word(0), document: self }
    }

    /// The size of the document in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of_val(&*self.words) + self.texts.len()
    }

    /// A missing word reads as null, although the writer never produces such a document.
    fn word(&self, at: usize) -> u32 {
        self.words.get(at).copied().unwrap_or(NULL)
    }

    /// The number in the two words from an index on, as bits.
    fn double_word(&self, at: usize) -> u64 {
        u64::from(self.word(at)) | u64::from(self.word(at + 1)) << u32::BITS
    }

    /// The words of the items of a list, or the entries of a map.
    fn nested(&self, at: usize, words_of_each: usize) -> &[u32] {
        let length = position(self.word(at));
        self.words.get(at + 1..at + 1 + length * words_of_each).unwrap_or_default()
    }

    /// The start and the length of a string that is not in `NAMES`.
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

    /// Whether a word is this string. Most strings have another length, and are not compared.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn value_text(json: &Json) -> String {
        format!("{:?}", Document::from_json(json))
    }

    #[test]
    fn a_document_has_the_content_of_the_object() {
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
        assert_eq!(value_text(&json), expected);
        assert_eq!(value_text(&json!(u64::MAX)), format!("{:?}", 1.844_674_407_370_955_2e19));
        assert_eq!(format!("{:?}", Document::default()), "null");
    }

    #[test]
    fn the_parts_of_a_map_and_a_list_are_found() {
        let document = Document::from_json(&json!({ "a": [10, { "b": "c" }] }));
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
            let document = Document::from_json(&json!({ (key): key, "other": [] }));
            let Content::Map(map) = document.root().unwrap().content() else { panic!("a map") };
            for name in ["status", "stature", "statu", "annotations", "version"] {
                let found = [map.get(name), map.field(&Name::new(name))];
                for found in found.map(|it| it.is_some_and(|it| it.is_text(name))) {
                    assert_eq!(found, key == name, "{name} in {key}");
                }
            }
        }
    }

    #[test]
    fn a_repeated_string_of_any_length_is_stored_once() {
        let long = "y".repeat(3_000);
        let (once, twice) = (json!([long]), json!([long, long]));
        let sizes = [&once, &twice].map(|it| Document::from_json(it).size());
        assert_eq!(sizes[1], sizes[0] + 4, "one more word");
        assert_eq!(value_text(&twice), format!("[{long:?}, {long:?}]"));
    }

    #[test]
    fn values_after_long_strings_are_found() {
        let many: Vec<String> = (0..200).map(|it| format!("{it:01500}")).collect();
        let document = Document::from_json(&json!({ "many": many, "z": { "far": "ä" } }));
        let Content::Map(map) = document.root().unwrap().content() else { panic!("a map") };
        let Some(Content::Map(map)) = map.get("z").map(Stored::content) else { panic!("a map") };
        assert_eq!(format!("{:?}", map.get("far")), "Some(\"ä\")");
        assert_eq!(value_text(&json!(many)), format!("{many:?}"));
    }
}
